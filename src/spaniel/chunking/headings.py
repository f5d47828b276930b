"""The headings that a place in the Markdown stands under (FR-WF-15c)."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SIGNS = re.compile(r"#{1,6}(?=\s)")


def paths(view: str, hashes: list[int], places: Iterable[int]) -> Iterator[tuple[str, ...]]:
    """For each place, in order, the titles of the headings above it, from the outermost to the one in force there.

    `hashes` are the blocks that begin with `#`. One that begins at the place itself is in force there.
    """
    above: list[tuple[int, str]] = []  # level and title
    path: tuple[str, ...] = ()
    i = 0
    for place in places:
        if i < len(hashes) and hashes[i] <= place:
            j = bisect_right(hashes, place, i)
            passed = _in_force(view, hashes[i:j])
            while above and passed and above[-1][0] >= passed[0][0]:
                above.pop()
            above += passed
            path = tuple([title for _, title in above])
            i = j
        yield path


def _in_force(view: str, hashes: list[int]) -> list[tuple[int, str]]:
    """Those of the headings that no later one of their level or a higher has ended; `#hashtag` is none."""
    found: list[tuple[int, str]] = []
    highest = 7
    for start in reversed(hashes):
        signs = _SIGNS.match(view, start + 1)
        if signs and (level := signs.end() - start - 1) < highest:
            found.append((level, _title(view, start)))
            highest = level
    return found[::-1]


def _title(view: str, start: int) -> str:
    """Without the closing hashes that CommonMark allows: `## Title ##`, but not `# C#`."""
    text = view[start + 1 : view.find("\n", start + 1)].lstrip("#").strip()
    if not text.endswith("#"):
        return text
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()
