"""Asked to end from outside: a command stops as it does at Ctrl-C, and its exit code tells which signal it was."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Iterator
    from types import FrameType
    from typing import TypeVar

    T = TypeVar("T")

# What service managers, `timeout` and `kill` send, and what a terminal sends when it is closed; Windows has no such.
_ASKS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_asked_by: int = signal.SIGINT


def end_at_once() -> None:
    """While a command is loaded there is nothing to tidy up, and an exception would leave warnings behind.

    Whoever started us may have these signals ignored, as `nohup` does: then they stay so.
    """
    for number in (signal.SIGINT, *_ASKS):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def stop_when_asked() -> None:
    """From now on these signals are as Ctrl-C is."""
    for number in (signal.SIGINT, *_ASKS):
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _stop)


def stopped_code() -> int:
    """The exit code of a command that was stopped: what a shell shows for a program that the signal has ended."""
    return 128 + _asked_by


def run_until_asked(work: Coroutine[object, object, T]) -> T:
    """As `asyncio.run`, which at Ctrl-C cancels what it runs, so that it can keep what is done: here for all of them.

    It does not go by way of Ctrl-C's own handler, for a shell starts what runs in the background with that ignored.
    """
    import asyncio

    async def cancellable() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        for number in _ASKS:
            if task and signal.getsignal(number) is _stop:
                loop.add_signal_handler(number, _cancel, number, task)
        return await work

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _end(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


@contextmanager
def heard_by(end: Callable[[int], None]) -> Iterator[None]:
    """Ctrl-C and what else asks to end call `end` with the exit code, on the event loop, as often as they come.

    A signal that was ignored when the program was started stays so: by `nohup`, or of a job in the background.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ASKS)}
    heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in heard:
        with suppress(NotImplementedError):  # Windows: Ctrl-C ends it at once
            loop.add_signal_handler(number, end, 128 + number)
    try:
        yield
    finally:
        for number in heard:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
                signal.signal(number, before[number] or signal.SIG_DFL)


def _stop(number: int, _frame: FrameType | None) -> None:
    if _is_first(number):
        raise KeyboardInterrupt


def _cancel(number: int, task: asyncio.Task[object]) -> None:
    if _is_first(number):
        task.cancel()


def _is_first(number: int) -> bool:
    """One is enough, and a second must not disturb the tidying up: `timeout` sends two."""
    global _asked_by
    first, _asked_by = _asked_by == signal.SIGINT, number
    return first
