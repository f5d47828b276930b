"""A heading over nothing: where all that it heads was dropped, it says nothing to a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.reading.shapes import HEADINGS

if TYPE_CHECKING:
    from spaniel.reading.blocks import Outline


def drop_idle_headings(out: Outline, words: list[float], keep: list[bool]) -> None:
    """Not the title, and none that links: those of a list of pages are what it lists.

    From the end, so that a heading over idle headings is idle itself. Every block is looked at once for each level.
    """
    blocks, tags = out.blocks, out.tag
    for i in range(len(keep) - 1, -1, -1):
        if not keep[i] or blocks[i].link_chars:
            continue
        tag = tags[blocks[i].container]
        if tag in HEADINGS and tag != "h1" and _is_idle(out, words, keep, i, tag):
            keep[i] = False


def _is_idle(out: Outline, words: list[float], keep: list[bool], heading: int, tag: str) -> bool:
    """Whether text stood below it, up to the next heading that is not lower, and none of it is kept."""
    gone = 0.0
    for i in range(heading + 1, len(keep)):
        other = out.tag[out.blocks[i].container]
        if other in HEADINGS and other <= tag:
            break
        if keep[i]:
            return False
        gone += words[i]
    return gone > 0  # where no text stood below it, there may be pictures
