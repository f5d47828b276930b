"""What the coordinator knows of its workers: what they work on, and which turns they wait for or have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.batch.frontier import Host
    from spaniel.batch.plan import Task

MOST_WAITING = 2  # fetches that wait for a turn, for each that may be under way


class Job(NamedTuple):
    """A task that a worker works on."""

    host: Host
    task: Task
    is_suspect: bool  # it was under way when a worker died


class Asked:
    """A turn that a worker has asked for."""

    __slots__ = ("granted", "host")

    def __init__(self, host: str) -> None:
        self.host, self.granted = host, False


class Member:
    """What is known of a worker."""

    def __init__(self) -> None:
        self.is_ready = False
        self.jobs: dict[int, Job] = {}
        self.asked: dict[int, Asked] = {}
        self.grants: dict[int, Callable[[], None]] = {}
        self.waiting = 0  # of its requests, for their turns

    def has_room(self, jobs: int) -> bool:
        """Who waits for a turn takes no place, up to a bound."""
        return self.is_ready and len(self.jobs) - min(self.waiting, MOST_WAITING * jobs) < jobs
