"""A run's numbers: how long it waits, how often it asks, and when it gives a host up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing

import pytest

from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError
from spaniel.health.history import HostReach
from spaniel.health.links import Checked, Link
from spaniel.health.run import CheckResult, RunOptions
from spaniel.testing import FakeClock
from spaniel.verdicts import Expected, Past, Verdict
from tests.health.test_run import (
    World,
    all_of,
    busy,
    host_of,
    links_at,
    ok,
    run_over,
    verdicts_of,
)


def timeout(link: Link) -> CheckResult:
    return CheckResult(Checked(link, Verdict.UNKNOWN, "no answer", Code.TIMEOUT), HostReach.LOOKUP_ANSWER)


def numbered(count: int, host: str = "a.example") -> list[Link]:
    return [Link(f"http://{host}/{number}") for number in range(count)]


def number_of(link: Link) -> int:
    return int(link.url.rpartition("/")[2])


class Hanging(World):
    """Never answers some links."""

    def __init__(self, hangs: Callable[[Link], bool]) -> None:
        super().__init__(lambda link, _: ok(link))
        self._hangs = hangs

    async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
        if self._hangs(link):
            self.asked[link.url] += 1
            await asyncio.Event().wait()
        return await super().check(link, past, attempts)


async def test_whoever_does_not_say_how_long_is_given_twice_as_long_each_time() -> None:
    clock, world = FakeClock(), World(lambda link, _: busy(link, 0))
    (checked,) = await all_of(run_over(numbered(1), world, clock=clock))
    assert clock.slept == [2, 4, 8, 16, 32]
    assert world.asked == {"http://a.example/0": 6}
    assert (checked.verdict, checked.reason) == (Verdict.RATE_LIMITED, "the host asked for time")


async def test_an_answer_in_between_begins_the_count_anew() -> None:
    """Five wishes in a row are enough; five in all are not."""
    world = World(lambda link, n: busy(link, 1) if n <= 3 else ok(link))
    results = await all_of(run_over(numbered(4), world))
    assert set(verdicts_of(results).values()) == {"ok"}


@pytest.mark.req("FG-46")
@pytest.mark.parametrize(("seconds", "verdict"), [(40.0, "ok"), (40.5, "rate-limited")])
async def test_all_wishes_of_a_host_together_may_take_as_long_as_it_is_given(seconds: float, verdict: str) -> None:
    clock, world = FakeClock(), World(lambda link, n: busy(link, seconds) if n == 1 else ok(link))
    results = await all_of(run_over(numbered(3), world, patience=120.0, clock=clock))
    assert verdicts_of(results)["http://a.example/2"] == verdict
    assert sum(clock.slept) <= 120


async def test_each_look_is_told_how_often_the_link_was_put_off() -> None:
    attempts: list[int] = []

    class Counting(World):
        async def check(self, link: Link, past: Past, attempts_: int) -> CheckResult:
            attempts.append(attempts_)
            return await super().check(link, past, attempts_)

    world = Counting(lambda link, n: busy(link, 1) if n < 3 else ok(link))
    await all_of(run_over(numbered(1), world))
    assert attempts == [0, 1, 2]


async def test_a_host_that_is_silent_now_and_then_is_not_given_up() -> None:
    world = World(lambda link, _: ok(link) if number_of(link) % 3 == 2 else timeout(link))
    results = await all_of(run_over(numbered(12), world))
    assert world.asked.total() == 12
    assert Counter(verdicts_of(results).values()) == {"ok": 4, "unknown": 8}


@pytest.mark.parametrize(
    "looked",
    [
        lambda link: timeout(link)._replace(reach=HostReach.ANSWER),
        lambda link: CheckResult(Checked(link, Verdict.UNKNOWN, "no", Code.NETWORK), HostReach.LOOKUP_ANSWER),
    ],
    ids=["it answered, and never ended", "it refused"],
)
async def test_silence_is_when_nothing_comes_in_time(looked: Callable[[Link], CheckResult]) -> None:
    world = World(lambda link, _: looked(link))
    await all_of(run_over(numbered(8), world))
    assert world.asked.total() == 8


@pytest.mark.req("FG-46")
async def test_what_is_not_asked_any_more_says_why() -> None:
    world = World(lambda link, _: timeout(link))
    results = await all_of(run_over(numbered(5), world))
    reasons = [checked.reason for checked in results]
    assert reasons[:3] == ["no answer"] * 3
    assert set(reasons[3:]) == {"not asked: the host did not answer in time, 3 times in a row"}
    run = run_over(numbered(2), World(lambda link, _: ok(link)), asked={"a.example": 500.0})
    assert {(checked.verdict, checked.reason) for checked in await all_of(run)} == {
        (Verdict.RATE_LIMITED, "not asked: the host wants to be left alone for 500 s")
    }


async def test_only_a_link_whose_content_is_asserted_has_the_longer_time() -> None:
    links = [
        Link("http://a.example/0"),
        Link("http://b.example/0", expected=Expected(length=3)),
        Link("http://c.example/0", expected=Expected(sha256="0" * 64)),
    ]
    for short, long, verdicts in ((0.05, 30.0, "u.."), (30.0, 0.05, ".uu")):
        world = Hanging(lambda _: True)
        run = run_over(links, world, RunOptions(link_seconds=short, content_seconds=long))
        taken: list[Checked] = []
        async with aclosing(run.results()) as results:
            while len(taken) < verdicts.count("u"):
                taken.append(await asyncio.wait_for(anext(results), 20))
        late = {host_of(checked.link.url)[0] for checked in taken}
        assert late == {name for name, verdict in zip("abc", verdicts, strict=True) if verdict == "u"}
        assert {(checked.code, checked.reason) for checked in taken} == {(Code.TIMEOUT, "no answer within 0 s")}


@pytest.mark.req("LH-01")
@pytest.mark.parametrize("how", ["in time", "with an error"])
async def test_hosts_that_do_not_answer_say_nothing_of_the_network(how: str) -> None:
    class Refusing(Hanging):
        async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
            if how == "with an error" and self._hangs(link):
                raise SpanielError(Code.INVALID_URL, url=link.url, reason="odd")
            return await super().check(link, past, attempts)

    world = Refusing(lambda link: int(host_of(link.url)[0]) < 3)
    run = run_over(links_at(hosts=4, each=1), world, RunOptions(link_seconds=0.8))
    await asyncio.wait_for(all_of(run), 30)
    assert run.network


@pytest.mark.req("FG-46")
async def test_a_host_that_asks_for_half_a_second_over_and_over_is_heeded_and_then_left_alone() -> None:
    clock, world = FakeClock(), World(lambda link, _: ok(link))
    run = run_over(numbered(2), world, patience=1.0, asked={"a.example": 0.5}, clock=clock)
    results = await all_of(run)
    assert set(verdicts_of(results).values()) == {"rate-limited"}
    assert (world.asked.total(), clock.slept) == (0, [0.5, 0.5])


async def test_whom_nobody_asks_nobody_waits_for() -> None:
    clock = FakeClock()
    run = run_over(numbered(9), World(lambda link, _: ok(link)), asked={"a.example": 500.0}, clock=clock)
    assert len(await all_of(run)) == 9
    assert clock.slept == []


@pytest.mark.req("FG-46")
@pytest.mark.parametrize(("delay", "asked"), [(120.0, 4), (121.0, 1)])
async def test_host_whose_crawl_delay_is_too_long_is_not_asked(delay: float, asked: int) -> None:
    clock = FakeClock()

    def answer(link: Link, _: int) -> CheckResult:
        assert world.hosts is not None
        world.hosts.set_crawl_delay("a.example", delay)
        return ok(link)

    world = World(answer)
    results = await all_of(run_over(numbered(4), world, clock=clock))
    assert world.asked.total() == asked
    left = [checked for checked in results if checked.verdict is not Verdict.OK]
    assert {(checked.verdict, checked.reason) for checked in left} <= {
        (Verdict.RATE_LIMITED, "not asked: robots.txt asks for a Crawl-delay of 121 s")
    }
    assert len(left) == 4 - asked


async def test_whoever_waits_for_a_host_between_two_links_is_not_late() -> None:
    run = run_over(
        numbered(2), World(lambda link, _: ok(link)), RunOptions(link_seconds=1.0), spacing=1.5, clock=SystemClock()
    )
    results = await asyncio.wait_for(all_of(run), 30)
    assert Counter(verdicts_of(results).values()) == {"ok": 2}


async def test_nothing_is_held_of_a_link_that_was_told() -> None:
    run = run_over(links_at(hosts=3, each=40), World(lambda link, _: ok(link)))
    await all_of(run)
    assert (run._reach, run._scheduler._queues, run._scheduler._leases) == ({}, {}, set())


@pytest.mark.parametrize(("wishes", "asked"), [((30.0, 30.9), 1), ((30.0, 40.0), 2)])
async def test_of_two_wishes_at_once_the_second_counts_where_it_is_longer(
    wishes: tuple[float, float], asked: int
) -> None:
    """A host that is asked for two links at once says the same to both, give or take the second in between."""
    clock = FakeClock()

    def answer(link: Link, n: int) -> CheckResult:
        return busy(link, wishes[number_of(link) - 1]) if n == 1 and number_of(link) >= 1 else ok(link)

    links = numbered(3)
    run = run_over(links, World(answer, turns=5), RunOptions(at_once=2), at_once=2, clock=clock)
    results = await all_of(run)
    assert set(verdicts_of(results).values()) == {"ok"}
    assert sum(clock.slept) == (30.0 if asked == 1 else 40.0)
