"""One wall-clock deadline for a whole fetch."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType

NEVER = float("inf")


class Deadline:
    """A point on the loop's clock, and the current phase, which the timeout error reports.

    It belongs to one fetch: the task that entered `guarding` first is cancelled when it passes.
    """

    __slots__ = ("_is_paused", "_watch", "at", "guarded", "phase", "seconds")

    def __init__(self, seconds: float) -> None:
        self._watch = _watch()
        self._is_paused = False
        self.seconds = seconds
        self.at = self._watch.loop.time() + seconds
        self.phase = "start"
        self.guarded: asyncio.Task[object] | None = None  # the task that is inside `guarding` already

    def left(self) -> float:
        return self.at - self._watch.loop.time()

    def within(self, seconds: float) -> Deadline:
        """A shorter deadline for a part of the fetch."""
        return Deadline(max(0.0, min(seconds, self.left())))

    def missed(self) -> SpanielError:
        return SpanielError(Code.TIMEOUT, timeout_ms=round(self.seconds * 1000), phase=self.phase)

    @property
    def due(self) -> float:
        """When the guarded task is cancelled."""
        return NEVER if self._is_paused else self.at

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock during a wait that does not count, such as the delay between two requests to a host."""
        began = self._watch.loop.time()
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False
            self._move(self.at + self._watch.loop.time() - began)

    def renew(self, seconds: float, latest: float) -> None:
        """Allow `seconds` more from now, but not beyond `latest` on the loop's clock."""
        self._move(min(latest, self._watch.loop.time() + seconds))

    def _move(self, at: float) -> None:
        self.at = at
        if self.guarded is not None:
            self._watch.ring_by(self.due)

    def guarding(self, phase: str) -> AbstractContextManager[None]:
        """Cancel what is awaited inside at the deadline and raise `timeout`."""
        self.phase = phase
        if self.guarded is not None and self.guarded is asyncio.current_task(self._watch.loop):
            return _NESTED  # the outer block enforces the deadline
        return _Guarding(self, self._watch)


_NESTED = nullcontext()


class _Guarding:
    """Like `asyncio.timeout_at`, without its own timer."""

    __slots__ = ("_cancelling", "_task", "_watch", "deadline", "is_over")
    _task: asyncio.Task[object]
    _cancelling: int  # cancellation requests that were pending on entry

    def __init__(self, deadline: Deadline, watch: _Watch) -> None:
        self.deadline, self._watch = deadline, watch
        self.is_over = False

    def __enter__(self) -> None:
        task = asyncio.current_task(self._watch.loop)
        assert task is not None  # noqa: S101  a coroutine that runs has one
        self._task = self.deadline.guarded = task
        self._cancelling = task.cancelling()
        self._watch.guarded[self] = None
        self._watch.ring_by(self.deadline.due)

    @property
    def due(self) -> float:
        return self.deadline.due

    def stop(self) -> None:
        self.is_over = True
        self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.deadline.guarded = None
        if not self.is_over:
            del self._watch.guarded[self]
        elif self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise self.deadline.missed() from None


class Alarm:
    """Calls `stop` after some seconds unless it is cancelled first, without its own timer."""

    __slots__ = ("_watch", "due", "stop")

    def __init__(self, seconds: float, stop: Callable[[], None]) -> None:
        self._watch, self.stop = _watch(), stop
        self.due = self._watch.loop.time() + seconds
        self._watch.guarded[self] = None
        self._watch.ring_by(self.due)

    def cancel(self) -> None:
        self._watch.guarded.pop(self, None)


class _Watch:
    """One timer for all deadlines of an event loop, set for the earliest.

    Nearly all deadlines are met, so a timer for each would be created and cancelled for nothing. This one stays set
    when its deadline is met, and checks the remaining ones when it fires.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.guarded: dict[_Guarding | Alarm, None] = {}  # an ordered set
        self._rings_at = NEVER
        self._timer: asyncio.TimerHandle | None = None

    def ring_by(self, at: float) -> None:
        """Make sure that the timer fires no later than `at`."""
        if at < self._rings_at:
            if self._timer is not None:
                self._timer.cancel()
            self._rings_at, self._timer = at, self.loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._rings_at, self._timer = NEVER, None
        now = self.loop.time()
        for late in [each for each in self.guarded if each.due <= now]:
            del self.guarded[late]
            late.stop()
        self.ring_by(min((each.due for each in self.guarded), default=NEVER))


class _ThreadLocal(threading.local):
    watch: _Watch | None = None


_local = _ThreadLocal()


def _watch() -> _Watch:
    """The running loop's watch. A thread runs one loop at a time."""
    loop = asyncio.get_running_loop()
    if _local.watch is None or _local.watch.loop is not loop:
        _local.watch = _Watch(loop)
    return _local.watch
