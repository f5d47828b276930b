"""Documents with their truth in them: what stands between ⟦ and ⟧ is a link's target, and nothing else is."""

from __future__ import annotations

import re
from typing import NamedTuple

MARK = re.compile("[⟦⟧]")


class Truth(NamedTuple):
    """Where one target stands."""

    written: str
    start: int
    end: int
    line: int
    column: int


def unmarked(marked: str) -> tuple[str, list[Truth]]:
    """The document without its marks, and its targets: counted here by hand, not by the code under test."""
    text: list[str] = []
    truths: list[Truth] = []
    line, column, offset, begun = 1, 1, 0, (0, 0, 0)
    for number, char in enumerate(marked):
        if char == "⟦":
            begun = offset, line, column
        elif char == "⟧":
            written = "".join(text[begun[0] :])
            truths.append(Truth(written, begun[0], offset, begun[1], begun[2]))
        else:
            text.append(char)
            offset += 1
            ends = char == "\n" or (char == "\r" and marked[number + 1 : number + 2] != "\n")
            line, column = (line + 1, 1) if ends else (line, column + 1)
    return "".join(text), truths
