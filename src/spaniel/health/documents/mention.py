"""A link as it is written in a document: where it stands, to the character."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        self._starts = array("I", (0,))  # a list of numbers would take four times as much
        self._starts.extend(found.end() for found in LINE_END.finditer(text))

    def place(self, offset: int, file: str = "") -> Place:
        line = bisect_right(self._starts, offset)
        return Place(file, line, offset - self._starts[line - 1] + 1)


class Stitched:
    """Text put together from pieces of a source: what was between them, or escaped, is known again by its offset."""

    def __init__(self, pieces: Iterable[tuple[str, int, int]], between: str = "") -> None:
        """Each piece as it reads, and where it begins and ends in the source. Of a long text only numbers are kept."""
        self._begins, self._starts, self._ends = array("I"), array("I"), array("I")
        self._between = len(between)
        text = StringIO()
        for piece, start, end in pieces:
            if self._begins:
                text.write(between)
            self._begins.append(text.tell())
            self._starts.append(start)
            self._ends.append(end)
            text.write(piece)
        self.text = text.getvalue()

    def source(self, offset: int) -> int:
        """Where a character of the text stands in the source."""
        number = bisect_right(self._begins, offset) - 1
        return self._starts[number] + offset - self._begins[number]

    def source_end(self, offset: int) -> int:
        """Where what ends before this offset ends in the source; at least one character precedes it."""
        number = bisect_right(self._begins, offset - 1) - 1
        is_last = number == len(self._begins) - 1
        piece_end = len(self.text) if is_last else self._begins[number + 1] - self._between
        return self._ends[number] if offset == piece_end else self._starts[number] + offset - self._begins[number]
