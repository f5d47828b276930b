"""Changes to a database: gathered file by file, and written at the end."""

from __future__ import annotations

from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry import folder as files
from spaniel.registry.finding import find_file, read_aliases
from spaniel.registry.host_file import FileDraft, new_file, read_file
from spaniel.registry.naming import file_name, file_names, host_of
from spaniel.registry.record import CATEGORIES, PATH
from spaniel.registry.rules import RecordLocation, RegistryConfig, spot_of
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from spaniel.private_folder import OpenFolder
    from spaniel.registry.record import Record
    from spaniel.registry.scalars import Written


class Added(NamedTuple):
    """What became of a URL that was added. The line of the record is 0 until it is read from its file."""

    record: Record
    is_new: bool
    other_scheme: bool = False  # the URL had another than the records of its file have


class _Open(NamedTuple):
    draft: FileDraft
    known: files.Version | None
    before: str


class Editor:
    """Made by `Registry.editing`, which holds the lock. URLs are taken as `Registry.find` takes them."""

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

    def find(self, url: str) -> Record | None:
        """A record as this edit has it."""
        found = self._find(url)
        return None if found is None else found[0].record(found[1])

    def remove(self, url: str) -> bool:
        """Whether there was such a record."""
        found = self._find(url)
        if found is not None:
            found[0].remove(found[1])
        return found is not None

    def move(self, old: str, new: str) -> Added:
        """A record with all that it says, under another URL."""
        found = self._find(old)
        if found is None:
            raise complaint(old, "there is no record of this URL")
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
        """Of two files, the one that a record comes to has to be written first; both ways at once cannot be had."""
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
        """One key of a record (None takes it away), and none of its other lines. False where there is no record."""
        if key == PATH:
            raise complaint(url, "its path is where it stands; move it")
        found = self._find(url)
        if found is not None:
            found[0].set(found[1], {key: value})
        return found is not None

    def changes(self) -> Iterator[tuple[str, str, str]]:
        """What `write` would do: the path of each file, its text before ("" for a new one) and after ("" for none)."""
        for draft, known, before in self._open.values():
            text = draft.text()
            if text != before and not (known is None and draft.is_empty):
                yield draft.home.file, before, "" if draft.is_bare and known is not None else text

    def write(self) -> None:
        """Each changed file as a whole. Where a record moved, the file that it came to is written first: whatever
        happens in between, it is in one of the two."""
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
        """The file of a host: one that this edit has made, or one that is there."""
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
