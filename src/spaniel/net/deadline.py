"""One wall-clock deadline for everything that a fetch does."""

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
    """A moment on the loop's clock, and the phase that is under way, for whoever is stopped by it.

    It belongs to one fetch: the task that entered `guarding` first is the one that is stopped.
    """

    __slots__ = ("_is_held", "_watch", "at", "guarded", "phase", "seconds")

    def __init__(self, seconds: float) -> None:
        self._watch = _watch()
        self._is_held = False
        self.seconds = seconds
        self.at = self._watch.loop.time() + seconds
        self.phase = "start"
        self.guarded: asyncio.Task[object] | None = None  # the task that is inside `guarding` already

    def left(self) -> float:
        return self.at - self._watch.loop.time()

    def within(self, seconds: float) -> Deadline:
        """A shorter one, for a part that may not use up the whole."""
        return Deadline(max(0.0, min(seconds, self.left())))

    def missed(self) -> SpanielError:
        return SpanielError(Code.TIMEOUT, timeout_ms=round(self.seconds * 1000), phase=self.phase)

    @property
    def due(self) -> float:
        """When it stops whoever is guarded."""
        return NEVER if self._is_held else self.at

    @contextmanager
    def held(self) -> Iterator[None]:
        """It stands still meanwhile: for a wait that is nobody's fault, such as a crawl's pauses at a host."""
        began = self._watch.loop.time()
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self._move(self.at + self._watch.loop.time() - began)

    def renew(self, seconds: float, latest: float) -> None:
        """Something has come: so many seconds more from now on, but not beyond a moment on the loop's clock."""
        self._move(min(latest, self._watch.loop.time() + seconds))

    def _move(self, at: float) -> None:
        self.at = at
        if self.guarded is not None:
            self._watch.ring_by(self.due)

    def guarding(self, phase: str) -> AbstractContextManager[None]:
        """Whatever is awaited inside ends at the deadline, as the SRD's `timeout`."""
        self.phase = phase
        if self.guarded is not None and self.guarded is asyncio.current_task(self._watch.loop):
            return _INSIDE  # the outer one watches over all
        return _Guarding(self, self._watch)


_INSIDE = nullcontext()


class _Guarding:
    """As `asyncio.timeout_at`, without a timer of its own."""

    __slots__ = ("_cancelling", "_task", "_watch", "deadline", "is_over")
    _task: asyncio.Task[object]
    _cancelling: int  # times that somebody else had asked the task to end before

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
    """Calls `stop` after so many seconds unless it is cancelled before, without a timer of its own."""

    __slots__ = ("_watch", "due", "stop")

    def __init__(self, seconds: float, stop: Callable[[], None]) -> None:
        self._watch, self.stop = _watch(), stop
        self.due = self._watch.loop.time() + seconds
        self._watch.guarded[self] = None
        self._watch.ring_by(self.due)

    def cancel(self) -> None:
        self._watch.guarded.pop(self, None)


class _Watch:
    """One timer for all deadlines of an event loop, set for the first of them.

    Nearly all are met: a timer for each would be made, sorted in and thrown away for nothing. So this one stays set
    when the deadline that it was set for is met, and looks at those that are left when it rings.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.guarded: dict[_Guarding | Alarm, None] = {}  # in the order in which they came
        self._rings_at = NEVER
        self._timer: asyncio.TimerHandle | None = None

    def ring_by(self, at: float) -> None:
        """Not later than that."""
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


class _Here(threading.local):
    watch: _Watch | None = None


_here = _Here()


def _watch() -> _Watch:
    """The running loop's. A thread runs one loop at a time."""
    loop = asyncio.get_running_loop()
    if _here.watch is None or _here.watch.loop is not loop:
        _here.watch = _Watch(loop)
    return _here.watch
