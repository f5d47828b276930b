"""Iterating beside the event loop: a pipe that says nothing for an hour holds up neither fetches nor Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

TOGETHER = 1024  # a thread for each so many rows costs less than the rows themselves
MOST_BYTES = 4 << 20  # of what they were read from


class Sized(Protocol):
    @property
    def size(self) -> int: ...


T = TypeVar("T", bound=Sized)


class Taken(NamedTuple, Generic[T]):
    """Some rows, why there are no more of them, and whether there may be."""

    rows: list[T]
    failure: Exception | None
    ended: bool


async def beside_the_loop(rows: Iterator[T]) -> AsyncIterator[list[T]]:
    """The same rows in lists, taken by threads, one after another."""
    ended = False
    while not ended:
        taken, failure, ended = await _in_thread(rows)
        if taken:
            yield taken
        if failure is not None:
            raise failure


async def _in_thread(rows: Iterator[T]) -> Taken[T]:
    """A thread that nobody waits for at the end of the process, unlike those of `asyncio.to_thread`."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[Taken[T]] = loop.create_future()

    def tell(taken: Taken[T]) -> None:
        if not told.cancelled():
            told.set_result(taken)

    def run() -> None:
        taken = _take(rows)
        with suppress(RuntimeError):  # the loop is closed: nobody wants it
            loop.call_soon_threadsafe(tell, taken)

    threading.Thread(target=run, name="source", daemon=True).start()
    return await told


def _take(rows: Iterator[T]) -> Taken[T]:
    taken: list[T] = []
    size = 0
    try:
        for row in rows:
            taken.append(row)
            size += row.size
            if len(taken) >= TOGETHER or size >= MOST_BYTES:
                return Taken(taken, None, False)
    except Exception as error:  # noqa: BLE001  it is raised where the rows are wanted
        return Taken(taken, error, True)
    return Taken(taken, None, True)
