"""What is remembered of pages that have been tried before: how often, and whether they went back or rested."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.batch.plan import Task

TURN_PATIENCE = 2.0  # seconds for which a fetch may wait for a turn; one that has to wait longer is parked,
RESTED_PATIENCE = 60.0  # which costs one that has rested what it has tried so far
MOST_PARKED = 3  # times that one task is
MOST_TRIES = 3  # of a page whose host asks for time


class Trials:
    """By the task's offset, and only of those of whom there is something to say."""

    def __init__(self) -> None:
        self._tries: dict[int, int] = {}
        self._parked: dict[int, int] = {}
        self._rested: set[int] = set()

    def is_parked(self, task: Task, wait: float) -> bool:
        """Whether a fetch goes back that would wait for its turn as long."""
        patience = RESTED_PATIENCE if task.offset in self._rested else TURN_PATIENCE
        return wait > patience and self._parked.get(task.offset, 0) < MOST_PARKED

    def parked(self, task: Task) -> None:
        self._parked[task.offset] = self._parked.get(task.offset, 0) + 1

    def rested(self, task: Task) -> None:
        self._rested.add(task.offset)

    def once_more(self, task: Task) -> bool:
        """Whether the page may be tried again; that counts as a try."""
        tries = self._tries[task.offset] = self._tries.get(task.offset, 1) + 1
        return tries <= MOST_TRIES

    def forget(self, task: Task) -> None:
        """It has its record."""
        self._tries.pop(task.offset, None)
        self._parked.pop(task.offset, None)
        self._rested.discard(task.offset)
