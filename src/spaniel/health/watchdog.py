"""One timer over many askers: whoever takes far too long is stopped. A timer for each link would take a tenth of it."""

from __future__ import annotations

import asyncio

LONGEST_SLEEP = 1.0  # seconds between two looks at all of them


class Watchdog:
    """A last resort, behind the askers' own deadlines; so it is enough that it looks now and then."""

    def __init__(self, least_seconds: float) -> None:
        self._sleep = min(LONGEST_SLEEP, least_seconds)
        self._due: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()

    async def watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._sleep)
            now = loop.time()
            for task in [task for task, due in self._due.items() if due < now]:
                del self._due[task]
                self._late.add(task)
                task.cancel()

    def begin(self, task: asyncio.Task[object], seconds: float) -> None:
        self._due[task] = asyncio.get_running_loop().time() + seconds

    def hurry(self, seconds: float) -> None:
        """Nobody who is at it now has longer than this."""
        latest = asyncio.get_running_loop().time() + seconds
        self._due = {task: min(due, latest) for task, due in self._due.items()}

    def end(self, task: asyncio.Task[object]) -> bool:
        """Whether it was stopped here; then it is no longer being cancelled."""
        self._due.pop(task, None)
        if task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True
