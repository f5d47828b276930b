"""What all fetches of an engine share."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from spaniel.defaults import SHORT_PAGE_CHARS
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Trace
from spaniel.url.hostlists import HostList

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from spaniel.cache import PageCache
    from spaniel.cache.freshness import Freshness
    from spaniel.clock import Clock
    from spaniel.pipeline.readers import Readers
    from spaniel.pipeline.retrieve import Door, Renders
    from spaniel.pipeline.task import Attempts
    from spaniel.queue import Queue


T = TypeVar("T")


class _Flight(Generic[T]):
    __slots__ = ("task", "trace", "waiting")

    def __init__(self, start: Callable[[Trace], Awaitable[T]]) -> None:
        self.trace = Trace()
        self.task = asyncio.ensure_future(start(self.trace))
        self.waiting = 0


class Flights(Generic[T]):
    """Running work by key. It is cancelled only when no caller waits for it any more."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Flight[T]] = {}

    async def join(self, key: Hashable, start: Callable[[Trace], Awaitable[T]], trace: Trace | None = None) -> T:
        """Wait for the flight, starting it if there is none; a cancelled caller leaves it to the others.

        Every caller's trace gets its steps, including those before the caller joined.
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
                self._forget(key, flight)  # a new caller must not join a flight that is ending
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
        """Cancel all running work: no caller is left."""
        tasks = [flight.task for flight in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_cancelled() -> bool:
    """Whether this task itself is being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Writer:
    """Close it, or use it as a context manager; running fetches are awaited."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "spaniel-writer")

    async def write(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()


class Rendering(NamedTuple):
    """When the browser is used: the SRD's `[tools.webfetch.rendering]`, field by field."""

    js_heavy_domains: HostList = HostList(())  # rendered without trying HTTP first
    spa_fallback_enabled: bool = True
    min_extracted_chars: int = SHORT_PAGE_CHARS.default
    empty_fallback: bool = True


class Copies(NamedTuple):
    """Copies of a page on other sites: `[spaniel.archive]`, `[spaniel.search_cache]`, `[spaniel.mirrors]`."""

    archive_available: str = ""  # templates; empty: disabled
    archive_snapshot: str = ""
    search_cache: str = ""
    mirrors: tuple[tuple[str, str], ...] = ()  # prefixes of addresses and their replacements


class Services(NamedTuple):
    """What every fetch uses, opened and ready."""

    door: Door
    clock: Clock
    flights: Flights[Attempts]
    readers: Readers
    writer: Writer
    cache: PageCache | None = None
    renderer: Renders | None = None  # None: disabled
    rendering: Rendering = Rendering()
    copies: Copies = Copies()
    queue: Queue | None = None
    chance: Callable[[], float] = random.random  # from 0 to 1, for waits
    freshness: Freshness | None = None  # None: no profile needs it
