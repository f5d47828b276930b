"""A line of Markdown, read from its left: indents count in columns, and a tab reaches to the next fourth."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\n|\r|\Z)")
BLANKS = re.compile(r"[ \t]*+")


class Line:
    """What is left of a line behind the marks of the quotes and lists that it stands in.

    `start` is where its text begins, `indent` how many columns of white space before that belong to no item around it.
    """

    __slots__ = ("_column", "_text", "end", "indent", "start")

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self.end = text, end
        self._begin(start, 0)

    def _begin(self, at: int, column: int) -> None:
        """What is left begins here. A tab reaches as far as it would from the column where it stands."""
        found = BLANKS.match(self._text, at)
        self.start = found.end() if found else at
        before = " " * (column % 4)
        self.indent = len((before + self._text[at : self.start]).expandtabs(4)) - len(before)
        self._column = column + self.indent  # of the text

    @property
    def is_blank(self) -> bool:
        return self.start == self.end

    @property
    def mark(self) -> str:
        """Its first character; that of the line's end where it is blank."""
        return self._text[self.start : self.start + 1]

    def skip(self, columns: int) -> None:
        """Columns of white space, which are there; a part of a tab stays white space."""
        self.indent -= columns

    def take(self, count: int) -> None:
        """White space, and then so many characters of text."""
        self._begin(self.start + count, self._column + count)


def lines_of(text: str, start: int) -> Iterator[Line]:
    """And an empty one at the end, which changes nothing."""
    return (Line(text, *found.span(1)) for found in LINE.finditer(text, start))
