"""Work on many things at once, and hand the results over in the order of the things; Ctrl-C keeps what is done."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

T = TypeVar("T")
R = TypeVar("R")

WINDOW = 128  # things that are begun before the first of them is handed over: room to find other hosts, and no more


async def in_order(
    things: AsyncIterator[T], work: Callable[[T], Awaitable[R]], hand_over: Callable[[R], None], window: int = WINDOW
) -> bool:
    """Whether all was done. If not, it was interrupted: what was done by then was handed over, the rest is stopped."""
    line: deque[asyncio.Task[R]] = deque()  # begun, not yet handed over
    begun: asyncio.Queue[asyncio.Task[R] | None] = asyncio.Queue()
    room = asyncio.Semaphore(window)

    async def feed() -> None:
        try:
            async for thing in things:
                await room.acquire()
                line.append(asyncio.ensure_future(work(thing)))
                begun.put_nowait(line[-1])
        finally:
            begun.put_nowait(None)

    feeding = asyncio.ensure_future(feed())
    try:
        while (first := await begun.get()) is not None:
            await asyncio.wait([first])  # not the task itself, which would be cancelled along with this one
            hand_over(first.result())
            line.popleft()
            room.release()
        await feeding
    except asyncio.CancelledError:
        for task in line:
            if task.done() and not task.cancelled():
                hand_over(task.result())
        return False
    finally:
        feeding.cancel()
        for task in line:
            task.cancel()
        await asyncio.gather(feeding, *line, return_exceptions=True)
    return True
