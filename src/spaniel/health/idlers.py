"""Askers that have nothing to ask just now, and are called one by one when there is."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.clock import Clock

NEVER = float("inf")


class Idlers:
    """Who has waited longest is called first."""

    __slots__ = ("_alarm", "_clock", "_due", "_waiting")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.Task[None] | None = None
        self._due = NEVER

    def __bool__(self) -> bool:
        return bool(self._waiting)

    async def wait(self) -> None:
        """Until somebody calls."""
        self._waiting.append(mine := asyncio.get_running_loop().create_future())
        await mine

    def wake_one(self) -> None:
        """If there is one: who was stopped while it waited is passed over."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return

    def wake_all(self) -> None:
        while self._waiting:
            self.wake_one()

    def wake_one_at(self, due: float) -> None:
        """When the clock says so; the earliest of such times counts."""
        if due >= self._due:
            return
        self.close()
        self._due = due
        self._alarm = asyncio.create_task(self._ring())

    async def _ring(self) -> None:
        await self._clock.sleep(max(0.0, self._due - self._clock.monotonic()))
        self._due = NEVER
        self.wake_one()

    def close(self) -> None:
        """Nobody is called by the clock any more."""
        if self._alarm is not None:
            self._alarm.cancel()
