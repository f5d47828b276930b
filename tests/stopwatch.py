"""Time as the code under test has it: what passed, less what a busy machine let this thread wait for a processor."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple


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


class Growth(NamedTuple):
    times: float
    seconds: float  # of the larger


def growth(small: Callable[[], object], large: Callable[[], object], *, floor: float, below: float) -> Growth:
    """How much more processor time `large` needs than `small`.

    Others use the machine too, and make a reading longer, never shorter: `small` is measured twice, and both once more
    where the result is not below `below`. A `small` that takes less than `floor` seconds counts as that. A tracer
    (coverage) is disabled meanwhile.
    """
    watcher = sys.gettrace()
    sys.settrace(None)
    try:
        least, most = min(_spent(small), _spent(small)), _spent(large)
        for _ in range(2):
            if most < below * max(floor, least):
                break
            least, most = min(least, _spent(small)), min(most, _spent(large))
    finally:
        sys.settrace(watcher)
    return Growth(most / max(floor, least), most)


def _spent(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
