"""What is known of a link from earlier checks: all that a verdict needs of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spaniel.health.verdict import Hop

DAY = 86_400.0
APART = 3 * DAY  # between two checks that both count
ENOUGH = 3  # checks that failed, so far apart, with none good between


class Past(NamedTuple):
    """Earlier checks of one link. Times are seconds since 1970.

    A good check is one that got the page: ok, moved or changed. One that was blocked, rate-limited or unknown is
    neither good nor a failure, and is not in `failures`.
    """

    failures: tuple[float, ...] = ()  # when it failed, since it was good for the last time
    last_good: float | None = None
    chain: tuple[Hop, ...] = ()  # of the last good check
    final_url: str = ""  # where that one ended; "" where nobody knows
    text_sha256: str = ""  # of the extracted text, when it was read for the last time
    head_differs: bool = False  # HEAD and GET once disagreed at its host


NOTHING = Past()


def failures_apart(times: tuple[float, ...]) -> int:
    """How many checks count: from the first on, each that came at least three days after the one counted before it.

    Ten failures within an hour are one outage, and count once.
    """
    counted, last = 0, float("-inf")
    for time in sorted(times):
        if time - last >= APART:
            counted, last = counted + 1, time
    return counted
