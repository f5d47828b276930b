"""Many links checked at once: polite at each host, each URL once, reported as results come and recorded before.

The scheduler says which link is next, and `Hosts` when a host may be requested and when it is given up. Bad results
wait for the end of the run, because only then is it known whether there was a network at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import CHECK_CONTENT_SECONDS, CHECK_JOBS
from spaniel.errors import Code, SpanielError, shown
from spaniel.health.history import HostReach, without_network
from spaniel.health.links import Checked, by_fragment
from spaniel.health.store import LinkResult
from spaniel.hosts.limits import NO_LIMIT, HostLimits
from spaniel.hosts.scheduler import Scheduler
from spaniel.verdicts import ANYTHING, BAD, Verdict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from spaniel.clock import Clock
    from spaniel.health.links import Link
    from spaniel.health.store import LinkStore, LinkTask
    from spaniel.hosts import Hosts
    from spaniel.hosts.scheduler import Lease
    from spaniel.verdicts import Past

log = logging.getLogger("spaniel.health")
MOST_UNREAD = 1000  # results that were not taken yet, beyond which no more links are requested
MOST_HELD = 500  # bad results that are written at once
SILENT_TIMES = 3  # in a row that a host does not answer in time; then its other links are not requested
MOST_PUT_OFF = 5  # times that a link is requested again because its host asked us to wait
BACK_OFF = 2.0  # seconds for a host that asks us to wait and does not say how long
TIME_UP = "not asked: the time for the whole run was up"
CUT_OFF = "no answer yet when the time for the whole run was up"
LAST_SECONDS = 5.0  # for what is under way when it is
LONGEST_LOOK = 1.0  # seconds between two searches for links that take too long
LATE = float("-inf")


class CheckResult(NamedTuple):
    """The result of one attempt at a link."""

    checked: Checked
    reach: HostReach | None  # how far the request came; None where there was none
    retry_after: float | None = None  # seconds that the host asked for; 0 where it did not say how long
    head_differs: bool = False  # HEAD and GET disagreed


class Checker(Protocol):
    """Requests a link, once, and decides on its verdict."""

    async def check(self, link: Link, past: Past, attempts: int) -> CheckResult: ...  # that were made before


class RunOptions(NamedTuple):
    at_once: int = CHECK_JOBS.default  # links that are under way, without those that wait for a host
    link_seconds: float = 60.0  # for one link, however its host behaves
    content_seconds: float = CHECK_CONTENT_SECONDS.default  # for one whose content is asserted, of any size
    total_seconds: float = 0.0  # for the run; 0: as long as it takes


def limits_of_checks(host_wait_seconds: float) -> HostLimits:
    """When a check gives a host up: the seconds are those that a host may make us wait for in a run."""
    return HostLimits(
        failures=SILENT_TIMES,
        pause=0.0,
        retry_after=NO_LIMIT,
        crawl_delay=NO_LIMIT,
        host_time=0.0,
        total_time=0.0,
        all_waits=host_wait_seconds,
        first_pause=BACK_OFF,
        strikes=MOST_PUT_OFF + 1,
        gives_up_busy=False,
    )


def not_requested(link: Link, error: SpanielError) -> Checked:
    """The result of a link whose host was given up."""
    details = error.details
    if error.code in (Code.HTTP_4XX, Code.HTTP_5XX):
        why = f"the host wants to be left alone for {details['retry_after']} s"
        return Checked(link, Verdict.RATE_LIMITED, f"not asked: {why}")
    if (delay := details.get("crawl_delay")) is not None:
        return Checked(link, Verdict.RATE_LIMITED, f"not asked: robots.txt asks for a Crawl-delay of {delay:g} s")
    why = f"the host did not answer in time, {SILENT_TIMES} times in a row"
    return Checked(link, Verdict.UNKNOWN, f"not asked: {why}")


class Run:
    """One run over the links of a store. Iterate over `results()`; `stop()` waits for what is under way."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self, store: LinkStore, checker: Checker, hosts: Hosts, clock: Clock, options: RunOptions) -> None:
        self._store, self._checker, self._hosts, self._clock, self._options = store, checker, hosts, clock, options
        self._scheduler = Scheduler(store, hosts, clock, at_once=options.at_once)
        self._counts, self._reach = store.reached_before()  # of hosts that are done, and of those that have links left
        self._out: deque[Checked] = deque()
        self._pending: list[LinkResult] = []  # to be written and then reported
        self._written: asyncio.Future[None] | None = None  # of all that is pending
        self._held: list[LinkResult] = []  # bad ones of a run that is not recorded
        self._news = asyncio.Event()
        self._due: dict[Lease[LinkTask], float] = {}  # when links that are under way have taken far too long
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
        """Good results and what could not be decided, as they come; at the end what failed."""
        self._loop = asyncio.get_running_loop()
        checking = asyncio.create_task(self._check_all())
        beside = [asyncio.create_task(self._watch())]
        if self._options.total_seconds:
            beside.append(asyncio.create_task(self._limit()))
        ended = False
        try:
            for checked in self._first():
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
            self._write()
            if ended and self.is_whole and not self._time_up:
                for _ in self._store.settle(network=self.network):
                    await asyncio.sleep(0)

    def _first(self) -> Iterator[Checked]:
        """What is known before anything is requested; bad results of the earlier part of the run wait for the end."""
        for checked in self._store.known():
            self.done += 1
            yield checked
        for checked in self._store.earlier():
            for part in by_fragment(checked):
                self.done += 1
                if part.verdict in BAD:
                    self.bad += 1
                else:
                    yield part

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
        for reach in self._reach.values():
            self._counts = self._counts.with_one(reach)
        self.network = self._counts.had_network
        if self._time_up:
            for task in self._scheduler.rest():
                yield Checked(task.link, Verdict.UNKNOWN, CUT_OFF if task.id in self._cut_off else TIME_UP)
        self._store.commit(self._held)
        for checked in self._store.held():
            for part in by_fragment(checked):
                if part.verdict in BAD:
                    yield part if self.network else without_network(part)

    @property
    def under_way(self) -> int:
        return self._scheduler.under_way

    def waiting(self) -> Iterator[tuple[str, float, int]]:
        """Hosts that are waited for, for how many seconds, and how many links are left at each."""
        for host, seconds, _, left in self._scheduler.waiting():
            yield host, seconds, left

    # What follows runs beside the consumer of the results.

    async def _check_all(self) -> None:
        await self._scheduler.run(self._check)
        self._write()

    def _keep_up(self) -> None:
        """Request no more links while too many results wait to be taken."""
        if len(self._out) >= MOST_UNREAD:
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

    async def _check(self, lease: Lease[LinkTask]) -> None:
        """One link of a host."""
        task, host = lease.item, lease.host
        if lease.refusal is not None:
            self._finish(lease, not_requested(task.link, lease.refusal), None)
            return
        try:
            result = await self._attempt(lease)
        except asyncio.CancelledError:
            self._cut_off.add(task.id)
            raise
        checked, reach, retry_after, head_differs = result
        if reach is not None and reach > self._reach.get(host, LATE):
            self._reach[host] = reach
        if retry_after is not None:
            if self._is_put_off(lease, retry_after):
                return
        elif checked.code == Code.TIMEOUT and reach not in (None, HostReach.ANSWER):
            self._hosts.unanswered(host, SpanielError(Code.TIMEOUT, reason=checked.reason))
        else:
            self._hosts.recovered(host)
        if checked.verdict is Verdict.SKIPPED or checked.reason == CUT_OFF:  # there was no request, or no result
            self._finish(lease, checked, None)
        else:
            at = self._clock.now().timestamp() if self._store.is_recording else 0.0
            self._finish(lease, checked, LinkResult(task, checked, reach, at, head_differs))
        if self._written is not None:  # so that after a kill, one link of a host at most is requested again
            lease.finish()
            await asyncio.shield(self._written)

    async def _attempt(self, lease: Lease[LinkTask]) -> CheckResult:
        task, options = lease.item, self._options
        link, seconds = task.link, options.link_seconds
        expected = link.expected
        if expected is not ANYTHING and (expected.length is not None or expected.sha256 is not None):
            seconds = options.content_seconds
        requested = link if link.url == task.url else link._replace(url=task.url)
        self._due[lease] = self._loop.time() + seconds
        result = None
        try:
            result = await self._checker.check(requested, task.past, task.attempts)
        except SpanielError as error:
            result = CheckResult(Checked(link, Verdict.UNKNOWN, error.message, error.code), None)
        except asyncio.CancelledError:
            if self._due.get(lease) != LATE:
                raise
        except Exception as error:
            log.exception("checking %s failed unexpectedly", shown(task.url))  # one link must not end the run
            bug = SpanielError(Code.INTERNAL, error=type(error).__name__)
            result = CheckResult(Checked(link, Verdict.UNKNOWN, bug.message, bug.code), None)
        finally:
            if self._due.pop(lease) == LATE and lease.task is not None:
                lease.task.uncancel()  # it was stopped here, and continues
        if result is None:
            why = CUT_OFF if self._time_up else f"no answer within {seconds:.0f} s"
            late = Checked(link, Verdict.UNKNOWN, why, Code.TIMEOUT)
            return CheckResult(late, None if self._time_up else HostReach.LOOKUP_ANSWER)
        return result if requested is link else result._replace(checked=result.checked._replace(link=link))

    def _is_put_off(self, lease: Lease[LinkTask], retry_after: float) -> bool:
        """Whether a link is requested again later, because a host asked us to wait; otherwise that is its result."""
        task, now = lease.item, self._clock.monotonic()
        is_own = self._hosts.ready_at(lease.host) > now  # it gives the host up if that is too long
        is_long = not is_own and self._hosts.limits is not None and retry_after > self._hosts.limits.all_waits
        if is_long or task.attempts >= MOST_PUT_OFF or self._hosts.given_up(lease.host) is not None:
            return False  # this page may be the only one: the next is requested
        task.attempts += 1
        lease.retry(0.0 if is_own else retry_after)  # not its own: a host that it redirects to asked us to wait
        return True

    def _finish(self, lease: Lease[LinkTask], checked: Checked, result: LinkResult | None) -> None:
        if not lease.left and (reach := self._reach.pop(lease.host, None)) is not None:
            self._counts = self._counts.with_one(reach)
        if result is not None and self._store.is_recording:
            if self._written is None:
                self._written = self._loop.create_future()
                self._loop.call_soon(self._write)
            self._pending.append(result)
        else:
            self._report(checked, result or LinkResult(lease.item, checked, None, 0.0))
        if len(self._out) >= MOST_UNREAD:
            self._scheduler.pause()

    def _write(self) -> None:
        """Write the results of this turn of the event loop, and then report them."""
        if self._pending:
            results, self._pending = self._pending, []
            written, self._written = self._written, None
            self._store.commit(results)
            for result in results:
                self._report(result.checked, None)
            if written is not None and not written.done():
                written.set_result(None)

    def _report(self, checked: Checked, held: LinkResult | None) -> None:
        """`held`: to be kept if it is bad."""
        self.done += 1
        if not checked.findings and checked.verdict not in BAD:
            self._out.append(checked)
        else:
            parts = list(by_fragment(checked))
            self.done += len(parts) - 1
            bad = sum(part.verdict in BAD for part in parts)
            self.bad += bad
            self._out.extend(part for part in parts if part.verdict not in BAD)
            if bad and held is not None:
                self._held.append(held)
                if len(self._held) >= MOST_HELD:
                    self._store.commit(self._held)
                    self._held = []
        self._news.set()
