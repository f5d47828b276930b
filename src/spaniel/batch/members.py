"""What the coordinator knows of its workers: what they work on, and which turns they wait for or have."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.batch.frontier import Host
    from spaniel.batch.plan import Task
    from spaniel.batch.records import Ending

MOST_WAITING = 2  # fetches that wait for a turn, for each that may be under way
MOST_RESTING = 32  # and such as wait before they ask again: some 10 KB each


class Job(NamedTuple):
    """A task that a worker works on."""

    host: Host
    task: Task
    is_suspect: bool  # it was under way when a worker died


class Asked:
    """A turn that a worker has asked for."""

    __slots__ = ("granted_at", "host", "led")

    def __init__(self, host: str, *, led: bool = False) -> None:
        self.host, self.led = host, led
        self.granted_at: float | None = None


class Member:
    """What is known of a worker."""

    def __init__(self) -> None:
        self.is_ready = False
        self.jobs: dict[int, Job] = {}
        self.asked: dict[int, Asked] = {}
        self.grants: dict[int, Callable[[], None]] = {}
        self.waiting = 0  # of its requests, for their turns
        self.resting: set[int] = set()  # of its jobs: those that wait before they ask again
        self.kept: dict[int, tuple[Job, Ending]] = {}  # what it has fetched, and not yet written into a part of its own
        self.woken: deque[int] = deque()  # of them: those whose time has come

    def has_room(self, jobs: int) -> bool:
        """Who waits takes no place, up to a bound."""
        idle = min(self.waiting, MOST_WAITING * jobs) + min(len(self.resting), MOST_RESTING * jobs)
        return self.is_ready and len(self.jobs) - idle < jobs

    def may_rise(self, jobs: int) -> bool:
        """Whether one that rested may go on; for it there is no bound, or all might rest for ever."""
        return len(self.jobs) - min(self.waiting, MOST_WAITING * jobs) - len(self.resting) < jobs
