"""A link as it is written in a document: where it stands, to the character."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE_END = re.compile(r"\r\n|\n|\r")


class Mention(NamedTuple):
    """One link in one place. `text[start:end]` is its target as it is written, `quoting.decode` of that is `url`."""

    url: str  # as it is meant, escapes and references resolved; relative ones as they are
    place: Place
    start: int
    end: int
    syntax: str  # how it is written: a name of `quoting`
    base: str = ""  # what relative ones are relative to, where the document says so itself (<base>)


class Found(NamedTuple):
    """A target in a text whose lines nobody has counted."""

    url: str
    start: int
    end: int
    syntax: str
    base: str = ""


class Lines:
    """Which line and column an offset is in. Lines end as every editor has it: LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in LINE_END.finditer(text))]

    def place(self, offset: int, file: str = "") -> Place:
        line = bisect_right(self._starts, offset)
        return Place(file, line, offset - self._starts[line - 1] + 1)


class Stitched:
    """Text put together from pieces of a source: what was between them, or escaped, is known again by its offset."""

    def __init__(self, pieces: Sequence[tuple[str, int, int]], between: str = "") -> None:
        """Each piece as it reads, and where it begins and ends in the source."""
        self.text = between.join(piece for piece, _, _ in pieces)
        self._pieces = pieces
        self._begins: list[int] = []
        at = 0
        for piece, _, _ in pieces:
            self._begins.append(at)
            at += len(piece) + len(between)

    def source(self, offset: int) -> int:
        """Where a character of the text stands in the source."""
        number = bisect_right(self._begins, offset) - 1
        return self._pieces[number][1] + offset - self._begins[number]

    def source_end(self, offset: int) -> int:
        """Where what ends before this offset ends in the source; at least one character precedes it."""
        number = bisect_right(self._begins, offset - 1) - 1
        piece, start, end = self._pieces[number]
        inside = offset - self._begins[number]
        return end if inside == len(piece) else start + inside
