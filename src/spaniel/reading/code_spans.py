"""Code between back-ticks in a paragraph: where it ends, however many runs of them there are."""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple

TICKS = re.compile("`+")
# A blank line, or one that may begin a list, a quote, a heading, a table or raw HTML: code does not go on there.
PARAGRAPH_END = re.compile(r"\n(?=[ \t]*+(?:\n|[-*+>#<=~|`]|\d{1,9}[.)]))")

# A heading, a definition, a row of a table.
ONE_LINE = re.compile(r"\A[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+[#\[]|\|")
SIGN = re.compile(r"<[a-zA-Z!?/]|\]\(")  # in a table each cell ends its code: what was code in a line is none there


class _Runs(NamedTuple):
    starts: array[int]
    passed: list[int]  # how many of them are behind: one number


class CodeSpans:
    """The code spans of a part of a text, asked for from left to right."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self._limit = text, end
        self._paragraph_end = self._line_end = -1
        self._one_line = False
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
        if passed[0] == len(starts) or starts[passed[0]] >= self._end_of_block(start):
            return None
        end = starts[passed[0]] + length
        return None if "|" in self._text[start:end] and SIGN.search(self._text, start, end) else end

    def _end_of_block(self, start: int) -> int:
        """Where the code ends at the latest that begins here."""
        if start >= self._line_end:
            begin, end = self._text.rfind("\n", 0, start) + 1, self._text.find("\n", start, self._limit)
            self._line_end = self._limit if end < 0 else end
            self._one_line = ONE_LINE.search(self._text[begin : self._line_end]) is not None
        return self._line_end if self._one_line else self._end_of_paragraph(start)

    def _end_of_paragraph(self, start: int) -> int:
        if start >= self._paragraph_end:
            found = PARAGRAPH_END.search(self._text, start, self._limit)
            self._paragraph_end = found.end() if found else self._limit
        return self._paragraph_end
