"""The learnt part: small trees that judge blocks and guess the kind of page.

`learnt.py` is made by `tools/train_reading.py`: words with weights, and trees written as Python expressions, which run
several times faster than a walk over tables, start cold from bytecode, and need no numpy.
"""

from __future__ import annotations

from math import exp

from spaniel.reading import learnt

CLEAR = 2.0  # a sum so far from zero is not changed by the trees that follow


def judge_blocks(rows: list[tuple[float, ...]]) -> list[float]:
    """How likely each row's block is content."""
    sums = [0.0] * len(rows)
    doubtful = list(range(len(rows)))
    for trees in learnt.BLOCK:
        for place, more in zip(doubtful, trees([rows[i] for i in doubtful]), strict=True):
            sums[place] += more
        doubtful = [i for i in doubtful if -CLEAR < sums[i] < CLEAR]
    return [1 / (1 + exp(-total)) for total in sums]


def guess_kind(page: tuple[float, ...]) -> list[float]:
    """What each kind of page gets of one, in the order of KINDS."""
    scores = [sum(trees([page])[0] for trees in kind) for kind in learnt.KIND]
    most = max(scores)
    powers = [exp(score - most) for score in scores]
    whole = sum(powers)
    return [power / whole for power in powers]
