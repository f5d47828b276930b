"""What is remembered of pages that have been tried before: whether they went back or rested."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.batch.plan import Task

TURN_PATIENCE = 2.0  # seconds for which a fetch may wait for a turn; one that has to wait longer is parked
MOST_PARKED = 3  # times that one task is


class Trials:
    """By the task's offset, and only of those of whom there is something to say."""

    def __init__(self) -> None:
        self._parked: dict[int, int] = {}
        self._rested: set[int] = set()

    def is_parked(self, task: Task, wait: float) -> bool:
        """Whether a fetch goes back that would wait for its turn as long. One that has rested has asked before: if it
        went back and began anew, a page would be asked for more often than its retries allow."""
        if task.offset in self._rested:
            return False
        return wait > TURN_PATIENCE and self._parked.get(task.offset, 0) < MOST_PARKED

    def parked(self, task: Task) -> None:
        self._parked[task.offset] = self._parked.get(task.offset, 0) + 1

    def rested(self, task: Task) -> None:
        self._rested.add(task.offset)

    def forget(self, task: Task) -> None:
        """It has its record."""
        self._parked.pop(task.offset, None)
        self._rested.discard(task.offset)
