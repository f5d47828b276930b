"""A folder of links: its records, read lazily, and the editor that changes them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.files import write_atomically
from spaniel.registry import folder as files
from spaniel.registry.config import SAMPLE, RecordLocation, RegistryConfig, read_rules, spot_of
from spaniel.registry.folder import PATIENCE, RULES, file_name, file_names, host_of, writing
from spaniel.registry.host_file import FileDraft, HostFile, formatted, new_file, read_file
from spaniel.registry.record import CATEGORIES, CNAMES, PATH, broken_key, read_metadata
from spaniel.registry.yaml_text import Position, split
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from spaniel.private_folder import OpenFolder
    from spaniel.registry.folder import UnknownFile
    from spaniel.registry.record import LinkRecord
    from spaniel.registry.yaml_text import Written

    Refused = Callable[[SpanielError], None]


class Selection(NamedTuple):
    """A filter by categories, hosts and path prefix; an empty one matches everything.

    A host can be given by any of its names; `Registry.records` reads only the files of these hosts.
    """

    categories: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    prefix: str = ""
    deprecated: bool = True  # whether records of the category 'deprecated' are among them

    def takes(self, record: LinkRecord) -> bool:
        if not record.path.startswith(self.prefix):
            return False
        if not self.deprecated and record.is_deprecated:
            return False
        return not self.categories or any(word in record.keys.get(CATEGORIES, ()) for word in self.categories)


ALL = Selection()


def find_file(folder: OpenFolder, host: str, aliases: Callable[[], dict[str, str]]) -> str | None:
    """The name of the file of a host; None if there is none yet. Aliases are checked last."""
    for name in file_names(host):
        if host_of(name) == host and files.version(folder, name) is not None:
            return name
    return aliases().get(host)


def read_aliases(folder: OpenFolder) -> dict[str, str]:
    """Every cname, and the name of its file. A file that cannot be parsed is an error: it might have any cname."""
    found: dict[str, str] = {}
    for host, name in files.listing(folder).files.items():
        head = files.read_head(folder, name)
        if CNAMES in head:
            file = f"{folder.path}/{name}"
            found |= dict.fromkeys(read_metadata(split(head, file).documents[0], file, host).cnames, name)
    return found


class Added(NamedTuple):
    """The result of adding a URL. The line of the record is 0 until it is read from its file."""

    record: LinkRecord
    is_new: bool
    other_scheme: bool = False  # the URL had another than the records of its file have


class _Open(NamedTuple):
    draft: FileDraft
    known: files.Version | None
    before: str


class Editor:
    """Created by `Registry.editing`, which holds the lock. URLs are treated as by `Registry.find`."""

    def __init__(self, folder: OpenFolder, rules: RegistryConfig, written: Callable[[str], None] | None = None) -> None:
        self._folder = folder
        self._written = written
        self._rules = rules
        self._open: dict[str, _Open] = {}
        self._moves: dict[str, frozenset[str]] = {}  # names of files that records leave -> of those that they come to

    def add(
        self,
        url: str,
        keys: Mapping[str, Written] | None = None,
        *,
        categories: Collection[str] = (),
        canonical: bool = False,
    ) -> Added:
        """A record for a URL, under its host's main name. One that is there already gets the keys besides its own.

        categories   are added to those that the record has; under `keys` they take their place
        canonical    the URL has its final form, as one has that was found out online; the policy is not asked again
        """
        written = spot_of(url)
        spot = self._rules.admitted(written) if canonical else self._rules.admit(url)
        draft = self._draft(spot)
        path = draft.path_of(spot.path)
        if written.host == spot.host and (as_written := draft.path_of(written.path)) in draft:
            path = as_written  # others spell paths in other ways: one that stands here is no new one
        is_new = path not in draft
        keys = dict(keys or {})
        if categories:
            has = () if is_new else draft.record(path).categories
            keys[CATEGORIES] = sorted({*has, *categories})
        if is_new:
            draft.add(path, keys)
        elif keys:
            draft.set(path, keys)
        return Added(draft.record(path), is_new, spot.scheme != draft.home.scheme)

    def find(self, url: str) -> LinkRecord | None:
        """A record, with the changes of this edit."""
        found = self._find(url)
        return None if found is None else found[0].record(found[1])

    def remove(self, url: str) -> bool:
        """Whether there was such a record."""
        found = self._find(url)
        if found is not None:
            found[0].remove(found[1])
        return found is not None

    def move(self, old: str, new: str) -> Added:
        """Move a record with all its keys to another URL."""
        found = self._find(old)
        if found is None:
            raise complaint(old, "no record of this URL")
        spot = self._rules.admit(new)
        target = self._draft(spot)
        source, path = found
        there, wanted = target.path_of(spot.path), target.home.key(spot.path)
        if there in target and not (target is source and there == path):
            raise complaint(new, "there is a record of this URL already; remove one of the two first")
        is_same = target is source and wanted == path
        if not is_same:
            self._note_move(source, target)
            target.move_in(wanted, source, path)
        return Added(target.record(wanted), not is_same)

    def _note_move(self, source: FileDraft, target: FileDraft) -> None:
        """The target file of a move must be written first, so moves in both directions are refused."""
        if target is source:
            return
        leaves, comes_to = (each.home.file.rpartition("/")[2] for each in (source, target))
        moves = self._moves | {leaves: self._moves.get(leaves, frozenset()) | {comes_to}}
        try:
            TopologicalSorter(moves).prepare()
        except CycleError:
            raise complaint(target.home.file, "records move out of it and into it; make that two edits") from None
        self._moves = moves

    def set(self, url: str, key: str, value: Written | None) -> bool:
        """Set one key of a record (None removes it), without changing other lines. False if there is no record."""
        if key == PATH:
            raise complaint(url, "its path is where it stands; move it")
        found = self._find(url)
        if found is not None:
            found[0].set(found[1], {key: value})
        return found is not None

    def changes(self) -> Iterator[tuple[str, str, str]]:
        """What `write` would do: the path of each file, and its text before and after ("" if there is none)."""
        for draft, known, before in self._open.values():
            text = draft.text()
            if text != before and not (known is None and draft.is_empty):
                yield draft.home.file, before, "" if draft.is_bare and known is not None else text

    def write(self) -> None:
        """Write the changed files. The target file of a move is written first, so that no record is lost in between."""
        for name in TopologicalSorter({name: self._moves.get(name, ()) for name in self._open}).static_order():
            draft, known, before = self._open[name]
            text = draft.text()
            if text == before or (known is None and draft.is_empty):
                continue
            if draft.is_bare and known is not None:
                files.remove(self._folder, name, known)
            else:
                files.write_text(self._folder, name, text, known)
            if self._written is not None:
                self._written(draft.home.file)

    def _find(self, url: str) -> tuple[FileDraft, str] | None:
        for spot in dict.fromkeys((spot_of(url), self._rules.spot(url))):
            if self._name(spot.host) is not None:
                draft = self._draft(spot)
                if (path := draft.path_of(spot.path)) in draft:
                    return draft, path
        return None

    def _draft(self, spot: RecordLocation) -> FileDraft:
        name = self._name(spot.host) or file_name(spot.host)
        if name not in self._open:
            self._open[name] = self._opened(name, spot)
        return self._open[name].draft

    def _name(self, host: str) -> str | None:
        """The file of a host: created by this edit, or existing."""
        own = next((name for name in file_names(host) if name in self._open), None)
        return own or find_file(self._folder, host, lambda: self._aliases)

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return read_aliases(self._folder)

    def _opened(self, name: str, spot: RecordLocation) -> _Open:
        file = f"{self._folder.path}/{name}"
        if files.version(self._folder, name) is None:
            if host_of(name) != spot.host:
                raise complaint(spot.url, "no file can be named after its host")
            made = new_file(file, spot.host, spot.scheme, self._rules.scheme)
            return _Open(FileDraft(made), None, "")
        text, known = files.read_text(self._folder, name)
        host = host_of(name) or spot.host
        return _Open(FileDraft(read_file(text, file, host, self._rules.scheme)), known, text)


class Registry:
    """The records of a folder. Iteration reads file by file, and keeps only one in memory.

    registry = spaniel.registry.open("urls")
    for record in registry:
        print(record.url, record.file, record.line)
    with registry.editing() as editor:
        editor.add("https://example.com/")
    """

    def __init__(self, folder: str, rules: RegistryConfig) -> None:
        self.folder = folder
        self.rules = rules

    def __iter__(self) -> Iterator[LinkRecord]:
        return self.records()

    def records(self, only: Selection = ALL, refused: Refused | None = None) -> Iterator[LinkRecord]:
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

    def find(self, url: str) -> LinkRecord | None:
        """The record of a URL, as given or in its canonical form."""
        with files.opened(self.folder) as folder:
            for spot in dict.fromkeys((spot_of(url), self.rules.spot(url))):
                name = find_file(folder, spot.host, lambda: read_aliases(folder))
                if name is not None and (found := _record_at(spot.path, self._read(folder, name))):
                    return found
        return None

    def strangers(self) -> list[UnknownFile]:
        """Files in the folder that look like host files but are not read."""
        with files.opened(self.folder) as folder:
            return files.listing(folder).strangers

    @contextmanager
    def editing(self, patience: float = PATIENCE, written: Callable[[str], None] | None = None) -> Iterator[Editor]:
        """Changes, written when the block ends without an exception. Meanwhile the folder is locked.

        `patience` is how many seconds to wait for another writer. `written` is called with each file that is written.
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


def _record_at(path: str, file: HostFile) -> LinkRecord | None:
    """By its path as given; otherwise, on case-insensitive hosts, ignoring case."""
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
    """The database in a folder. `policy` overrides the one that its `registry.toml` names."""
    path = os.fspath(folder).rstrip("/") or "/"
    files.opened(path).close()
    return Registry(path, read_rules(path, policy))


def create(folder: str) -> bool:
    """Create a folder for a database, with sample rules; False if it has rules already."""
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


class FormatProblem(NamedTuple):
    """A file that is not formatted, and the first line that would change."""

    file: str
    line: int


def misfits(registry: Registry, refused: Refused | None = None) -> Iterator[FormatProblem]:
    """The files that formatting would change. Nothing is written."""
    for file in registry.files(refused):
        text, wanted = _text(file), formatted(file)
        if text != wanted:
            yield FormatProblem(file.home.file, _first_difference(text, wanted))


def reformat(registry: Registry, refused: Refused | None = None) -> Iterator[FormatProblem]:
    """Format the files, and yield each as it is written."""
    with files.opened(registry.folder, write=True) as folder, writing(folder):
        files.sweep(folder)
        for misfit in misfits(registry, refused):
            name = misfit.file.removeprefix(f"{folder.path}/")
            text, known = files.read_text(folder, name)
            files.write_text(folder, name, formatted(registry.read(folder, name, text)), known)
            yield misfit


def _text(file: HostFile) -> str:
    return file.parts.preamble + "".join(document.text for document in file.parts.documents)


def _first_difference(text: str, wanted: str) -> int:
    lines, others = text.split("\n"), wanted.split("\n")
    same = (i for i, (one, other) in enumerate(zip(lines, others, strict=False)) if one != other)
    return 1 + next(same, min(len(lines), len(others)) - 1)
