"""Code between back-ticks in a paragraph: where it ends, however many runs of them there are."""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple

TICKS = re.compile("`+")
PARAGRAPH_END = re.compile(r"\n[ \t]*+\n")


class _Runs(NamedTuple):
    starts: array[int]
    passed: list[int]  # how many of them are behind: one number


class CodeSpans:
    """The code spans of a part of a text, asked for from left to right."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self._limit = text, end
        self._paragraph_end = -1
        self._runs: dict[int, _Runs] = {}
        for run in TICKS.finditer(text, start, end):
            self._runs.setdefault(len(run[0]), _Runs(array("q"), [0])).starts.append(run.start())

    def end_of(self, start: int, length: int) -> int | None:
        """Where the code ends that so many back-ticks begin at `start`; None where they begin none."""
        if length not in self._runs:  # the rest of a run of which the first is escaped
            return None
        starts, passed = self._runs[length]
        while passed[0] < len(starts) and starts[passed[0]] <= start:
            passed[0] += 1
        if passed[0] == len(starts) or starts[passed[0]] >= self._end_of_paragraph(start):
            return None
        return starts[passed[0]] + length

    def _end_of_paragraph(self, start: int) -> int:
        if start >= self._paragraph_end:
            found = PARAGRAPH_END.search(self._text, start, self._limit)
            self._paragraph_end = found.start() + 1 if found else self._limit
        return self._paragraph_end
