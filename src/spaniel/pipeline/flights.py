"""One flight for all who want the same page at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")


class _Flight(Generic[T]):
    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class Flights(Generic[T]):
    """Work under way, by what it is for. It ends early only when nobody waits for it any more."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Flight[T]] = {}

    async def join(self, key: Hashable, start: Callable[[], Awaitable[T]]) -> T:
        """Wait for the flight, starting it if there is none; whoever is cancelled leaves it to the others."""
        flight = self._under_way.get(key)
        if flight is None:
            flight = self._under_way[key] = _Flight(asyncio.ensure_future(_run(start)))
            flight.task.add_done_callback(lambda _: self._under_way.pop(key, None))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiting == 1 and not flight.task.done():
                flight.task.cancel()
                await asyncio.wait([flight.task])  # so that its connections are closed when this returns
            raise
        finally:
            flight.waiting -= 1


async def _run(start: Callable[[], Awaitable[T]]) -> T:
    return await start()
