"""Iterating beside the event loop: a pipe that says nothing for an hour holds up neither fetches nor Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

T = TypeVar("T")
Taken = tuple[list[T], Exception | None]
TOGETHER = 1024  # a thread for each so many costs less than the rows themselves


async def beside_the_loop(rows: Iterator[T]) -> AsyncIterator[list[T]]:
    """The same rows in lists, taken by threads, one after another."""
    more = True
    while more:
        taken, failure = await _in_thread(rows)
        if taken:
            yield taken
        if failure is not None:
            raise failure
        more = len(taken) == TOGETHER


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
    try:
        taken.extend(islice(rows, TOGETHER))  # what came before a failure stays
    except Exception as error:  # noqa: BLE001  it is raised where the rows are wanted
        return taken, error
    return taken, None
