"""One wall-clock deadline for everything that a fetch does."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


class Deadline:
    """A moment on the loop's clock, and the phase that is under way, for whoever is stopped by it.

    It belongs to one fetch: the task that entered `guarding` first is the one that is stopped.
    """

    __slots__ = ("at", "guarded", "phase", "seconds", "stop")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = asyncio.get_running_loop().time() + seconds
        self.phase = "start"
        self.guarded: asyncio.Task[object] | None = None  # the task that is inside `guarding` already
        self.stop: asyncio.Timeout | None = None  # what stops it

    def left(self) -> float:
        return self.at - asyncio.get_running_loop().time()

    def within(self, seconds: float) -> Deadline:
        """A shorter one, for a part that may not use up the whole."""
        return Deadline(max(0.0, min(seconds, self.left())))

    def missed(self) -> SpanielError:
        return SpanielError(Code.TIMEOUT, timeout_ms=round(self.seconds * 1000), phase=self.phase)

    @contextmanager
    def held(self) -> Iterator[None]:
        """It stands still meanwhile: for a wait that is nobody's fault, such as a crawl's pauses at a host."""
        loop = asyncio.get_running_loop()
        began, timeout = loop.time(), self.stop
        if timeout is not None:
            timeout.reschedule(None)
        try:
            yield
        finally:
            self.at += loop.time() - began
            if timeout is not None and not timeout.expired():
                timeout.reschedule(self.at)

    def renew(self, seconds: float, latest: float) -> None:
        """Something has come: so many seconds more from now on, but not beyond a moment on the loop's clock."""
        self.at = min(latest, asyncio.get_running_loop().time() + seconds)
        if self.stop is not None and not self.stop.expired():
            self.stop.reschedule(self.at)

    def guarding(self, phase: str) -> _Guarding:
        """Whatever is awaited inside ends at the deadline, as the SRD's `timeout`."""
        self.phase = phase
        return _Guarding(self)


class _Guarding:
    __slots__ = ("_deadline", "_timeout")

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._timeout: asyncio.Timeout | None = None

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        if self._deadline.guarded is not task:  # inside, the outer one watches over all
            self._deadline.guarded = task
            self._timeout = self._deadline.stop = asyncio.timeout_at(self._deadline.at)
            await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timeout is None:
            return
        self._deadline.guarded = self._deadline.stop = None
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise self._deadline.missed() from None
