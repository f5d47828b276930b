"""A fair semaphore: like `asyncio.Semaphore`, at a fraction of its cost when there is no contention."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """A fixed number of slots, given out in the order of requests."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a slot if one is free; return whether it was."""
        if self._free:
            self._free -= 1
            return True
        return False

    async def wait(self) -> None:
        """Wait for a free slot and take it."""
        if self.take():
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except BaseException:
            if mine.done() and not mine.cancelled():
                self.release()  # a slot was assigned just before the cancellation
            elif mine in self._waiting:  # else `release` has skipped and removed it already
                self._waiting.remove(mine)
            raise

    def release(self) -> None:
        """Give a slot back: to the longest waiting task, if there is one."""
        while self._waiting:
            next_ = self._waiting.popleft()
            if not next_.done():
                next_.set_result(None)
                return
        self._free += 1
