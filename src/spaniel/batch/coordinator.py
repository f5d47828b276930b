"""The coordinator: feeds workers from the frontier, grants turns at hosts, and hands records on.

Everything happens on one event loop, in `_hear` (a worker has said something) and `_feed` (somebody may take a task).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.batch import messages as say
from spaniel.batch.crew import GONE
from spaniel.batch.frontier import Frontier
from spaniel.batch.granting import Granting
from spaniel.batch.helping import Helping
from spaniel.batch.keeping import Keeping
from spaniel.batch.members import Job, Member
from spaniel.batch.progress import SHOWN, Waiting
from spaniel.batch.records import Ending, ending_of, refusal_of, refused, unexpected
from spaniel.batch.resting import Resting
from spaniel.batch.trials import Trials
from spaniel.batch.turns import ASK_FOR_TIME, MOST_STRIKES, Turns
from spaniel.clock import SystemClock
from spaniel.defaults import BATCH_JOBS
from spaniel.errors import Code, SpanielError
from spaniel.hosts.limits import (
    Breaker,
    Limits,
    asked_too_often,
    crawl_delay_too_long,
    host_time_over,
    total_time_over,
    wait_too_long,
)
from spaniel.hosts.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spaniel.batch.crew import Crew
    from spaniel.batch.done import Done
    from spaniel.batch.frontier import Host
    from spaniel.batch.plan import Plan, Task
    from spaniel.batch.ports import Sink
    from spaniel.batch.progress import Progress
    from spaniel.clock import Clock

log = logging.getLogger("spaniel.batch")

SLICE = 200  # records that are made in one go
MOST_GIVEN_UP = 20_000  # hosts that are remembered as such


class Pace(NamedTuple):
    """How fast, and how gently."""

    workers: int = 1
    jobs: int = BATCH_JOBS.default  # pages under way in each worker
    politeness: Rules = Rules()
    patience: Limits = Limits()


class Coordinator:
    """One run, from the first task to the last record."""

    def __init__(  # noqa: PLR0913, PLR0917  what a run is made of
        self,
        plan: Plan,
        before: Done,
        crew: Crew,
        sink: Sink,
        progress: Progress,
        pace: Pace,
        clock: Clock | None = None,
    ) -> None:
        self._plan, self._before = plan, before
        self._alarms, self._clock = Alarms(clock or SystemClock()), (clock or SystemClock()).monotonic
        self._turns = Turns(pace.politeness, self._clock, self._alarms.set)
        self._frontier = Frontier(plan, before, pace.workers, pace.jobs, self._turns)
        self._crew, self._sink, self._progress = crew, sink, progress
        self._jobs, self._patience, self._breaker = pace.jobs, pace.patience, Breaker(pace.patience)
        self._members = [Member() for _ in range(pace.workers)]
        self._helping = Helping(self._frontier, self._members)
        self._granting = Granting(self._turns, crew.tell, self._clock)
        self._resting = Resting(self._frontier, crew.tell)
        self._keeping = Keeping(plan, before, self._frontier, sink, progress)
        self._numbers = 0
        self._suspects: deque[tuple[int, Job]] = deque()  # with the worker that they belong to
        self._trials = Trials()
        self._leftovers: deque[Iterator[tuple[Task, SpanielError]]] = deque()  # records that need no fetch
        self._news = asyncio.Event()
        self._is_stopping = False
        self._failure: SpanielError | None = None
        self._given_up: dict[tuple[str, bool], SpanielError] = {}  # hosts; and such as redirects of others lead to
        self._host_ends: deque[tuple[float, Host]] = deque()  # when the time for a host is over, the first one first
        self._ends_at = self._clock() + pace.patience.total_time if pace.patience.total_time else None
        self._over: SpanielError | None = None  # the time for the run is
        self._https: set[int] = set()  # tasks whose page came without TLS, for those of its items that want it with
        self._heard: dict[str, Callable[..., None]] = {
            say.READY: self._ready,
            say.ASK: self._ask,
            say.LEAVE: self._leave,
            say.ANSWERED: self._asked_for_time,
            say.UNANSWERED: self._unanswered,
            say.DELAY: self._delay,
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
            self._alarms.close()
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
        alarm = self._alarms.set(at, self._news.set) if at is not None else None
        await self._news.wait()
        self._news.clear()
        if alarm is not None:
            alarm.cancel()

    def _next_time(self) -> float | None:
        """When to look again, even if nothing is heard; a host that is due is of no use while nobody has room."""
        if self._sink.is_behind or not self._sink.is_idle:
            return self._clock() + 0.05
        if self._is_stopping or self._over is not None:
            return None
        has_room = any(member.has_room(self._jobs) for member in self._members)
        ends = self._host_ends[0][0] if self._host_ends else None
        times = (self._frontier.next_time() if has_room else None, ends, self._ends_at)
        return min((at for at in times if at is not None), default=None)

    def _feed(self) -> None:
        self._answer_leftovers()
        if self._is_stopping or self._sink.is_behind:
            return
        now = self._clock()
        self._keep_time(now)
        if self._over is not None:
            self._refuse_the_rest(self._over, now)
            return
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
        if (error := self._given_up.get((job.host.name, False))) is not None:  # before its pages had their turn
            self._refuse(job.task, error)
            self._frontier.finished(job.host, now)
            self._leftovers.append((task, error) for task in self._frontier.give_up(job.host))
            return True
        if self._patience.host_time and not job.host.has_begun:
            self._host_ends.append((now + self._patience.host_time, job.host))
        job.host.has_begun = True
        self._numbers += 1
        member.jobs[self._numbers] = job
        url = job.task.url if job.task.offset in self._https else self._plan.url_to_ask(job.task)
        self._crew.tell(number, say.FETCH, self._numbers, url, self._keeping.items_for(job.task))
        return True

    def _keep_time(self, now: float) -> None:
        """Give up what has had its time: hosts, and the run."""
        while self._host_ends and self._host_ends[0][0] <= now:
            host = self._host_ends.popleft()[1]
            if host.left or host.out or self._has_jobs(host):
                self._give_up(host.name, host_time_over(host.name, self._patience.host_time))
        if self._over is None and self._ends_at is not None and self._ends_at <= now:
            self._over = total_time_over(self._patience.total_time)
            for number, member in enumerate(self._members):
                self._granting.refuse_all(number, member, self._over, None, led=False)
                for resting in list(member.resting):
                    self._resting.rise_now(number, member, resting)

    def _has_jobs(self, host: Host) -> bool:
        return any(job.host is host for member in self._members for job in member.jobs.values())

    def _refuse_the_rest(self, error: SpanielError, now: float) -> None:
        while self._suspects:
            job = self._suspects.popleft()[1]
            self._refuse(job.task, error)
            self._frontier.finished(job.host, now)
        if not self._leftovers and not self._frontier.is_empty:
            self._leftovers.append((task, error) for task in self._frontier.give_up_all())
            self._news.set()

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

    def _ask(self, member: Member, worker: int, turn: int, host: str, number: int | None, led: bool) -> None:
        error = self._over or self._given_up.get((host, led))
        if error is not None and not self._is_stopping:
            self._granting.refuse(worker, turn, error)
        elif self._is_parked(member.jobs.get(number or 0), host):
            self._granting.put_off(worker, turn)
        else:
            self._granting.ask(member, worker, turn, host, led=led)

    def _leave(self, member: Member, _worker: int, turn: int, is_answered: bool) -> None:
        asked = self._granting.leave(member, turn)
        if is_answered:
            self._breaker.answered(asked.host, led=asked.led)

    def _asked_for_time(
        self, _member: Member, _worker: int, host: str, status: int, seconds: float | None, led: bool
    ) -> None:
        """A host wants to be left alone: for a while, or for longer than the run waits. Another site's redirect gives
        nobody up."""
        strikes = self._turns.asked_for_time(host, status, seconds, led=led)
        if led:
            return
        if seconds is not None and seconds > self._patience.retry_after:
            self._give_up(host, wait_too_long(host, status, seconds, self._patience.retry_after))
        elif strikes >= MOST_STRIKES:
            self._give_up(host, asked_too_often(host, status, strikes))

    def _unanswered(self, _member: Member, _worker: int, host: str, code: str, led: bool) -> None:
        """Leave a host alone that could not be reached too often, or for good."""
        pause = self._breaker.failed(host, self._clock(), led=led)
        if pause == float("inf"):
            self._give_up(host, self._breaker.error(host, code, led=led), led=led)
        elif pause is not None:
            self._turns.pause(host, pause, "not reached")

    def _delay(self, _member: Member, _worker: int, host: str, seconds: float) -> None:
        if seconds > self._patience.crawl_delay:
            self._give_up(host, crawl_delay_too_long(host, seconds, self._patience.crawl_delay))
        else:
            self._turns.set_crawl_delay(host, seconds)

    def _rests(self, member: Member, worker: int, number: int) -> None:
        job = self._resting.rests(member, number, self._clock())
        self._trials.rested(job.task)
        if self._is_stopping:
            self._crew.tell(worker, say.DROP, number)
        elif self._over is not None or (job.host.name, False) in self._given_up:
            self._resting.rise_now(worker, member, number)  # what else it does, it does at once

    def _parked_at(self, member: Member, _worker: int, number: int, host: str) -> None:
        now = self._clock()
        job = self._resting.left(member, number, now)
        self._trials.parked(job.task)
        if not self._is_stopping:
            self._frontier.hand_over(host, job.task, now)

    def _done(self, member: Member, _worker: int, number: int, ending: Any, shared: Any, captured: bytes) -> None:
        job, ending, now = member.jobs.pop(number), Ending(*ending), self._clock()
        self._progress.ended()
        if ending.status and ending.status not in ASK_FOR_TIME:
            self._turns.answered(job.host.name)
        if shared is None:
            self._trials.forget(job.task)
            self._keeping.keeps(member, number, job, ending)
        elif ending.http_only and job.task.offset not in self._https and self._plan.is_mixed(job.task):
            self._answer(job.task, shared, ending, captured, over_http=True)
            self._https.add(job.task.offset)  # whoever asked for HTTPS does not get a page that came without
            self._frontier.again(job.host, job.task, now)
        else:
            over_http = False if job.task.offset in self._https else None
            self._answer(job.task, shared, ending, captured, over_http=over_http)
            self._https.discard(job.task.offset)
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

    def _give_up(self, name: str, error: SpanielError, *, led: bool = False) -> None:
        """Ask a host for nothing more: what waits for it ends, and what is left of it gets records. `led`: only for
        those whom redirects of other sites lead there."""
        if (name, led) in self._given_up:
            return
        if len(self._given_up) >= MOST_GIVEN_UP:
            del self._given_up[next(iter(self._given_up))]
        self._given_up[name, led] = error
        for number, member in enumerate(self._members):
            self._granting.refuse_all(number, member, error, name, led=led)
            for resting in [] if led else list(member.resting):
                if member.jobs[resting].host.name == name:
                    self._resting.rise_now(number, member, resting)
        host = None if led else self._frontier.by_name.get(name)
        if host is not None:
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

    def _answer(
        self, task: Task, shared: Any, ending: Ending, captured: bytes = b"", *, over_http: bool | None = None
    ) -> None:
        """What came over the wire goes with the first of its records: on resuming, that one tells that it is there.

        `over_http`: only for items that gave that scheme, or only for the others.
        """
        self._trials.forget(task)
        for item in self._plan.all_items(task):
            if item.ordinal in self._before or over_http not in (None, self._plan.is_over_http(item)):
                continue
            try:
                self._sink.put(item, shared, captured, ending.code)
                self._progress.recorded(ending)
            except Exception as error:
                log.exception("unexpected_error ordinal=%d", item.ordinal)  # a bug costs its record, not the run
                record = refused(task.url or None, unexpected(error))
                self._sink.put(item._replace(columns={}), self._sink.shared(record), captured, Code.INTERNAL)
                self._progress.recorded(ending_of(record))
            captured = b""

    def _waiting(self) -> list[Waiting]:
        now = self._clock()
        return [
            Waiting(host.name, max(0.0, at - now), self._turns.reason(host.name), host.left)
            for at, host in self._frontier.waiting(SHOWN)
        ]


class Alarms:
    """Calls at moments of a clock, each as a task that sleeps by it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._set: set[asyncio.Task[None]] = set()

    def set(self, at: float, call: Callable[[], object]) -> asyncio.Task[None]:
        alarm = asyncio.create_task(self._ring(at, call))
        self._set.add(alarm)
        alarm.add_done_callback(self._set.discard)
        return alarm

    def close(self) -> None:
        for alarm in self._set:
            alarm.cancel()

    async def _ring(self, at: float, call: Callable[[], object]) -> None:
        await self._clock.sleep(max(0.0, at - self._clock.monotonic()))
        call()
