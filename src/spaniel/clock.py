"""What time it is, and how to wait: a port, so that tests wait for nothing."""

from __future__ import annotations

import time
from datetime import UTC, datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Clock(Protocol):
        """The wall's time for what is written down, a steady one for what is measured, and waiting."""

        def now(self) -> datetime: ...

        def monotonic(self) -> float: ...

        async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)  # asked ten times for a link: a call of our own around it would double it

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)
