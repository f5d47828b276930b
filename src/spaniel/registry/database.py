"""A folder of links: its records, read as they are asked for, and the one way to change them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.files import write_atomically
from spaniel.registry import folder as files
from spaniel.registry.complaints import Position
from spaniel.registry.editor import Editor
from spaniel.registry.finding import find_file, read_aliases
from spaniel.registry.host_file import HostFile, read_file
from spaniel.registry.lock import PATIENCE, writing
from spaniel.registry.metadata import CNAMES
from spaniel.registry.naming import RULES, host_of
from spaniel.registry.record import broken_key
from spaniel.registry.rules import SAMPLE, RegistryConfig, read_rules, spot_of
from spaniel.registry.selection import ALL, Selection
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from spaniel.private_folder import OpenFolder
    from spaniel.registry.naming import UnknownFile
    from spaniel.registry.record import Record

    Refused = Callable[[SpanielError], None]


class Registry:
    """The records of a folder. Iterating reads file by file, and holds no more than one of them.

    registry = spaniel.registry.open("urls")
    for record in registry:
        print(record.url, record.file, record.line)
    with registry.editing() as editor:
        editor.add("https://example.com/")
    """

    def __init__(self, folder: str, rules: RegistryConfig) -> None:
        self.folder = folder
        self.rules = rules

    def __iter__(self) -> Iterator[Record]:
        return self.records()

    def records(self, only: Selection = ALL, refused: Refused | None = None) -> Iterator[Record]:
        """The records that are wanted, by file, in the order in which they stand."""
        for file in self.files(refused, only.hosts):
            yield from file.records if only is ALL else filter(only.takes, file.records)

    def files(self, refused: Refused | None = None, hosts: Collection[str] = ()) -> Iterator[HostFile]:
        """Every file, or those of some hosts (which may be cnames), read whole. One that breaks the format ends it,
        unless somebody takes the complaint."""
        with files.opened(self.folder) as folder:
            found = files.listing(folder).files
            owners = {host: f"{self.folder}/{name}" for host, name in found.items()}
            named = {find_file(folder, host, lambda: read_aliases(folder)) for host in hosts}
            for name in found.values() if not hosts else filter(named.__contains__, found.values()):
                try:
                    file = self._read(folder, name)
                    _claim(file, owners)
                except SpanielError as error:
                    if refused is None:
                        raise
                    refused(error)
                    continue
                yield file

    def find(self, url: str) -> Record | None:
        """The record of a URL: as it is written, or as the rules of the database write it."""
        with files.opened(self.folder) as folder:
            for spot in dict.fromkeys((spot_of(url), self.rules.spot(url))):
                name = find_file(folder, spot.host, lambda: read_aliases(folder))
                if name is not None and (found := _record_at(spot.path, self._read(folder, name))):
                    return found
        return None

    def strangers(self) -> list[UnknownFile]:
        """What lies in the folder and is not read, though one might expect it to be."""
        with files.opened(self.folder) as folder:
            return files.listing(folder).strangers

    @contextmanager
    def editing(self, patience: float = PATIENCE, written: Callable[[str], None] | None = None) -> Iterator[Editor]:
        """Changes, written when the block ends without an exception. Meanwhile nobody else changes the folder.

        `patience` is how many seconds to wait for another writer. `written` is told of each file that is written.
        """
        with files.opened(self.folder, write=True) as folder, writing(folder, patience):
            files.sweep(folder)
            editor = Editor(folder, self.rules, written)
            yield editor
            editor.write()

    def _read(self, folder: OpenFolder, name: str) -> HostFile:
        return self.read(folder, name, files.read_text(folder, name)[0])

    def read(self, folder: OpenFolder, name: str, text: str) -> HostFile:
        """A file by its name, with this text."""
        return read_file(text, f"{folder.path}/{name}", host_of(name) or name, self.rules.scheme)


def _record_at(path: str, file: HostFile) -> Record | None:
    """As it is written; else, where case makes no page, whatever its case."""
    wanted = file.home.key(path)
    alike = [record for record in file.records if file.home.key(record.path) == wanted]
    return next((record for record in alike if record.path == path), alike[0] if alike else None)


def _claim(file: HostFile, owners: dict[str, str]) -> None:
    """A host belongs to one file: as its own, or as one of its cnames."""
    for name in file.metadata.cnames:
        if (owner := owners.setdefault(name, file.home.file)) != file.home.file:
            text, line = file.parts.documents[0]
            reason = f"the cname '{name}' belongs to {owner} already; a host has one file"
            raise broken_key(text, Position(file.home.file, line), CNAMES, reason)


def open_registry(folder: str | os.PathLike[str] = "urls", *, policy: str | None = None) -> Registry:
    """The database in a folder. `policy` rules over the one that its `registry.toml` names."""
    path = os.fspath(folder).rstrip("/") or "/"
    files.opened(path).close()
    return Registry(path, read_rules(path, policy))


def create(folder: str) -> bool:
    """A folder for a database, with rules to begin from; False where it has rules already."""
    path = folder.rstrip("/") or "/"
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise complaint(path, f"cannot be made: {error.strerror}") from None
    with files.opened(path, write=True) as opened, writing(opened):
        if files.version(opened, RULES) is not None:
            return False
        write_atomically(opened.at(RULES), SAMPLE.encode(), None, durable=True, dir_fd=opened.descriptor)
    return True
