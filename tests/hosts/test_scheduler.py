"""The scheduler: which item is next, who waits where, and that every run ends; on a virtual clock."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts, Politeness
from spaniel.hosts import scheduler as module
from spaniel.hosts.limits import GIVEN_UP, HostLimits
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.hosts.scheduler import AHEAD, Lease, PlaceClock, PlaceResolver, Scheduler, Waiting
from spaniel.net.addresses import Address
from spaniel.net.deadline import Deadline
from tests.hosts.virtual import Page, Pages, VirtualClock

ONE, USUAL = HostRule(1, 0.0), HostLimits()
TAKES = 0.1  # seconds that a request takes
Work = Callable[[Lease[Page]], Awaitable[None]]


class Site:
    """Requests as hosts see them: when each began and ended, how many at once."""

    def __init__(self, clock: VirtualClock, rule: HostRule = ONE, limits: HostLimits = USUAL) -> None:
        self.clock = clock
        self.hosts = Hosts(clock, rules=HostRules(rule), limits=limits)
        self.requests: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.order: list[str] = []
        self.here: Counter[str] = Counter()
        self.most_here: Counter[str] = Counter()
        self.most = 0

    async def request(self, host: str, *, led: bool = False) -> None:
        async with self.hosts.turn(f"https://{host}", Deadline(1e9), led=led):
            self.here[host] += 1
            self.most = max(self.most, self.here.total())
            self.most_here[host] = max(self.most_here[host], self.here[host])
            self.order.append(host)
            began = self.clock.monotonic()
            try:
                await self.clock.sleep(TAKES)
            finally:
                self.here[host] -= 1
                self.requests[host].append((began, self.clock.monotonic()))

    def pauses(self, host: str) -> list[float]:
        """From the end of a request to the beginning of the next."""
        spans = sorted(self.requests[host])
        return [spans[n + 1][0] - spans[n][1] for n in range(len(spans) - 1)]


class Run:
    """A run whose work asks an item's host once."""

    def __init__(self, pages: Pages, site: Site, at_once: int = 8, *, moves: bool = False) -> None:
        self.pages, self.site = pages, site
        self.scheduler = Scheduler(pages, site.hosts, site.clock, at_once=at_once, moves=moves)
        self.refused: dict[int, SpanielError] = {}
        self.failed: dict[int, SpanielError] = {}
        self.asked: Counter[int] = Counter()

    async def visit(self, lease: Lease[Page]) -> None:
        await self.site.request(lease.item.host)

    async def work(self, lease: Lease[Page]) -> None:
        if lease.refusal is not None:
            self.refused[lease.item.id] = lease.refusal
        else:
            self.asked[lease.item.id] += 1
            try:
                await self.visit(lease)
            except SpanielError as error:
                self.failed[lease.item.id] = error
        if lease.due is None:
            self.pages.finished.add(lease.item.id)

    async def all(self) -> bool:
        async with asyncio.timeout(60):
            return await self.site.clock.drive(self.scheduler.run(self.work))


async def test_every_item_is_worked_on_once_and_no_host_twice_at_a_time() -> None:
    site = Site(VirtualClock())
    run = Run(Pages(*((f"{n}.example", 40) for n in range(10))), site, at_once=4)
    assert await run.all()
    assert len(run.pages.finished) == 400
    assert set(run.asked.values()) == {1}
    assert set(site.most_here.values()) == {1}
    assert site.most == 4
    assert not run.scheduler._queues
    assert run.scheduler.under_way == 0


async def test_nothing_to_do_ends_at_once() -> None:
    run = Run(Pages(), Site(VirtualClock()))
    assert await run.all()


async def test_host_with_most_items_is_first_and_delays_hold_no_place() -> None:
    site = Site(VirtualClock(), HostRule(1, 10.0))
    run = Run(Pages(("few.example", 1), ("many.example", 3), ("some.example", 2)), site, at_once=1)
    await run.all()
    assert site.order[:3] == ["many.example", "some.example", "few.example"]
    assert all(pause >= 10.0 for host in site.requests for pause in site.pauses(host))
    assert site.clock.passed == pytest.approx(3 * TAKES + 2 * 10.0)


async def test_items_are_read_some_at_a_time_and_a_host_that_waits_long_keeps_none() -> None:
    site = Site(VirtualClock())
    run = Run(Pages(("a.example", 40)), site)
    await run.all()
    assert len(run.pages.reads["a.example"]) == -(-40 // AHEAD)
    slow = Run(Pages(("a.example", 40)), Site(VirtualClock(), HostRule(1, 60.0)))
    await slow.all()
    assert len(slow.pages.reads["a.example"]) == 40  # a minute is long
    assert len(slow.pages.finished) == 40


@pytest.mark.parametrize(("delay", "most"), [(2.0, 20), (30.0, 400)])
async def test_hosts_in_memory_are_bounded_but_for_those_that_wait_long(
    monkeypatch: pytest.MonkeyPatch, delay: float, most: int
) -> None:
    """No number of hosts that wait keeps the others from being asked."""
    monkeypatch.setattr(module, "LEAST_LIVE", 20)
    site = Site(VirtualClock(), HostRule(1, delay))
    live: list[int] = []

    class Watched(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            live.append(len(self.scheduler._queues))
            await super().visit(lease)

    run = Watched(Pages(*((f"{n}.example", 2) for n in range(400))), site, at_once=4)
    await run.all()
    assert len(run.pages.finished) == 800
    assert max(live) <= most
    if delay > 10:
        assert site.clock.passed < 120.0


@pytest.mark.parametrize("per_host", [2, 7])
async def test_several_at_one_host_where_its_rules_allow_it_after_the_first_alone(per_host: int) -> None:
    site = Site(VirtualClock(), HostRule(per_host, 0.0))
    run = Run(Pages(("a.example", 50)), site, at_once=16)
    await run.all()
    assert site.most_here["a.example"] == per_host
    first, second = sorted(site.requests["a.example"])[:2]
    assert second[0] >= first[1]


async def test_other_hosts_come_before_a_second_request_to_one() -> None:
    site = Site(VirtualClock(), HostRule(5, 0.0))
    run = Run(Pages(*((f"{n}.example", 12) for n in range(40))), site, at_once=5)
    await run.all()
    assert sum(most > 1 for most in site.most_here.values()) <= 5  # the last ones


async def test_item_that_sleeps_before_a_retry_leaves_its_place_and_its_host() -> None:
    site = Site(VirtualClock())
    clock = PlaceClock(site.clock)

    class Retrying(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.id == 1:
                await clock.sleep(45.0)
                assert site.hosts.clock.monotonic() - site.clock.start >= 45.0
                await super().visit(lease)

    run = Retrying(Pages(("a.example", 30)), site, at_once=1)
    await run.all()
    assert len(site.order) == 31
    assert site.clock.passed == pytest.approx(45.0 + 2 * TAKES)
    assert site.most == 1  # it took the place again


async def test_item_is_tried_again_when_asked_to() -> None:
    site = Site(VirtualClock())

    class Again(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if self.asked[lease.item.id] < 3:
                lease.retry(20.0 if lease.item.id % 2 else 0.0)

    run = Again(Pages(("a.example", 2), ("b.example", 1)), site)
    await run.all()
    assert run.asked == {1: 3, 2: 3, 3: 3}
    assert 40.0 < site.clock.passed < 42.0


async def test_lookup_of_a_name_holds_no_place() -> None:
    site = Site(VirtualClock())

    class Slow:
        async def resolve(self, host: str) -> list[Address]:
            if host.startswith("dead"):
                await site.clock.sleep(5.0)
                raise SpanielError(Code.DNS_FAILED, host=host, error="no answer")
            return []

    resolver = PlaceResolver(Slow())

    class Resolved(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await resolver.resolve(lease.item.host)
            await super().visit(lease)

    hosts = [*((f"dead{n}.example", 1) for n in range(6)), *((f"{n}.example", 1) for n in range(40))]
    run = Resolved(Pages(*hosts), site, at_once=2)
    await run.all()
    assert (len(run.pages.finished), len(run.failed)) == (46, 6)
    assert site.most <= 2
    assert site.clock.passed < 6.0  # one after another they would take fifteen seconds
    assert list(await resolver.resolve("outside.example")) == []


@pytest.mark.req("DB-09")
async def test_item_that_waits_for_a_turn_leaves_its_place_and_waits_for_one_again() -> None:
    site = Site(VirtualClock(), HostRule(1, 5.0))
    left: list[float] = []

    class Redirected(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.host.startswith("r"):
                deadline = Deadline(60)
                async with site.hosts.turn("https://slow.example", deadline):
                    assert self.scheduler._count[module.RUNNING] <= 2
                    left.append(deadline.left())

    run = Redirected(
        Pages(*((f"r{n}.example", 1) for n in range(4)), *((f"{n}.example", 1) for n in range(60))), site, 2
    )
    await run.all()
    assert len(run.pages.finished) == 64
    assert site.clock.passed < 20.0  # three pauses at the slow host, and the others meanwhile
    assert site.most == 2
    assert len(left) == 4


async def test_item_that_is_cancelled_while_it_waits_for_its_place_frees_the_host() -> None:
    site = Site(VirtualClock(), HostRule(1, 1.0))
    stuck = asyncio.Event()

    class Stuck(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.host == "a.example":
                await site.request("b.example")  # which has a pause: meanwhile the other one has the only place
            else:
                await stuck.wait()

    run = Stuck(Pages(("a.example", 1), ("b.example", 1), ("c.example", 1)), site, 1)

    async def cancelled() -> None:
        await site.request("b.example")
        task = asyncio.ensure_future(run.scheduler.run(run.work))
        await site.clock.sleep(3.0)
        task.cancel()
        await asyncio.wait([task])

    await site.clock.drive(cancelled())
    assert all(known.busy == 0 and not known.waiting for known in site.hosts._hosts.values())
    assert run.scheduler.under_way == 0


@pytest.mark.req("FG-46")
async def test_redirects_to_a_slow_host_wait_in_its_queue_and_hold_nothing_up() -> None:
    site = Site(VirtualClock(), HostRule(1, 30.0))
    site.hosts.set_crawl_delay("slow.example", 30.0)

    class Redirected(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.host.startswith("r"):
                await site.request("slow.example", led=True)

    hosts = [*((f"r{n}.example", 1) for n in range(20)), *((f"{n}.example", 1) for n in range(50))]
    run = Redirected(Pages(*hosts), site, at_once=2, moves=True)
    await run.all()
    assert len(run.pages.finished) == 70
    assert len(site.requests["slow.example"]) == 20
    assert all(pause >= 30.0 for pause in site.pauses("slow.example"))
    assert max(run.asked.values()) <= 4
    others = max(end for host, spans in site.requests.items() if host[0].isdigit() for _, end in spans)
    assert others - site.clock.start < 10.0  # they did not wait for the slow one


@pytest.mark.req("FG-46")
async def test_items_of_a_host_that_was_given_up_come_with_the_reason() -> None:
    site = Site(VirtualClock())
    run = Run(Pages(("a.example", 50), ("b.example", 2)), site, at_once=2)
    why = SpanielError(Code.TIMEOUT, reason="enough")

    async def visit(lease: Lease[Page]) -> None:
        await site.request(lease.item.host)
        if len(site.requests["a.example"]) == 3:
            site.hosts.give_up("a.example", why)

    run.visit = visit  # type: ignore[method-assign]
    await run.all()
    assert len(run.pages.finished) == 52
    assert len(run.refused) == 47
    assert set(run.refused.values()) == {why}


async def test_stopping_finishes_requests_and_drops_what_waits() -> None:
    site = Site(VirtualClock(), HostRule(1, 10.0))
    clock = PlaceClock(site.clock)

    class Stopped(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.host == "a.example":
                await clock.sleep(1000.0)
            if len(site.order) == 6:
                self.scheduler.stop()

    run = Stopped(Pages(*((f"{name}.example", 3) for name in "abcdef")), site)
    assert not await run.all()
    assert site.clock.passed < 20.0
    assert 1 not in run.pages.finished
    begun = set(run.asked)
    rest = {page.id for page in run.scheduler.rest()}
    assert rest | run.pages.finished == set(range(1, 19))
    assert begun - run.pages.finished <= rest


async def test_a_pause_begins_nothing_until_it_is_over() -> None:
    site = Site(VirtualClock())
    run = Run(Pages(*((f"{n}.example", 5) for n in range(20))), site, at_once=4)

    async def consumer() -> bool:
        task = asyncio.ensure_future(run.scheduler.run(run.work))
        await site.clock.sleep(1.05)
        run.scheduler.pause()
        await site.clock.sleep(5.0)
        asked = len(site.order)
        await site.clock.sleep(5.0)
        assert len(site.order) == asked < 100
        run.scheduler.resume()
        return await task

    assert await site.clock.drive(consumer())
    assert len(run.pages.finished) == 100


async def test_an_error_of_the_work_ends_the_run_and_everything_in_it() -> None:
    site = Site(VirtualClock())

    class Broken(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.id == 7:
                raise ZeroDivisionError

    run = Broken(Pages(("a.example", 20), ("b.example", 20)), site)
    with pytest.raises(ZeroDivisionError):
        await run.all()
    assert not run.scheduler._tasks


async def test_cancellation_that_came_too_late_for_one_item_loses_no_other() -> None:
    """As by a time limit that rings when its request has just ended."""
    site = Site(VirtualClock())

    class Late(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.id == 3 and lease.task is not None:
                lease.task.cancel()
                lease.task.uncancel()

    run = Late(Pages(("a.example", 6)), site)
    await run.all()
    assert run.pages.finished == set(range(1, 7))
    assert run.asked == {1: 1, 2: 1, 3: 1, 4: 2, 5: 1, 6: 1}


async def test_cancelling_a_run_leaves_hosts_free() -> None:
    site = Site(VirtualClock(), HostRule(1, 1.0))
    run = Run(Pages(*((f"{n}.example", 5) for n in range(5))), site)

    async def cancelled() -> None:
        task = asyncio.ensure_future(run.scheduler.run(run.work))
        await site.clock.sleep(1.15)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    await site.clock.drive(cancelled())
    assert all(known.busy == 0 and not known.waiting for known in site.hosts._hosts.values())


async def test_hosts_that_are_waited_for_are_shown_with_the_reason() -> None:
    site = Site(VirtualClock(), HostRule(1, 0.0))
    run = Run(Pages(("a.example", 3), ("b.example", 3)), site)
    site.hosts.set_crawl_delay("a.example", 7.0)
    seen: list[Waiting] = []

    async def visit(lease: Lease[Page]) -> None:
        await site.request(lease.item.host)
        if lease.item.host == "b.example" and lease.left == 0:
            site.hosts.answered("https://b.example", 429, {"retry-after": "9"})
            seen.extend(run.scheduler.waiting())

    run.visit = visit  # type: ignore[method-assign]
    await run.all()
    ((host, seconds, reason, left),) = seen
    assert (host, reason, left) == ("a.example", "Crawl-delay 7 s", 2)
    assert 0 < seconds <= 7.0


# Traps (FG-46): 200 hosts that behave badly, and the run ends when politeness allows.


TRAPS = ["drops", "crawl-delay", "huge crawl-delay", "429", "429 for long", "503", "http only"]


def broken(host: str) -> SpanielError:
    return SpanielError(Code.NETWORK, host=host, error="reset")


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("kind", [*TRAPS, "mixed"])
async def test_no_kind_of_host_delays_a_run_for_ever(kind: str) -> None:
    clock = VirtualClock()
    site = Site(clock, HostRule(1, 1.0), HostLimits(failures=5, pause=30.0, retry_after=600.0, crawl_delay=120.0))
    pages = Pages(*((f"{n}.example", 12) for n in range(200)), *((f"good{n}.example", 12) for n in range(5)))

    http_only: list[str] = []

    class Trapped(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            host = lease.item.host
            if host.startswith("good"):
                await site.request(host)
                site.hosts.answered(f"https://{host}", 200, {})
                return
            how = TRAPS[int(host.partition(".")[0]) % len(TRAPS)] if kind == "mixed" else kind
            if "crawl-delay" in how:
                site.hosts.set_crawl_delay(host, 86_400.0 if "huge" in how else 100.0)
            await site.request(host)
            if how == "http only" and not site.hosts.is_http_only(host):  # the first request was an HTTPS one
                site.hosts.set_http_only(host)
                http_only.append(host)
                await site.request(host)
            if how == "drops":
                site.hosts.unanswered(f"https://{host}", broken(host))
            elif how in ("429", "503", "429 for long"):
                headers = {"retry-after": "3600"} if how == "429 for long" else {}
                site.hosts.answered(f"https://{host}", int(how[:3]), headers)

    run = Trapped(pages, site, at_once=32, moves=True)
    await run.all()
    assert len(run.pages.finished) == pages.total
    assert set(site.most_here.values()) == {1}
    assert all(pause >= 1.0 for host in site.requests for pause in site.pauses(host))
    good = [end for host, spans in site.requests.items() if host.startswith("good") for _, end in spans]
    assert len(good) == 60
    assert max(good) - clock.start < 60.0  # the others did not hold them up
    asked = {host: len(spans) for host, spans in site.requests.items() if not host.startswith("good")}
    most = {"drops": 6, "crawl-delay": 12, "huge crawl-delay": 0, "429": 7, "429 for long": 1, "503": 7}
    most |= {"http only": 13, "mixed": 13}
    assert len(http_only) == {"http only": 200, "mixed": 28}.get(kind, 0)
    assert max(asked.values(), default=0) == most[kind]
    assert clock.passed < 1400.0
    assert {error.details.get("cause") for error in (*run.refused.values(), *run.failed.values())} <= {GIVEN_UP}
    assert len(run.refused) + len(run.failed) + sum(asked.values()) - len(http_only) + 60 == pages.total


@pytest.mark.req("FG-46")
@pytest.mark.parametrize(("limits", "end"), [(HostLimits(host_time=50.0), 52.0), (HostLimits(total_time=30.0), 32.0)])
async def test_limits_of_a_host_and_of_the_run_end_it(limits: HostLimits, end: float) -> None:
    site = Site(VirtualClock(), HostRule(1, 5.0), limits)
    run = Run(Pages(*((f"{n}.example", 100) for n in range(20))), site)
    await run.all()
    assert len(run.pages.finished) == 2000
    assert site.clock.passed < end
    assert {error.code for error in run.refused.values()} == {Code.TIMEOUT}


async def test_politeness_of_each_call_holds_where_a_run_has_no_rules() -> None:
    clock = VirtualClock()
    hosts = Hosts(clock)
    polite = Politeness(at_once=1, delay_seconds=2.0, respect_delays=True)
    began: list[float] = []

    class Ready:
        given_up, reason = hosts.given_up, hosts.reason

        def ready_at(self, host: str) -> float:
            return hosts.ready_at(host, polite)

        def places(self, host: str) -> int:
            return hosts.places(host, polite)

    async def work(lease: Lease[Page]) -> None:
        async with hosts.turn(lease.host, Deadline(1e9), polite):
            began.append(clock.passed)

    await clock.drive(Scheduler(Pages(("a.example", 4)), Ready(), clock, at_once=4).run(work))
    assert began == [0.0, 2.0, 4.0, 6.0]


ENOUGH = SpanielError(Code.TIMEOUT, reason="enough")


async def test_giving_everything_up_ends_sleeps_and_takes_items_that_are_tried_later() -> None:
    site = Site(VirtualClock())
    clock = PlaceClock(site.clock)

    class Waiting(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.host == "sleeps.example":
                await clock.sleep(1000.0)
            elif lease.item.host == "later.example":
                lease.retry(1000.0)
            elif lease.item.id % 5 == 0:
                self.scheduler.give_up_all(ENOUGH)
                self.scheduler.give_up_all(SpanielError(Code.TIMEOUT, reason="too late"))

    run = Waiting(Pages(("a.example", 30), ("later.example", 2), ("sleeps.example", 1)), site, at_once=4)
    await run.all()
    assert site.clock.passed < 10.0
    assert len(run.pages.finished) == 33
    assert set(run.refused.values()) == {ENOUGH}


async def test_sleep_before_a_retry_ends_when_its_host_is_given_up() -> None:
    site = Site(VirtualClock())
    clock = PlaceClock(site.clock)

    class Retrying(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            if lease.item.id == 2:
                await asyncio.gather(super().visit(lease), clock.sleep(1000.0), clock.sleep(2.0))
            else:
                await super().visit(lease)
            if lease.item.host == "b.example":
                await site.clock.sleep(5.0)
                site.hosts.give_up("a.example", ENOUGH)

    run = Retrying(Pages(("a.example", 3), ("b.example", 1)), site)
    await run.all()
    assert len(run.pages.finished) == 4


async def test_items_that_were_not_begun_are_listed_after_a_stop() -> None:
    site = Site(VirtualClock())

    class Stopped(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            if lease.item.id == 1:
                lease.retry(100.0)
            if lease.item.id == 4:
                self.scheduler.stop()

    run = Stopped(Pages(("a.example", 9), *((f"{n}.example", 2) for n in range(3))), site, at_once=1)
    assert not await run.all()
    rest = [page.id for page in run.scheduler.rest()]
    assert len(rest) == len(set(rest))
    assert set(rest) | run.pages.finished == set(range(1, 16))


async def test_source_with_fewer_items_than_it_said_ends() -> None:
    class Fewer(Pages):
        def hosts(self) -> Iterator[tuple[str, int]]:
            yield from ((host, count + 20) for host, count in super().hosts())
            yield "empty.example", 3

    site = Site(VirtualClock())
    run = Run(Fewer(("a.example", 3), ("empty.example", 0)), site)
    assert await run.all()
    assert run.pages.finished == {1, 2, 3}


async def test_items_are_added_while_a_run_lasts_and_share_their_host() -> None:
    site = Site(VirtualClock(), HostRule(3, 0.0))

    class Growing(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            if lease.item.id == 1:
                lease.finish()
                lease.finish()  # changes nothing
            await super().visit(lease)
            if lease.item.id == 2:
                for number in range(3, 9):
                    self.scheduler.add("a.example", Page(number, "a.example"))
                await site.clock.sleep(1.0)

    run = Growing(Pages(("a.example", 2)), site)
    await run.all()
    assert run.pages.finished == set(range(1, 9))
    assert site.most_here["a.example"] > 1


async def test_item_moves_from_host_to_host_a_few_times_and_then_waits() -> None:
    """Two hosts with long pauses that redirect to each other."""
    site = Site(VirtualClock(), HostRule(1, 30.0))

    class Redirected(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            await super().visit(lease)
            for host in ("x.example", "y.example", "x.example", "y.example"):
                await site.request(host, led=True)

    run = Redirected(Pages(*((f"{n}.example", 1) for n in range(4))), site, at_once=2, moves=True)
    await run.all()
    assert len(run.pages.finished) == 4
    assert max(run.asked.values()) == 1 + module.MOST_MOVES
    for host in ("x.example", "y.example"):
        assert all(pause >= 30.0 for pause in site.pauses(host))


async def test_moved_item_that_was_finished_meanwhile_is_not_begun_again() -> None:
    site = Site(VirtualClock(), HostRule(1, 30.0))

    class Redirected(Run):
        async def visit(self, lease: Lease[Page]) -> None:
            try:
                await super().visit(lease)
                await site.request("slow.example", led=True)
            except asyncio.CancelledError:
                self.pages.finished.add(lease.item.id)  # by another program
                raise

    run = Redirected(Pages(*((f"{n}.example", 1) for n in range(4))), site, moves=True)
    assert await run.all()
    assert len(site.requests["slow.example"]) == 1
    assert max(run.asked.values()) == 1


async def test_scheduler_asks_for_more_items_when_it_runs_dry() -> None:
    clock = VirtualClock()
    first, second = Pages(("a.example", 2)), Pages(("b.example", 3))
    both = Pages(("a.example", 2), ("b.example", 3))
    both.hosts = first.hosts  # type: ignore[method-assign]
    run = Run(both, Site(clock))
    asked: list[float] = []

    def more() -> None:
        asked.append(clock.passed)
        if len(asked) == 1:
            run.scheduler.extend(second.hosts())
        else:
            run.scheduler.no_more()

    run.scheduler = Scheduler(both, run.site.hosts, clock, at_once=8, more=more)
    assert await run.all()
    assert sorted(run.asked.values()) == [1] * 5
    assert len(asked) == 2
