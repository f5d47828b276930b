"""What the model knows about a block: its text, its neighbours, its containers, the kind of page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.reading.shapes import EDGE, LEVEL, SHAPE, TONE
from spaniel.reading.surroundings import (
    CONTAINER,
    FAR,
    TAGS,
    Heritage,
    Sums,
    branches,
    card_of,
    container,
    distances,
    repeats,
    sections,
    trunk_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.reading.blocks import Outline
    from spaniel.reading.shapes import Shape

NAMES = (
    *(f"s.{name}" for name in SHAPE),
    "tag", "own", "near", "every", "marks", "low", "high", "total", "depth", "weight", "pweight",
    "art.depth", "art.twins", "art.share",
    *(f"c{k}.{name}" for k in (1, 2, 3) for name in CONTAINER),
    "card.level", "card.twins", "card.words",
    "trunk.in", "trunk.depth", "branch.mask", "branch.weight",
    *(f"branch.{name}" for name in CONTAINER),
    *(f"{side}.{name}" for side in ("prev", "next") for name in ("words", "linked", "level", "tone")),
    "window.words", "window.good", "since.good", "until.good", "before", "after", "place", "dup", "dup40", "h1.since",
    "h.tone", "h.level", "h.words", "h.mask", "h.since", "sec.words", "sec.linked", "sec.good",
)  # fmt: skip
SETS = ("own", "near", "every", "marks", "branch.mask", "h.mask")  # columns that are sets of bits


def rows(out: Outline, shapes: list[Shape], kinds: tuple[float, ...]) -> list[tuple[float, ...]]:
    """One row for each block, in the order of NAMES, then the likelihood of each kind of page."""
    sums = Sums(shapes)
    heritage = Heritage(out, sums)
    trees = _tree_columns(out, sums, heritage)
    flows = _flow_columns(out, shapes, sums, heritage)
    tree_of: dict[int, tuple[float, ...]] = {}
    result = []
    for i, block in enumerate(out.blocks):
        c = block.container
        tree = tree_of.get(c)
        if tree is None:
            tree = tree_of[c] = trees(c)
        result.append((*shapes[i], *tree, *flows(i), *kinds))
    return result


def _tree_columns(out: Outline, sums: Sums, heritage: Heritage) -> Callable[[int], tuple[float, ...]]:
    """The columns that all blocks of one container share."""
    way = trunk_of(out, sums)
    a, z = out.first[way[-1]], out.last[way[-1]]
    below = heritage.depth[way[-1]]
    branch = branches(out, way)
    memo: dict[int, tuple[float, ...]] = {}

    def stats(i: int) -> tuple[float, ...]:
        if (found := memo.get(i)) is None:
            found = memo[i] = container(i, out, sums)
        return found

    def columns(c: int) -> tuple[float, ...]:
        up = out.parent[c] if c > 0 else 0
        top = out.parent[up] if up > 0 else 0
        level, card = card_of(c, out)
        b = branch[c]
        return (
            TAGS.get(out.tag[c], 5), out.mask[c], heritage.near[c], heritage.every[c], heritage.marks[c],
            heritage.low[c], heritage.high[c], heritage.total[c], heritage.depth[c], out.weight[c], out.weight[up],
            *heritage.articles[c],
            *stats(c), *stats(up), *stats(top),
            level, stats(card)[5] if level else 0, stats(card)[0] if level else 0,
            1 if a <= out.first[c] < z else 0, heritage.depth[c] - below, out.mask[b], out.weight[b], *stats(b),
        )  # fmt: skip

    return columns


def _flow_columns(
    out: Outline, shapes: list[Shape], sums: Sums, heritage: Heritage
) -> Callable[[int], tuple[float, ...]]:
    """The columns that depend on what stands before and after a block."""
    blocks, n = out.blocks, len(shapes)
    since, until = distances(shapes)
    again, texts = repeats(blocks)
    under = sections(shapes)
    words, linked, good = sums.words, sums.linked, sums.good
    whole, paragraphs = words[-1] or 1, good[-1] or 1
    first = next((i for i, s in enumerate(shapes) if s[LEVEL] == 1), -1)

    def columns(i: int) -> tuple[float, ...]:
        p = shapes[i - 1] if i else EDGE
        f = shapes[i + 1] if i + 1 < n else EDGE
        lo, hi = i - 3 if i > 3 else 0, min(n, i + 4)
        head, a, b = under[i]
        h = shapes[head] if head >= 0 else EDGE
        size = words[b] - words[a]
        return (
            p[0], p[2], p[LEVEL], p[TONE], f[0], f[2], f[LEVEL], f[TONE],
            words[hi] - words[lo], good[hi] - good[lo], since[i], until[i],
            good[i] / paragraphs, 1 - good[i + 1] / paragraphs, words[i] / whole, texts[blocks[i].text], again[i],
            min(99, i - first) if first >= 0 else 99,
            h[TONE], h[LEVEL], h[0], heritage.near[blocks[head].container] if head >= 0 else 0,
            i - head if head >= 0 else 2 * FAR,
            size, (linked[b] - linked[a]) / size, (good[b] - good[a]) / size,
        )  # fmt: skip

    return columns
