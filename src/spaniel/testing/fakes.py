"""A clock and a resolver for tests: no waiting, no name server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.resolver import NXDOMAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.addresses import Address


START = datetime(2027, 1, 15, 8, tzinfo=UTC)


class FakeClock:
    """The system time, a monotonic clock, and sleeping."""

    def __init__(self, start: datetime = START) -> None:
        self._wall = start.timestamp()
        self._steady = 1000.0
        self.slept: list[float] = []  # all sleeps, in seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._wall, UTC)

    def time(self) -> float:
        """The same in seconds since 1970, as `time.time` gives it."""
        return self._wall

    def monotonic(self) -> float:
        return self._steady

    async def sleep(self, seconds: float) -> None:
        """Advance the clock at once, after other tasks that are ready have run."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Advance both clocks."""
        if seconds < 0:
            raise ValueError("time does not go back; `set` the clock on the wall")
        self._wall += seconds
        self._steady += seconds

    def set(self, moment: datetime | float) -> None:
        """Set the system time; the monotonic clock is not affected."""
        self._wall = moment.timestamp() if isinstance(moment, datetime) else moment


LOOPBACK = "127.0.0.1"

Answer = str | Sequence[str] | Exception


class FakeResolver:
    """Names to addresses; a name that is not in the table is at `elsewhere`, or unknown if that is None.

    A name can have one address, several, or none; an exception in their place is raised. The table can be changed while
    the resolver is in use. `asked` has every name that was looked up, in order.
    """

    def __init__(
        self,
        names: Mapping[str, Answer] | None = None,
        elsewhere: Answer | None = LOOPBACK,
    ) -> None:
        self.names = dict(names or {})
        self.elsewhere = elsewhere
        self.asked: list[str] = []

    async def resolve(self, host: str) -> Sequence[Address]:
        self.asked.append(host)
        found = self.names.get(host, self.elsewhere)
        if found is None:
            raise SpanielError(Code.DNS_FAILED, host=host, error="the test knows no such name", cause=NXDOMAIN)
        if isinstance(found, Exception):
            raise found
        return [ip_address(address) for address in ([found] if isinstance(found, str) else found)]
