"""Processes of workers, started before there is anything to do: they load their modules while the plan is made."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from contextlib import suppress

COMMAND = (
    "import sys; where, sys.path[:] = sys.argv[1], sys.argv[2:]; from spaniel.batch.worker import main; main(where)"
)
Process = subprocess.Popen[bytes]


class Launched:
    """Some processes that wait for their brief; more are started on demand."""

    def __init__(self, where: str, count: int = 0) -> None:
        """`where`: what a worker opens to fetch with, as `module:function`."""
        self._where = where
        self._waiting: deque[Process] = deque()
        with suppress(OSError):  # `take` reports it
            self._waiting.extend(self._start() for _ in range(count))

    def take(self) -> Process:
        """One, with pipes to its input and from its output; it ends when its input does."""
        return self._waiting.popleft() if self._waiting else self._start()

    def keep(self, count: int) -> None:
        """End those that are too many."""
        while len(self._waiting) > count:
            with self._waiting.popleft() as process:
                process.kill()

    def close(self) -> None:
        """End those that were not taken."""
        self.keep(0)

    def _start(self) -> Process:
        return subprocess.Popen(  # noqa: S603  this very interpreter
            [sys.executable, "-c", COMMAND, self._where, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # a Ctrl-C is for the coordinator, which lets them finish
        )
