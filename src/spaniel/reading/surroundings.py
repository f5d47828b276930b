"""Where a block stands: sums over containers, what ancestors pass down, the trunk of the page, its sections."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from spaniel.reading.columns import FADING, TRUNK_SHARE
from spaniel.reading.lexicon import lexicon, numbered
from spaniel.reading.shapes import GOOD, LEVEL, LINKED

if TYPE_CHECKING:
    from spaniel.reading.blocks import Outline
    from spaniel.reading.shapes import Shape

TAGS = numbered(lexicon("tags")["rank"])
UNRANKED = TAGS["div"]
LANDMARKS = {tag: 1 << place for place, tag in enumerate(lexicon("tags")["landmarks"].split())}


class Sums:
    """Running sums over blocks, so that any container's totals are two look-ups."""

    __slots__ = ("good", "linked", "words")

    def __init__(self, shapes: list[Shape]) -> None:
        self.words = [0, *accumulate(s[0] for s in shapes)]
        self.linked = [0.0, *accumulate(s[0] * s[LINKED] for s in shapes)]
        self.good = [0, *accumulate(s[0] * s[GOOD] for s in shapes)]  # words in paragraphs


class Heritage:
    """What each container has from its ancestors: groups of names, landmarks, the weights of names."""

    __slots__ = ("every", "low", "marks", "total")

    def __init__(self, out: Outline) -> None:
        self.every, self.marks, self.low, self.total = [0], [0], [0.0], [0.0]
        every, marks, low, total = self.every, self.marks, self.low, self.total
        own, weights, tags = out.mask, out.weight, out.tag
        for i, up in enumerate(out.parent):
            if i:
                weight, least = weights[i], low[up]
                every.append(every[up] | own[i])
                marks.append(marks[up] | LANDMARKS.get(tags[i], 0))
                low.append(min(least, weight))
                total.append(FADING * total[up] + weight)


def trunk_of(out: Outline, sums: Sums) -> int:
    """The end of the way down from the body as long as one child holds most of the words in paragraphs."""
    good, parent, first, last = sums.good, out.parent, out.first, out.last
    most = TRUNK_SHARE * good[-1]
    here = 0
    for i in range(1, len(parent)):  # children come after their parents, and two cannot both hold most
        if parent[i] == here and 0 < good[last[i]] - good[first[i]] >= most:
            here = i
    return here


Section = tuple[
    int, int, int, float
]  # where its heading is, the groups of the heading's names, its level, share of links


def sections(out: Outline, shapes: list[Shape], sums: Sums) -> list[Section]:
    """For each block the section it stands in."""
    result: list[Section] = []
    begin, head = 0, -1
    for stop in [*(i for i, s in enumerate(shapes) if s[LEVEL]), len(shapes)]:
        if stop > begin:
            words = sums.words[stop] - sums.words[begin]
            linked = (sums.linked[stop] - sums.linked[begin]) / words
            level = int(shapes[head][LEVEL]) if head >= 0 else 0
            result += [(head, _names_near(out, head), level, linked)] * (stop - begin)
        begin = head = stop
    return result


def _names_near(out: Outline, block: int) -> int:
    """The groups of the names on a block's container and two above it."""
    if block < 0:
        return 0
    c = out.blocks[block].container
    up = out.parent[c]
    return out.mask[c] | out.mask[up] | out.mask[out.parent[up]] if up > 0 else out.mask[c]
