"""Laws of the plan and the frontier: every URL of the input comes out, once, in its host's queue."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.batch import planning
from spaniel.batch.done import Done
from spaniel.batch.frontier import Frontier
from spaniel.batch.ownership import WHOLE, Shard, registrable_domain
from spaniel.batch.plan import Plan, Task
from spaniel.batch.planning import Counts, make_plan
from spaniel.batch.ports import Item
from spaniel.url.policy import load
from spaniel.url.value import split

POLICY = load("exact")
hosts = st.integers(0, 6).map(lambda number: f"www.site{number}.example")
urls = st.one_of(
    st.builds("http://{}/{}".format, hosts, st.integers(0, 9)),
    st.builds("HTTP://{}:80/{}".format, hosts, st.integers(0, 9)),  # another spelling of the same
    st.sampled_from(["ftp://x.example/", "no url", "http://user:secret@www.site1.example/3", "http://\udc80/"]),
)


def canonical(raw: str) -> str:
    return POLICY.apply(raw).url


def all_tasks(plan: Plan) -> list[Task]:
    found = []
    for number in range(len(plan)):
        at = plan.starts[number]
        for _ in range(plan.counts[number]):
            found.append(plan.task(at))
            at = plan.behind(found[-1])
    return found


@pytest.fixture(params=[3, 50_000], ids=["in many runs", "in memory"])
def run_length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(planning, "RUN", request.param)
    monkeypatch.setattr(planning, "ITEMS_IN_A_FRAME", 2)
    return int(request.param)


def planned(raws: list[str], use: Callable[[Plan, Counts], None], shard: Shard = WHOLE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        counts = make_plan((Item(n, raw, {"n": n}) for n, raw in enumerate(raws)), canonical, folder, shard)
        assert sorted(os.listdir(folder)) == ["hosts", "tasks"]
        plan = Plan(folder)
        use(plan, counts)
        plan.close()


@pytest.mark.usefixtures("run_length")
def test_every_url_is_in_the_plan_once_and_equal_ones_together() -> None:
    @settings(max_examples=60)
    @given(st.lists(urls, max_size=30))
    def law(raws: list[str]) -> None:
        def use(plan: Plan, counts: Counts) -> None:
            tasks = all_tasks(plan)
            items = [item for task in tasks for item in plan.all_items(task)]
            assert sorted(item.ordinal for item in items) == list(range(len(raws)))
            assert all(item.columns["n"] == item.ordinal for item in items)
            fetched = [task.url for task in tasks if task.refusal is None]
            assert len(set(fetched)) == len(fetched) == counts.tasks
            assert counts.planned == counts.tasks + counts.duplicates + counts.refused == len(raws)
            for task in tasks:
                for item in plan.all_items(task):
                    assert task.refusal is not None or canonical(item.raw) == task.url

        planned(raws, use)

    law()


def test_credentials_are_not_written_down(tmp_path: Path) -> None:
    make_plan([Item(0, "http://user:secret@www.site.example/")], canonical, str(tmp_path))
    assert b"secret" not in (tmp_path / "tasks").read_bytes()


@settings(max_examples=60)
@given(st.lists(urls, max_size=30), st.integers(1, 4))
def test_shards_are_the_whole_and_share_no_host(raws: list[str], shards: int) -> None:
    ordinals: list[int] = []
    seen: list[set[str]] = []

    def use(plan: Plan, _: Counts) -> None:
        tasks = all_tasks(plan)
        ordinals.extend(item.ordinal for task in tasks for item in plan.all_items(task))
        seen.append({split(task.url).host for task in tasks if task.url})

    for place in range(shards):
        planned(raws, use, Shard(place, shards))
    assert sorted(ordinals) == list(range(len(raws)))
    assert sum(map(len, seen)) == len(set().union(*seen))


class Ready:
    """Hosts that are always ready, but for those that are said not to be."""

    def __init__(self, at: dict[str, float] | None = None, places: int = 1) -> None:
        self.at, self._places = at or {}, places

    def ready_at(self, host: str) -> float:
        return self.at.get(host, 0.0)

    def places(self, _host: str) -> int:
        return self._places

    def has_pauses(self, _host: str) -> bool:
        return False


@settings(max_examples=100)
@given(st.lists(urls, max_size=40), st.integers(1, 3), st.sets(st.integers(0, 39)), st.randoms(use_true_random=False))
def test_the_frontier_gives_out_what_is_not_done_once_and_a_host_to_one_at_a_time(
    raws: list[str], workers: int, before: set[int], rng: object
) -> None:
    def use(plan: Plan, _counts: Counts) -> None:
        done = Done(before)
        frontier = Frontier(plan, done, workers, 2, Ready())
        given_out: Counter[int] = Counter()
        owners: dict[str, int] = {}
        busy: list[tuple[object, Task]] = []
        for _ in frontier.refused():
            pass
        for now in count(1):
            worker = rng.randrange(workers)  # type: ignore[attr-defined]
            if (taken := frontier.take(worker, float(now))) is not None:
                host, task = taken
                assert owners.setdefault(registrable_domain(host.name), worker) == worker
                assert host.name not in {other.name for other, _ in busy}  # type: ignore[attr-defined]
                given_out.update(item.ordinal for item in plan.all_items(task))
                busy.append(taken)
            if busy and rng.random() < 0.6:  # type: ignore[attr-defined]
                frontier.finished(busy.pop(0)[0], float(now))  # type: ignore[arg-type]
            if frontier.is_empty and not busy:
                break
            assert now < 5000, "the frontier does not come to an end"
        wanted = {
            item.ordinal
            for task in all_tasks(plan)
            if task.refusal is None and not all(item.ordinal in done for item in plan.all_items(task))
            for item in plan.all_items(task)
        }
        assert set(given_out) == wanted
        assert all(times == 1 for times in given_out.values())

    planned(raws, use)


def test_hosts_that_wait_do_not_keep_others_from_being_live(tmp_path: Path) -> None:
    slots = 4  # live hosts: 12
    raws = [f"http://www.site{n:03}.example/" for n in range(100)]
    waiting = {f"www.site{n:03}.example": 1000.0 for n in range(90)}
    make_plan((Item(n, raw) for n, raw in enumerate(raws)), canonical, str(tmp_path))
    frontier = Frontier(Plan(str(tmp_path)), Done(), 1, slots, Ready(waiting))
    taken = [frontier.take(0, 1.0) for _ in range(10)]
    assert all(found is not None and found[0].name not in waiting for found in taken)
    assert frontier.take(0, 1.0) is None
    assert frontier.next_time() == 1000.0
    assert frontier.take(0, 1000.0) is not None


def test_live_hosts_are_bounded(tmp_path: Path) -> None:
    raws = [f"http://www.site{n:03}.example/{path}" for n in range(100) for path in range(2)]
    make_plan((Item(n, raw) for n, raw in enumerate(raws)), canonical, str(tmp_path))
    frontier = Frontier(Plan(str(tmp_path)), Done(), 1, 4, Ready())
    most = 0
    while (taken := frontier.take(0, 1.0)) is not None:
        most = max(most, len(frontier.by_name))
        frontier.finished(taken[0], 1.0)
    assert most <= 3 * 4
    assert not frontier.by_name


def test_a_host_with_the_most_to_do_comes_first(tmp_path: Path) -> None:
    raws = ["http://few.example/", *(f"http://many.example/{n}" for n in range(5)), "http://few2.example/"]
    make_plan((Item(n, raw) for n, raw in enumerate(raws)), canonical, str(tmp_path))
    taken = Frontier(Plan(str(tmp_path)), Done(), 1, 4, Ready()).take(0, 1.0)
    assert taken is not None
    assert taken[0].name == "many.example"


def test_what_is_handed_over_comes_out_of_the_other_hosts_queue(tmp_path: Path) -> None:
    raws = [f"http://www.site{n}.example/" for n in range(2)]
    make_plan((Item(n, raw) for n, raw in enumerate(raws)), canonical, str(tmp_path))
    ready = Ready()
    frontier = Frontier(Plan(str(tmp_path)), Done(), 1, 4, ready)
    found = [frontier.take(0, 1.0), frontier.take(0, 1.0)]
    first, second = (each for each in found if each is not None)
    ready.at["elsewhere.example"] = 50.0
    frontier.finished(first[0], 1.0)
    frontier.hand_over("elsewhere.example", first[1], 1.0)
    frontier.finished(second[0], 1.0)
    assert frontier.take(0, 49.0) is None
    assert not frontier.is_empty
    again = frontier.take(0, 50.0)
    assert again is not None
    assert (again[0].name, again[1]) == ("elsewhere.example", first[1])
    frontier.finished(again[0], 50.0)
    assert frontier.is_empty
