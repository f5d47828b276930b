"""The odds of a page's blocks once more, with those of the blocks and containers around each: they decide together.

The first look knows a block by what it is and where it stands. Here each block is seen with how likely its neighbours,
its containers and the blocks of its make are. `native_again.pxi` says the same for a C compiler.
"""

from __future__ import annotations

from itertools import accumulate
from math import exp, log
from typing import TYPE_CHECKING

from spaniel.reading.columns import LIGHT, SURELY, WINDOW
from spaniel.reading.model import CLEAR, judge_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spaniel.reading.blocks import Outline

SETTLED = 1 / (1 + exp(CLEAR))  # what the first look is so sure of is not looked at again

Row = tuple[float, ...]


def look_again(out: Outline, words: list[float], odds: list[float]) -> list[float]:
    """The odds after the second look."""
    doubtful = [i for i, p in enumerate(odds) if SETTLED < p < 1 - SETTLED]
    if not doubtful:
        return odds
    found = list(odds)
    for i, p in zip(doubtful, judge_again(rows_again(out, words, odds, doubtful)), strict=True):
        found[i] = p
    return found


def rows_again(out: Outline, words: list[float], odds: list[float], which: Iterable[int]) -> Iterator[Row]:
    """One row for each of these blocks, in the order of columns.AGAIN."""
    sizes = [count + LIGHT for count in words]
    size = [0.0, *accumulate(sizes)]
    mass = [0.0, *accumulate(s * p for s, p in zip(sizes, odds, strict=True))]
    sure = [0.0, *accumulate(s if p > SURELY else 0.0 for s, p in zip(sizes, odds, strict=True))]
    score = [-CLEAR, *map(_score, odds), -CLEAR]
    makes, like = _like(out, sizes, odds)
    first, last, parent, n = out.first, out.last, out.parent, len(odds)

    def mean(a: int, b: int) -> float:
        return (mass[b] - mass[a]) / (size[b] - size[a])

    page, most = mean(0, n), sure[-1] or 1.0
    for i in which:
        home = out.blocks[i].container
        up = parent[home] if home else 0
        above = parent[up] if up else 0
        yield (
            score[i + 1], score[i], score[i + 2], mean(max(0, i - WINDOW), min(n, i + WINDOW + 1)),
            mean(first[home], last[home]), mean(first[up], last[up]), mean(first[above], last[above]),
            like[makes[i]], page, sure[-1] / size[-1], sure[i] / most, 1 - sure[i + 1] / most, words[i],
        )  # fmt: skip


def _score(p: float) -> float:
    """As the trees count: between what is settled for and against."""
    if p <= SETTLED:
        return -CLEAR
    return CLEAR if p >= 1 - SETTLED else log(p / (1 - p))


def _like(out: Outline, sizes: list[float], odds: list[float]) -> tuple[list[object], dict[object, float]]:
    """For each block its make, as `features.py` has it; for each make how likely its blocks are."""
    kin, parent = out.kin, out.parent
    makes: list[object] = [
        (kin[b.container][1:], kin[parent[b.container] if b.container else 0][1:]) for b in out.blocks
    ]
    tally: dict[object, list[float]] = {}
    for make, s, p in zip(makes, sizes, odds, strict=True):
        count = tally.setdefault(make, [0.0, 0.0])
        count[0] += s * p
        count[1] += s
    return makes, {make: mass / size for make, (mass, size) in tally.items()}
