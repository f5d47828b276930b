"""What people see of a check: a bar on a terminal, a line now and then elsewhere; and Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spaniel.cli.ending import heard_by
from spaniel.cli.progress import columns, fitted
from spaniel.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.run import Run

REDRAW_SECONDS = 0.2
LINE_SECONDS = 30.0
WIDTH, NARROWEST = 24, 8  # of the bar
CLEAR = "\r\x1b[K"


class Watch:
    """Shows a run, and lets people stop it."""

    def __init__(self, run: Run, total: int, *, quiet: bool) -> None:
        self._run, self._total, self._quiet = run, total, quiet
        self._drawn = not quiet and sys.stderr.isatty()
        self._asked = 0
        self.exit_code = 0  # of a signal, where one came

    @contextmanager
    def __call__(self) -> Iterator[None]:
        task = asyncio.current_task()
        display = asyncio.create_task(self._show())
        try:
            with heard_by(lambda code: self._end(code, task)):
                yield
        finally:
            display.cancel()
            self.clear()

    def _end(self, code: int, task: asyncio.Task[object] | None) -> None:
        self._asked += 1
        self.exit_code = code
        if self._asked == 1:
            self.clear()
            tell(f"finishing {self._run.under_way} links that are under way; press Ctrl-C again to stop at once")
            self._run.stop()
        elif task is not None:
            task.cancel()

    async def _show(self) -> None:
        if self._quiet:
            return
        while True:
            await asyncio.sleep(REDRAW_SECONDS if self._drawn else LINE_SECONDS)
            if self._drawn:
                _write(f"{CLEAR}{self._drawing(columns() - 1)}")
            else:
                tell("".join(self._parts()))

    def clear(self) -> None:
        """Before anything else is written: the terminal may be the same."""
        if self._drawn:
            _write(CLEAR)

    def _drawing(self, width: int) -> str:
        """What there is to say, and a bar in the room that is left."""
        from rich.cells import cell_len

        line = fitted(self._parts(), width)
        room = min(WIDTH, width - cell_len(line) - len("[] "))
        if room < NARROWEST:
            return line
        full = room * self._run.done // max(1, self._total)
        return f"[{'#' * full}{'.' * (room - full)}] {line}"

    def _parts(self) -> Iterator[str]:
        yield f"{self._run.done:,} of {self._total:,} links"
        if self._run.bad:
            yield f", {self._run.bad:,} failing"
        waiting = max(self._run.waiting(), key=lambda host: host[1], default=("", 0.0, 0))
        if waiting[1] >= 1.0:
            host, seconds, left = waiting
            yield f"; waiting {seconds:.0f} s for {shown(host, 40)}"
            yield f" ({left:,} left)"


def tell(text: str) -> None:
    _write(f"spaniel: {text}\n")


def _write(text: str) -> None:
    with suppress(OSError):  # the terminal may have been closed
        sys.stderr.write(text)
        sys.stderr.flush()
