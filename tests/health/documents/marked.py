"""Documents with marked link targets: text between ⟦ and ⟧ is a target, and nothing else is."""

from __future__ import annotations

import re
from typing import NamedTuple

MARK = re.compile("[⟦⟧]")


class ExpectedLink(NamedTuple):
    """The position of a target."""

    written: str
    start: int
    end: int
    line: int
    column: int


def unmarked(marked: str) -> tuple[str, list[ExpectedLink]]:
    """Return the document without marks, and its targets; positions are not computed by the code under test."""
    text: list[str] = []
    expected: list[ExpectedLink] = []
    line, column, offset, begun = 1, 1, 0, (0, 0, 0)
    for number, char in enumerate(marked):
        if char == "⟦":
            begun = offset, line, column
        elif char == "⟧":
            written = "".join(text[begun[0] :])
            expected.append(ExpectedLink(written, begun[0], offset, begun[1], begun[2]))
        else:
            text.append(char)
            offset += 1
            ends = char == "\n" or (char == "\r" and marked[number + 1 : number + 2] != "\n")
            line, column = (line + 1, 1) if ends else (line, column + 1)
    return "".join(text), expected
