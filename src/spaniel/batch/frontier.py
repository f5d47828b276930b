"""The frontier: which page next. A heap of hosts by the time at which they may be asked again, live hosts bounded.

A host is live while it has pages to fetch and is due soon; the others are numbers in the plan. One that has to be
waited for is not counted among the live ones, so that no number of waiting hosts keeps the rest from being fetched.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from typing import TYPE_CHECKING

from spaniel.batch.ownership import Owners, domain_number
from spaniel.batch.planning import REFUSED
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from spaniel.batch.done import Done
    from spaniel.batch.plan import Plan, Task

    class Readiness(Protocol):
        """What the frontier asks about a host."""

        def ready_at(self, host: str) -> float:
            """When a request that was asked for now would begin."""

        def places(self, host: str) -> int:
            """How many requests may be under way there."""

        def has_pauses(self, host: str) -> bool:
            """Whether its requests have to be spaced."""


SOON = 5.0  # seconds within which a host that waits is still live
LIVE_PER_SLOT = 3  # Mercator's measure: enough that some host is always due


class Host:
    """A host with pages to fetch. It makes its tasks one by one."""

    __slots__ = ("_again", "_cursor", "_left", "_plan", "counts", "has_begun", "name", "out", "queued", "worker")

    def __init__(self, plan: Plan, name: str, worker: int, cursor: int = 0, left: int = 0) -> None:
        self._plan, self.name, self.worker = plan, name, worker
        self._cursor, self._left = cursor, left  # where its next task stands in the plan, and how many from there on
        self._again: deque[int] = deque()  # offsets of tasks that are to be tried once more
        self.out = 0  # tasks that somebody works on
        self.queued = False
        self.has_begun = False  # whether any of its tasks was given out
        self.counts = False  # among the live ones

    def next_task(self, done: Done) -> Task | None:
        """Its next one that is not all done."""
        if self._again:
            return self._plan.task(self._again.popleft())
        while self._left:
            task = self._plan.task(self._cursor)
            self._cursor, self._left = self._plan.behind(task), self._left - 1
            if not done.count or not all(item.ordinal in done for item in self._plan.all_items(task)):
                return task
        return None

    def put_back(self, task: Task) -> None:
        self._again.append(task.offset)

    def split_off(self) -> Host:
        """Another that has all of its tasks."""
        rest = Host(self._plan, self.name, self.worker, self._cursor, self._left)
        rest._again, self._again, self._left = self._again, deque(), 0
        return rest

    @property
    def left(self) -> int:
        """Tasks that nobody works on; on resuming, some of them may be done."""
        return self._left + len(self._again)


class Frontier:
    """Gives each worker its next task; `slots` are those of one worker."""

    def __init__(self, plan: Plan, done: Done, workers: int, slots: int, readiness: Readiness) -> None:
        self._plan, self._done, self._readiness = plan, done, readiness
        self._most_live = slots * LIVE_PER_SLOT
        pages = zip(plan.numbers, plan.counts, strict=True)
        self._owners = Owners((host for host in pages if host[0] != REFUSED), workers)
        self._sleeping = _hosts_by_worker(plan, self._owners, workers)
        self._live = [0] * workers
        self._awake = [0] * workers  # hosts of each in `by_name`
        self._due: list[deque[Host]] = [deque() for _ in range(workers)]
        self._waiting: list[tuple[float, int, Host]] = []  # a heap
        self._tie = 0
        self.by_name: dict[str, Host] = {}

    def refused(self) -> Iterator[Task]:
        """The tasks that nobody need fetch, since they are no URLs."""
        for number in range(len(self._plan)):
            if self._plan.numbers[number] == REFUSED:
                host = Host(self._plan, "", 0, self._plan.starts[number], self._plan.counts[number])
                while (task := host.next_task(self._done)) is not None:
                    yield task

    def is_done_with(self, worker: int) -> bool:
        """Whether nothing is left of a worker's own hosts."""
        return not self._sleeping[worker] and not self._awake[worker]

    def lend(self, worker: int, now: float) -> tuple[Host, Task] | None:
        """A task of a worker's host for another one, where no pauses are to be made."""
        due = self._due[worker]
        return None if not due or self._readiness.has_pauses(due[0].name) else self.take(worker, now)

    def take(self, worker: int, now: float) -> tuple[Host, Task] | None:
        """A task for a worker, of a host that may be asked now; None where there is none at the moment."""
        while True:
            self._wake(now)
            if not self._due[worker] and not self._enliven(worker, now):
                return None
            host = self._due[worker].popleft()
            host.queued = False
            if (task := host.next_task(self._done)) is not None:
                host.out += 1
                self._queue(host, now)
                return host, task
            self._retire(host)

    def finished(self, host: Host, now: float) -> None:
        """Somebody has worked on one of its tasks."""
        host.out -= 1
        self._queue(host, now)

    def taken_again(self, host: Host) -> None:
        """Somebody works on again what was finished only for a while."""
        host.out += 1

    def again(self, host: Host, task: Task, now: float) -> None:
        """The task goes back to its host, after the others that went back."""
        host.put_back(task)
        self._queue(host, now)

    def hand_over(self, name: str, task: Task, now: float) -> None:
        """A task waits for another host than its own: it goes into that one's queue."""
        host = self.by_name.get(name)
        if host is None:
            host = self._awaken(Host(self._plan, name, self._owners.of(domain_number(name))))
        self.again(host, task, now)

    def give_up(self, host: Host) -> Iterator[Task]:
        """What is left of a host; it has nothing more to do itself."""
        rest = host.split_off()
        return iter(lambda: rest.next_task(self._done), None)

    def give_up_all(self) -> Iterator[Task]:
        """What is left of all hosts."""
        for host in list(self.by_name.values()):
            yield from self.give_up(host)
        for worker, sleeping in enumerate(self._sleeping):
            while sleeping:
                number = sleeping.pop()
                cursor = self._plan.starts[number]
                yield from self.give_up(Host(self._plan, "", worker, cursor, self._plan.counts[number]))

    def next_time(self) -> float | None:
        """When the next host that waits is due."""
        self._drop_idle()
        return self._waiting[0][0] if self._waiting else None

    def _drop_idle(self) -> None:
        """Hosts that were given up while they waited."""
        while self._waiting and not self._waiting[0][2].left:
            host = heapq.heappop(self._waiting)[2]
            host.queued = False
            self._retire(host)

    def waiting(self, most: int) -> list[tuple[float, Host]]:
        """Some of the hosts that are waited for, and until when; those with the most to do first."""
        chosen = heapq.nlargest(most, self._waiting, key=lambda entry: entry[2].left)
        return [(at, host) for at, _, host in chosen]

    @property
    def is_empty(self) -> bool:
        self._drop_idle()
        return not (self._waiting or any(self._sleeping) or any(host.left for due in self._due for host in due))

    def _queue(self, host: Host, now: float) -> None:
        """Put a host where it belongs: among those that are due, or those that wait, or nowhere."""
        if host.queued:
            return
        if not host.left:
            self._retire(host)
            return
        if host.out >= self._readiness.places(host.name):
            return  # `finished` comes back to it
        at = self._readiness.ready_at(host.name)
        host.queued = True
        self._count(host, at <= now + SOON)
        if at <= now:
            self._due[host.worker].append(host)
        else:
            self._tie += 1
            heapq.heappush(self._waiting, (at, self._tie, host))

    def _wake(self, now: float) -> None:
        """Move the hosts whose time has come."""
        while self._waiting and self._waiting[0][0] <= now:
            host = heapq.heappop(self._waiting)[2]
            host.queued = False
            self._queue(host, now)

    def _enliven(self, worker: int, now: float) -> bool:
        """Wake hosts that sleep in the plan, as long as there is room for live ones; whether one is due now."""
        sleeping = self._sleeping[worker]
        while sleeping and self._live[worker] < self._most_live and not self._due[worker]:
            number = sleeping.pop()
            cursor = self._plan.starts[number]
            name = split(self._plan.task(cursor).url).host
            self._queue(self._awaken(Host(self._plan, name, worker, cursor, self._plan.counts[number])), now)
        return bool(self._due[worker])

    def _awaken(self, host: Host) -> Host:
        if (before := self.by_name.get(host.name)) is not None:  # one that only redirects had led to
            self._awake[before.worker] -= 1
        self.by_name[host.name] = host
        self._awake[host.worker] += 1
        return host

    def _retire(self, host: Host) -> None:
        if host.out or host.left:
            return
        self._count(host, False)
        if self.by_name.get(host.name) is host:
            del self.by_name[host.name]
            self._awake[host.worker] -= 1

    def _count(self, host: Host, is_live: bool) -> None:
        self._live[host.worker] += is_live - host.counts
        host.counts = is_live


def _hosts_by_worker(plan: Plan, owners: Owners, workers: int) -> list[array[int]]:
    """Each worker's hosts, the one with the most to do last, which is where they are taken from."""
    hosts = [array("I") for _ in range(workers)]
    for host in range(len(plan) - 1, -1, -1):
        if plan.numbers[host] != REFUSED:
            hosts[owners.of(plan.numbers[host])].append(host)
    return hosts
