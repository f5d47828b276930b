"""The headings that a place in the Markdown stands under (FR-WF-15c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def paths(view: str, hashes: list[int], places: Iterable[int]) -> Iterator[tuple[str, ...]]:
    """For each place, in order, the titles of the headings above it, from the outermost to the one in force there.

    `hashes` are the blocks that begin with `#`. One that begins at the place itself is in force there.
    """
    above: list[tuple[int, int]] = []  # level and start
    path: tuple[str, ...] = ()
    i = 0
    for place in places:
        before = i
        while i < len(hashes) and hashes[i] <= place:
            start = hashes[i]
            level = _level(view[start + 1 : start + 8])
            if level:
                while above and above[-1][0] >= level:
                    above.pop()
                above.append((level, start))
            i += 1
        if i > before:
            path = tuple([_title(view, start) for _, start in above])
        yield path


def _level(line: str) -> int:
    """Of an ATX heading that begins like this; 0 of anything else, such as `#hashtag`."""
    level = len(line) - len(line.lstrip("#"))
    return 0 if level > 6 or line[level : level + 1].strip() else level


def _title(view: str, start: int) -> str:
    """Without the closing hashes that CommonMark allows: `## Title ##`, but not `# C#`."""
    text = view[start + 1 : view.find("\n", start + 1)].lstrip("#").strip()
    if not text.endswith("#"):
        return text
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()
