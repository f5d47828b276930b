"""How long hosts take to answer: the slowest are shown."""

from __future__ import annotations

import heapq
from typing import NamedTuple

MOST_KNOWN = 2000  # hosts; of more, the slower half is kept
LEAST_ANSWERS = 3  # before a host may be called slow: a first answer has a look-up and a handshake in it


class Slow(NamedTuple):
    """A host and its answers, from the request to the last byte."""

    host: str
    seconds: float  # on the average
    answers: int


class AnswerTimes:
    """Sums by host; hosts that are quick are forgotten first."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float]] = {}

    def took(self, host: str, seconds: float) -> None:
        count, total = self._known.get(host, (0, 0.0))
        self._known[host] = count + 1, total + seconds
        if len(self._known) > MOST_KNOWN:
            self._known = dict(heapq.nlargest(MOST_KNOWN // 2, self._known.items(), key=_mean))

    def slowest(self, most: int) -> list[Slow]:
        """The slowest first; those with too few answers only where there are no others."""
        known = [found for found in self._known.items() if found[1][0] >= LEAST_ANSWERS] or self._known.items()
        return [Slow(host, total / count, count) for host, (count, total) in heapq.nlargest(most, known, key=_mean)]


def _mean(found: tuple[str, tuple[int, float]]) -> float:
    count, total = found[1]
    return total / count
