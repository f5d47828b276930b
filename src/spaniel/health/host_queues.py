"""Which link next: a queue for each host, and a heap of hosts by the time at which they may be asked.

A host is taken up when there is a place for it and nobody else is ready, those with most links first. So the number
of hosts that are held in memory goes with what is under way, not with what there is to do. As a rule one asker at a
time has a host in its hands; where more may, others share it if nothing else is to be had: load is spread first.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.ports import Heard
    from spaniel.health.spool import Queued, Spool

AHEAD = 16  # links of a host that are read together
FIRST = 1  # links of a host that are asked alone in any case: they show whether HEAD can be believed


class HostQueue:
    """One host, and what came of it so far."""

    __slots__ = (
        *("alone", "buffer", "given_up", "given_up_as", "hands", "heard", "host", "in_heap", "is_shared", "last_id"),
        *("left", "put_off", "silent", "unasked", "waited", "waits_until"),
    )

    def __init__(self, host: str, left: int, heard: Heard | None) -> None:
        self.host = host
        self.left = left  # links that are not told yet
        self.unasked = left  # and that nobody has taken up
        self.alone = FIRST  # links until it may be in more hands than one
        self.hands = 0  # askers that have it
        self.in_heap = self.is_shared = False
        self.buffer: deque[Queued] = deque()
        self.last_id = 0
        self.waited = 0.0  # seconds, because it asked for them
        self.waits_until = 0.0  # when the last of them are over
        self.put_off = 0  # times in a row that it asked for time
        self.silent = 0  # times in a row that it did not answer in time
        self.heard = heard  # the best that any request came to; None where none was made
        self.given_up = ""  # why it is asked no more
        self.given_up_as = Verdict.UNKNOWN  # what is told of its other links

    def give_up(self, verdict: Verdict, why: str) -> None:
        self.given_up_as, self.given_up = verdict, why

    def hear(self, heard: Heard | None) -> None:
        if heard is not None and (self.heard is None or heard > self.heard):
            self.heard = heard

    def take(self) -> Queued:
        self.unasked -= 1
        return self.buffer.popleft()

    def put_back(self, queued: Queued) -> None:
        self.unasked += 1
        self.buffer.appendleft(queued)

    def wait(self, now: float, seconds: float, most: float) -> bool:
        """Leave it alone for so long, counted once whoever hears of it; False where that is more than it may ask."""
        more = now + seconds - max(now, self.waits_until)
        if more <= 0:
            return True
        if more > most - self.waited:
            return False
        self.waited += more
        self.waits_until = now + seconds
        return True


class HostQueues:
    """Each host is in the hands of askers, so many at the most, in the heap if there may be one more, or done."""

    def __init__(self, spool: Spool, per_host: int = 1) -> None:
        self._spool, self._per_host = spool, per_host
        self._hosts = spool.hosts()
        self._heap: list[tuple[float, int, HostQueue]] = []
        self._shared: deque[HostQueue] = deque()
        self._order = count()  # of two that are due at one time, the first to come
        self._all_taken_up = False
        self._in_hands = 0
        self.counts = spool.hosts_done_before()

    def next(self, now: float) -> HostQueue | None:
        """A host that may be asked now; None where there is none yet, or none any more."""
        if self._heap and self._heap[0][0] <= now:
            queue = heappop(self._heap)[2]
            queue.in_heap = False
        elif (other := self._take_up() or self._take_shared()) is not None:
            queue = other
        else:
            return None
        self._in_hands += 1
        queue.hands += 1
        return queue

    def share(self, queue: HostQueue) -> bool:
        """Somebody has taken a link of it up: whether another may at the same time. Then it is there for them."""
        if not self._may_be_shared(queue) or queue.is_shared:
            return False
        queue.is_shared = True
        self._shared.append(queue)
        return True

    def _may_be_shared(self, queue: HostQueue) -> bool:
        return bool(queue.unasked and 0 < queue.hands < self._per_host and not queue.alone and not queue.in_heap)

    def _take_shared(self) -> HostQueue | None:
        while self._shared:
            queue = self._shared.popleft()
            queue.is_shared = False
            if self._may_be_shared(queue):
                return queue
        return None

    def is_ready(self, now: float) -> bool:
        """Whether there may be one more."""
        return not self._all_taken_up or bool(self._shared or (self._heap and self._heap[0][0] <= now))

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
        queue.hands -= 1
        if queue.alone:
            queue.alone -= 1
        if queue.unasked:
            if not queue.in_heap:
                self._push(queue, due)
        elif not queue.hands:
            self._count(queue)

    def _push(self, queue: HostQueue, due: float) -> None:
        queue.in_heap = True
        heappush(self._heap, (due, next(self._order), queue))

    def _count(self, queue: HostQueue) -> None:
        if queue.heard is not None:
            self.counts = self.counts.with_one(queue.heard)

    def soonest(self) -> float | None:
        """When the next host may be asked of those that wait."""
        return self._heap[0][0] if self._heap else None

    def is_over(self) -> bool:
        return not self._heap and not self._in_hands and self._all_taken_up

    def count_the_rest(self) -> None:
        """Hosts that were asked and still wait, where a run is stopped."""
        for _, _, queue in self._heap:
            self._count(queue)

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
        while queue.unasked:
            self.links(queue)
            yield queue.take()
