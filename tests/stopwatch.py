"""Time as the code under test has it: what passed, less what a busy machine let this thread wait for a processor."""

from __future__ import annotations

import time


class Stopwatch:
    """Started when it is made."""

    def __init__(self) -> None:
        self._began, self._waited = time.monotonic(), _waited()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began - (_waited() - self._waited)


def _waited() -> float:
    """Seconds that this thread was ready to run and did not; nothing where the system does not count them."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
