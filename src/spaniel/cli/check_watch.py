"""What people see of a check: a bar on a terminal, a line now and then elsewhere; and Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spaniel.cli.ending import heard_by
from spaniel.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.run import Run

REDRAW_SECONDS = 0.2
LINE_SECONDS = 30.0
WIDTH = 24
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
                _write(f"{CLEAR}{self._bar()} {self._line()}")
            else:
                tell(self._line())

    def clear(self) -> None:
        """Before anything else is written: the terminal may be the same."""
        if self._drawn:
            _write(CLEAR)

    def _bar(self) -> str:
        full = WIDTH * self._run.done // max(1, self._total)
        return f"[{'#' * full}{'.' * (WIDTH - full)}]"

    def _line(self) -> str:
        told = f"{self._run.done:,} of {self._total:,} links"
        if self._run.bad:
            told += f", {self._run.bad:,} failing"
        waiting = sorted(self._run.waiting(), key=lambda host: -host[1])
        if waiting and waiting[0][1] >= 1.0:
            host, seconds, left = waiting[0]
            told += f"; waiting {seconds:.0f} s for {shown(host, 40)} ({left:,} left)"
        return told


def tell(text: str) -> None:
    _write(f"spaniel: {text}\n")


def _write(text: str) -> None:
    with suppress(OSError):  # the terminal may have been closed
        sys.stderr.write(text)
        sys.stderr.flush()
