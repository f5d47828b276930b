"""The coordinator: feeds workers from the frontier, grants turns at hosts, and hands records on.

Everything happens on one event loop, in `_hear` (a worker has said something) and `_feed` (somebody may take a task).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.batch import messages as say
from spaniel.batch.breaker import Breaker, Patience, told_to_wait
from spaniel.batch.crew import GONE
from spaniel.batch.frontier import Frontier
from spaniel.batch.granting import Granting
from spaniel.batch.helping import Helping
from spaniel.batch.keeping import Keeping
from spaniel.batch.members import Job, Member
from spaniel.batch.politeness import Politeness
from spaniel.batch.progress import SHOWN, Waiting
from spaniel.batch.records import Ending, ending_of, refusal_of, refused
from spaniel.batch.resting import Resting
from spaniel.batch.trials import Trials
from spaniel.batch.turns import Turns
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spaniel.batch.crew import Crew
    from spaniel.batch.done import Done
    from spaniel.batch.frontier import Host
    from spaniel.batch.plan import Plan, Task
    from spaniel.batch.ports import Sink
    from spaniel.batch.progress import Progress

SLICE = 200  # records that are made in one go


class Pace(NamedTuple):
    """How fast, and how gently."""

    workers: int = 1
    jobs: int = 64  # pages under way in each worker
    politeness: Politeness = Politeness()
    patience: Patience = Patience()


class Coordinator:
    """One run, from the first task to the last record."""

    def __init__(self, plan: Plan, before: Done, crew: Crew, sink: Sink, progress: Progress, pace: Pace) -> None:
        loop = asyncio.get_running_loop()
        self._plan, self._before = plan, before
        self._turns = Turns(pace.politeness, loop.time, loop.call_at)
        self._frontier = Frontier(plan, before, pace.workers, pace.jobs, self._turns)
        self._crew, self._sink, self._progress = crew, sink, progress
        self._jobs, self._patience, self._breaker = pace.jobs, pace.patience, Breaker(pace.patience)
        self._members = [Member() for _ in range(pace.workers)]
        self._helping = Helping(self._frontier, self._members)
        self._granting = Granting(self._turns, crew.tell, loop.time)
        self._resting = Resting(self._frontier, crew.tell)
        self._keeping = Keeping(before, self._frontier, sink, progress)
        self._numbers = 0
        self._suspects: deque[tuple[int, Job]] = deque()  # with the worker that they belong to
        self._trials = Trials()
        self._leftovers: deque[Iterator[tuple[Task, SpanielError]]] = deque()  # records that need no fetch
        self._news = asyncio.Event()
        self._is_stopping = False
        self._failure: SpanielError | None = None
        self._clock = loop.time
        self._heard: dict[str, Callable[..., None]] = {
            say.READY: self._ready,
            say.ASK: self._ask,
            say.LEAVE: self._granting.leave,
            say.ANSWERED: self._granting.answered,
            say.DELAY: self._granting.delay,
            say.REST: self._rests,
            say.WAKE: self._resting.wakes,
            say.PARKED: self._parked_at,
            say.DONE: self._done,
            say.WROTE: self._keeping.wrote,
            GONE: self._gone,
            say.FAILED: self._failed,
        }
        progress.under_way = lambda: sum(len(member.jobs) for member in self._members)
        progress.waiting = self._waiting
        progress.slowest = self._granting.times.slowest

    async def run(self) -> bool:
        """Fetch all; whether all was done. Cancelled, it leaves what is under way."""
        try:
            await self._crew.start(self._hear)
            self._leftovers.append((task, refusal_of(task.refusal)) for task in self._frontier.refused())
            self._feed()
            while not self._is_over():  # which feeding may have brought about, and then nothing more is heard
                await self._rest()
                self._feed()
        finally:
            await self._crew.close()
        if self._failure is not None:
            raise self._failure
        return not self._is_stopping

    def stop(self) -> None:
        """Begin nothing more, and finish what is under way; what waits for its turn has not begun."""
        self._is_stopping = True
        self._leftovers.clear()
        self._suspects.clear()
        for number, member in enumerate(self._members):
            self._granting.put_off_all(number, member)
            self._resting.drop_all(number, member)
        self._news.set()

    def fail(self, error: SpanielError) -> None:
        """Nothing can be done any more; `run` raises this."""
        self._failure = self._failure or error
        self._news.set()

    def _is_over(self) -> bool:
        if self._failure is not None:
            return True
        if any(member.jobs or member.kept for member in self._members) or self._suspects or not self._sink.is_idle:
            return False
        return self._is_stopping or (self._frontier.is_empty and not self._leftovers)

    async def _rest(self) -> None:
        """Until something is heard, or a host is due."""
        if self._leftovers:
            await asyncio.sleep(0.01 if self._sink.is_behind else 0)
            return
        at = self._next_time()
        timer = asyncio.get_running_loop().call_at(at, self._news.set) if at is not None else None
        await self._news.wait()
        self._news.clear()
        if timer is not None:
            timer.cancel()

    def _next_time(self) -> float | None:
        """When to look again, even if nothing is heard; a host that is due is of no use while nobody has room."""
        if self._sink.is_behind or not self._sink.is_idle:
            return self._clock() + 0.05
        has_room = any(member.has_room(self._jobs) for member in self._members)
        return self._frontier.next_time() if has_room and not self._is_stopping else None

    def _feed(self) -> None:
        self._answer_leftovers()
        if self._is_stopping or self._sink.is_behind:
            return
        now = self._clock()
        for number, member in enumerate(self._members):
            self._resting.rise(number, member, self._jobs)
        while sum(self._give(number, member, now) for number, member in enumerate(self._members)):
            pass  # one each in turn, so that nobody takes all there is

    def _give(self, number: int, member: Member, now: float) -> bool:
        """A task for a worker, if it has room and there is one."""
        if not member.has_room(self._jobs):
            return False
        taken = self._suspect(number) or self._frontier.take(number, now) or self._helping.take(number, now)
        if taken is None:
            return False
        job = taken if isinstance(taken, Job) else Job(*taken, is_suspect=False)
        self._numbers += 1
        member.jobs[self._numbers] = job
        self._crew.tell(number, say.FETCH, self._numbers, job.task.url, self._keeping.items_for(job.task))
        return True

    def _suspect(self, worker: int) -> Job | None:
        """One at a time: if the worker dies again, it is known of whom."""
        if not self._suspects or any(job.is_suspect for member in self._members for job in member.jobs.values()):
            return None
        if self._suspects[0][0] != worker:
            return None
        return self._suspects.popleft()[1]

    # what workers say

    def _hear(self, worker: int, word: str, *values: Any) -> bool:
        self._heard[word](self._members[worker], worker, *values)
        self._news.set()
        return self._sink.is_behind

    def _ready(self, member: Member, _worker: int) -> None:
        member.is_ready = True

    def _ask(self, member: Member, worker: int, turn: int, host: str, number: int | None) -> None:
        if self._is_parked(member.jobs.get(number or 0), host):
            self._granting.put_off(worker, turn)
        else:
            self._granting.ask(member, worker, turn, host)

    def _rests(self, member: Member, worker: int, number: int, reached: bool) -> None:
        job = self._resting.rests(member, number, reached, self._clock())
        self._trials.rested(job.task)
        if self._is_stopping:
            self._crew.tell(worker, say.DROP, number)
        elif not reached:
            self._heed_failure(job.host, Ending(reached=False))

    def _parked_at(self, member: Member, _worker: int, number: int, host: str) -> None:
        now = self._clock()
        job = self._resting.left(member, number, now)
        self._trials.parked(job.task)
        if not self._is_stopping:
            self._frontier.hand_over(host, job.task, now)

    def _done(self, member: Member, _worker: int, number: int, ending: Any, shared: Any, captured: bytes) -> None:
        job, ending, now = member.jobs.pop(number), Ending(*ending), self._clock()
        self._progress.ended()
        if self._is_tried_again(job, ending, now):
            self._frontier.again(job.host, job.task, now)
        elif shared is None:
            self._trials.forget(job.task)
            self._keeping.keeps(member, number, job, ending)
        else:
            self._answer(job.task, shared, ending, captured)
        self._frontier.finished(job.host, now)

    def _gone(self, member: Member, worker: int) -> None:
        """A worker has died: its turns are over, and its pages are tried once more, each alone."""
        self._granting.worker_gone(member)
        jobs = self._resting.worker_gone(member, self._clock())
        self._keeping.worker_gone(member, self._clock())
        self._members[worker] = Member()
        self._progress.workers_lost += 1
        for job in jobs:
            if job.is_suspect:
                error = SpanielError(Code.INTERNAL, error="the process that fetched this page ended, twice")
                self._refuse(job.task, error)
                self._frontier.finished(job.host, self._clock())
            elif not self._is_stopping:
                self._suspects.append((worker, job._replace(is_suspect=True)))

    def _failed(self, _member: Member, _worker: int, error: str = "", field: str = "") -> None:
        told = error or "workers cannot be started; what they say is above"
        ours = SpanielError(Code.INTERNAL, error=told)
        self.fail(SpanielError(Code.BAD_ARGS, field=field, reason=told) if field else ours)

    # how tasks end

    def _is_parked(self, job: Job | None, host: str) -> bool:
        """Whether a fetch is put off that would wait for its turn, rather than that it holds a place for so long."""
        if job is None:  # a robots.txt, say: others may wait for it too
            return False
        return self._is_stopping or self._trials.is_parked(job.task, self._turns.ready_at(host) - self._clock())

    def _is_tried_again(self, job: Job, ending: Ending, now: float) -> bool:
        """Whether the page is fetched once more, after what this fetch has shown of its host."""
        host = job.host
        self._heed_failure(host, ending)
        if not ending.asks_for_time:
            self._turns.answered(host.name, ending.status, None)
            return False
        wait = self._turns.ready_at(host.name) - now
        if wait > self._patience.longest_wait:
            self._give_up(host, told_to_wait(ending.status, wait))
            return False
        return self._trials.once_more(job.task) and not self._is_stopping

    def _heed_failure(self, host: Host, ending: Ending) -> None:
        """Leave a host alone that could not be reached too often, or for good."""
        pause = self._breaker.ended(host.name, ending)
        if pause == float("inf"):
            self._give_up(host, self._breaker.not_reached(host.name, ending))
        elif pause is not None:
            self._turns.pause(host.name, pause, "not reached")

    def _give_up(self, host: Host, error: SpanielError) -> None:
        self._leftovers.append((task, error) for task in self._frontier.give_up(host))

    def _answer_leftovers(self) -> None:
        for _ in range(SLICE):
            if not self._leftovers or self._sink.is_behind:
                return
            found = next(self._leftovers[0], None)
            if found is None:
                self._leftovers.popleft()
            else:
                self._refuse(*found)

    def _refuse(self, task: Task, error: SpanielError) -> None:
        record = refused(task.url or None, error)
        self._answer(task, self._sink.shared(record), ending_of(record))

    def _answer(self, task: Task, shared: Any, ending: Ending, captured: bytes = b"") -> None:
        """What came over the wire goes with the first of its records: on resuming, that one tells that it is there."""
        self._trials.forget(task)
        for item in self._plan.all_items(task):
            if item.ordinal not in self._before:
                self._sink.put(item, shared, captured if item is task.items[0] else b"", ending.code)
                self._progress.recorded(ending)

    def _waiting(self) -> list[Waiting]:
        now = self._clock()
        return [
            Waiting(host.name, max(0.0, at - now), self._turns.reason(host.name), host.left)
            for at, host in self._frontier.waiting(SHOWN)
        ]
