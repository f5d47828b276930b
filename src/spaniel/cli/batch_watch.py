"""What people see of a batch: a live display on a terminal, a line now and then elsewhere; and Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spaniel.cli.ending import heard_by
from spaniel.cli.progress import columns, fitted
from spaniel.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

    from spaniel.batch.coordinator import Coordinator
    from spaniel.batch.local import Run
    from spaniel.batch.progress import Progress
    from spaniel.batch.sources.rows import Problems

REDRAW_SECONDS = 0.5
LINE_SECONDS = 30.0
SLOWEST = 3  # hosts that are shown, with the time that they take for an answer
INTERRUPTED = 130  # what a shell expects of a program that was told to end


class Watch:
    """Shows a run, and lets people stop it. Use its call as a context, as `Run.fetch` does."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self.exit_code = INTERRUPTED

    @contextmanager
    def __call__(self, coordinator: Coordinator, progress: Progress) -> Iterator[None]:
        run = asyncio.current_task()
        display = asyncio.create_task(self._show(progress))
        asked = 0

        def end(code: int) -> None:
            nonlocal asked
            asked += 1
            self.exit_code = code
            if asked == 1:
                coordinator.stop()
                tell(f"finishing {progress.under_way()} pages that are under way; press Ctrl-C again to stop at once")
            elif run is not None:
                run.cancel()

        try:
            with heard_by(end):
                yield
        finally:
            display.cancel()

    async def _show(self, progress: Progress) -> None:
        if self._quiet:
            return
        if sys.stderr.isatty():
            await _live(progress)
        while True:
            await asyncio.sleep(LINE_SECONDS)
            tell(line(progress))


async def _live(progress: Progress) -> None:
    from rich.console import Console
    from rich.live import Live

    with Live(picture(progress, columns()), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        while True:
            await asyncio.sleep(REDRAW_SECONDS)
            live.update(picture(progress, columns()), refresh=True)


def picture(progress: Progress, width: int) -> RenderableType:
    """The live display: how far, how fast, what failed, who is waited for, who takes long. No line is wider than the
    terminal: what has no room is left out, the last first."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(fitted(_parts(progress), width - 1)),
        ProgressBar(
            total=max(1, progress.total), completed=progress.before + progress.records, width=min(60, width - 1)
        ),
    ]
    if progress.failed:
        told = [f"{count} {code}" for code, count in progress.failed.most_common()]
        parts.append(Text(fitted(_listed("failed: ", told), width - 1), style="yellow"))
    if waiting := progress.waiting():
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("host", "waits", "why", "pages left"):
            table.add_column(name, no_wrap=True, overflow="ellipsis")
        for host in waiting:
            table.add_row(Text(host.host), f"{host.seconds:.0f} s", Text(host.why), str(host.left))
        parts.append(table)
    if slowest := progress.slowest(SLOWEST):
        told = [f"{slow.host} {slow.seconds:.1f} s" for slow in slowest]
        parts.append(Text(fitted(_listed("slowest: ", told), width - 1), style="dim"))
    return Group(*parts)


def line(progress: Progress) -> str:
    """The same in one line."""
    return "".join(_parts(progress))


def _parts(progress: Progress) -> Iterator[str]:
    rate = progress.rate()
    done = progress.before + progress.records
    yield f"{done:,} of {progress.total:,} done"
    if progress.failed:
        yield f", {progress.failed.total():,} failed"
    if rate:
        yield f", {duration(progress.left / rate)} left"
    yield f", {progress.under_way()} under way"
    yield f", {rate:.1f} a second"


def _listed(name: str, values: list[str]) -> Iterator[str]:
    yield name + values[0]
    yield from (f", {value}" for value in values[1:])


def tell_end(progress: Progress, run: Run, output: str, *, whole: bool, quiet: bool) -> None:
    """The summary, on standard error."""
    if quiet:
        return
    recorded = f"{progress.before + progress.records:,} of {progress.total:,} URLs"
    tell(f"{'done' if whole else 'stopped'}: {recorded} have their record in {output}")
    rows = [
        ("pages", f"{progress.pages:,}"),
        *((f"failed: {code}", f"{count:,}") for code, count in progress.failed.most_common()),
        ("of these by an earlier run", _some(progress.before)),
        ("not read of the sources", _some(run.lost)),
        ("workers replaced", _some(progress.workers_lost)),
        *((f"slowest: {slow.host}", f"{slow.seconds:.2f} s") for slow in progress.slowest(SLOWEST)),
        ("time", duration(progress.seconds)),
        ("records a second", f"{progress.records / max(progress.seconds, 1e-9):.1f}"),
    ]
    for name, value in rows:
        if value:
            tell(f"{name:28} {value:>12}", begins="  ")


def _some(count: int) -> str:
    return f"{count:,}" if count else ""


def tell_problems(problems: Problems) -> None:
    """What could not be read of the sources. The rest is fetched."""
    for problem in problems.first:
        tell(shown(problem))
    if problems.count > len(problems.first):
        tell(f"and {problems.count - len(problems.first):,} more problems in the sources")


@contextmanager
def counting(*, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Says how many URLs were read, where somebody can see it."""
    shown = not quiet and sys.stderr.isatty()

    def told(count: int) -> None:
        if shown:
            sys.stderr.write(f"\r\x1b[Kreading: {count:,} URLs")
            sys.stderr.flush()

    try:
        yield told
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def duration(seconds: float) -> str:
    """In words, to two places: `3 h 20 min`."""
    for size, unit, smaller, name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} {int(seconds % size // smaller)} {name}"
    return f"{seconds:.1f} s"


def tell(text: str, begins: str = "spaniel: ") -> None:
    with suppress(OSError):  # the terminal may have been closed
        sys.stderr.write(f"{begins}{text}\n")
        sys.stderr.flush()
