"""The learnt part: small trees that judge blocks and guess the kind of page.

`trees.py` is made by `tools/train_reading.py`: trees written as Python expressions, which run several times faster than
a walk over tables, start cold from bytecode, and need no numpy. `native.pyx` has the same trees turned into C.
"""

from __future__ import annotations

from itertools import islice
from math import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SOME = 1000  # rows that are judged at a time
CLEAR = 4.0  # a sum so far from zero is not changed by the trees that follow


def judge_blocks(rows: Iterable[tuple[float, ...]]) -> list[float]:
    """How likely each row's block is content."""
    waiting, odds = iter(rows), []
    while some := list(islice(waiting, SOME)):  # a row takes two kilobytes: all those of a long page are too many
        odds += _judge_some(some)
    return odds


def _judge_some(rows: list[tuple[float, ...]]) -> list[float]:
    from spaniel.reading import trees

    sums = [0.0] * len(rows)
    doubtful = list(range(len(rows)))
    for some in trees.BLOCK:
        for place, more in zip(doubtful, some([rows[i] for i in doubtful]), strict=True):
            sums[place] += more
        doubtful = [i for i in doubtful if -CLEAR < sums[i] < CLEAR]
    return [1 / (1 + exp(-total)) for total in sums]


def judge_again(rows: Iterable[tuple[float, ...]]) -> list[float]:
    """How likely each row's block is content at the second look: midway between what both looks say."""
    from spaniel.reading import trees

    waiting, odds = iter(rows), []
    while some := list(islice(waiting, SOME)):
        sums = [row[0] / 2 for row in some]
        for more in trees.AGAIN:
            sums = [total + value for total, value in zip(sums, more(some), strict=True)]
        odds += [1 / (1 + exp(-total)) for total in sums]
    return odds


def guess_kind(page: tuple[float, ...]) -> list[float]:
    """What each kind of page gets of one, in the order of columns.KINDS."""
    from spaniel.reading import trees

    scores = [sum(some([page])[0] for some in kind) for kind in trees.KIND]
    most = max(scores)
    powers = [exp(score - most) for score in scores]
    whole = sum(powers)
    return [power / whole for power in powers]
