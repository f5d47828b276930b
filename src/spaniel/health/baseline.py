"""Old debts: links that were broken when a baseline was written. They are told, and fail nothing."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically
from spaniel.verdicts import CONTRADICTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.health.links import Checked, Place

VERSION = 1
LARGEST = 64 * 1024 * 1024  # bytes of a file


class Baseline:
    """The debts of a file: which link, in which document. A link that turns up in another document is a new debt."""

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        self._known = frozenset((spelled(file), url) for file, url in known)
        self._well: set[tuple[str, str]] = set()

    @classmethod
    def read(cls, path: str) -> Baseline:
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise ValueError(f"larger than {LARGEST >> 20} MB")
            return cls(_entries(json.loads(data)))
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else f"not a baseline ({error})"
            reason = f"'{path}': {why}; write one with --write-baseline"
            raise SpanielError(Code.BAD_ARGS, field="--baseline", reason=reason) from None

    def covers(self, checked: Checked, place: Place) -> bool:
        """Whether this is an old debt. One of a result that is well is none, whatever the file says."""
        return checked.verdict in CONTRADICTED and (spelled(place.file), checked.link.url) in self._known

    def covers_all(self, checked: Checked) -> bool:
        """Whether no place of a link is a new debt."""
        if checked.verdict not in CONTRADICTED:
            return False
        if not checked.link.places:
            return ("", checked.link.url) in self._known
        return all(self.covers(checked, place) for place in checked.link.places)

    def saw(self, checked: Checked) -> None:
        """Remember what is well again."""
        if self._known and checked.verdict not in CONTRADICTED:
            files = {spelled(place.file) for place in checked.link.places} or {""}
            self._well.update(key for file in files if (key := (file, checked.link.url)) in self._known)

    @property
    def fixed(self) -> list[tuple[str, str]]:
        """Debts that were paid: the baseline can be written again without them."""
        return sorted(self._well)


@lru_cache(maxsize=1 << 12)
def spelled(file: str) -> str:
    """One name for a document: `check .`, `check docs` and a hook with whole paths mean the same debts."""
    if file in ("", "-"):
        return file
    path = os.path.normpath(file)
    here = os.getcwd()
    if path.startswith(here + os.sep):
        path = path[len(here) + 1 :]
    return path.replace(os.sep, "/")


def write_baseline(path: str, results: Iterable[Checked]) -> int:
    """Put all that is contradicted into a file, sorted, so that its changes can be read; how many there are."""
    debts = {
        (file, checked.link.url)
        for checked in results
        if checked.verdict in CONTRADICTED
        for file in ({spelled(place.file) for place in checked.link.places} or {""})
    }
    lines = ",\n".join(json.dumps({"file": file, "url": url}) for file, url in sorted(debts))
    known = f"[\n{lines}\n]" if lines else "[]"
    try:
        write_atomically(path, f'{{"version": {VERSION}, "known": {known}}}\n'.encode(), mode=None)
    except OSError as error:
        reason = f"cannot write '{path}': {error.strerror}"
        raise SpanielError(Code.BAD_ARGS, field="--write-baseline", reason=reason) from None
    return len(debts)


def _entries(data: object) -> list[tuple[str, str]]:
    if not isinstance(data, dict) or data.get("version") != VERSION or not isinstance(data.get("known"), list):
        raise ValueError(f"it must be an object with version {VERSION} and a list 'known'")
    entries = []
    for entry in data["known"]:
        match entry:
            case {"file": str(file), "url": str(url)}:
                entries.append((file, url))
            case _:
                raise ValueError("each of 'known' must be an object with 'file' and 'url'")
    return entries
