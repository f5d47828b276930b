"""The headings that a place in the Markdown stands under (FR-WF-15c), and the lines that are nothing but headings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from spaniel.chunking.blocks import next_line
from spaniel.chunking.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST = 1000  # characters of a heading. Every chunk under it repeats it: a page's megabyte would be a gigabyte
_ALL = 1 << 20  # characters of headings that are read for Markdown in one document, at about 1 µs for a hostile one
_SIGNS = re.compile(r"#{1,6}(?=\s)")
_HEADING = re.compile(rf"(#{{1,6}})(?=\s)([^\n]{{0,{8 * LONGEST}}})")  # link targets are long


def paths(view: str, hashes: list[int], places: Iterable[int]) -> Iterator[tuple[str, ...]]:
    """For each place, in order, the titles of the headings above it, from the outermost to the one in force there.

    `hashes` are the blocks that begin with `#`. One that begins at the place itself is in force there.
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
    """Where a block's text begins after the heading line that it begins with; its end if it is nothing else."""
    if view[start + 1] != "#" or not _SIGNS.match(view, start + 1):
        return start
    return min(end, next_line(view, view.find("\n", start + 1)))


def alone_before(view: str, starts: list[int], place: int) -> Iterator[int]:
    """The blocks right before the one at a place that are headings and nothing else, from the last to the first."""
    i = bisect_left(starts, place) - 1
    while i >= 0 and view[(start := starts[i]) + 1] == "#" and _SIGNS.match(view, start + 1):
        if view[view.find("\n", start + 1) : place].strip():  # there is more in it than its first line
            return
        yield start
        place = start
        i -= 1


def _in_force(view: str, hashes: list[int]) -> list[tuple[int, str]]:
    """Level and title of those headings that no later one of their level or a higher has ended; `#hashtag` is none."""
    found: list[tuple[int, str]] = []
    highest = 7
    for start in reversed(hashes):
        heading = _HEADING.match(view, start + 1)
        if heading and (level := heading.end(1) - start - 1) < highest:
            found.append((level, _title(heading[2])))
            highest = level
    return found[::-1]


def _title(line: str) -> str:
    """Without the closing hashes that CommonMark allows: `## Title ##`, but not `# C#`."""
    text = line.strip()
    if not text.endswith("#"):
        return text
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()
