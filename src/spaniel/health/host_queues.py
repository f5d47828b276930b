"""Which link next: a queue for each host, and a heap of hosts by the time at which they may be asked.

A host is taken up when there is a place for it and nobody else is ready, those with most links first. So the number
of hosts that are held in memory goes with what is under way, not with what there is to do.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from spaniel.health.spool import REACHED
from spaniel.health.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.spool import Queued, Spool

AHEAD = 16  # links of a host that are read together


class HostQueue:
    """One host, and what came of it so far."""

    __slots__ = (
        *("asked", "buffer", "given_up", "given_up_as", "host", "last_id", "left", "put_off", "reached", "silent"),
        "waited",
    )

    def __init__(self, host: str, left: int, earlier: int) -> None:
        self.host = host
        self.left = left  # links that are not told yet
        self.buffer: deque[Queued] = deque()
        self.last_id = 0
        self.waited = 0.0  # seconds, because it asked for them
        self.put_off = 0  # times in a row that it asked for time
        self.silent = 0  # times in a row that it did not answer in time
        self.asked, self.reached = earlier > 0, earlier == REACHED
        self.given_up = ""  # why it is asked no more
        self.given_up_as = Verdict.UNKNOWN  # what is told of its other links

    def give_up(self, verdict: Verdict, why: str) -> None:
        self.given_up_as, self.given_up = verdict, why

    def put_back(self, queued: Queued) -> None:
        self.buffer.appendleft(queued)


class HostQueues:
    """Each host is at one time in the hands of one asker, in the heap, or done."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._hosts = spool.hosts()
        self._heap: list[tuple[float, int, HostQueue]] = []
        self._order = 0
        self._all_taken_up = False
        self._in_hands = 0
        self.hosts_asked, self.hosts_reached = spool.hosts_done_before()

    def next(self, now: float) -> HostQueue | None:
        """A host that may be asked now; None where there is none yet, or none any more."""
        if self._heap and self._heap[0][0] <= now:
            queue = heappop(self._heap)[2]
        elif (new := self._take_up()) is not None:
            queue = new
        else:
            return None
        self._in_hands += 1
        return queue

    def is_ready(self, now: float) -> bool:
        """Whether there may be one more."""
        return not self._all_taken_up or bool(self._heap and self._heap[0][0] <= now)

    def _take_up(self) -> HostQueue | None:
        if self._all_taken_up:
            return None
        found = next(self._hosts, None)
        if found is None:
            self._all_taken_up = True
            return None
        return HostQueue(*found)

    def links(self, queue: HostQueue) -> list[Queued]:
        """What is now read ahead of a host's links, where there was nothing left."""
        if queue.buffer:
            return []
        found = self._spool.of_host(queue.host, queue.last_id, AHEAD)
        queue.buffer.extend(found)
        queue.last_id = found[-1].id
        return found

    def give_back(self, queue: HostQueue, due: float) -> None:
        """To be asked again at that time; or never, if nothing is left to ask."""
        self._in_hands -= 1
        if queue.left:
            self._order += 1
            heappush(self._heap, (due, self._order, queue))
        else:
            self._count(queue.asked, queue.reached)

    def _count(self, asked: bool, reached: bool) -> None:
        self.hosts_asked += asked
        self.hosts_reached += asked and reached

    def soonest(self) -> float | None:
        """When the next host may be asked of those that wait."""
        return self._heap[0][0] if self._heap else None

    def is_over(self) -> bool:
        return not self._heap and not self._in_hands and self._all_taken_up

    def count_the_rest(self) -> None:
        """Hosts that were asked and still wait, where a run is stopped."""
        for _, _, queue in self._heap:
            self._count(queue.asked, queue.reached)

    def waiting(self, now: float) -> Iterator[tuple[str, float, int]]:
        """Hosts that are waited for, for how many seconds, and what is left at each."""
        for due, _, queue in self._heap:
            if due > now:
                yield queue.host, due - now, queue.left

    def rest(self) -> Iterator[Queued]:
        """All links that nobody has asked, once nobody asks any more."""
        for _, _, queue in self._heap:
            yield from self._rest_of(queue)
        while (queue_ := self._take_up()) is not None:
            yield from self._rest_of(queue_)

    def _rest_of(self, queue: HostQueue) -> Iterator[Queued]:
        while queue.left:
            self.links(queue)
            queue.left -= 1
            yield queue.buffer.popleft()
