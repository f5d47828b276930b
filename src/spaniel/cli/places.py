"""How many fetches run concurrently, in total and per host. A fetch that waits here has not started its deadline."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING

from spaniel.clock import SystemClock
from spaniel.hosts.hosts import current_place
from spaniel.hosts.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from spaniel.hosts.scheduler import Lease

NEVER = float("-inf")


def host_in(url: str) -> str:
    """The host in whose queue a URL waits; invalid URLs share one."""
    return url.partition("://")[2].partition("/")[0].lower()


class _Fetch:
    """A fetch that waits for its slot, and then holds it."""

    def __init__(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        self.id = number
        self.begun: asyncio.Future[Lease[_Fetch]] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()


class Places:
    """Limits in total and per host, first come, first served: the scheduler, for fetches added one by one.

    Delays of hosts are applied later, in the fetch; while it waits for one, or before a retry, others use its slot.
    """

    def __init__(self, in_all: int, per_host: int) -> None:
        self._per_host = per_host
        self._scheduler = Scheduler[_Fetch](self, self, SystemClock(), at_once=in_all, first_alone=False)
        self._numbers = count(1)
        self._running: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def at(self, host: str) -> AsyncIterator[None]:
        fetch = _Fetch(next(self._numbers))
        self._scheduler.add(host, fetch)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        try:
            before = current_place.set(await fetch.begun)
            try:
                yield
            finally:
                current_place.reset(before)
        finally:
            fetch.ended.set_result(None)

    async def _run(self) -> None:
        while self._scheduler.has_items:
            await self._scheduler.run(_hold)

    # For the scheduler: no item source, and hosts that are always ready

    def hosts(self) -> Iterator[tuple[str, int]]:
        return iter(())

    def of_host(self, _host: str, _after: int, _count: int, /) -> list[_Fetch]:
        return []

    def ready_at(self, _host: str, /) -> float:
        return NEVER

    def places(self, _host: str, /) -> int:
        return self._per_host

    def reason(self, _host: str, /) -> str:
        return ""

    def given_up(self, _host: str, /) -> None:
        return None


async def _hold(lease: Lease[_Fetch]) -> None:
    fetch = lease.item
    if not fetch.begun.done():  # else it was cancelled while it waited
        fetch.begun.set_result(lease)
    await fetch.ended
