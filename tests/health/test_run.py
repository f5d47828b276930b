"""A run over many hosts: one at a time at each, no place held while one waits, each URL once, nothing dead offline."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError
from spaniel.health.history import History, HostReach
from spaniel.health.links import Checked, Link, Place
from spaniel.health.run import CheckResult, Run, RunOptions, limits_of_checks
from spaniel.health.store import LinkStore, open_store
from spaniel.hosts import Hosts
from spaniel.hosts.memory import Known
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock
from spaniel.verdicts import Evidence, Expected, Past, Verdict

if TYPE_CHECKING:
    from spaniel.clock import Clock


def ok(link: Link) -> CheckResult:
    return CheckResult(Checked(link, Verdict.OK, evidence=Evidence("HEAD", 200, attempts=1)), HostReach.ANSWER)


def failing(link: Link, reach: HostReach = HostReach.ANSWER) -> CheckResult:
    return CheckResult(Checked(link, Verdict.FAILING, "gone", evidence=Evidence("GET", 404, attempts=1)), reach)


def busy(link: Link, seconds: float) -> CheckResult:
    reported = Checked(link, Verdict.RATE_LIMITED, "the host asked for time", evidence=Evidence("GET", 429, attempts=1))
    return CheckResult(reported, HostReach.ANSWER, retry_after=seconds)


def host_of(url: str) -> str:
    return url.split("/")[2]


class World:
    """Hosts that answer as a test says: at once, or after so many turns of the event loop."""

    def __init__(self, answers: Callable[[Link, int], CheckResult], turns: int = 3) -> None:
        self._answers, self._turns = answers, turns
        self.hosts: Hosts | None = None
        self.asked: Counter[str] = Counter()
        self.order: list[str] = []
        self.pasts: dict[str, Past] = {}
        self.here: Counter[str] = Counter()
        self.most_here: dict[str, int] = defaultdict(int)
        self.most = 0

    async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
        host = host_of(link.url)
        self.order.append(link.url)
        self.pasts[link.url] = past
        self.here[host] += 1
        self.most_here[host] = max(self.most_here[host], self.here[host])
        self.most = max(self.most, self.here.total())
        try:
            async with self.hosts.turn(host, Deadline(60)) if self.hosts else nullcontext():
                for _ in range(self._turns):
                    await asyncio.sleep(0)
            self.asked[link.url] += 1
            result = self._answers(link, self.asked[link.url])
            if self.hosts and result.retry_after is not None:
                self.hosts.asked_to_wait(host, 429, result.retry_after or None)
            return result
        finally:
            self.here[host] -= 1


class Elsewhere:
    """What other processes know: hosts that ask for so many seconds, whenever this is read."""

    def __init__(self, asked: dict[str, float], clock: Clock) -> None:
        self._asked, self._clock = asked, clock

    def snapshot(self, _: float) -> Elsewhere:
        return self

    def get(self, host: str, otherwise: Known | None = None) -> Known | None:
        seconds = self._asked.get(host)
        return otherwise if seconds is None else Known(self._clock.now().timestamp() + seconds, 429)

    def asked_for_time(self, *_: object) -> None:
        """Nothing is written."""


def address(url: str) -> tuple[str, str]:
    return url, host_of(url)


def store_of(links: Iterable[Link | Checked], history: History | None = None, *, resume: bool = False) -> LinkStore:
    store = open_store(address, history, "docs", resume=resume)
    store.take(links)
    return store


def links_at(hosts: int, each: int) -> list[Link]:
    return [Link(f"http://{host}.example/{n}") for host in range(hosts) for n in range(each)]


def run_over(
    links: Iterable[Link | Checked] | LinkStore,
    world: World,
    options: RunOptions | None = None,
    *,
    spacing: float = 0.0,
    asked: dict[str, float] | None = None,
    at_once: int = 1,
    patience: float = 120.0,
    clock: Clock | None = None,
) -> Run:
    store = links if isinstance(links, LinkStore) else store_of(links)
    clock = clock or FakeClock()
    memory: Any = Elsewhere(asked, clock) if asked else None
    world.hosts = Hosts(clock, memory, rules=HostRules(HostRule(at_once, spacing)), limits=limits_of_checks(patience))
    return Run(store, world, world.hosts, clock, options or RunOptions())


async def all_of(run: Run) -> list[Checked]:
    return [checked async for checked in run.results()]


def verdicts_of(results: Iterable[Checked]) -> dict[str, str]:
    return {checked.link.url: checked.verdict.value for checked in results}


@pytest.mark.req("DB-09")
async def test_every_link_is_asked_once_and_no_host_twice_at_a_time() -> None:
    links = links_at(hosts=20, each=50)
    world = World(lambda link, _: ok(link))
    run = run_over(links, world, RunOptions(at_once=8))
    results = await all_of(run)
    assert verdicts_of(results) == {link.url: "ok" for link in links}
    assert len(results) == len(links)
    assert set(world.asked.values()) == {1}
    assert set(world.most_here.values()) == {1}
    assert 2 <= world.most <= 8
    assert run.is_whole
    assert run.network


async def test_the_same_url_in_many_places_is_asked_once_with_all_of_them() -> None:
    places = [Place("a.md", n, 3) for n in range(1, 6)]
    links = [Link("http://a.example/", (f"s{place.line}",), (place,)) for place in places]
    asserted = Link("http://a.example/", places=(Place("urls", 1),), expected=Expected(length=3))
    otherwise = Link("http://a.example/", places=(Place("urls", 2),), expected=Expected(length=4))
    world = World(lambda link, _: ok(link))
    results = await all_of(run_over([*links, asserted, otherwise], world))
    assert [(len(checked.link.places), checked.link.expected.length) for checked in results] == [(6, 3), (1, 4)]
    assert results[0].link.fragments == ("s1", "s2", "s3", "s4", "s5")
    assert world.asked.total() == 2  # one request cannot tell both lengths


@pytest.mark.req("DB-09")
async def test_spacing_holds_no_place_while_a_host_waits() -> None:
    links = [Link(f"http://slow.example/{n}") for n in range(5)] + links_at(hosts=30, each=1)
    world, clock = World(lambda link, _: ok(link)), FakeClock()
    run = run_over(links, world, RunOptions(at_once=1), spacing=10.0, clock=clock)
    await all_of(run)
    assert world.order[0] == "http://slow.example/0"  # the host with most links begins
    assert {host_of(url) for url in world.order[1:31]} == {host_of(link.url) for link in links[5:]}
    assert world.order[31:] == [f"http://slow.example/{n}" for n in range(1, 5)]


@pytest.mark.req("FG-22")
async def test_a_host_that_asks_for_time_gets_it_and_is_asked_again() -> None:
    world = World(lambda link, n: busy(link, 30) if "busy" in link.url and n == 1 else ok(link))
    links = [Link("http://busy.example/"), *links_at(hosts=4, each=3)]
    clock = FakeClock()
    results = await all_of(run_over(links, world, RunOptions(at_once=1), clock=clock))
    assert set(verdicts_of(results).values()) == {"ok"}
    assert results[-1].link.url == "http://busy.example/"  # the others went on
    assert world.asked["http://busy.example/"] == 2
    assert sum(clock.slept) >= 30


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("seconds", [3600, 121, 0])
async def test_a_host_that_asks_for_too_much_is_left_alone(seconds: float) -> None:
    """Nought: it asks again and again, and never says for how long."""
    world = World(lambda link, _: busy(link, seconds) if "busy" in link.url else ok(link))
    links = [*[Link(f"http://busy.example/{n}") for n in range(50)], *links_at(hosts=4, each=3)]
    clock = FakeClock()
    results = await all_of(run_over(links, world, clock=clock))
    verdicts = Counter(verdicts_of(results).values())
    assert verdicts == {"rate-limited": 50, "ok": 12}
    assert sum(clock.slept) <= 120
    asked = {url: n for url, n in world.asked.items() if "busy" in url}
    assert list(asked.values()) == ([1] if seconds else [6, 5])
    assert sum("not asked" in checked.reason for checked in results) == 50 - len(asked)


@pytest.mark.req("FG-46")
async def test_a_page_that_always_asks_for_time_does_not_stand_in_the_way_of_its_neighbours() -> None:
    world = World(lambda link, _: busy(link, 2) if link.url.endswith("/0") else ok(link))
    results = await all_of(run_over([Link(f"http://one.example/{n}") for n in range(4)], world, clock=FakeClock()))
    assert verdicts_of(results) == {f"http://one.example/{n}": "ok" if n else "rate-limited" for n in range(4)}


async def test_a_host_that_asked_another_run_for_time_is_not_asked() -> None:
    world = World(lambda link, _: ok(link))
    results = await all_of(run_over(links_at(hosts=2, each=2), world, asked={"0.example": 500.0}))
    assert verdicts_of(results)["http://0.example/1"] == "rate-limited"
    assert set(world.asked) == {"http://1.example/0", "http://1.example/1"}


async def test_good_news_comes_at_once_and_bad_news_at_the_end() -> None:
    held_up = asyncio.Event()

    class Slow(World):
        async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
            if "slow" in link.url:
                await held_up.wait()
            return await super().check(link, past, attempts)

    world = Slow(lambda link, _: failing(link) if "bad" in link.url else ok(link))
    links = [Link("http://bad.example/"), Link("http://good.example/"), Link("http://slow.example/")]
    results: list[str] = []
    async for checked in run_over(links, world).results():
        results.append(host_of(checked.link.url))
        held_up.set()
    assert results == ["good.example", "slow.example", "bad.example"]


@pytest.mark.req("LH-01")
@pytest.mark.parametrize(("silent", "verdict"), [(6, "unknown"), (5, "failing")])
async def test_a_run_that_most_hosts_did_not_answer_calls_nothing_dead(silent: int, verdict: str) -> None:
    def answer(link: Link, _: int) -> CheckResult:
        number = int(host_of(link.url).split(".")[0])
        if number < silent:
            return failing(link, HostReach.NO_LOOKUP_ANSWER)
        looked = failing(link)
        return looked._replace(checked=looked.checked._replace(verdict=Verdict.DEAD)) if number == 9 else ok(link)

    run = run_over(links_at(hosts=10, each=2), World(answer))
    results = await all_of(run)
    assert run.network is (verdict == "failing")
    found = verdicts_of(results)
    assert found["http://0.example/0"] == verdict
    assert found["http://9.example/0"] == ("dead" if run.network else "unknown")
    assert found["http://8.example/0"] == "ok"
    assert any("no network" in checked.reason for checked in results) is not run.network


@pytest.mark.req("LH-01")
async def test_our_own_refusal_is_no_sign_of_a_missing_network() -> None:
    def answer(link: Link, _: int) -> CheckResult:
        if "0." in link.url:
            return failing(link)
        return CheckResult(Checked(link, Verdict.BLOCKED, "ours", Code.SSRF_BLOCKED), None)

    run = run_over(links_at(hosts=9, each=1), World(answer))
    assert verdicts_of(await all_of(run))["http://0.example/0"] == "failing"
    assert run.network


@pytest.mark.req("FG-46")
async def test_a_host_that_never_answers_in_time_is_asked_three_times() -> None:
    class Hanging(World):
        async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
            looked = await super().check(link, past, attempts)
            if "silent" in link.url:
                await asyncio.Event().wait()
            return looked

    world = Hanging(lambda link, _: ok(link))
    links = [*[Link(f"http://silent.example/{n}") for n in range(40)], *links_at(hosts=3, each=2)]
    run = run_over(links, world, RunOptions(link_seconds=1))
    found = verdicts_of(await all_of(run))
    assert Counter(found.values()) == {"unknown": 40, "ok": 6}
    assert sum("silent" in url for url in world.asked) == 3


async def test_a_refusal_that_comes_as_an_error_is_told_as_unknown() -> None:
    class Refusing(World):
        async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
            raise SpanielError(Code.INVALID_URL, url=link.url, reason="odd")

    (checked,) = await all_of(run_over([Link("http://a.example/")], Refusing(lambda link, _: ok(link))))
    assert (checked.verdict, checked.code) == (Verdict.UNKNOWN, Code.INVALID_URL)


async def test_stopping_finishes_what_is_under_way_and_tells_it() -> None:
    links = links_at(hosts=50, each=20)
    world = World(lambda link, _: failing(link) if link.url.endswith("/0") else ok(link), turns=20)
    run = run_over(links, world, RunOptions(at_once=10))
    results = []
    async for checked in run.results():
        results.append(checked)
        if len(results) == 5:
            run.stop()
    assert 5 <= len(results) < 200
    assert len(results) == world.asked.total()  # nothing was asked for nothing, and bad news is among it
    assert any(checked.verdict is Verdict.FAILING for checked in results)
    assert not run.is_whole


@pytest.mark.req("FG-46")
async def test_when_the_time_is_up_the_rest_is_told_as_not_asked() -> None:
    links = links_at(hosts=3, each=100)
    world, clock = World(lambda link, _: ok(link)), FakeClock()

    class Passing(World):
        async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
            clock.advance(1.0)
            return await world.check(link, past, attempts)

    class Timed(FakeClock):
        """Whose total is waited for until the time is really over."""

        def monotonic(self) -> float:
            return clock.monotonic()

        async def sleep(self, seconds: float) -> None:
            until = clock.monotonic() + seconds
            while clock.monotonic() < until:  # noqa: ASYNC110  the world moves the clock, and tells nobody
                await asyncio.sleep(0)

    run = run_over(links, Passing(lambda link, _: ok(link)), RunOptions(total_seconds=30.0), clock=Timed())
    results = await all_of(run)
    assert set(verdicts_of(results)) == {link.url for link in links}
    assert 30 <= world.asked.total() <= 40
    assert sum("time for the whole run" in checked.reason for checked in results) == 300 - world.asked.total()


async def test_whoever_takes_no_results_is_not_flooded() -> None:
    world = World(lambda link, _: ok(link))
    run = run_over(links_at(hosts=100, each=100), world)
    async with aclosing(run.results()) as results:
        async for _ in results:
            break
        for _ in range(20_000):
            await asyncio.sleep(0)
        assert world.asked.total() < 1500
        assert [checked async for checked in _first(results, 5000)]
        assert world.asked.total() >= 5000


async def _first(results: AsyncGenerator[Checked, None], count: int) -> AsyncGenerator[Checked, None]:
    for _ in range(count):
        yield await anext(results)


async def test_a_run_goes_on_where_it_was_left(tmp_path: Path) -> None:
    """The first part is left in the middle, as by a kill: its answers were written down before they were reported."""
    history, links = History(str(tmp_path / "state")), links_at(hosts=10, each=10)
    world = World(lambda link, _: failing(link) if link.url.endswith("/3") else ok(link))

    async def part(*, resume: bool, most: int) -> list[Checked]:
        store = store_of(links, history, resume=resume)
        run = run_over(store, world, RunOptions(at_once=4), clock=FakeClock())
        taken: list[Checked] = []
        async with aclosing(run.results()) as results:
            async for checked in results:
                taken.append(checked)
                if len(taken) == most:
                    break
        store.close()
        return taken

    first = await part(resume=False, most=20)
    second = await part(resume=True, most=1000)
    assert set(verdicts_of(first)) <= set(verdicts_of(second)) == {link.url for link in links}
    assert len(second) == 100
    again = {url for url, count in world.asked.items() if count > 1}
    assert not again & set(verdicts_of(first))
    assert len(again) <= 4  # what was under way when it was left
    assert history.past("http://3.example/3").failures
    assert unfinished(history) == 0
    history.close()


def unfinished(history: History) -> int:
    """How many runs could be resumed."""
    with history.open_runs() as folder:
        return len(list(folder.entries()))


async def test_a_run_knows_what_was_before(tmp_path: Path) -> None:
    history = History(str(tmp_path / "state"))
    for verdict in (failing, failing):
        world = World(lambda link, _, verdict=verdict: verdict(link))  # type: ignore[misc]
        store = store_of([Link("http://a.example/")], history)
        await all_of(run_over(store, world))
        store.close()
    assert len(world.pasts["http://a.example/"].failures) == 1
    history.close()


async def test_where_nothing_can_be_written_the_run_goes_on_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    store = store_of(links_at(hosts=3, each=3), History(str(tmp_path / "state" / "health")))
    results = await all_of(run_over(store, World(lambda link, _: ok(link))))
    assert len(results) == 9
    assert str(tmp_path) in store.remarks[0]


async def test_what_is_told_before_the_run_is_handed_on() -> None:
    skipped = Checked(Link("http://old.example/"), Verdict.SKIPPED, "deprecated")
    world = World(lambda link, _: ok(link))
    results = await all_of(run_over([skipped, Link("http://a.example/")], world))
    assert verdicts_of(results) == {"http://old.example/": "skipped", "http://a.example/": "ok"}
    assert set(world.asked) == {"http://a.example/"}


async def test_an_alias_is_asked_and_the_original_is_told() -> None:
    store = open_store(lambda url: (url.replace("www.", "staging."), "staging.example"), None, "")
    store.take([Link("http://www.example/")])
    world = World(lambda link, _: ok(link))
    assert verdicts_of(await all_of(run_over(store, world))) == {"http://www.example/": "ok"}
    assert set(world.asked) == {"http://staging.example/"}


async def test_a_bug_is_the_record_of_its_link_and_the_run_continues(caplog: pytest.LogCaptureFixture) -> None:
    def answer(link: Link, _: int) -> CheckResult:
        if "1.example" in link.url:
            raise ZeroDivisionError
        return ok(link)

    results = await all_of(run_over(links_at(hosts=3, each=3), World(answer)))
    assert Counter(checked.code for checked in results) == {"": 6, Code.INTERNAL: 3}
    assert sum(record.exc_info is not None for record in caplog.records) == 3


async def test_on_the_real_clock_too() -> None:
    world = World(lambda link, _: ok(link))
    run = run_over(links_at(hosts=4, each=3), world, spacing=0.01, clock=SystemClock())
    assert len(await all_of(run)) == 12


async def test_nothing_to_check_is_no_trouble() -> None:
    run = run_over([], World(lambda link, _: ok(link)))
    assert await all_of(run) == []
    assert run.is_whole
    assert run.network
