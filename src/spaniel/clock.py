"""The clock: current time and sleeping, behind a protocol so that tests can use a fake clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Clock(Protocol):
        """Wall-clock time for records, monotonic time for durations, and sleeping."""

        def now(self) -> datetime: ...

        def monotonic(self) -> float: ...

        async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The system's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)  # called ten times per link: a wrapper method would double its cost

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)
