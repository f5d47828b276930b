"""What the model knows about a block: its text, its neighbours, its containers, its page."""

from __future__ import annotations

from itertools import accumulate
from math import log1p
from typing import TYPE_CHECKING

from spaniel.reading.words import text_weight

if TYPE_CHECKING:
    from spaniel.reading.blocks import Block, Outline

TAGS = {
    tag: place
    for place, tags in enumerate(
        "option button nav footer|time label small summary|a span|td th|li|div section article main body|dt dd|figcaption caption|"
        "h6 h5|h4|h3|h2|h1|center table|blockquote|p|pre".split("|")
    )
    for tag in tags.split()
}
LANDMARKS = {
    tag: 1 << place
    for place, tag in enumerate(
        "article main aside header footer nav form table ul ol li dl blockquote figure section details pre tr td h1 p fieldset "
        "noscript center h2 h3 h4".split()
    )
}
SHAPE = "words chars linked links stops commas ends level good digits caps lower signs tone title".split()
GOOD, LEVEL, TONE = 8, 7, 13
HEADINGS = {f"h{level}": level for level in range(1, 7)}
ENDS = frozenset(".。!?”\"’)")
DIGITS = frozenset("0123456789")


def shape(block: Block, tag: str, title: frozenset[str], tones: dict[str, float]) -> tuple[float, ...]:
    """A block's text in numbers, in the order of SHAPE. Of a long text the beginning tells as much as the whole."""
    text = block.text
    chars = len(text)
    count = text.count(" ") + 1
    linked = block.link_chars / chars if block.link_chars < chars else 1.0
    last = text[-1]
    ends = 3 if last in ENDS else 2 if last == ":" else 1 if last in "…»>→|" else 0
    level = HEADINGS.get(tag, 0)
    good = 1 if linked < 0.4 and (count >= 15 or chars > 120) and not level else 0
    head = text[:90]
    words = head.split(" ")
    low = head.lower().split(" ")
    alike = len(title.intersection(low)) / len(set(low)) if title and count < 40 else 0.0
    return (
        count, chars, linked, block.links, text.count(". ") + text.count("? ") + text.count("! ") + text.count("。"),
        text.count(",") + text.count("、"), ends, level, good, len([c for c in text[:40] if c in DIGITS]) / 40,
        len([w for w in words if w[:1].isupper()]) / len(words), 1 if text[0].islower() else 0,
        head.count("|") + head.count("·") + head.count("/") + head.count("»") + head.count("@"), text_weight(low, tones), alike,
    )  # fmt: skip


class Sums:
    """Running sums over blocks, so that any container's totals are two look-ups."""

    __slots__ = ("good", "heads", "linked", "words")

    def __init__(self, shapes: list[tuple[float, ...]]) -> None:
        self.words = [0, *accumulate(s[0] for s in shapes)]
        self.linked = [0, *accumulate(s[0] * s[2] for s in shapes)]
        self.good = [0, *accumulate(s[0] * s[8] for s in shapes)]
        self.heads = [0, *accumulate(1 if s[7] else 0 for s in shapes)]


CONTAINER = "words linked blocks good share goodshare heads twins tag".split()


def container(i: int, out: Outline, sums: Sums) -> tuple[float, ...]:
    """A container in numbers, in the order of CONTAINER."""
    a, b = out.first[i], out.last[i]
    words = sums.words[b] - sums.words[a]
    good = sums.good[b] - sums.good[a]
    return (
        words, (sums.linked[b] - sums.linked[a]) / (words or 1), b - a, good / (words or 1),
        words / (sums.words[-1] or 1), good / (sums.good[-1] or 1), sums.heads[b] - sums.heads[a],
        out.twins[out.kin[i]], TAGS.get(out.tag[i], 5),
    )  # fmt: skip


def trunk_of(out: Outline, sums: Sums) -> list[int]:
    """The way down from the body as long as one child holds most of the good words."""
    best: dict[int, tuple[float, int]] = {}
    for i in range(1, len(out.tag)):
        good = sums.good[out.last[i]] - sums.good[out.first[i]] if out.last[i] > out.first[i] else 0
        up = out.parent[i]
        if good > best.get(up, (0, 0))[0]:
            best[up] = (good, i)
    way, here, whole = [0], 0, sums.good[-1]
    while here in best and best[here][0] >= 0.6 * whole:
        here = best[here][1]
        way.append(here)
    return way


def inherit(out: Outline) -> tuple[list[int], list[int], list[int], list[float], list[float], list[float], list[int]]:
    """What each container has from its ancestors: masks of all and of the near ones, landmarks, weights, depth."""
    every, near, marks, depth = [], [], [], []
    low, high, total = [], [], []
    for i, up in enumerate(out.parent):
        own, weight = out.mask[i], out.weight[i]
        mark = LANDMARKS.get(out.tag[i], 0)
        if up < 0:
            every.append(0); near.append(0); marks.append(mark); depth.append(0)
            low.append(0.0); high.append(0.0); total.append(0.0)
        else:
            every.append(every[up] | own)
            near.append(own | out.mask[up] | (out.mask[out.parent[up]] if out.parent[up] > 0 else 0))
            marks.append(marks[up] | mark)
            depth.append(depth[up] + 1)
            low.append(min(low[up], weight)); high.append(max(high[up], weight)); total.append(0.75 * total[up] + weight)
    return every, near, marks, low, high, total, depth


NAMES = (
    [f"s.{n}" for n in SHAPE]
    + ["tag", "own", "near", "every", "marks", "low", "high", "total", "depth", "weight", "pweight"]
    + [f"c{k}.{n}" for k in range(1, 4) for n in CONTAINER]
    + ["card.level", "card.twins", "card.words"]
    + ["trunk.in", "trunk.depth", "branch.mask", "branch.weight", "branch.after"] + [f"branch.{n}" for n in CONTAINER]
    + [f"{w}.{n}" for w in ("prev", "next") for n in ("words", "linked", "level", "good", "tone", "same")]
    + ["prev2.words", "prev2.linked", "next2.words", "next2.linked", "window.words", "window.good"]
    + ["since.good", "until.good", "before", "after", "place", "h.tone", "h.mask", "h.since", "h.level", "h.words"]
    + ["art.depth", "art.twins", "art.share", "dup6", "web"]
    + ["dup", "h1.before", "h1.since", "sec.words", "sec.linked", "sec.good"]
)


def rows(out: Outline, shapes: list[tuple[float, ...]], page: tuple[float, ...]) -> list[tuple[float, ...]]:
    """One row for each block, in the order of NAMES, then the page's own numbers."""
    sums = Sums(shapes)
    every, near, marks, low, high, total, depth = inherit(out)
    way = trunk_of(out, sums)
    trunk = way[-1]
    inside = set(way)
    memo: dict[int, tuple[float, ...]] = {}
    branch: dict[int, int] = {}
    blocks, parent, tags, twins, kin = out.blocks, out.parent, out.tag, out.twins, out.kin
    n = len(blocks)
    seen: dict[str, int] = {}
    for b in blocks:
        seen[b.text] = seen.get(b.text, 0) + 1
    arts = _articles(out, sums)
    again = _again(blocks)
    good_before, good_after = _distances(shapes)
    a, z = out.first[trunk], out.last[trunk]
    whole, good_whole = sums.words[-1] or 1, sums.good[-1] or 1
    edge = (0,) * len(SHAPE)
    heads = _headings(shapes)
    h1 = next((i for i, s in enumerate(shapes) if s[LEVEL] == 1), -1)
    result = []

    def stats(i: int) -> tuple[float, ...]:
        if i not in memo:
            memo[i] = container(i, out, sums)
        return memo[i]

    for i, b in enumerate(blocks):
        c, s = b.container, shapes[i]
        up1 = parent[c] if c > 0 else 0
        up2 = parent[up1] if up1 > 0 else 0
        br = branch.get(c)
        if br is None:
            br, path = c, []
            while br > 0 and parent[br] not in inside and br not in branch:
                path.append(br)
                br = parent[br]
            br = branch.get(br, br)
            for p in path:
                branch[p] = br
            branch[c] = br
        card, level, here = 0, 0, c
        for k in range(5):
            if here <= 0:
                break
            t = twins[kin[here]]
            if t >= 3 and tags[here] not in ("p", "li", "h2", "h3", "tr", "td") :
                card, level = here, k + 1
                break
            here = parent[here]
        p1 = shapes[i - 1] if i else edge
        p2 = shapes[i - 2] if i > 1 else edge
        n1 = shapes[i + 1] if i + 1 < n else edge
        n2 = shapes[i + 2] if i + 2 < n else edge
        lo, hi = max(0, i - 3), min(n, i + 4)
        hd = heads[i]
        nh = heads[i + 1] if False else 0
        sec_a, sec_b = hd[1], hd[2]
        sw = sums.words[sec_b] - sums.words[sec_a]
        bs = stats(br)
        result.append((
            *s,
            TAGS.get(tags[c], 5), out.mask[c], near[c], every[c], marks[c], low[c], high[c], total[c], depth[c],
            out.weight[c], out.weight[up1],
            *stats(c), *stats(up1), *stats(up2),
            level, twins[kin[card]] if card else 0, stats(card)[0] if card else 0,
            1 if a <= i < z else 0, depth[c] - depth[trunk], out.mask[br], out.weight[br], (i >= z) - (i < a), *bs,
            p1[0], p1[2], p1[7], p1[8], p1[13], 1 if i and blocks[i - 1].container == c else 0,
            n1[0], n1[2], n1[7], n1[8], n1[13], 1 if i + 1 < n and blocks[i + 1].container == c else 0,
            p2[0], p2[2], n2[0], n2[2], sums.words[hi] - sums.words[lo], sums.good[hi] - sums.good[lo],
            good_before[i], good_after[i], sums.good[i] / good_whole, 1 - sums.good[i + 1] / good_whole, sums.words[i] / whole,
            shapes[hd[0]][TONE] if hd[0] >= 0 else 0.0, near[blocks[hd[0]].container] if hd[0] >= 0 else 0,
            i - hd[0] if hd[0] >= 0 else 99, shapes[hd[0]][LEVEL] if hd[0] >= 0 else 0, shapes[hd[0]][0] if hd[0] >= 0 else 0,
            *arts[c], again[i], 1 if b.text.startswith("http") else 0,
            seen[b.text], 1 if h1 >= 0 and i > h1 else 0 if h1 >= 0 else -1, min(99, i - h1) if h1 >= 0 else 99,
            sw, (sums.linked[sec_b] - sums.linked[sec_a]) / (sw or 1), (sums.good[sec_b] - sums.good[sec_a]) / (sw or 1),
            *page,
        ))  # fmt: skip
    return result


def _articles(out: Outline, sums: Sums) -> list[tuple[int, int, float]]:
    """For each container: how many articles it is in, how many look like the innermost, and its share of the words."""
    result: list[tuple[int, int, float]] = []
    whole = sums.words[-1] or 1
    for i, up in enumerate(out.parent):
        above = result[up] if up >= 0 else (0, 0, 0.0)
        if out.tag[i] == "article":
            words = sums.words[out.last[i]] - sums.words[out.first[i]] if out.last[i] > out.first[i] else 0
            above = (min(3, above[0] + 1), out.twins[out.kin[i]], words / whole)
        result.append(above)
    return result


def _again(blocks: list[Block]) -> list[int]:
    """How many earlier blocks begin with the same words: a page that carries its text twice."""
    seen: dict[str, int] = {}
    result = []
    for b in blocks:
        start = b.text[:40]
        count = seen.get(start, 0) if len(start) == 40 else 0
        result.append(count)
        seen[start] = count + 1
    return result


def _distances(shapes: list[tuple[float, ...]]) -> tuple[list[int], list[int]]:
    before, after, far = [], [0] * len(shapes), 50
    for s in shapes:
        before.append(far)
        far = 0 if s[GOOD] else min(50, far + 1)
    far = 50
    for i in range(len(shapes) - 1, -1, -1):
        after[i] = far
        far = 0 if shapes[i][GOOD] else min(50, far + 1)
    return before, after


def _headings(shapes: list[tuple[float, ...]]) -> list[tuple[int, int, int]]:
    """For each block: the heading it stands under and the bounds of that section."""
    starts = [i for i, s in enumerate(shapes) if s[LEVEL]]
    result: list[tuple[int, int, int]] = []
    begin, head = 0, -1
    for stop in [*starts, len(shapes)]:
        result += [(head, begin, stop)] * (stop - begin)
        begin = head = stop
    return result


PAGE = (
    ["words", "blocks", "linked", "good", "goodblocks", "heads", "h1", "articles", "pres", "trs", "forms", "times", "imgs", "prices"]
    + [f"in.{g}" for g in ("forum", "comment", "product", "review", "card", "docs", "content", "service")]
    + ["og", "ld", "url.depth", "url.dash", "url.root", "url.digits", "url.word", "generator", "titlewords", "main", "twinshare"]
)
