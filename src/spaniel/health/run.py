"""Many links checked at once: polite at each host, each URL once, told as it comes and written down before.

A host is asked one link at a time, or as many as one may, and never too early; meanwhile nobody waits for it, and
others are asked.
What is bad news waits for the end of the run, for only then is it known whether there was a network at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError, shown
from spaniel.health.host_queues import HostQueues
from spaniel.health.idlers import Idlers
from spaniel.health.observations import Answer, without_network
from spaniel.health.ports import Heard, Looked
from spaniel.health.verdict import Checked, by_fragment
from spaniel.health.watchdog import Watchdog
from spaniel.verdicts import BAD, NOTHING, Verdict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from spaniel.clock import Clock
    from spaniel.health.host_queues import HostQueue
    from spaniel.health.journal import Journal
    from spaniel.health.ports import Looks, Patience, RunOptions
    from spaniel.health.spool import Queued, Spool
    from spaniel.verdicts import Past

log = logging.getLogger("spaniel.health")
ONE_FOR_ME = 2  # places that are free while I am about to take one: with fewer, whoever is called finds none
UNTAKEN = 1000  # results that nobody has taken yet, beyond which nothing more is asked
SILENT_TIMES = 3  # in a row that a host does not answer in time; then its other links are not asked
MOST_PUT_OFF = 5  # times in a row that a host may ask for time
BACK_OFF = 2.0  # seconds for a host that asks for time and does not say how much
TIME_UP = "not asked: the time for the whole run was up"
CUT_OFF = "no answer yet when the time for the whole run was up"
LAST_SECONDS = 5.0  # for what is under way when it is


class Run:
    """One run over a spool of links. Iterate over `results()`; `stop()` lets what is under way come to its end."""

    def __init__(
        self, spool: Spool, looks: Looks, patience: Patience, clock: Clock, journal: Journal, options: RunOptions
    ) -> None:
        self._spool, self._looks, self._patience, self._clock, self._options = spool, looks, patience, clock, options
        self._journal = journal
        self._queues = HostQueues(spool, options.per_host)
        self._pasts: dict[int, Past] = {}
        self._out: deque[Checked] = deque()
        self._news = asyncio.Event()
        self._idle = Idlers(clock)
        self._watchdog = Watchdog(min(options.link_seconds, options.content_seconds))
        self._stopping = self._time_up = False
        patience.when_waiting(self._call_another)
        self.under_way = self.done = self.bad = 0
        self.is_whole = False  # whether every link was asked, or told why not
        self.network = True  # whether there was one; known at the end

    def stop(self) -> None:
        """Ask nothing more. What is under way is waited for."""
        self._stopping = True
        self._idle.wake_all()

    async def results(self) -> AsyncGenerator[Checked, None]:
        """Good news and what could not be told, as they come; at the end what failed."""
        self._journal.open(self._tell)
        workers = asyncio.create_task(self._ask_all())
        beside = [asyncio.create_task(self._watchdog.watch())]
        if self._options.total_seconds:
            beside.append(asyncio.create_task(self._limit()))
        ended = False
        try:
            for checked in self._spool.told():
                self.done += 1
                yield checked
            workers.add_done_callback(lambda _: self._news.set())
            while await self._has_news(workers):
                while self._out:
                    yield self._out.popleft()
            for checked in self._last():
                yield checked
            ended = True
        finally:
            self._idle.close()
            for task in (workers, *beside):
                task.cancel()
            await asyncio.gather(workers, return_exceptions=True)
            await self._end(settled=ended and self.is_whole and not self._time_up)

    async def _end(self, *, settled: bool) -> None:
        await (self._journal.settle(network=self.network) if settled else self._journal.stop())
        await self._journal.close()

    async def _has_news(self, workers: asyncio.Task[None]) -> bool:
        """Whether there are results to be told, now or in a while; False where there will be none."""
        while not self._out:
            if workers.done():
                workers.result()  # raises what went wrong
                return False
            self._news.clear()
            self._let_go_on()
            await self._news.wait()
        return True

    def _last(self) -> Iterator[Checked]:
        """What waited for the end."""
        self.is_whole = not self._stopping or self._time_up
        self._queues.count_the_rest()
        self.network = self._queues.counts.had_network
        if self._time_up:
            for queued in self._queues.rest():
                yield Checked(queued.link, Verdict.UNKNOWN, TIME_UP)
        for checked in self._spool.held():
            yield checked if self.network else without_network(checked)

    @property
    def has_more(self) -> bool:
        """Whether another result is there to be taken at once."""
        return bool(self._out)

    def waiting(self) -> Iterator[tuple[str, float, int]]:
        """Hosts that are waited for, for how many seconds, and how many links are left at each."""
        return self._queues.waiting(self._clock.monotonic())

    # What follows runs beside whoever takes the results.

    async def _ask_all(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._options.at_once, max(1, self._spool.total))):
                    group.create_task(self._work())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        await self._journal.flush()

    async def _work(self) -> None:
        me = asyncio.current_task()
        assert me is not None  # noqa: S101  a coroutine that runs has one
        while (queue := self._next_host() or await self._ready_host()) is not None:
            self.under_way += 1
            try:
                due = await self._ask_next(queue, me)
            finally:
                self.under_way -= 1
            self._queues.give_back(queue, due)
        self._idle.wake_all()  # it is over for all

    def _may_ask(self) -> bool:
        return len(self._out) + self._journal.waiting < UNTAKEN and self._patience.has_room()

    def _next_host(self) -> HostQueue | None:
        """A host that may be asked at once, if there is one."""
        if self._stopping or not self._may_ask():
            return None
        queue = self._queues.next(self._clock.monotonic())
        if queue is not None:
            self._call_another(ONE_FOR_ME)
        return queue

    async def _ready_host(self) -> HostQueue | None:
        """A host as soon as one may be asked; None where that will not be."""
        while not self._stopping:
            if (queue := self._next_host()) is not None:
                return queue
            if self._may_ask():
                if self._queues.is_over():
                    return None
                if (soonest := self._queues.soonest()) is not None:
                    self._idle.wake_one_at(soonest)
            await self._idle.wait()
        return None

    def _call_another(self, room: int = 1) -> None:
        """Whoever finds a host calls the next, if there may be one more."""
        if self._idle and self._patience.has_room(room) and self._queues.is_ready(self._clock.monotonic()):
            self._idle.wake_one()

    def _let_go_on(self) -> None:
        """Results were taken: whoever waited for that may ask again."""
        if len(self._out) < UNTAKEN:
            self._idle.wake_one()

    async def _limit(self) -> None:
        await self._clock.sleep(self._options.total_seconds)
        self._time_up = True
        self._watchdog.hurry(LAST_SECONDS)
        self.stop()

    async def _ask_next(self, queue: HostQueue, me: asyncio.Task[object]) -> float:
        """One link of a host; then the time at which the host may be asked again."""
        now = self._clock.monotonic()
        if not queue.given_up and (wait := self._wait(queue, now)) > 0:
            return now + wait
        if new := self._queues.links(queue):
            pasts = self._journal.pasts([(queued.asked, queue.host) for queued in new])
            self._pasts |= {queued.id: pasts.get(queued.asked, NOTHING) for queued in new}
        queued = queue.take()
        if self._queues.share(queue):
            self._call_another(ONE_FOR_ME)
        if queue.given_up:
            self._finish(queue, queued, Checked(queued.link, queue.given_up_as, queue.given_up), None)
            return now
        looked = await self._look(queued, queue.put_off, me)
        queue.hear(looked.heard)
        if looked.retry_after is None:
            queue.put_off = 0
        elif (seconds := self._put_off(queue, queued, looked.retry_after)) > 0:
            return self._clock.monotonic() + seconds
        self._note_silence(queue, looked)
        written = self._finish(queue, queued, looked.checked, self._answer(queue, queued, looked))
        if written is not None:
            self._call_another()
            await asyncio.shield(written)  # so that whatever kills us, one link of a host at most is asked again
        return self._clock.monotonic() + self._patience.wait_seconds(queue.host)

    def _answer(self, queue: HostQueue, queued: Queued, looked: Looked) -> Answer | None:
        """What is written down: nothing of a link that nobody looks at, such as one of another scheme."""
        if looked.checked.verdict is Verdict.SKIPPED or not self._journal.is_kept or looked.checked.reason == CUT_OFF:
            return None
        at = self._clock.now().timestamp()
        heard = Heard.SILENT if looked.heard is None else looked.heard
        return Answer(queued.asked, queue.host, heard, at, looked.checked, looked.head_differs)

    def _wait(self, queue: HostQueue, now: float) -> float:
        """Seconds until a host may be asked. One that asks for more than it may is given up."""
        asked = self._patience.asked_seconds(queue.host)
        if asked > 0 and not queue.wait(now, asked, self._options.host_patience):
            queue.give_up(Verdict.RATE_LIMITED, _left_alone(asked))
            return 0.0
        return max(queue.waits_until - now, self._patience.wait_seconds(queue.host))

    async def _look(self, queued: Queued, attempts: int, me: asyncio.Task[object]) -> Looked:
        link, expected, options = queued.link, queued.link.expected, self._options
        measured = expected.length is not None or expected.sha256 is not None
        seconds = options.content_seconds if measured else options.link_seconds
        asked = link if link.url == queued.asked else link._replace(url=queued.asked)
        self._watchdog.begin(me, seconds)
        looked = None
        try:
            looked = await self._looks.look(asked, self._pasts[queued.id], attempts)
        except SpanielError as error:
            looked = Looked(Checked(link, Verdict.UNKNOWN, error.message, error.code), None)
        except asyncio.CancelledError:
            if not self._watchdog.end(me):
                raise
        except Exception as error:
            log.exception("checking %s failed unexpectedly", shown(queued.asked))  # one link must not end the run
            bug = SpanielError(Code.INTERNAL, error=type(error).__name__)
            looked = Looked(Checked(link, Verdict.UNKNOWN, bug.message, bug.code), None)
        finally:
            self._watchdog.end(me)
        if looked is None:
            why = CUT_OFF if self._time_up else f"no answer within {seconds:.0f} s"
            told = Checked(link, Verdict.UNKNOWN, why, Code.TIMEOUT)
            return Looked(told, None if self._time_up else Heard.LOOKUP_ANSWER)
        return looked if asked is link else looked._replace(checked=looked.checked._replace(link=link))

    def _put_off(self, queue: HostQueue, queued: Queued, retry_after: float) -> float:
        """Seconds after which a link is asked again, since its host asked for time; 0 where that is told instead."""
        now = self._clock.monotonic()
        left = queue.waits_until - now  # of what somebody else has heard there meanwhile
        if left <= 0 or retry_after > left + 1:
            seconds = retry_after or BACK_OFF * 2**queue.put_off
            queue.put_off += 1
            if queue.put_off > MOST_PUT_OFF:
                queue.put_off = 0  # this page may be alone in that: the next is asked, while there is patience
                return 0.0
            if not queue.wait(now, seconds, self._options.host_patience):
                queue.give_up(Verdict.RATE_LIMITED, _left_alone(seconds))
                return 0.0
        queue.put_back(queued)
        return max(queue.waits_until - now, self._patience.wait_seconds(queue.host))

    def _note_silence(self, queue: HostQueue, looked: Looked) -> None:
        is_silent = looked.checked.code == Code.TIMEOUT and looked.heard not in (None, Heard.ANSWER)
        queue.silent = queue.silent + 1 if is_silent else 0
        if queue.silent >= SILENT_TIMES:
            why = f"not asked: the host did not answer in time, {SILENT_TIMES} times in a row"
            queue.give_up(Verdict.UNKNOWN, why)

    def _finish(
        self, queue: HostQueue, queued: Queued, checked: Checked, answer: Answer | None
    ) -> asyncio.Future[None] | None:
        del self._pasts[queued.id]
        queue.left -= 1
        return self._journal.add(checked, answer)

    def _tell(self, checked: Checked) -> None:
        self.done += 1
        for part in by_fragment(checked) if checked.findings else (checked,):
            if part.verdict in BAD:
                self.bad += 1
                self._spool.hold(part)
            else:
                self._out.append(part)
                self._news.set()


def _left_alone(seconds: float) -> str:
    return f"not asked: the host wants to be left alone for {seconds:.0f} s"
