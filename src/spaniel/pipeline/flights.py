"""One flight for all who want the same page at the same time."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")


class _Flight(Generic[T]):
    __slots__ = ("task", "trace", "waiting")

    def __init__(self, start: Callable[[Trace], Awaitable[T]]) -> None:
        self.trace = Trace()
        self.task = asyncio.ensure_future(_run(start, self.trace))
        self.waiting = 0


class Flights(Generic[T]):
    """Work under way, by what it is for. It ends early only when nobody waits for it any more."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Flight[T]] = {}

    async def join(self, key: Hashable, start: Callable[[Trace], Awaitable[T]], trace: Trace | None = None) -> T:
        """Wait for the flight, starting it if there is none; whoever is cancelled leaves it to the others.

        Its steps are told to everybody's trace, those before they came included.
        """
        flight = self._under_way.get(key)
        if flight is None:
            flight = self._under_way[key] = _Flight(start)
            flight.task.add_done_callback(partial(self._forget, key, flight))
        flight.waiting += 1
        trace = trace or Trace()
        flight.trace.feed(trace)
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiting == 1 and not flight.task.done():
                self._forget(key, flight)  # whoever comes now must not join what is ending
                flight.task.cancel()
                await asyncio.wait([flight.task])  # so that its connections are closed when this returns
            if flight.task.cancelled() and not _is_cancelled():
                raise SpanielError(Code.NETWORK, error="the client was closed meanwhile") from None
            raise
        finally:
            flight.waiting -= 1
            flight.trace.leave(trace)

    def _forget(self, key: Hashable, flight: _Flight[T], _task: object = None) -> None:
        if self._under_way.get(key) is flight:
            del self._under_way[key]

    async def close(self) -> None:
        """End what is under way: nobody will be there to take it."""
        tasks = [flight.task for flight in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_cancelled() -> bool:
    """Whether it is this task that is to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _run(start: Callable[[Trace], Awaitable[T]], trace: Trace) -> T:
    return await start(trace)
