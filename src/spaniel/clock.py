"""What time it is, and how to wait: a port, so that tests wait for nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    class Clock(Protocol):
        """The wall's time for what is written down, a steady one for what is measured, and waiting."""

        def now(self) -> datetime: ...

        def monotonic(self) -> float: ...

        async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own."""

    def now(self) -> datetime:
        from datetime import UTC, datetime

        return datetime.now(UTC)

    def monotonic(self) -> float:
        import time

        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)
