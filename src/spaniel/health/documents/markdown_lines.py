"""A line of Markdown, read from its left: indents count in columns, and a tab reaches to the next fourth."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\n|\r|\Z)")
BLANKS = re.compile(r"[ \t]*+")


class Line:
    """What is left of a line behind the marks of the quotes and lists that it stands in."""

    __slots__ = ("_column", "_left", "_text", "at", "end", "indent", "start")

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self.at, self.end = text, start, end
        self._column = self._left = 0  # `_left`: columns of a tab of which some are used
        self._measure()

    def _measure(self) -> None:
        """`start` is where its text begins, `indent` how many columns of white space come before."""
        found = BLANKS.match(self._text, self.at, self.end)
        self.start = found.end() if found else self.at
        if "\t" not in self._text[self.at : self.start]:
            self.indent = self._left + self.start - self.at
            return
        column = self._column + self._left
        for char in self._text[self.at : self.start]:
            column += 4 - column % 4 if char == "\t" else 1
        self.indent = column - self._column

    @property
    def is_blank(self) -> bool:
        return self.start == self.end

    @property
    def mark(self) -> str:
        return self._text[self.start : self.start + 1] if self.start < self.end else ""

    def skip(self, columns: int) -> None:
        """Columns of white space, which are there."""
        while columns > 0:
            if self._left:
                used = min(columns, self._left)
                self._left -= used
            else:
                width = 4 - self._column % 4 if self._text[self.at] == "\t" else 1
                used = min(columns, width)
                self._left = width - used
                self.at += 1
            self._column += used
            columns -= used
        self._measure()

    def take(self, count: int) -> None:
        """White space, and then so many characters of text."""
        self._column += self.indent + count
        self._left = 0
        self.at = self.start + count
        self._measure()


def lines_of(text: str, start: int = 0) -> Iterator[Line]:
    while start < len(text):
        found = LINE.match(text, start)
        if found is None:  # there is no such text
            return
        yield Line(text, start, found.end(1))
        start = found.end()
