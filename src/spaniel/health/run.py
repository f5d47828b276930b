"""Many links checked at once: polite at each host, each URL once, reported as it comes and recorded before.

The scheduler says which link is next; here is what a check does with it, and when it gives a host up. Bad news waits
for the end of the run, for only then is it known whether there was a network at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError, shown
from spaniel.health.history import Answer, without_network
from spaniel.health.links import Checked, by_fragment
from spaniel.health.ports import Heard, Looked
from spaniel.hosts.scheduler import Scheduler
from spaniel.verdicts import ANYTHING, BAD, NOTHING, Verdict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from spaniel.clock import Clock
    from spaniel.health.journal import Journal
    from spaniel.health.ports import HostDelays, Looks, RunOptions
    from spaniel.health.spool import Queued, Spool
    from spaniel.hosts.scheduler import Lease

log = logging.getLogger("spaniel.health")
UNTAKEN = 1000  # results that were not taken yet, beyond which no more links are requested
SILENT_TIMES = 3  # in a row that a host does not answer in time; then its other links are not asked
MOST_PUT_OFF = 5  # times in a row that a host may ask for time
BACK_OFF = 2.0  # seconds for a host that asks for time and does not say how much
TIME_UP = "not asked: the time for the whole run was up"
CUT_OFF = "no answer yet when the time for the whole run was up"
LAST_SECONDS = 5.0  # for what is under way when it is
LONGEST_LOOK = 1.0  # seconds between two looks at links that take too long
LATE = float("-inf")


class _Host:
    """What came of a host so far."""

    __slots__ = ("given_up", "given_up_as", "heard", "put_off", "silent", "waited", "waits_until")

    def __init__(self, heard: Heard | None = None) -> None:
        self.heard = heard  # the best that any request came to; None where none was made
        self.waited = 0.0  # seconds, because it asked for them
        self.waits_until = 0.0  # when the last of them are over
        self.put_off = 0  # times in a row that it asked for time
        self.silent = 0  # times in a row that it did not answer in time
        self.given_up = ""  # why it is asked no more
        self.given_up_as = Verdict.UNKNOWN  # the verdict of its other links

    def hear(self, heard: Heard | None) -> None:
        if heard is not None and (self.heard is None or heard > self.heard):
            self.heard = heard

    def wait(self, now: float, seconds: float, most: float) -> bool:
        """Leave it alone for so long, counted once however many hear of it; False where it may not ask for more."""
        more = now + seconds - max(now, self.waits_until)
        if more <= 0:
            return True
        if more > most - self.waited:
            return False
        self.waited += more
        self.waits_until = now + seconds
        return True


class _Links:
    """The links of a spool as items, each with what is known of it from before."""

    def __init__(self, spool: Spool, journal: Journal, hosts: dict[str, _Host]) -> None:
        self._spool, self._journal, self._known = spool, journal, hosts

    def hosts(self) -> Iterator[tuple[str, int]]:
        for host, left, heard in self._spool.hosts():
            if heard is not None:
                self._known[host] = _Host(heard)
            yield host, left

    def of_host(self, host: str, after: int, count: int, /) -> list[Queued]:
        found = self._spool.of_host(host, after, count)
        if not self._journal.is_kept:
            return found
        pasts = self._journal.pasts([(queued.asked, host) for queued in found])
        return [queued._replace(past=pasts.get(queued.asked, NOTHING)) for queued in found]


class Run:
    """One run over a spool of links. Iterate over `results()`; `stop()` lets what is under way come to its end."""

    _loop: asyncio.AbstractEventLoop

    def __init__(
        self, spool: Spool, looks: Looks, delays: HostDelays, clock: Clock, journal: Journal, options: RunOptions
    ) -> None:
        self._spool, self._looks, self._delays, self._clock, self._options = spool, looks, delays, clock, options
        self._journal = journal
        self._hosts: dict[str, _Host] = {}  # of which links are under way or wait
        self._scheduler = Scheduler(_Links(spool, journal, self._hosts), self, clock, at_once=options.at_once)
        self._counts = spool.hosts_done_before()
        self._out: deque[Checked] = deque()
        self._news = asyncio.Event()
        self._due: dict[Lease[Queued], float] = {}  # when links that are under way have taken far too long
        self._cut_off: set[int] = set()  # links that had begun and were dropped
        self._stopping = self._time_up = False
        self.done = self.bad = 0
        self.is_whole = False  # whether every link was requested, or has a reason why not
        self.network = True  # whether there was one; known at the end

    def stop(self) -> None:
        """Request nothing more. What is under way is waited for."""
        self._stopping = True
        self._scheduler.stop()

    async def results(self) -> AsyncGenerator[Checked, None]:
        """Good news and what could not be decided, as they come; at the end what failed."""
        self._loop = asyncio.get_running_loop()
        self._journal.open(self._report)
        checking = asyncio.create_task(self._check_all())
        beside = [asyncio.create_task(self._watch())]
        if self._options.total_seconds:
            beside.append(asyncio.create_task(self._limit()))
        ended = False
        try:
            for checked in self._spool.told():
                self.done += 1
                yield checked
            checking.add_done_callback(lambda _: self._news.set())
            while await self._has_news(checking):
                while self._out:
                    yield self._out.popleft()
            for checked in self._last():
                yield checked
            ended = True
        finally:
            for task in (checking, *beside):
                task.cancel()
            await asyncio.gather(checking, return_exceptions=True)
            await self._end(settled=ended and self.is_whole and not self._time_up)

    async def _end(self, *, settled: bool) -> None:
        await (self._journal.settle(network=self.network) if settled else self._journal.stop())
        await self._journal.close()

    async def _has_news(self, checking: asyncio.Task[None]) -> bool:
        """Whether there are results to be reported, now or in a while; False where there will be none."""
        while not self._out:
            if checking.done():
                checking.result()  # raises what went wrong
                return False
            self._news.clear()
            self._keep_up()
            await self._news.wait()
        return True

    def _last(self) -> Iterator[Checked]:
        """What waited for the end."""
        self.is_whole = not self._stopping or self._time_up
        for host in self._hosts.values():
            self._count(host)
        self.network = self._counts.had_network
        if self._time_up:
            for queued in self._scheduler.rest():
                yield Checked(queued.link, Verdict.UNKNOWN, CUT_OFF if queued.id in self._cut_off else TIME_UP)
        for checked in self._spool.held():
            yield checked if self.network else without_network(checked)

    @property
    def has_more(self) -> bool:
        """Whether another result is there to be taken at once."""
        return bool(self._out)

    @property
    def under_way(self) -> int:
        return self._scheduler.under_way

    def waiting(self) -> Iterator[tuple[str, float, int]]:
        """Hosts that are waited for, for how many seconds, and how many links are left at each."""
        for host, seconds, _, left in self._scheduler.waiting():
            yield host, seconds, left

    # What the scheduler wants to know of a host.

    def ready_at(self, host: str) -> float:
        """When a host may be asked. One that asks for more time than it may is given up."""
        now, delays = self._clock.monotonic(), self._delays
        asked = delays.asked_seconds(host)
        if asked > 0 and not self._host(host).wait(now, asked, self._options.host_patience):
            self._give_up(host, Verdict.RATE_LIMITED, _left_alone(asked))
            return now
        at, patience = delays.ready_at(host), self._options.host_patience
        if at > now + patience and (delay := delays.crawl_delay(host)) > patience:
            self._give_up(host, Verdict.RATE_LIMITED, f"not asked: robots.txt asks for a Crawl-delay of {delay:g} s")
            return now
        known = self._hosts.get(host)
        return at if known is None else max(known.waits_until, at)

    def places(self, host: str) -> int:
        return self._delays.places(host)

    def reason(self, host: str) -> str:  # noqa: ARG002  not shown
        return ""

    def given_up(self, host: str) -> None:
        """It has links that were not taken up, so nothing is known of it."""

    def _host(self, host: str) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = _Host()
        return known

    def _give_up(self, host: str, verdict: Verdict, why: str) -> None:
        known = self._host(host)
        known.given_up_as, known.given_up = verdict, why
        self._scheduler.give_up(host, SpanielError(Code.TIMEOUT, reason=why))

    def _count(self, host: _Host) -> None:
        if host.heard is not None:
            self._counts = self._counts.with_one(host.heard)

    # What follows runs beside whatever takes the results.

    async def _check_all(self) -> None:
        await self._scheduler.run(self._check)
        await self._journal.flush()

    def _keep_up(self) -> None:
        """Request no more links while too many results wait to be taken or recorded."""
        if len(self._out) + self._journal.waiting >= UNTAKEN:
            self._scheduler.pause()
        else:
            self._scheduler.resume()

    async def _limit(self) -> None:
        await self._clock.sleep(self._options.total_seconds)
        self._time_up = True
        latest = asyncio.get_running_loop().time() + LAST_SECONDS
        self._due = {lease: min(due, latest) for lease, due in self._due.items()}
        self.stop()

    async def _watch(self) -> None:
        """A last resort, behind the deadlines of each request, so one timer that looks now and then is enough."""
        loop, options = asyncio.get_running_loop(), self._options
        while True:
            await asyncio.sleep(min(LONGEST_LOOK, options.link_seconds, options.content_seconds))
            now = loop.time()
            for lease in [lease for lease, due in self._due.items() if due < now]:
                self._due[lease] = LATE
                if lease.task is not None:
                    lease.task.cancel()

    async def _check(self, lease: Lease[Queued]) -> None:
        """One link of a host."""
        host, queued = self._host(lease.host), lease.item
        if lease.refusal is not None:
            self._finish(lease, host, Checked(queued.link, host.given_up_as, host.given_up), None)
            return
        try:
            looked = await self._look(lease, host.put_off)
        except asyncio.CancelledError:
            self._cut_off.add(queued.id)
            raise
        host.hear(looked.heard)
        if looked.retry_after is None:
            host.put_off = 0
        elif self._put_off(lease.host, host, looked.retry_after):
            lease.retry()
            return
        self._note_silence(lease.host, host, looked)
        written = self._finish(lease, host, looked.checked, self._answer(lease.host, queued, looked))
        if written is not None:
            lease.finish()
            await asyncio.shield(written)  # so that whatever kills us, one link of a host at most is asked again

    def _answer(self, host: str, queued: Queued, looked: Looked) -> Answer | None:
        """What is recorded: nothing of a link that is not requested, such as one of another scheme."""
        if looked.checked.verdict is Verdict.SKIPPED or not self._journal.is_kept or looked.checked.reason == CUT_OFF:
            return None
        at = self._clock.now().timestamp()
        heard = Heard.SILENT if looked.heard is None else looked.heard
        return Answer(queued.asked, host, heard, at, looked.checked, looked.head_differs)

    async def _look(self, lease: Lease[Queued], attempts: int) -> Looked:
        queued, options = lease.item, self._options
        link, expected, seconds = queued.link, queued.link.expected, options.link_seconds
        if expected is not ANYTHING and (expected.length is not None or expected.sha256 is not None):
            seconds = options.content_seconds
        asked = link if link.url == queued.asked else link._replace(url=queued.asked)
        self._due[lease] = self._loop.time() + seconds
        looked = None
        try:
            looked = await self._looks.look(asked, queued.past, attempts)
        except SpanielError as error:
            looked = Looked(Checked(link, Verdict.UNKNOWN, error.message, error.code), None)
        except asyncio.CancelledError:
            if self._due.get(lease) != LATE:
                raise
        except Exception as error:
            log.exception("checking %s failed unexpectedly", shown(queued.asked))  # one link must not end the run
            bug = SpanielError(Code.INTERNAL, error=type(error).__name__)
            looked = Looked(Checked(link, Verdict.UNKNOWN, bug.message, bug.code), None)
        finally:
            if self._due.pop(lease) == LATE and lease.task is not None:
                lease.task.uncancel()  # it was stopped here, and continues
        if looked is None:
            why = CUT_OFF if self._time_up else f"no answer within {seconds:.0f} s"
            late = Checked(link, Verdict.UNKNOWN, why, Code.TIMEOUT)
            return Looked(late, None if self._time_up else Heard.LOOKUP_ANSWER)
        return looked if asked is link else looked._replace(checked=looked.checked._replace(link=link))

    def _put_off(self, name: str, host: _Host, retry_after: float) -> bool:
        """Whether a link is asked again later, since its host asked for time; else that is its result."""
        now = self._clock.monotonic()
        left = host.waits_until - now  # of what another link has heard there meanwhile
        if left <= 0 or retry_after > left + 1:
            seconds = retry_after or BACK_OFF * 2**host.put_off
            host.put_off += 1
            if host.put_off > MOST_PUT_OFF:
                host.put_off = 0  # this page may be alone in that: the next is asked, while there is patience
                return False
            if not host.wait(now, seconds, self._options.host_patience):
                self._give_up(name, Verdict.RATE_LIMITED, _left_alone(seconds))
                return False
        return True

    def _note_silence(self, name: str, host: _Host, looked: Looked) -> None:
        is_silent = looked.checked.code == Code.TIMEOUT and looked.heard not in (None, Heard.ANSWER)
        host.silent = host.silent + 1 if is_silent else 0
        if host.silent >= SILENT_TIMES:
            why = f"not asked: the host did not answer in time, {SILENT_TIMES} times in a row"
            self._give_up(name, Verdict.UNKNOWN, why)

    def _finish(
        self, lease: Lease[Queued], host: _Host, checked: Checked, answer: Answer | None
    ) -> asyncio.Future[None] | None:
        if not lease.left:
            self._count(self._hosts.pop(lease.host, host))
        written = self._journal.add(checked, answer)
        if len(self._out) + self._journal.waiting >= UNTAKEN:
            self._scheduler.pause()
        return written

    def _report(self, checked: Checked) -> None:
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
