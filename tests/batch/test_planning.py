"""Laws of the plan: every URL of the input is in one shard, once, with the other spellings of its page."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.batch.planning import WHOLE, InputShard, Plan, domain_number, make_plan, read_shard, shard_of
from spaniel.batch.supervisor import assign
from spaniel.errors import SpanielError
from spaniel.runs.store import Item, Shard, Task
from spaniel.url.policy import load
from tests.batch.weigh import weigh

POLICY = load("exact")
MB = 1 << 20
hosts = st.integers(0, 6).map(lambda number: f"www.site{number}.example")
urls = st.one_of(
    st.builds("http://{}/{}".format, hosts, st.integers(0, 9)),
    st.builds("HTTP://{}:80/{}".format, hosts, st.integers(0, 9)),  # another spelling of the same
    st.sampled_from(["ftp://x.example/", "no url", "http://user:secret@www.site1.example/3", "http://\udc80/"]),
)


def canonical(raw: str) -> str:
    return POLICY.apply(raw).url


def planned(
    raws: list[str],
    use: Callable[[Plan, dict[int, list[tuple[Task, list[Item]]]]], None],
    shard: InputShard = WHOLE,
    shards: int = 3,
    *,
    is_spread: bool = False,
) -> None:
    """Plan these URLs, and look at the tasks of each shard with all of their items."""
    items = (Item(n, raw, {"n": n}) for n, raw in enumerate(raws))
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(items, canonical, folder, input_shard=shard, shards=shards, is_spread=is_spread)
        found: dict[int, list[tuple[Task, list[Item]]]] = {}
        for number in plan.shards:
            opened = Shard.open(folder, number)
            tasks = [task for host, _ in opened.hosts() for task in opened.of_host(host, 0, 1000)]
            found[number] = [(task, [task.first, *opened.copies(task)]) for task in tasks]
            refused = [item for item, _ in opened.refused()]
            found[number] += [(Task(number, "", "", item), [item]) for item in refused]
            opened.close()
        use(plan, found)


@settings(max_examples=25)
@given(st.lists(urls, max_size=30), st.booleans())
def test_every_url_is_planned_once_and_equal_ones_together(raws: list[str], is_spread: bool) -> None:
    def use(plan: Plan, found: dict[int, list[tuple[Task, list[Item]]]]) -> None:
        tasks = [each for mine in found.values() for each in mine]
        items = [item for _, mine in tasks for item in mine]
        assert sorted(item.ordinal for item in items) == list(range(len(raws)))
        assert all(item.columns["n"] == item.ordinal for item in items)
        fetched = [task.url for task, _ in tasks if task.url]
        counts = plan.counts
        assert len(set(fetched)) == len(fetched) == counts.tasks
        assert counts.items == counts.planned == counts.tasks + counts.duplicates + counts.refused == len(raws)
        assert all(canonical(item.raw) == task.url for task, mine in tasks if task.url for item in mine)

    planned(raws, use, is_spread=is_spread)


@settings(max_examples=25)
@given(st.lists(urls, max_size=30))
def test_a_host_is_in_the_shard_that_owns_it(raws: list[str]) -> None:
    def use(_: Plan, found: dict[int, list[tuple[Task, list[Item]]]]) -> None:
        for number, tasks in found.items():
            assert {shard_of(task.host, 3) for task, _ in tasks if task.host} <= {number}

    planned(raws, use)


@settings(max_examples=25)
@given(st.lists(urls, max_size=30), st.integers(1, 4))
def test_parts_of_the_input_are_the_whole_and_share_no_host(raws: list[str], parts: int) -> None:
    ordinals: list[int] = []
    seen: list[set[str]] = []

    def use(_: Plan, found: dict[int, list[tuple[Task, list[Item]]]]) -> None:
        tasks = [each for mine in found.values() for each in mine]
        ordinals.extend(item.ordinal for _, mine in tasks for item in mine)
        seen.append({task.host for task, _ in tasks if task.host})

    for place in range(parts):
        planned(raws, use, InputShard(place, parts))
    assert sorted(ordinals) == list(range(len(raws)))
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_one_site_without_delays_is_spread_over_shards(tmp_path: Path) -> None:
    items = (Item(n, f"http://www.site.example/{n}") for n in range(300))
    plan = make_plan(items, canonical, str(tmp_path), shards=4, is_spread=True)
    assert min(plan.shards.values()) > 40
    assert (plan.counts.tasks, len(plan.shards)) == (300, 4)


def test_credentials_are_not_written_down(tmp_path: Path) -> None:
    make_plan(
        [Item(0, "http://user:secret@www.site.example/"), Item(1, "ftp://user:secret@x/")], canonical, str(tmp_path)
    )
    assert not any(b"secret" in path.read_bytes() for path in tmp_path.iterdir())


def test_partition_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert domain_number("www.example.com") == domain_number("example.com") == 0x13C51305C1CF2666
    assert domain_number("one.github.io") != domain_number("two.github.io")  # its users are strangers to one another
    assert domain_number("example.com.") == domain_number("example.com")
    assert [InputShard(n, 3).has(domain_number("example.com")) for n in range(3)] == [True, False, False]


def test_parts_of_the_input_do_not_thin_out_shards() -> None:
    mine = [host for n in range(1000) if InputShard(0, 2).has(domain_number(host := f"site{n}.example"))]
    first = sum(shard_of(host, 2) == 0 for host in mine)
    assert 400 < len(mine) < 600
    assert 0.4 < first / len(mine) < 0.6


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/2/3", "1/99999999", ""])
def test_shard_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(SpanielError, match="--shard"):
        read_shard(text)
    assert read_shard("2/5") == InputShard(1, 5)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.integers(1, 8))
def test_no_worker_has_more_than_another_by_more_than_the_largest_shard(pages: list[int], workers: int) -> None:
    given = assign(dict(enumerate(pages)), workers)
    loads = [sum(pages[number] + 1 for number in mine) for mine in given]
    assert sorted(number for mine in given for number in mine) == list(range(len(pages)))
    assert max(loads) - min(loads) <= max(pages) + 1


def plan_many(folder: str) -> int:
    items = (Item(n, f"https://www.site{n % 20_000}.example/{n}") for n in range(60_000))
    return make_plan(items, lambda raw: raw, folder, shards=8).counts.tasks


def test_memory_does_not_follow_the_length_of_the_input(tmp_path: Path) -> None:
    tasks, grew = weigh("tests.batch.test_planning:plan_many", tmp_path)
    assert tasks == 60_000
    assert grew < 80 * MB, f"{grew / MB:.0f} MB"
