"""What is known of a host: places, spacing, what it asked for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts, Politeness
from spaniel.hosts import hosts as module
from spaniel.hosts.hosts import HostState
from spaniel.hosts.limits import HostLimits
from spaniel.hosts.retry_after import LONGEST, seconds_until
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock
from tests.hosts.virtual import wait_of

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
HOST = "site.example"


async def begin(hosts: Hosts, clock: FakeClock, politeness: Politeness, host: str = HOST) -> float:
    """When a visit began."""
    async with hosts.turn(host, Deadline(60), politeness):
        return clock.monotonic()


async def test_no_more_are_at_a_host_than_its_manners_say_and_they_go_in_as_they_came() -> None:
    hosts, here, most, order = Hosts(FakeClock()), 0, 0, []

    async def visit(number: int) -> None:
        nonlocal here, most
        async with hosts.turn(HOST, Deadline(60), Politeness(at_once=3)):
            order.append(number)
            here += 1
            most = max(most, here)
            await asyncio.sleep(0)
            here -= 1

    await asyncio.gather(*(visit(number) for number in range(20)))
    assert (most, order) == (3, list(range(20)))


async def test_exclusive_turn_waits_for_others_at_its_host_only() -> None:
    hosts = Hosts(FakeClock())
    crowd = [hosts.turn(HOST, Deadline(60), Politeness()) for _ in range(2)]
    for turn in crowd:
        await turn.__aenter__()
    alone = asyncio.create_task(hosts.turn(HOST, Deadline(60), Politeness(at_once=1)).__aenter__())
    await asyncio.sleep(0)
    behind = asyncio.create_task(hosts.turn(HOST, Deadline(60), Politeness()).__aenter__())
    await asyncio.sleep(0)
    await crowd[0].__aexit__()
    await asyncio.sleep(0)
    assert not alone.done()
    assert not behind.done()  # there is a place for this one, but it came later
    async with hosts.turn("other.example", Deadline(60), Politeness(at_once=1)):
        pass
    await crowd[1].__aexit__()
    await asyncio.wait_for(alone, 30)
    await asyncio.wait_for(behind, 30)  # which has nothing against company


def test_default_is_sixteen_at_once_without_delays() -> None:
    assert Politeness() == Politeness(at_once=16, delay_seconds=0.0, respect_delays=False)


@pytest.mark.parametrize("moment", ["while it waits", "as its place comes"])
async def test_cancelled_turn_leaves_no_place_taken(moment: str) -> None:
    hosts, politeness = Hosts(FakeClock()), Politeness(at_once=1)
    first = hosts.turn(HOST, Deadline(60), politeness)
    await first.__aenter__()
    waiting = asyncio.create_task(hosts.turn(HOST, Deadline(60), politeness).__aenter__())
    behind = asyncio.create_task(hosts.turn(HOST, Deadline(60), politeness).__aenter__())
    await asyncio.sleep(0)
    if moment == "as its place comes":
        await first.__aexit__()
        waiting.cancel()
    else:
        waiting.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not behind.done()  # the first is still there
        await first.__aexit__()
    await asyncio.wait_for(behind, 30)
    assert waiting.cancelled() or moment == "as its place comes"
    another = asyncio.create_task(hosts.turn(HOST, Deadline(60), politeness).__aenter__())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not another.done()  # and the one place is taken once
    another.cancel()


async def test_all_who_are_cancelled_at_one_moment_are_cancelled_and_nothing_else() -> None:
    """The one inside leaves first and lets in waiters that are cancelled too, but do not know it yet."""
    hosts = Hosts(FakeClock())

    async def visit() -> None:
        async with hosts.turn(HOST, Deadline(60), Politeness(at_once=1)):
            await asyncio.Event().wait()

    visits = [asyncio.create_task(visit()) for _ in range(4)]
    await asyncio.sleep(0)
    for each in visits:
        each.cancel()
    ended = await asyncio.gather(*visits, return_exceptions=True)
    assert [type(error) for error in ended] == [asyncio.CancelledError] * 4
    async with hosts.turn(HOST, Deadline(60), Politeness(at_once=1)):  # and the place is free
        pass


async def test_cancelled_waiter_does_not_block_the_next() -> None:
    hosts = Hosts(FakeClock())
    await hosts.turn(HOST, Deadline(60), Politeness(at_once=2)).__aenter__()
    gone = hosts.turn(HOST, Deadline(60), Politeness(at_once=1)).__aenter__()
    gone.send(None)  # it waits ...
    gone.close()  # ... and is dropped, as a task without references
    for at_once in (2, 3):
        coming = hosts.turn(HOST, Deadline(60), Politeness(at_once=at_once)).__aenter__()
        with pytest.raises(StopIteration):
            coming.send(None)  # in at once
    full = hosts.turn(HOST, Deadline(60), Politeness(at_once=3)).__aenter__()
    full.send(None)
    full.close()


@pytest.mark.req("FR-WF-10a", "FR-WF-18b")
async def test_who_waits_for_a_place_or_a_time_is_in_the_queue() -> None:
    clock = FakeClock()
    hosts, deadline, other = Hosts(clock), Deadline(60), Deadline(60)
    async with hosts.turn(HOST, deadline, Politeness(at_once=1, delay_seconds=5)):
        assert deadline.phase == "start"  # it had not to wait
        waiting = asyncio.create_task(hosts.turn(HOST, other, Politeness(at_once=1)).__aenter__())
        await asyncio.sleep(0)
        assert other.phase == "queue"
    await asyncio.wait_for(waiting, 30)
    async with hosts.turn(HOST, deadline, Politeness(delay_seconds=5)):
        assert (deadline.phase, clock.slept) == ("queue", [5])


async def test_requests_begin_as_far_apart_as_the_manners_say() -> None:
    clock = FakeClock()
    hosts = Hosts(clock)
    start = clock.monotonic()
    politeness = Politeness(at_once=8, delay_seconds=1.5)
    began = [await begin(hosts, clock, politeness) - start for _ in range(4)]
    assert began == [0.0, 1.5, 3.0, 4.5]
    assert await begin(hosts, clock, politeness, "other.example") - start == 4.5  # no request before
    early = FakeClock()
    early._steady = 0.0  # of a machine that has just been switched on
    assert await begin(Hosts(early), early, politeness) == 0.0
    clock.advance(10)
    waits = len(clock.slept)
    await begin(hosts, clock, politeness)
    assert len(clock.slept) == waits


async def test_two_who_come_at_once_never_begin_at_one_moment() -> None:
    clock = FakeClock()
    hosts = Hosts(clock)
    began = await asyncio.gather(*(begin(hosts, clock, Politeness(at_once=8, delay_seconds=1)) for _ in range(5)))
    assert [at - began[0] for at in began] == [0, 1, 2, 3, 4]


async def test_a_wait_that_is_given_up_gives_its_place_back() -> None:
    class Stuck(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    clock = Stuck()
    hosts = Hosts(clock)
    await begin(hosts, clock, Politeness(at_once=1, delay_seconds=5))
    waiting = asyncio.create_task(begin(hosts, clock, Politeness(at_once=1, delay_seconds=5)))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    clock.advance(60)
    await asyncio.wait_for(begin(hosts, clock, Politeness(at_once=1, delay_seconds=5)), 5)


@pytest.mark.req("FG-22")
async def test_retry_after_is_remembered_and_waited_for_where_respected() -> None:
    clock = FakeClock()
    hosts = Hosts(clock)
    patient, hasty = Politeness(respect_delays=True), Politeness()
    hosts.answered(HOST, 503, {"retry-after": "30"})
    assert (wait_of(hosts, HOST, patient), wait_of(hosts, HOST, hasty)) == (30, 0)
    start = clock.monotonic()
    assert await begin(hosts, clock, hasty) - start == 0
    assert await begin(hosts, clock, patient) - start == 30
    hosts.set_crawl_delay(HOST, 7)
    assert await begin(hosts, clock, patient) - start == 37
    assert wait_of(hosts, "other.example", patient) == 0


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"retry-after": "5"}, 5),
        (429, {}, 0),
        (200, {"retry-after": "5"}, 0),
        (503, {"retry-after": "soon"}, 0),
        (301, {"retry-after": "5"}, 0),
    ],
)
def test_only_a_host_that_has_enough_asks_for_time(status: int, headers: dict[str, str], seconds: float) -> None:
    hosts = Hosts(FakeClock())
    hosts.answered(HOST, status, headers)
    assert wait_of(hosts, HOST, Politeness(respect_delays=True)) == seconds


def test_a_later_answer_does_not_shorten_what_an_earlier_one_asked_for() -> None:
    hosts = Hosts(FakeClock())
    for seconds in ("60", "5"):
        hosts.answered(HOST, 429, {"retry-after": seconds})
    assert wait_of(hosts, HOST, Politeness(respect_delays=True)) == 60


def test_a_host_without_https_is_remembered() -> None:
    hosts = Hosts(FakeClock())
    assert not hosts.is_http_only(HOST)
    hosts.set_http_only(HOST)
    hosts.set_crawl_delay("another.example", 1)
    assert [hosts.is_http_only(host) for host in (HOST, "other.example", "another.example")] == [True, False, False]


async def test_a_million_hosts_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of whom nothing is known go first, busy hosts stay, and no number of them is too many."""
    monkeypatch.setattr(module, "MOST_KNOWN", 100)
    clock = FakeClock()
    hosts = Hosts(clock)
    hosts.set_http_only(HOST)
    async with hosts.turn("busy.example", Deadline(60), Politeness(at_once=1)):
        for number in range(1000):
            clock.advance(100)
            await begin(hosts, clock, Politeness(), f"host{number}.example")
        assert hosts.is_http_only(HOST)
        assert len(hosts._hosts) <= 100
        for number in range(1000):
            hosts.set_http_only(f"host{number}.example")
        assert len(hosts._hosts) <= 100
        assert "busy.example" in hosts._hosts


async def test_a_quarter_makes_room_and_first_those_of_whom_the_next_visitor_would_miss_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_KNOWN", 40)
    clock = FakeClock()
    hosts = Hosts(clock)
    await begin(hosts, clock, Politeness(), "long-ago")
    hosts.answered("waited-for", 503, {"retry-after": "60"})
    clock.advance(60)  # a minute is no longer recent, and a wait that is over is over
    await begin(hosts, clock, Politeness(), "recent")
    hosts.answered("asks-for-time", 503, {"retry-after": "120"})
    hosts.set_crawl_delay("asks-for-gentleness", 1)
    hosts.set_http_only("without-https")
    clock.advance(59)
    async with hosts.turn("busy", Deadline(60), Politeness()):
        kept = {"recent", "asks-for-time", "asks-for-gentleness", "without-https", "busy"}
        assert set(hosts._hosts) == {"long-ago", "waited-for"} | kept
        for number in range(33):
            hosts.set_http_only(f"host{number}")
        assert len(hosts._hosts) == 40
        hosts.set_http_only("one-more")
        assert set(hosts._hosts) == kept | {f"host{number}" for number in range(33)} | {"one-more"}
        hosts.set_http_only("and-another")
        assert len(hosts._hosts) == 40
        hosts.set_http_only("too-many")  # all are worth keeping now: a quarter goes, the oldest first
        assert len(hosts._hosts) == 31
        assert not set(hosts._hosts) & (kept - {"busy"})
        assert {"busy", "host32", "too-many"} <= set(hosts._hosts)


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0),
        ("Mon, 16 Nov 2026 08:01:00 -0000", 60),
        ("99999999999999999999", LONGEST),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
        (None, None),
        ("٣", None),
    ],
)
def test_both_forms_of_retry_after_are_read(value: str | None, seconds: float | None) -> None:
    assert seconds_until(value, NOW) == seconds


@given(st.text())
def test_no_retry_after_breaks_anything(value: str) -> None:
    found = seconds_until(value, NOW)
    assert found is None or 0 <= found <= LONGEST


async def test_state_of_a_host_is_handed_over_to_its_new_owner() -> None:
    """Times of two processes differ, so they are passed on relative to now."""
    clock, later = FakeClock(), FakeClock()
    later.advance(5000)
    rules, limits = HostRules(HostRule(1, 10.0)), HostLimits()
    before, after = Hosts(clock, rules=rules, limits=limits), Hosts(later, rules=rules, limits=limits)
    async with before.turn("spaced.example", Deadline(60)):
        clock.advance(1)
    before.asked_to_wait("https://busy.example", 429, 30.0)
    before.set_crawl_delay("slow.example", 20.0)
    for _ in range(4):
        before.unanswered("failing.example", SpanielError(Code.NETWORK, host="failing.example", error="reset"))
    before.give_up("dead.example", SpanielError(Code.NETWORK, host="dead.example", error="gone"))
    before.set_crawl_delay("other.example", 20.0)
    clock.advance(2)
    data = msgspec.msgpack.encode(before.hand_over(lambda host: host != "other.example"))
    for state in msgspec.msgpack.decode(data):
        after.take_over(HostState(*state))
    now = later.monotonic()
    assert after.ready_at("spaced.example") - now == pytest.approx(8)
    assert after.ready_at("busy.example") - now == pytest.approx(28)
    assert (after.crawl_delay("slow.example"), after.crawl_delay("other.example")) == (20.0, 0.0)
    refused = after.given_up("dead.example")
    assert refused is not None
    assert refused.details["error"] == "gone"
    after.unanswered("failing.example", SpanielError(Code.NETWORK, host="failing.example", error="reset"))
    assert after.ready_at("failing.example") - now == pytest.approx(limits.pause)  # the fifth in a row
    assert before.hand_over(lambda host: host != "other.example") == []
    assert before.given_up("dead.example") is None


async def test_resting_places_and_pauses_are_handed_over() -> None:
    clock, later = FakeClock(), FakeClock()
    later.advance(5000)
    rules, limits = HostRules(HostRule(2, 10.0)), HostLimits(failures=1, pause=30.0)
    before, after = Hosts(clock, rules=rules, limits=limits), Hosts(later, rules=rules, limits=limits)
    error = SpanielError(Code.NETWORK, host=HOST, error="reset")
    for _ in range(2):  # both places of the host rest: the first for 10 s from now, the other one for 13
        async with before.turn(HOST, Deadline(60)):
            clock.advance(3)
    before.unanswered("failing.example", error)
    before.unanswered("known.example", error)
    later.advance(7)
    after.unanswered("known.example", error)  # the new owner saw a failure later than the old one: its pause is longer
    clock.advance(2)
    for state in before.hand_over(lambda _: True):
        after.take_over(state)
    now = later.monotonic()
    assert after.ready_at(HOST) - now == pytest.approx(5)
    async with after.turn(HOST, Deadline(60)):
        began = later.monotonic()
    assert began - now == pytest.approx(5)
    assert after.ready_at("failing.example") - now == pytest.approx(28)
    assert after.reason("failing.example") == "not reached"
    assert after.ready_at("known.example") - now == pytest.approx(30)
