"""Fences around text: made so that nothing in it can end them, and found where somebody else has made them."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from spaniel.reading.html_blocks import HtmlBlocks

LONG_RUN = re.compile("`{3,}")
# What opens a block of code: in quotes and items of lists too, but not where a run of back-ticks is closed again.
OPENING = re.compile(r"^(?P<before>(?:[ >]|[-*+] |\d{1,9}[.)] )*+)(?P<mark>`{3,}+(?!.*`)|~{3,}+)", re.MULTILINE)
ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) +")
FARTHEST = 16  # blanks before a block in a list: more are looked at as if they were so many
LINES_BACK = 200
NEWLINE = "\n"


def fenced(text: str, language: str) -> str:
    """The text between two fences that are longer than any in it."""
    longest = max((len(run[0]) for run in LONG_RUN.finditer(text)), default=2) if "```" in text else 2
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


class Block(NamedTuple):
    """Where a block of code begins and ends in a text."""

    start: int
    end: int
    closing: str = ""  # the line that is missing where it ends without one


class CodeBlocks:
    """The fenced blocks of a text, asked for from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._html = HtmlBlocks(text)
        self._more = "```" in text or "~~~" in text
        self._items: dict[int, tuple[int, int]] = {}  # by indent: where such a line stood, and what was around it

    def next(self, start: int) -> Block | None:
        """The next block. It ends with its fence, with the quote or item that it stands in, or with the text."""
        for opening in OPENING.finditer(self._text, start) if self._more else ():
            inside = None if self._html.hold(opening.start(), start) else self._needed(opening)
            if inside is not None:
                return _block(self._text, opening, inside)
        self._more = False
        return None

    def _needed(self, opening: re.Match[str]) -> int | None:
        """How many blanks a line needs to stand in the same item; None where this is no fence, being too far in."""
        before = opening["before"]
        if before.strip(" "):
            return 0 if ">" in before else min(len(before), FARTHEST)
        indent = len(before)
        offset = self._item_around(opening.start(), indent) if indent > 1 else 0
        self._items[indent] = opening.start(), offset
        return min(offset, FARTHEST) if indent - offset <= 3 else None

    def _item_around(self, start: int, indent: int) -> int:
        """Where the text of the item begins that a line with this indent belongs to; 0 if to none."""
        least, end = indent, start
        for _ in range(LINES_BACK):
            if least < 2 or end == 0:
                return 0
            begin = self._text.rfind("\n", 0, end - 1) + 1
            line = self._text[begin : end - 1]
            if bare := line.lstrip(" "):
                if (item := ITEM.match(line)) and item.end() <= least:
                    return item.end()
                least = min(least, len(line) - len(bare))
                place, offset = self._items.get(least, (-1, 0))
                if place == begin:  # looked at already, and nothing since was further out
                    return offset
            end = begin
        return 0


def _block(text: str, opening: re.Match[str], inside: int) -> Block:
    start, mark, quoted = opening.start(), opening["mark"], ">" in opening["before"]
    end = len(text)
    begin = text.find("\n", opening.end()) + 1 or end
    for found in _ending(inside, quoted).finditer(text, begin):
        if found["mark"] is None:
            end = found.start()
            break
        if found["mark"].startswith(mark):
            return Block(start, min(found.end() + 1, end))
    before = ">" if quoted else " " * inside
    return Block(start, end, f"{'' if text[end - 1] == NEWLINE else NEWLINE}{before}{mark}\n")


@cache
def _ending(inside: int, quoted: bool) -> re.Pattern[str]:
    """A line that is nothing but a fence, or one that no longer stands in the same quote or item."""
    outside = r"(?! {0,3}>)" if quoted else rf" {{0,{inside - 1}}}+[^ \n]" if inside else r"(?!)"
    return re.compile(rf"^(?:[ >]*+(?P<mark>`{{3,}}|~{{3,}})[ \t]*+$|{outside})", re.MULTILINE)
