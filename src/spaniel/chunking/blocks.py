"""Where a Markdown text may be cut: its blocks, headings and fenced code (FR-WF-15).

Offsets are into the Markdown. The regexes read a *view* of it: the same text between two more newlines, every carriage
return made a newline (or, before a newline, a space). So the index of a newline in the view is the offset of the line
that follows it, the first line is like any other, and a pattern that begins with a newline is found fast.

Every block begins just after the last newline of a run of white space, before a line with something on it: there, and
at few other places, cl100k's counts of the two sides add up to the count of the whole.
"""

from __future__ import annotations

import re
from itertools import filterfalse
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.space import trim_space

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKER = r"(?:[-*+]|\d{1,9}[.)])"
_BREAK = re.compile(r"\n(?:\s*\n|(?=#{1,6}\s))")  # blank lines, or a heading without one before it
_BLANK = re.compile(r"\s*\n")  # matched at a newline: as far as the next line with something on it
_TICKS = re.compile(r"```[^\n]*")
_TILDES = re.compile(r"~~~[^\n]*")
_BEFORE_FENCE = re.compile(rf"[ \t]*(?:{MARKER}[ \t]+)*")
_ITEM = re.compile(rf"\n ?({MARKER})(?!\S)")
_LINE = re.compile(rf"\n([ \t]*)({MARKER}(?!\S))?")
_HASH = re.compile("#")
_LISTY = re.compile(r"[-*+0-9 \t]")


class Fence(NamedTuple):
    """A fenced code block, from its opening line to the next line with something on it after its closing one."""

    start: int
    end: int
    closed: bool


class MarkdownOutline(NamedTuple):
    starts: list[int]  # of the blocks, and after them the end of the text
    hashes: list[int]  # those blocks that begin with `#`
    fences: list[Fence]


def view_of(markdown: str) -> str:
    if "\r" in markdown:
        markdown = markdown.replace("\r\n", " \n").replace("\r", "\n")
    return f"\n{markdown}\n"


def outline(markdown: str, view: str) -> MarkdownOutline:
    end = trim_space(markdown, 0, len(markdown))
    if not end:
        return MarkdownOutline([0], [], [])
    fences = _fences(view, end)
    starts = _starts(view, fences, end)
    initials = "".join(itemgetter(*starts, end - 1)(markdown))[: len(starts)]  # of one index it would give no tuple
    hashes = [starts[match.start()] for match in _HASH.finditer(initials)]
    starts = _with_lists_whole(view, starts, [match.start() for match in _LISTY.finditer(initials)], fences)
    starts.append(end)
    return MarkdownOutline(starts, hashes, fences)


def next_line(view: str, newline: int) -> int:
    """The offset of the next line with something on it, after the line that ends at this newline of the view."""
    blank = _BLANK.match(view, newline)
    return blank.end() - 1 if blank else len(view) - 1


def _fences(view: str, end: int) -> list[Fence]:
    fences: list[Fence] = []
    start, mark, margin = -1, "", 0  # of the open fence, if there is a mark
    for match in _fence_like(view):
        line, at = match[0], match.start()
        if line == mark and view[at - 1] == "\n":  # as nearly all end
            fences.append(Fence(start, min(end, next_line(view, match.end())), True))
            mark = ""
            continue
        newline = at - 1 if view[at - 1] == "\n" else view.rfind("\n", 0, at)
        if not mark:
            margin = at - newline - 1
            if not margin or _BEFORE_FENCE.fullmatch(view, newline + 1, at):
                info = line.lstrip(line[0])
                if line[0] == "~" or "`" not in info:
                    start, mark = newline, line[: len(line) - len(info)]
        elif line.startswith(mark) and at - newline - 1 <= margin + 3 and _closes(line, view[newline:at]):
            fences.append(Fence(start, min(end, next_line(view, match.end())), True))
            mark = ""
    if mark:
        fences.append(Fence(start, end, False))  # CommonMark: what is not closed ends with the text
    return fences


def _fence_like(view: str) -> Iterator[re.Match[str]]:
    ticks = _TICKS.finditer(view)
    if not _TILDES.search(view):
        return ticks
    from heapq import merge

    return merge(ticks, _TILDES.finditer(view), key=re.Match.start)  # one pattern for both would take longer


def _closes(line: str, before: str) -> bool:
    return not line.lstrip(line[0]).strip() and not before.strip()


def fence_lines(view: str, fence: Fence) -> tuple[str, str]:
    """What opens such a fence again, and what closes it, each with the newline that sets it off from the code."""
    line = view[fence.start + 1 : view.find("\n", fence.start + 1)]
    bare = line.lstrip(" \t-*+.)0123456789")
    before = line[: len(line) - len(bare)]
    margin = " " * len(before) if before.strip() else before
    mark = bare[: len(bare) - len(bare.lstrip(bare[0]))]
    return f"{margin}{bare.rstrip()}\n", f"\n{margin}{mark}"


def _starts(view: str, fences: list[Fence], end: int) -> list[int]:
    """Where blocks begin: after blank lines, at headings, and before and after fences, but not inside them."""
    starts: list[int] = []
    start = next_line(view, 0)
    for fence in [*fences, Fence(end, end, True)]:
        if start < fence.start:
            starts.append(start)
            starts += [match.end() - 1 for match in _BREAK.finditer(view, start + 1, fence.start + 1)]
        if fence.start < end and starts[-1:] != [fence.start]:
            starts.append(fence.start)
        start = fence.end
    return starts


def _with_lists_whole(view: str, starts: list[int], listy: list[int], fences: list[Fence]) -> list[int]:
    """A list is one block, whatever blank lines, paragraphs and code stand between its items (FR-WF-15, 4)."""
    code = {fence.start for fence in fences}
    inside: set[int] = set()
    kind, last = "", -1  # the kind of list that the block before ends with, if it was looked at
    for i in listy:
        line = _LINE.match(view, starts[i])
        margin, marker = line.groups("") if line else ("", "")
        deep = len(margin.expandtabs(4)) > 1
        if not (deep or marker):
            continue
        if i != last + 1:
            kind = "" if starts[i - 1] in code else _list_at_end(view, starts[i - 1], starts[i])
        if kind and (deep or marker[-1] == kind):
            inside.add(starts[i])
        elif marker:
            kind = marker[-1]
        else:
            continue
        last = i
    return list(filterfalse(inside.__contains__, starts))


def _list_at_end(view: str, start: int, end: int) -> str:
    """What marks the items of the list that this block holds: one of `-*+.)`, or nothing if it holds none."""
    items = _ITEM.findall(view, start, end)
    return items[-1][-1] if items else ""
