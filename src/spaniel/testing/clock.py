"""A clock that stands still until a test moves it; waiting for it takes no time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

START = datetime(2027, 1, 15, 8, tzinfo=UTC)


class FakeClock:
    """The wall's time, a steady one, and waiting, as Spaniel asks for them."""

    def __init__(self, start: datetime = START) -> None:
        self._wall = start.timestamp()
        self._steady = 1000.0
        self.slept: list[float] = []  # every wait that was asked for, in seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._wall, UTC)

    def time(self) -> float:
        """The same in seconds since 1970, as `time.time` gives it."""
        return self._wall

    def monotonic(self) -> float:
        return self._steady

    async def sleep(self, seconds: float) -> None:
        """Be there at once; whoever else is ready to run runs first."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Let time go by."""
        if seconds < 0:
            raise ValueError("time does not go back; `set` the clock on the wall")
        self._wall += seconds
        self._steady += seconds

    def set(self, moment: datetime | float) -> None:
        """Put the clock on the wall to another time, as people and computers do; the steady one does not notice."""
        self._wall = moment.timestamp() if isinstance(moment, datetime) else moment
