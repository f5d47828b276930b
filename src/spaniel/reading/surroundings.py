"""Where a block stands: sums over containers, what ancestors pass down, the trunk of the page, headings, repetition."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spaniel.reading.blocks import Block, Outline
    from spaniel.reading.shapes import Shape

FAR = 50
TAGS = {
    tag: place
    for place, tags in enumerate(
        "option button nav footer|time label small summary|a span|td th|li|div section article main body|dt dd|"
        "figcaption caption|h6 h5|h4|h3|h2|h1|center table|blockquote|p|pre".split("|")
    )
    for tag in tags.split()
}
LANDMARKS = {
    tag: 1 << place
    for place, tag in enumerate(
        "article main aside header footer nav form table ul ol li dl blockquote figure section details pre tr td h1 p "
        "fieldset noscript center h2 h3 h4".split()
    )
}


class Sums:
    """Running sums over blocks, so that any container's totals are two look-ups."""

    __slots__ = ("good", "linked", "words")

    def __init__(self, shapes: list[Shape]) -> None:
        self.words = [0, *accumulate(s[0] for s in shapes)]
        self.linked = [0.0, *accumulate(s[0] * s[2] for s in shapes)]
        self.good = [0, *accumulate(s[0] * s[8] for s in shapes)]


class Container(NamedTuple):
    words: int
    linked: float
    blocks: int
    good: float  # share of its words in paragraphs
    goodshare: float  # its share of the page's paragraphs
    twins: int  # siblings that look like it
    tag: int


def container(i: int, out: Outline, sums: Sums) -> Container:
    a, b = out.first[i], out.last[i]
    if b <= a:
        return Container(0, 0.0, 0, 0.0, 0.0, out.twins[out.kin[i]], TAGS.get(out.tag[i], 5))
    words = sums.words[b] - sums.words[a]
    good = sums.good[b] - sums.good[a]
    return Container(
        words,
        (sums.linked[b] - sums.linked[a]) / words,
        b - a,
        good / words,
        good / (sums.good[-1] or 1),
        out.twins[out.kin[i]],
        TAGS.get(out.tag[i], 5),
    )


class Heritage:
    """What each container has from its ancestors."""

    __slots__ = ("articles", "depth", "every", "high", "low", "marks", "near", "total")

    def __init__(self, out: Outline, sums: Sums) -> None:
        whole = sums.words[-1] or 1
        self.every, self.near, self.marks, self.depth = [0], [0], [0], [0]  # bits of all ancestors, of near ones, landmarks
        self.low, self.high, self.total = [0.0], [0.0], [0.0]  # least, greatest, fading sum of learnt weights
        self.articles: list[tuple[int, int, float]] = [(0, 0, 0.0)]  # articles around, twins and share of the innermost
        parent, mask = out.parent, out.mask
        for i in range(1, len(parent)):
            up, own, weight = parent[i], mask[i], out.weight[i]
            self.every.append(self.every[up] | own)
            self.near.append(own | mask[up] | mask[parent[up]] if up > 0 else own)
            self.marks.append(self.marks[up] | LANDMARKS.get(out.tag[i], 0))
            self.depth.append(self.depth[up] + 1)
            low, high = self.low[up], self.high[up]
            self.low.append(weight if weight < low else low)
            self.high.append(weight if weight > high else high)
            self.total.append(0.75 * self.total[up] + weight)
            inner = self.articles[up]
            if out.tag[i] == "article" and out.last[i] > out.first[i]:
                share = (sums.words[out.last[i]] - sums.words[out.first[i]]) / whole
                inner = (min(3, inner[0] + 1), out.twins[out.kin[i]], share)
            self.articles.append(inner)


def trunk_of(out: Outline, sums: Sums) -> list[int]:
    """The way down from the body as long as one child holds most of the words in paragraphs."""
    best: dict[int, tuple[int, int]] = {}
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
        far = 0 if s[8] else min(FAR, far + 1)
    far = FAR
    for i in range(len(shapes) - 1, -1, -1):
        after[i] = far
        far = 0 if shapes[i][8] else min(FAR, far + 1)
    return before, after


def sections(shapes: list[Shape]) -> list[tuple[int, int, int]]:
    """For each block: the heading it stands under (or -1) and the bounds of that section."""
    result: list[tuple[int, int, int]] = []
    begin, head = 0, -1
    for stop in [*(i for i, s in enumerate(shapes) if s[7]), len(shapes)]:
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
