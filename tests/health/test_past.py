"""Which failures of a link count: three, three days apart."""

from __future__ import annotations

import pytest

from spaniel.verdicts import DAY, DEAD_AFTER, MIN_INTERVAL, failures_apart


@pytest.mark.req("LH-02")
@pytest.mark.parametrize(
    ("times", "count"),
    [
        *(((), 0), ((0.0,), 1), ((5.0, 6.0, 7.0), 1)),
        *(((0.0, 259_199.0), 1), ((0.0, 259_200.0), 2), ((259_200.0, 0.0), 2)),
        *(((0.0, 259_200.0, 518_399.0), 2), ((0.0, 259_200.0, 518_400.0), 3), ((0.0, 200_000.0, 400_000.0), 2)),
    ],
)
def test_failures_count_that_are_three_days_apart(times: tuple[float, ...], count: int) -> None:
    assert failures_apart(times) == count


def test_three_such_failures_are_enough() -> None:
    assert (DAY, MIN_INTERVAL, DEAD_AFTER) == (86_400, 3 * 86_400, 3)
