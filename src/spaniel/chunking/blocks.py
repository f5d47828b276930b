"""Finds where Markdown may be split: its blocks, headings and fenced code (FR-WF-15).

Offsets refer to the Markdown. The regexes read a *view* of it: the same text between two more newlines, with every
carriage return replaced by a newline (or, before a newline, by a space). So the index of a newline in the view is the
offset of the next line, the first line is like any other, and patterns that begin with a newline are fast.

Every block begins after the last newline of a run of white space, before a line that is not blank: there, and at few
other places, cl100k's counts of both sides add up to the count of the whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import filterfalse
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.plain_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_NEAR = 16  # characters (chosen): most runs are shorter, and a short slice is cheaper than a search


def skip_space(text: str, start: int, end: int) -> int:
    """Return the offset of the first character that is not white space, or the end."""
    near = text[start : min(end, start + _NEAR)]
    stripped = near.lstrip()
    if stripped:
        return start + len(near) - len(stripped)
    return end - len(text[start:end].lstrip())


def trim_space(text: str, start: int, end: int) -> int:
    """Return the end without trailing white space; the start if there is nothing else."""
    near = text[max(start, end - _NEAR) : end]
    stripped = near.rstrip()
    if stripped:
        return end - len(near) + len(stripped)
    return start + len(text[start:end].rstrip())


MARKER = r"(?:[-*+]|\d{1,9}[.)])"
_BREAK = re.compile(r"\n(?:\s*\n|(?=#{1,6}\s))")  # blank lines, or a heading without one before it
_BLANK = re.compile(r"\s*\n")  # matched at a newline: up to the next line that is not blank
_TICKS = re.compile(r"```[^\n]*")
_TILDES = re.compile(r"~~~[^\n]*")
_BEFORE_FENCE = re.compile(rf"[ \t]*(?:{MARKER}[ \t]+)*")
_ITEM = re.compile(rf"\n ?({MARKER})(?!\S)")
_LINE = re.compile(rf"\n([ \t]*)({MARKER}(?!\S))?")
_HASH = re.compile("#")
_LISTY = re.compile(r"[-*+0-9 \t]")


class Fence(NamedTuple):
    """A fenced code block, from its opening line to the first line after its closing line that is not blank."""

    start: int
    end: int
    closed: bool


class MarkdownOutline(NamedTuple):
    """Offsets of blocks and fenced code."""

    starts: list[int]  # of the blocks, followed by the end of the text
    hashes: list[int]  # the blocks that begin with `#`
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
    initials = "".join(itemgetter(*starts, end - 1)(markdown))[
        : len(starts)
    ]  # two at least: with one index there is no tuple
    hashes = [starts[match.start()] for match in _HASH.finditer(initials)]
    starts = _with_lists_whole(view, starts, [match.start() for match in _LISTY.finditer(initials)], fences)
    starts.append(end)
    return MarkdownOutline(starts, hashes, fences)


def next_line(view: str, newline: int) -> int:
    """Return the offset of the next line that is not blank, after the line that ends at this newline of the view."""
    blank = _BLANK.match(view, newline)
    return blank.end() - 1 if blank else len(view) - 1


def _fences(view: str, end: int) -> list[Fence]:
    fences: list[Fence] = []
    start, mark, margin = -1, "", 0  # of the open fence, if `mark` is set
    for match in _fence_like(view):
        line, at = match[0], match.start()
        if line == mark and view[at - 1] == "\n":  # the usual end
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
        fences.append(Fence(start, end, False))  # CommonMark 4.5: an unclosed fence ends with the text
    return fences


def _fence_like(view: str) -> Iterator[re.Match[str]]:
    ticks = _TICKS.finditer(view)
    if not _TILDES.search(view):
        return ticks
    from heapq import merge

    return merge(ticks, _TILDES.finditer(view), key=re.Match.start)  # a single pattern for both is slower


def _closes(line: str, before: str) -> bool:
    return not line.lstrip(line[0]).strip() and not before.strip()


def fence_lines(view: str, fence: Fence) -> tuple[str, str]:
    """Return the lines that reopen and close a fence, each with the newline between it and the code."""
    line = view[fence.start + 1 : view.find("\n", fence.start + 1)]
    bare = line.lstrip(" \t-*+.)0123456789")
    before = line[: len(line) - len(bare)]
    margin = " " * len(before) if before.strip() else before
    mark = bare[: len(bare) - len(bare.lstrip(bare[0]))]
    return f"{margin}{bare.rstrip()}\n", f"\n{margin}{mark}"


def _starts(view: str, fences: list[Fence], end: int) -> list[int]:
    """Return the starts of blocks: after blank lines, at headings, and before and after fences, but not inside."""
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
    """Make each list one block, including blank lines, paragraphs and code between its items (FR-WF-15, 4)."""
    code = {fence.start for fence in fences}
    inside: set[int] = set()
    kind, last = "", -1  # the kind of list that the previous block ends with, and its index
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
    """Return the marker of the list in this block: one of `-*+.)`, or "" if there is no list."""
    items = _ITEM.findall(view, start, end)
    return items[-1][-1] if items else ""


LONGEST = 1000  # characters of a heading (chosen). Every chunk under it repeats it: one megabyte would be a gigabyte
_ALL = 1 << 20  # characters of headings per document that are parsed as Markdown; a hostile one takes about 1 µs
_HASHES = re.compile(r"#{1,6}(?=\s)")
_HEADING = re.compile(rf"(#{{1,6}})(?=\s)([^\n]{{0,{8 * LONGEST}}})")  # link targets are long


def paths(view: str, hashes: list[int], places: Iterable[int]) -> Iterator[tuple[str, ...]]:
    """Yield, for each place in order, the titles of the headings above it, from the outermost to the innermost.

    `hashes` are the blocks that begin with `#`. A heading at the place itself is included.
    """
    levels: list[int] = []
    path: tuple[str, ...] = ()
    i, left = 0, _ALL
    for place in places:
        if i < len(hashes) and hashes[i] <= place:
            j = bisect_right(hashes, place, i)
            for level, title in _in_force(view, hashes[i:j]):
                while levels and levels[-1] >= level:
                    levels.pop()
                levels.append(level)
                left -= len(title)
                shown = plain(title) if left >= 0 else title
                path = (*path[: len(levels) - 1], shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…")
            i = j
        yield path


def body_after(view: str, start: int, end: int) -> int:
    """Return the start of a block's text after its heading line; its end if there is only the heading."""
    if view[start + 1] != "#" or not _HASHES.match(view, start + 1):
        return start
    return min(end, next_line(view, view.find("\n", start + 1)))


def alone_before(view: str, starts: list[int], place: int) -> Iterator[int]:
    """Yield the blocks right before a place that are only headings, from the last to the first."""
    i = bisect_left(starts, place) - 1
    while i >= 0 and view[(start := starts[i]) + 1] == "#" and _HASHES.match(view, start + 1):
        if view[view.find("\n", start + 1) : place].strip():  # it has more than its first line
            return
        yield start
        place = start
        i -= 1


def _in_force(view: str, hashes: list[int]) -> list[tuple[int, str]]:
    """Return level and title of the headings that no later heading of the same or a higher level replaces."""
    found: list[tuple[int, str]] = []
    highest = 7
    for start in reversed(hashes):
        heading = _HEADING.match(view, start + 1)
        if heading and (level := heading.end(1) - start - 1) < highest:
            found.append((level, _title(heading[2])))
            highest = level
    return found[::-1]


def _title(line: str) -> str:
    """Remove the closing hashes that CommonMark allows: `## Title ##`, but not `# C#`."""
    text = line.strip()
    if not text.endswith("#"):
        return text
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()
