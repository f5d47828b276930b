"""A clock on which time passes only when nothing else can happen, and hosts that behave badly on it."""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from spaniel.hosts import Hosts, Politeness
from spaniel.hosts.hosts import USUAL
from spaniel.testing import FakeClock

R = TypeVar("R")
SETTLED = 40  # turns of the event loop after which everything waits for time to pass


class VirtualClock(FakeClock):
    """`await clock.drive(work)`: sleeps end in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.start = self.monotonic()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    @property
    def passed(self) -> float:
        return self.monotonic() - self.start

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic() + max(0.0, seconds), next(self._order), waits))
        await waits

    async def drive(self, work: Awaitable[R]) -> R:
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(SETTLED):
                await asyncio.sleep(0)
            if task.done():
                break
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            assert self._sleepers, "everything waits, and nothing will happen"
            at, _, waits = heapq.heappop(self._sleepers)
            self.advance(max(0.0, at - self.monotonic()))
            waits.set_result(None)
        return await task


def wait_of(hosts: Hosts, where: str, politeness: Politeness = USUAL) -> float:
    """Seconds until a request to a host would begin."""
    return max(0.0, hosts.ready_at(where, politeness) - hosts.clock.monotonic())


@dataclass(frozen=True)
class Page:
    id: int
    host: str


class Pages:
    """A source in memory. It knows how many items were read, and which are finished."""

    def __init__(self, *hosts: tuple[str, int]) -> None:
        numbers = count(1)
        self._of: dict[str, list[Page]] = {
            host: [Page(next(numbers), host) for _ in range(each)] for host, each in hosts
        }
        self.total = sum(each for _, each in hosts)
        self.finished: set[int] = set()
        self.reads: dict[str, list[int]] = defaultdict(list)

    def hosts(self) -> Iterator[tuple[str, int]]:
        left = {host: sum(page.id not in self.finished for page in pages) for host, pages in self._of.items()}
        yield from sorted(((host, n) for host, n in left.items() if n), key=lambda entry: -entry[1])

    def of_host(self, host: str, after: int, count: int) -> Sequence[Page]:
        self.reads[host].append(after)
        found = [page for page in self._of[host] if page.id > after and page.id not in self.finished]
        return found[:count]
