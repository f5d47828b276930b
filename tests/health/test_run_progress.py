"""What a run says while it lasts, and what it leaves when it ends: progress, waits, what is written and what is not."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import aclosing
from pathlib import Path

import pytest

from spaniel.health.history import History, HostCounts, HostReach
from spaniel.health.links import Checked, Link
from spaniel.health.run import CUT_OFF, CheckResult, Run, RunOptions
from spaniel.health.store import LinkResult
from spaniel.testing import FakeClock
from spaniel.verdicts import Past, Verdict
from tests.health.test_run import (
    World,
    all_of,
    busy,
    failing,
    links_at,
    ok,
    run_over,
    store_of,
    unfinished,
    verdicts_of,
)
from tests.health.test_run_bounds import Hanging, number_of, numbered


@pytest.mark.req("DB-09")
async def test_a_run_says_how_far_it_is() -> None:
    seen: list[int] = []

    class Watched(World):
        async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
            seen.append(run.under_way)
            return await super().check(link, past, attempts)

    world = Watched(lambda link, _: failing(link) if number_of(link) == 0 else ok(link))
    skipped = Checked(Link("http://old.example/"), Verdict.SKIPPED, "deprecated")
    run = run_over([skipped, *links_at(hosts=4, each=3)], world, RunOptions(at_once=3))
    assert (run.under_way, run.done, run.bad, run.is_whole) == (0, 0, 0, False)
    results = await all_of(run)
    assert (run.under_way, run.done, run.bad, len(results)) == (0, 13, 4, 13)
    assert max(seen) == 3
    assert min(seen) >= 1


@pytest.mark.req("DB-09")
async def test_a_run_says_whom_it_waits_for() -> None:
    gone_on = asyncio.Event()

    class Stopped(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await gone_on.wait()
            await super().sleep(seconds)

    clock = Stopped()
    world = World(lambda link, n: busy(link, 30) if link.url.endswith("a.example/1") and n == 1 else ok(link))
    run = run_over([*numbered(3), Link("http://b.example/9")], world, clock=clock)
    async with aclosing(run.results()) as results:
        assert {(await anext(results)).link.url[-1] for _ in range(2)} == {"0", "9"}
        for _ in range(20):
            await asyncio.sleep(0)
        clock.advance(10)
        assert list(run.waiting()) == [("a.example", 20.0, 2)]
        clock.advance(20)
        assert list(run.waiting()) == []  # it may be asked now
        gone_on.set()
        assert len([checked async for checked in results]) == 2


async def test_what_was_told_when_the_time_was_up_is_all_and_the_run_is_not_settled(tmp_path: Path) -> None:
    """Every link has its line, so the run is whole; but it may be gone on with, since not all were asked."""
    history = History(str(tmp_path / "state"))
    store = store_of(links_at(hosts=2, each=2), history)

    class Ended(FakeClock):
        async def sleep(self, seconds: float) -> None:
            assert seconds == 5.0
            await asyncio.sleep(0)

    world = Hanging(lambda link: number_of(link) == 1)
    options = RunOptions(total_seconds=5.0, link_seconds=0.05)
    run = run_over(store, world, options, clock=Ended())
    results = await asyncio.wait_for(all_of(run), 30)
    assert len(results) == 4
    assert run.is_whole
    assert {checked.verdict for checked in results if "time for the whole run" in checked.reason} == {Verdict.UNKNOWN}
    store.close()
    assert unfinished(history) == 1
    history.close()


async def test_what_is_under_way_when_the_time_is_up_is_cut_off_and_asked_by_whoever_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it might take itself; and it is no sign that there was no network."""
    monkeypatch.setattr("spaniel.health.run.LAST_SECONDS", 0.05)
    history = History(str(tmp_path / "state"))
    store = store_of(links_at(hosts=2, each=1), history)

    class Ended(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(0)

    options = RunOptions(total_seconds=5.0, link_seconds=3600.0)
    run = run_over(store, Hanging(lambda _: True), options, clock=Ended())
    results = await asyncio.wait_for(all_of(run), 30)
    assert [(checked.verdict, checked.reason) for checked in results] == [(Verdict.UNKNOWN, CUT_OFF)] * 2
    assert run.network
    store.close()
    again = store_of(links_at(hosts=2, each=1), history, resume=True)
    assert again.remarks == ["resuming: 0 of 2 links were checked before"]
    again.close()
    history.close()


async def test_a_run_that_was_stopped_may_be_gone_on_with(tmp_path: Path) -> None:
    history = History(str(tmp_path / "state"))
    store = store_of(links_at(hosts=3, each=30), history)
    run = run_over(store, World(lambda link, _: ok(link)), RunOptions(at_once=1))
    async for _ in run.results():
        run.stop()
    assert not run.is_whole
    store.close()
    assert unfinished(history) == 1
    history.close()


@pytest.mark.req("LH-01")
@pytest.mark.parametrize(("reach", "network"), [(HostReach.ANSWER, True), (HostReach.NO_LOOKUP_ANSWER, False)])
async def test_hosts_that_were_asked_before_a_stop_are_judged_by_what_they_said(
    reach: HostReach, network: bool
) -> None:
    """A run that is stopped tells bad news too: hosts that have links left count as much as those that have none."""
    world = World(lambda link, _: failing(link, reach))
    run: Run

    def stop_at_the_third(link: Link, _: int) -> CheckResult:
        if world.asked.total() == 3:
            run.stop()
        return failing(link, reach)

    world._answers = stop_at_the_third
    run = run_over(links_at(hosts=3, each=5), world, RunOptions(at_once=3))
    results = await all_of(run)
    assert world.asked.total() < 15
    assert run.network is network
    assert set(verdicts_of(results).values()) == ({"failing"} if network else {"unknown"})


async def test_what_nobody_looks_at_is_not_written_down(tmp_path: Path) -> None:
    history = History(str(tmp_path / "state"))
    store = store_of(links_at(hosts=1, each=2), history)

    def answer(link: Link, _: int) -> CheckResult:
        if number_of(link):
            return CheckResult(Checked(link, Verdict.SKIPPED, "of another kind"), None)
        return ok(link)

    clock = FakeClock()
    results = await all_of(run_over(store, World(answer), clock=clock))
    assert Counter(verdicts_of(results).values()) == {"ok": 1, "skipped": 1}
    assert [row.checks for row in history.of("http://0.example/0")] == [1]
    assert history.of("http://0.example/0")[0].first_at == clock.time()
    assert history.of("http://0.example/1") == []
    history.close()


async def test_a_host_that_said_otherwise_to_head_is_known_next_time(tmp_path: Path) -> None:
    history = History(str(tmp_path / "state"))
    for expected in (False, True):
        world = World(lambda link, _: ok(link)._replace(head_differs=True))
        store = store_of(links_at(hosts=1, each=1), history)
        await all_of(run_over(store, world))
        assert world.pasts["http://0.example/0"].head_differs is expected
    history.close()


@pytest.mark.req("LH-01")
@pytest.mark.parametrize(
    ("reaches", "counts"),
    [
        ((HostReach.ANSWER, HostReach.LOOKUP_ANSWER), HostCounts(1, reached=1)),
        ((HostReach.LOOKUP_ANSWER, HostReach.ANSWER), HostCounts(1, reached=1)),
        ((HostReach.NO_LOOKUP_ANSWER, HostReach.LOOKUP_ANSWER), HostCounts(1, looked_up=1)),
        ((HostReach.NO_LOOKUP_ANSWER, None), HostCounts(1, unanswered=1)),
        ((HostReach.SILENT, None), HostCounts(1)),
        ((None, None), HostCounts()),
    ],
)
@pytest.mark.parametrize("stops", [False, True])
async def test_host_counts_once_by_the_best_answer(
    reaches: tuple[HostReach | None, ...], counts: HostCounts, stops: bool
) -> None:
    run: Run

    def answer(link: Link, _: int) -> CheckResult:
        if stops and number_of(link) == 1:
            run.stop()
        return ok(link)._replace(reach=reaches[number_of(link)])

    run = run_over(numbered(3 if stops else 2), World(answer))
    await all_of(run)
    assert run._counts == counts


@pytest.mark.req("LH-01")
async def test_what_hosts_said_in_an_earlier_part_of_the_run_counts(tmp_path: Path) -> None:
    names = {"done": 1, "mute": 1, "begun": 3, "silent": 2, "new": 1}
    links = [Link(f"http://{host}/{number}") for host, each in names.items() for number in range(each)]
    history = History(str(tmp_path / "state"))
    store = store_of(links, history)
    earlier = {"done/0": HostReach.ANSWER, "mute/0": HostReach.NO_LOOKUP_ANSWER, "begun/0": HostReach.ANSWER}
    for url, reach in (earlier | {"silent/0": HostReach.SILENT}).items():
        (task,) = [one for one in store.of_host(url[:-2], 0, 10) if one.url == f"http://{url}"]
        store.commit([LinkResult(task, Checked(task.link, Verdict.OK), reach, 0.0)])
    store.close()
    run = run_over(store_of(links, history, resume=True), World(lambda link, _: failing(link, HostReach.LOOKUP_ANSWER)))
    await all_of(run)
    assert run._counts == HostCounts(5, reached=2, looked_up=2, unanswered=1)


async def test_of_many_results_that_nobody_takes_a_thousand_wait() -> None:
    world = World(lambda link, _: ok(link), turns=0)
    run = run_over(links_at(hosts=3, each=600), world, RunOptions(at_once=1))
    async with aclosing(run.results()) as results:
        await anext(results)
        for _ in range(20_000):
            await asyncio.sleep(0)
        assert world.asked.total() == 1000
        assert len([checked async for checked in results]) == 1799


async def test_a_run_that_is_over_leaves_no_thread_behind(tmp_path: Path) -> None:
    history = History(str(tmp_path / "state"))
    store = store_of(numbered(3), history)
    before = set(threading.enumerate())
    await all_of(run_over(store, World(lambda link, _: ok(link))))
    assert set(threading.enumerate()) <= before
    history.close()
