"""Code in Markdown: fences made so that their text cannot end them; fenced blocks and code spans of others found.

Raw HTML at the beginning of a line lasts until a blank line: backticks in it are not code."""

from __future__ import annotations

import re
from array import array
from functools import cache
from typing import NamedTuple

HTML_START = re.compile(r"^[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+<[a-zA-Z/!?]", re.MULTILINE)


class HtmlBlocks:
    """Asked from the beginning of a text to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen = 0
        self._inside = False

    def hold(self, place: int, since: int = 0) -> bool:
        """Whether a place is in such a block; behind `since`, where one that was open is not any more."""
        if since > self._seen:
            self._seen, self._inside = since, False
        if place > self._seen:
            blank = self._text.rfind("\n\n", self._seen, place)
            if blank >= 0:
                self._seen, self._inside = blank + 1, False
            self._inside = self._inside or HTML_START.search(self._text, self._seen, place) is not None
            self._seen = place
        return self._inside


LONG_RUN = re.compile("`{3,}")
# What opens a block of code: in quotes and items of lists too, but not where a run of back-ticks is closed again.
OPENING = re.compile(r"^(?P<before>(?:[ >]|[-*+] |\d{1,9}[.)] )*+)(?P<mark>`{3,}+(?!.*`)|~{3,}+)", re.MULTILINE)
ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) +")
MAX_INDENT = 16  # blanks before a block in a list: more are looked at as if they were so many
MAX_LINES_BACK = 200
NEWLINE = "\n"


def fenced(text: str, language: str) -> str:
    """The text between two fences that are longer than any in it."""
    longest = max((len(run[0]) for run in LONG_RUN.finditer(text)), default=2) if "```" in text else 2
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


class CodeBlock(NamedTuple):
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

    def next(self, start: int) -> CodeBlock | None:
        """The next block. It ends with its fence, with the quote or item that it stands in, or with the text."""
        for opening in OPENING.finditer(self._text, start) if self._more else ():
            inside = None if self._html.hold(opening.start(), start) else self._needed(opening)
            if inside is not None:
                return _code_block(self._text, opening, inside)
        self._more = False
        return None

    def _needed(self, opening: re.Match[str]) -> int | None:
        """How many blanks a line needs to stand in the same item; None where this is no fence, being too far in."""
        before = opening["before"]
        if before.strip(" "):
            return 0 if ">" in before else min(len(before), MAX_INDENT)
        indent = len(before)
        offset = self._item_around(opening.start(), indent) if indent > 1 else 0
        self._items[indent] = opening.start(), offset
        return min(offset, MAX_INDENT) if indent - offset <= 3 else None

    def _item_around(self, start: int, indent: int) -> int:
        """Where the text of the item begins that a line with this indent belongs to; 0 if to none."""
        least, end = indent, start
        for _ in range(MAX_LINES_BACK):
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


def _code_block(text: str, opening: re.Match[str], inside: int) -> CodeBlock:
    start, mark, quoted = opening.start(), opening["mark"], ">" in opening["before"]
    end = len(text)
    begin = text.find("\n", opening.end()) + 1 or end
    for found in _ending(inside, quoted).finditer(text, begin):
        if found["mark"] is None:
            end = found.start()
            break
        if found["mark"].startswith(mark):
            return CodeBlock(start, min(found.end() + 1, end))
    before = ">" if quoted else " " * inside
    return CodeBlock(start, end, f"{'' if text[end - 1] == NEWLINE else NEWLINE}{before}{mark}\n")


@cache
def _ending(inside: int, quoted: bool) -> re.Pattern[str]:
    """A line that is nothing but a fence, or one that no longer stands in the same quote or item."""
    outside = r"(?! {0,3}>)" if quoted else rf" {{0,{inside - 1}}}+[^ \n]" if inside else r"(?!)"
    return re.compile(rf"^(?:[ >]*+(?P<mark>`{{3,}}|~{{3,}})[ \t]*+$|{outside})", re.MULTILINE)


TICKS = re.compile("`+")
# A blank line, or one that may begin a list, a quote, a heading, a table or raw HTML: code does not go on there.
PARAGRAPH_END = re.compile(r"\n(?=[ \t]*+(?:\n|[-*+>#<=~|`]|\d{1,9}[.)]))")

# A heading, a definition, a row of a table.
ONE_LINE = re.compile(r"\A[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+[#\[]|\|")
CELL_MARKUP = re.compile(
    r"<[a-zA-Z!?/]|\]\("
)  # in a table each cell ends its code: what was code in a line is none there


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
        return None if "|" in self._text[start:end] and CELL_MARKUP.search(self._text, start, end) else end

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
