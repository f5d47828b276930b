"""Where a block stands: sums over containers, what ancestors pass down, the trunk of the page, headings, repetition."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from spaniel.reading.lexicon import lexicon, numbered
from spaniel.reading.shapes import GOOD, LEVEL

if TYPE_CHECKING:
    from spaniel.reading.blocks import Block, Outline
    from spaniel.reading.shapes import Shape

FAR = 50
TAGS = numbered(lexicon("tags")["rank"])
LANDMARKS = {tag: 1 << place for place, tag in enumerate(lexicon("tags")["landmarks"].split())}


class Sums:
    """Running sums over blocks, so that any container's totals are two look-ups."""

    __slots__ = ("good", "linked", "words")

    def __init__(self, shapes: list[Shape]) -> None:
        self.words = [0, *accumulate(s[0] for s in shapes)]
        self.linked = [0.0, *accumulate(s[0] * s[2] for s in shapes)]
        self.good = [0, *accumulate(s[0] * s[GOOD] for s in shapes)]  # words in paragraphs


CONTAINER = (
    "words", "linked", "blocks",
    "good",  # share of its words in paragraphs
    "goodshare",  # its share of the page's paragraphs
    "twins",  # siblings that look like it
    "tag",
)  # fmt: skip


def container(i: int, out: Outline, sums: Sums) -> tuple[float, ...]:
    """A container in numbers, in the order of CONTAINER."""
    a, b = out.first[i], out.last[i]
    twins, tag = out.twins[out.kin[i]], TAGS.get(out.tag[i], 5)
    if b <= a:
        return 0, 0.0, 0, 0.0, 0.0, twins, tag
    words = sums.words[b] - sums.words[a]
    good = sums.good[b] - sums.good[a]
    linked = (sums.linked[b] - sums.linked[a]) / words
    return words, linked, b - a, good / words, good / (sums.good[-1] or 1), twins, tag


class Heritage:
    """What each container has from its ancestors."""

    __slots__ = ("articles", "depth", "every", "high", "low", "marks", "near", "total")

    def __init__(self, out: Outline, sums: Sums) -> None:
        count, whole = len(out.parent), sums.words[-1] or 1
        self.every, self.near, self.marks, self.depth = [0] * count, [0] * count, [0] * count, [0] * count
        self.low, self.high, self.total = [0.0] * count, [0.0] * count, [0.0] * count
        self.articles = [(0, 0, 0.0)] * count  # articles around, twins and share of the innermost
        parent, mask = out.parent, out.mask
        for i in range(1, count):
            a, b = out.first[i], out.last[i]
            if b <= a:
                continue  # holds no text: nobody asks
            up, own, weight, tag = parent[i], mask[i], out.weight[i], out.tag[i]
            self.every[i] = self.every[up] | own
            self.near[i] = own | mask[up] | mask[parent[up]] if up > 0 else own
            self.marks[i] = self.marks[up] | LANDMARKS.get(tag, 0)
            self.depth[i] = self.depth[up] + 1
            low, high = self.low[up], self.high[up]
            self.low[i] = min(low, weight)
            self.high[i] = max(high, weight)
            self.total[i] = 0.75 * self.total[up] + weight
            inner = self.articles[up]
            if tag == "article":
                inner = (min(3, inner[0] + 1), out.twins[out.kin[i]], (sums.words[b] - sums.words[a]) / whole)
            self.articles[i] = inner


def trunk_of(out: Outline, sums: Sums) -> list[int]:
    """The way down from the body as long as one child holds most of the words in paragraphs."""
    best: dict[int, tuple[float, int]] = {}
    good = sums.good
    for i in range(1, len(out.tag)):
        a, b = out.first[i], out.last[i]
        if b > a and (held := good[b] - good[a]) > best.get(out.parent[i], (0, 0))[0]:
            best[out.parent[i]] = (held, i)
    way, here = [0], 0
    while here in best and best[here][0] >= 0.6 * good[-1]:
        here = best[here][1]
        way.append(here)
    return way


def branches(out: Outline, way: list[int]) -> list[int]:
    """For each container the child of the trunk that it is in, or itself on the trunk."""
    trunk = set(way)
    result = [0]
    for i in range(1, len(out.parent)):
        up = out.parent[i]
        result.append(i if up in trunk else result[up])
    return result


def distances(shapes: list[Shape]) -> tuple[list[int], list[int]]:
    """Blocks since the last paragraph and until the next, for each block."""
    before: list[int] = []
    after = [0] * len(shapes)
    far = FAR
    for s in shapes:
        before.append(far)
        far = 0 if s[GOOD] else min(FAR, far + 1)
    far = FAR
    for i in range(len(shapes) - 1, -1, -1):
        after[i] = far
        far = 0 if shapes[i][GOOD] else min(FAR, far + 1)
    return before, after


def sections(shapes: list[Shape]) -> list[tuple[int, int, int]]:
    """For each block: the heading it stands under (or -1) and the bounds of that section."""
    result: list[tuple[int, int, int]] = []
    begin, head = 0, -1
    for stop in [*(i for i, s in enumerate(shapes) if s[LEVEL]), len(shapes)]:
        result += [(head, begin, stop)] * (stop - begin)
        begin = head = stop
    return result


def repeats(blocks: list[Block]) -> tuple[list[int], dict[str, int]]:
    """How many earlier blocks begin like each block, and how often each text occurs."""
    starts: dict[str, int] = {}
    texts: dict[str, int] = {}
    again = []
    for block in blocks:
        text = block.text
        start = text[:40]
        count = starts.get(start, 0) if len(start) == 40 else 0
        again.append(count)
        starts[start] = count + 1
        texts[text] = texts.get(text, 0) + 1
    return again, texts


def card_of(c: int, out: Outline) -> tuple[int, int]:
    """The nearest container, at most five up, that looks like two siblings at least: how far up, and which."""
    for level in range(1, 6):
        if c <= 0:
            break
        if out.twins[out.kin[c]] >= 3 and out.tag[c] not in ("p", "li", "h2", "h3", "tr", "td"):
            return level, c
        c = out.parent[c]
    return 0, 0
