"""What a page says twice on end, or to machines only: kept text loses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.reading.shapes import HEADINGS

if TYPE_CHECKING:
    from spaniel.reading.blocks import Outline

SHORTEST_HEADING, LONGEST = 20, 300  # characters: a shorter heading may well be said again
DEEPEST = 12  # elements around a text in which a quotation is looked for
SHORTEST = 12  # of what is said again right away
FOR_MACHINES = re.compile(
    r"https?://\S+\.(?:jpe?g|png|gif|webp|svg|avif)(?:\?\S*)?|\d{4}-\d\d-\d\dT\d\d:\d\d\S{0,20}", re.IGNORECASE
)  # the address of a picture, a moment as machines write it


def drop_echoes(out: Outline, keep: list[bool]) -> None:
    """Microdata repeats the heading and has values that nobody sees; what phones show stands beside the rest."""
    heads = {out.first[i] for i, tag in enumerate(out.tag) if tag == "h1" and out.first[i] < out.last[i]}
    titles: dict[str, list[int]] = {
        text.casefold(): [] for i in heads if SHORTEST_HEADING <= len(text := out.blocks[i].text) <= LONGEST
    }
    before, kin = -1, out.kin  # the compiled outline makes that list each time
    for i, block in enumerate(out.blocks):
        if not keep[i] or len(block.text) > LONGEST:
            continue
        if _is_for_machines(out, i):
            keep[i] = False
            continue
        if before >= 0 and _is_again(out, kin, before, i):
            if out.tag[block.container] not in HEADINGS or out.tag[out.blocks[before].container] in HEADINGS:
                keep[i] = False
                continue
            keep[before] = False
        if titles and (same := titles.get(block.text.casefold())) is not None:
            same.append(i)
        before = i
    for same in titles.values():
        chosen = next((i for i in same if i in heads), same[0] if same else -1)
        for i in same:
            keep[i] = i == chosen


def _is_for_machines(out: Outline, place: int) -> bool:
    block = out.blocks[place]
    return (
        block.text[0] in "hH12"
        and FOR_MACHINES.fullmatch(block.text) is not None
        and out.tag[block.container] not in ("pre", "code")
    )


def _is_again(out: Outline, kin: list[tuple[int, str, str]], before: int, place: int) -> bool:
    """In elements that differ: the lines of a song are repeated in elements that are alike. A quotation is wanted."""
    one, other = out.blocks[before], out.blocks[place]
    if one.text != other.text or len(one.text) < SHORTEST:
        return False
    return kin[one.container][1:] != kin[other.container][1:] and not _is_quoted(out, other.container)


def _is_quoted(out: Outline, place: int) -> bool:
    for _ in range(DEEPEST):
        if place < 0 or out.tag[place] == "blockquote":
            break
        place = out.parent[place]
    return place >= 0 and out.tag[place] == "blockquote"
