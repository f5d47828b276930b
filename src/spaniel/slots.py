"""So many at once, first come, first served: an `asyncio.Semaphore` that costs little where there is no wait."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """Take one, or wait for one; give it back."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Whether one was free, and is now taken."""
        if self._free:
            self._free -= 1
            return True
        return False

    async def wait(self) -> None:
        """Until one is free, and is taken."""
        if self.take():
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except BaseException:
            if mine.done() and not mine.cancelled():
                self.release()  # it came too late
            elif mine in self._waiting:  # else a release has skipped it already
                self._waiting.remove(mine)
            raise

    def release(self) -> None:
        """To the one that has waited longest."""
        while self._waiting:
            next_ = self._waiting.popleft()
            if not next_.done():
                next_.set_result(None)
                return
        self._free += 1
