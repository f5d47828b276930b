"""What every long command shares: progress on the terminal, signals, exit codes, start and garbage collection.

On a terminal a display is redrawn in place and never wider than the terminal. Otherwise a line is written every
`LINE_SECONDS`. With --quiet there is neither. The first signal (Ctrl-C, SIGTERM, SIGHUP) lets what is in flight
finish, the second stops immediately; a signal that was ignored at the start, by `nohup` or for a background job,
stays ignored.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections import Counter
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
    from contextlib import AbstractAsyncContextManager
    from types import FrameType
    from typing import Any, TextIO, TypeVar

    Parts = Iterable[str]  # of a line; the last are left out if they do not fit

    T = TypeVar("T")
    R = TypeVar("R")


REDRAW_SECONDS = 0.2
LINE_SECONDS = 30.0
SAME_SIGNAL_SECONDS = 0.05  # `timeout` sends each signal twice, to the process and to its group: that is one request
WINDOW = 128  # tasks created before the first result is handed over: enough to find other hosts
USUAL_SIZE = (80, 24)
BAR, NARROWEST_BAR = 24, 8  # columns

# What a terminal, `kill`, `timeout` and service managers send, and a terminal that is closed. Windows has no SIGHUP.
STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_stopped_by = 0


# Before and beside long runs: signals of the process


def end_on_signals() -> None:
    """End the process on a signal while a command is loading: there is nothing to clean up, and an exception would
    leave warnings behind."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def interrupt_on_signals() -> None:
    """From now on these signals raise `KeyboardInterrupt`, as Ctrl-C does."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _interrupt)


def stopped_code() -> int:
    """The exit code of a command that was stopped: what a shell shows for a program that the signal ended."""
    return 128 + (_stopped_by or signal.SIGINT)


def signal_code() -> int:
    """The same if a signal was received, else 0."""
    return 128 + _stopped_by if _stopped_by else 0


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`; what a signal cancels, before or after the long run itself, ends as at Ctrl-C."""
    import asyncio

    try:
        return asyncio.run(work)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _end(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """One is enough, and a second must not disturb the clean-up."""
    global _stopped_by
    first, _stopped_by = not _stopped_by, number
    if first:
        raise KeyboardInterrupt


# The display


def say(text: str, prefix: str = "spaniel: ") -> None:
    """A line on standard error, which may have been closed."""
    _write(f"{prefix}{text}\n")


def fitted(parts: Parts, width: int) -> str:
    """As many parts as there are columns for, the first in any case. Wide characters take two columns.

    A line as wide as the terminal would wrap, and each redraw would scroll: callers leave the last column free.
    """
    from rich.cells import cell_len, set_cell_size

    line = ""
    for part in parts:
        if cell_len(line + part) > width:
            return line or set_cell_size(part, max(0, width - 1)).rstrip() + "…"
        line += part
    return line


def counted(count: int, what: str) -> str:
    """A number and what it counts: `1 link`, `2,000 links`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def listed(name: str, values: Iterable[str]) -> Iterator[str]:
    """Parts of a line: a name, and as many values as fit."""
    for number, value in enumerate(values):
        yield f", {value}" if number else f"{name}{value}"


def in_words(seconds: float) -> str:
    """In the two largest units: `3 h 20 min`."""
    for size, unit, smaller, name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} {int(seconds % size // smaller)} {name}"
    return f"{seconds:.1f} s"


def may_color(out: TextIO) -> bool:
    """Whether the output is a terminal that shows colors (https://no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR")


def colors() -> tuple[str, str, str, str]:
    """Red, green, dim and off; empty if standard output shows no colors."""
    return ("\033[31m", "\033[32m", "\033[2m", "\033[0m") if may_color(sys.stdout) else ("", "", "", "")


class Display:
    """Lines that are redrawn in place. `lines` are made anew each time; the first is all that is shown elsewhere."""

    def __init__(
        self, lines: Callable[[], list[Parts]], *, quiet: bool, share: Callable[[], float] | None = None
    ) -> None:
        """`share`: how much is done, 0 to 1, for a bar before the first tasks."""
        self._lines, self._share, self._quiet = lines, share, quiet
        self._on_terminal = not quiet and sys.stderr.isatty()
        self._drawn: list[int] = []  # the columns of each line on the terminal
        self._last = time.monotonic()

    @property
    def seconds(self) -> float:
        """Between two updates."""
        return REDRAW_SECONDS if self._on_terminal else LINE_SECONDS

    def update(self) -> None:
        """Redraw, or write a line, if it is time."""
        if not self._quiet and time.monotonic() - self._last >= self.seconds:
            self._last = time.monotonic()
            if self._on_terminal:
                self.draw()
            else:
                say("".join(self._lines()[0]))

    def draw(self) -> None:
        if not self._on_terminal:
            return
        from rich.cells import cell_len

        columns, rows = _terminal_size()
        first, *more = self._lines()
        lines = [self._with_bar(first, columns - 1), *(fitted(parts, columns - 1) for parts in more)]
        lines = [line for line in lines if line][: max(1, rows - 1)]
        text = f"{self._clearing(columns)}{chr(10).join(lines)}"
        self._drawn = [cell_len(line) for line in lines]
        _write(text)

    def clear(self) -> None:
        """Before anything else is written: the terminal may be the same."""
        if self._drawn:
            text = self._clearing(_terminal_size()[0])
            self._drawn = []
            _write(text)

    def _clearing(self, columns: int) -> str:
        """Lines wrap if the terminal became narrower meanwhile."""
        rows = sum(max(1, -(-width // columns)) for width in self._drawn)
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (rows - 1)

    def _with_bar(self, parts: Parts, width: int) -> str:
        """The line, and a bar in the columns that it leaves free."""
        from rich.cells import cell_len

        line = fitted(parts, width)
        space = min(BAR, width - cell_len(line) - len("[] "))
        if self._share is None or space < NARROWEST_BAR:
            return line
        full = int(space * min(1.0, self._share()))
        return f"[{'#' * full}{'.' * (space - full)}] {line}"


@contextmanager
def reading(*, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Shows how many URLs were read of the sources, before the run begins."""
    count = 0
    display = Display(lambda: [[f"reading: {count:,} URLs"]], quiet=quiet)

    def show(number: int) -> None:
        nonlocal count
        count = number
        display.draw()

    try:
        yield show
    finally:
        display.clear()


def _terminal_size() -> tuple[int, int]:
    """Columns and rows, as they are now."""
    try:
        found = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return USUAL_SIZE
    return found.columns or USUAL_SIZE[0], found.lines or USUAL_SIZE[1]


def _write(text: str) -> None:
    with suppress(OSError, RuntimeError):  # the terminal may be gone; a signal may arrive in the middle of a write
        sys.stderr.write(text)
        sys.stderr.flush()


def _after(seconds: float, call: Callable[[], None]) -> None:
    time.sleep(seconds)
    call()


# The run


class LongRun:
    """One run of a long command: `in_order` or `one_by_one` do its work, or `watched` surrounds it."""

    def __init__(self, item: str, *, total: int | None = None, quiet: bool = False, several: bool = True) -> None:
        """`item`: what it works on, in the singular, for messages; `total` is None if more may follow.

        With a single item there is nothing to show, and the first signal stops it immediately.
        """
        from collections import Counter

        self._item, self._total, self._quiet = item, total, quiet
        self.display = Display(self._progress, quiet=quiet or not several, share=self._share if total else None)
        self.in_flight = self.finished = 0
        self.failed: Counter[str] = Counter()
        self.stopping = False
        self._signal = 0  # the last one received
        self._signals = 0 if several else 1
        self._signalled = 0.0
        self._listening_now = False
        self._stop: Callable[[], object] = lambda: None
        self._stop_now: Callable[[], object] = lambda: None
        self._in_flight: Callable[[], int] = lambda: self.in_flight
        self._later: Callable[[float, Callable[[], None]], object] = _after

    @property
    def exit_code(self) -> int:
        """If it was stopped; else 0."""
        return 128 + self._signal if self._signal else stopped_code() if self.stopping else 0

    @property
    def done(self) -> int:
        return self.finished - self.failed.total()

    def fail(self, code: str) -> None:
        """One finished item failed; `code` is the reason in one word."""
        self.failed[code] += 1

    def say(self, text: str) -> None:
        """A remark, unless --quiet."""
        if not self._quiet:
            self.display.clear()
            say(text)

    def stop(self) -> None:
        """Begin nothing more; what is in flight finishes."""
        self.stopping = True
        self._stop()

    def say_how_to_resume(self) -> None:
        self.say("to continue, repeat the command with --resume")

    def summary(self, done: str, *, where: str = "") -> str:
        """One line: `done` is what was done to the items, such as `fetched`."""
        text = f"{self.done:,} of {self._many(self.finished)}" if self.failed else self._many(self.done)
        text += f" {done}{where if self.done else ''}"
        if self.failed:
            codes = ", ".join(f"{count:,} {code}" for code, count in self.failed.items())
            text += f"; {self.failed.total():,} failed ({codes})"
        if not self.stopping or self._total == self.finished:
            return text
        left = f"{self._total - self.finished:,} not {done}" if self._total else f"the rest was not {done}"
        return f"stopped: {text}; {left}"

    def _many(self, count: int) -> str:
        return counted(count, self._item)

    def _progress(self) -> list[Parts]:
        known = f"{self.finished:,} of {self._total:,}" if self._total else f"{self.finished:,}"
        failed = f", {self.failed.total():,} failed" if self.failed else ""
        return [(f"{known} done", failed, f", {self.in_flight:,} in flight")]

    def _share(self) -> float:
        return self.finished / (self._total or 1)

    @contextmanager
    def watched(
        self,
        stop: Callable[[], None],
        in_flight: Callable[[], int] | None = None,
        display: Display | None = None,
    ) -> Iterator[None]:
        """The block shows its progress and answers signals, in a running event loop.

        The first signal calls `stop`, the second cancels the task.
        """
        import asyncio

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        self._stop, self._in_flight, self._later = stop, in_flight or self._in_flight, loop.call_later
        self._stop_now = lambda: task is not None and task.cancel()
        self.display = display or self.display

        async def update() -> None:
            while True:
                await asyncio.sleep(self.display.seconds)
                self.display.update()

        updating = loop.create_task(update())
        try:
            with self._listening(lambda number: loop.add_signal_handler(number, self._request, number), loop):
                yield
        finally:
            updating.cancel()
            self.display.clear()

    async def in_order(
        self,
        items: AsyncIterator[T],
        work: Callable[[T], Awaitable[R]],
        hand_over: Callable[[R], None],
        slot: Callable[[T], AbstractAsyncContextManager[None]] | None = None,
    ) -> bool:
        """Work on many items concurrently, and hand over the results in order. Returns whether all were done.

        An item is in flight once it has its slot. If the run is stopped, finished results are still handed over.
        """
        import asyncio

        tasks = _OrderedTasks(self, work, slot)
        feeding = asyncio.ensure_future(tasks.feed(items))

        def stop() -> None:
            feeding.cancel()
            tasks.drop_waiting()

        with self.watched(stop):
            try:
                async for result in tasks.results():
                    self._hand_over(result, hand_over)
                if not self.stopping:
                    await feeding
            except asyncio.CancelledError:
                self.stopping = True
                if (ours := asyncio.current_task()) is not None:
                    ours.uncancel()
                for result in tasks.results_now():
                    self._hand_over(result, hand_over)
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, *tasks.cancel(), return_exceptions=True)
            self.display.draw()
        return not self.stopping

    def one_by_one(self, items: Iterable[T], work: Callable[[T], R], hand_over: Callable[[R], None]) -> bool:
        """The same without an event loop, one at a time."""
        working = False

        def stop_now() -> None:
            if working:  # a result that is being written is written whole
                raise KeyboardInterrupt

        def request(number: int, _frame: FrameType | None) -> None:
            self._request(number)

        self._stop_now = stop_now
        with self._listening(lambda number: signal.signal(number, request)):
            try:
                for item in items:
                    if self.stopping:
                        break
                    self.begin()
                    working = True
                    result = work(item)
                    working = False
                    self.end()
                    self._hand_over(result, hand_over)
                    self.display.update()
            except KeyboardInterrupt:
                self.stopping = True
            finally:
                self.display.draw()
                self.display.clear()
        return not self.stopping

    def begin(self) -> None:
        self.in_flight += 1
        self.display.update() if self.finished else self.display.draw()

    def end(self) -> None:
        self.in_flight -= 1
        self.finished += 1
        self.display.update()

    def _hand_over(self, result: R, hand_over: Callable[[R], None]) -> None:
        self.display.clear()
        hand_over(result)
        self.display.draw()

    @contextmanager
    def _listening(
        self, listen: Callable[[int], object], loop: asyncio.AbstractEventLoop | None = None
    ) -> Iterator[None]:
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        handled = []
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                with suppress(NotImplementedError, RuntimeError, ValueError):  # on Windows, and beside the main thread
                    listen(number)
                    handled.append(number)
        self._listening_now = True
        try:
            yield
        finally:
            self._listening_now = False
            for number in handled:
                if loop is not None:
                    loop.remove_signal_handler(number)
                # After an immediate stop only the clean-up remains, which another Ctrl-C must not interrupt.
                signal.signal(number, signal.SIG_IGN if self._signals > 1 and self._signal else before[number])

    def _request(self, number: int) -> None:
        global _stopped_by
        now = time.monotonic()
        if self._signal == number and now - self._signalled < SAME_SIGNAL_SECONDS:
            return
        self._signals += 1
        self._signalled, self._signal, _stopped_by = now, number, number
        if self._signals == 1:
            count = self._in_flight()
            self.stop()
            # Only from then on is a second signal another request.
            self._later(SAME_SIGNAL_SECONDS, lambda: self._say_finishing(count))
        elif self._signals == 2:
            self.stopping = True
            self._stop_now()

    def _say_finishing(self, count: int) -> None:
        if count and self._listening_now:
            self.say(f"finishing {self._many(count)} in flight; press Ctrl-C again to stop immediately")


class _OrderedTasks:
    """Tasks in the order of their items, and the results of the first of them."""

    def __init__(
        self,
        run: LongRun,
        work: Callable[[Any], Awaitable[Any]],
        slot: Callable[[Any], AbstractAsyncContextManager[None]] | None,
    ) -> None:
        import asyncio
        from collections import deque

        self._run, self._work, self._slot = run, work, slot
        self._tasks: deque[asyncio.Task[Any]] = deque()  # created, result not yet taken
        self._created: asyncio.Queue[asyncio.Task[Any] | None] = asyncio.Queue()
        self._window = asyncio.Semaphore(WINDOW)
        self._begun: set[asyncio.Task[object] | None] = set()

    async def feed(self, items: AsyncIterator[Any]) -> None:
        import asyncio

        try:
            async for item in items:
                await self._window.acquire()
                self._tasks.append(asyncio.ensure_future(self._one(item)))
                self._created.put_nowait(self._tasks[-1])
        finally:
            self._created.put_nowait(None)

    async def _one(self, item: Any) -> Any:
        import asyncio
        from contextlib import nullcontext

        async with self._slot(item) if self._slot is not None else nullcontext():
            self._begun.add(asyncio.current_task())
            self._run.begin()
            try:
                result = await self._work(item)
            except BaseException:
                self._run.in_flight -= 1
                raise
            self._run.end()
        return result

    async def results(self) -> AsyncIterator[Any]:
        """As they arrive, in order; those of dropped tasks are left out."""
        import asyncio

        while (first := await self._created.get()) is not None:
            await asyncio.wait([first])  # not the task itself, which would be cancelled along with this one
            self._begun.discard(self._tasks.popleft())
            self._window.release()
            if not first.cancelled():
                yield first.result()

    def results_now(self) -> Iterator[Any]:
        return (task.result() for task in self._tasks if task.done() and not task.cancelled())

    def drop_waiting(self) -> None:
        """Cancel what has no slot yet."""
        for task in self._tasks:
            if task not in self._begun:
                task.cancel()

    def cancel(self) -> Iterable[asyncio.Task[Any]]:
        for task in self._tasks:
            task.cancel()
        return self._tasks


# Garbage collection: only in a process that is ours alone


def disable_gc() -> None:
    """Loading modules makes little garbage, and looking for it takes a tenth of the start."""
    gc.disable()


def collect_rarely() -> None:
    """For many short-lived objects without reference cycles: a collection every 700 takes 5 % of the time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def enable_gc() -> None:
    """What is loaded by now stays, so it is left out of collections."""
    gc.freeze()
    gc.enable()
