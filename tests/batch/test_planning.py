"""Laws of the plan: every URL of the input is in one shard, once, with the other spellings of its page."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.batch.plan_folder import PlanFolder, PlanInfo
from spaniel.batch.planning import (
    WHOLE,
    InputShard,
    ListRows,
    PlannedShards,
    domain_number,
    make_plan,
    read_shard,
    row_number,
    shard_of,
)
from spaniel.batch.supervisor import assign
from spaniel.errors import SpanielError
from spaniel.runs.store import Item, Shard, Task
from spaniel.sources.rows import Problems
from spaniel.url.canonical import Canonical
from spaniel.url.policy import Policy, load
from spaniel.url.value import plain_host, split
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
    use: Callable[[PlannedShards, dict[int, list[tuple[Task, list[Item]]]]], None],
    shard: InputShard = WHOLE,
    shards: int = 3,
    *,
    is_spread: bool = False,
) -> None:
    """Plan these URLs, and look at the tasks of each shard with all of their items."""
    items = (Item(n, raw, {"n": n}) for n, raw in enumerate(raws))
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(ListRows(items, POLICY, shard), folder, shards=shards, is_spread=is_spread)
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
    def use(plan: PlannedShards, found: dict[int, list[tuple[Task, list[Item]]]]) -> None:
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
    def use(_: PlannedShards, found: dict[int, list[tuple[Task, list[Item]]]]) -> None:
        for number, tasks in found.items():
            assert {shard_of(task.host, 3) for task, _ in tasks if task.host} <= {number}

    planned(raws, use)


@settings(max_examples=25)
@given(st.lists(urls, max_size=30), st.integers(1, 4))
def test_parts_of_the_input_are_the_whole_and_share_no_host(raws: list[str], parts: int) -> None:
    ordinals: list[int] = []
    seen: list[set[str]] = []

    def use(_: PlannedShards, found: dict[int, list[tuple[Task, list[Item]]]]) -> None:
        tasks = [each for mine in found.values() for each in mine]
        ordinals.extend(item.ordinal for _, mine in tasks for item in mine)
        seen.append({task.host for task, _ in tasks if task.host})

    for place in range(parts):
        planned(raws, use, InputShard(place, parts))
    assert sorted(ordinals) == list(range(len(raws)))
    assert sum(map(len, seen)) == len(set().union(*seen))


LISTED = [
    *("https://www.site1.com/a", "https://site2.com:8080/?q", "HTTPS://SITE3.com/", "https://site4.com", "site5.com/x"),
    *("https://user:secret@site6.com/", "https://site7.com:99999/", "https://site8.com/\x01", "ftp://site9.com/", "?"),
    *("https://site1.com\\@site2.com/", "https://xn--mnchen-3ya.de/", "https://10.0.0.1/", " https://site3.com/b"),
    *("https://site.co.uk./", "https://sub.site.co.uk/%zz", "https://site4.com:80@site5.com/", "https://a..com/"),
]


@given(st.lists(st.sampled_from(LISTED), max_size=20), st.integers(1, 5), st.sampled_from(["exact", "ingest", "clara"]))
def test_shards_of_a_list_or_a_plan_have_the_same_rows(raws: list[str], shards: int, name: str) -> None:
    policy, items = load(name), [Item(n, raw, {"n": n}) for n, raw in enumerate(raws)]
    whole = list(ListRows(items, policy))
    parts = [InputShard(place, shards) for place in range(shards)]
    with tempfile.TemporaryDirectory() as path:
        folder = PlanFolder(path)
        info = folder.write(ListRows(items, policy), PlanInfo({"list": "1"}, {"policy": name}, shards), Problems())
        assert folder.read() == info == PlanInfo({"list": "1"}, {"policy": name}, shards, len(raws), 0)
        for part in parts:
            wanted = [row for row in whole if part.has(row_number(row))]
            own = ListRows(items, policy, part)
            assert list(own) == wanted == list(folder.rows(info, part))
            assert own.seen == folder.rows(info, part).seen == len(raws)
        assert sorted(folder.rows(info, WHOLE)) == whole


@given(st.sampled_from(LISTED))
def test_plain_host_is_the_host_of_the_canonical_url(raw: str) -> None:
    host = plain_host(raw)
    with suppress(SpanielError):
        assert host in (None, split(canonical(raw)).host)


def test_list_is_not_canonicalized_for_other_shards() -> None:
    class Counting:
        keeps_hosts, applied = True, 0

        def apply(self, raw: str) -> Canonical:
            self.applied += 1
            return POLICY.apply(raw)

    policy = Counting()
    items = [Item(n, f"https://site{n}.com/") for n in range(100)]
    rows = list(ListRows(items, cast("Policy", policy), InputShard(0, 10)))
    assert policy.applied == len(rows) < 30


def test_policy_that_changes_hosts_has_no_early_filter() -> None:
    assert load("exact").keeps_hosts
    assert load("ingest").keeps_hosts
    assert not load("clara").keeps_hosts


def test_damaged_or_other_plan_is_refused(tmp_path: Path) -> None:
    folder = PlanFolder(str(tmp_path / "plan"))
    rows = ListRows([Item(0, "https://site.com/")], POLICY)
    info = folder.write(rows, PlanInfo({}, {}, 2), Problems())
    with pytest.raises(SpanielError, match="not empty"):
        folder.write(rows, info, Problems())
    with pytest.raises(SpanielError, match="write --shard I/2"):
        folder.rows(info, InputShard(0, 3))
    (part,) = (tmp_path / "plan").glob("*.rows")
    part.write_bytes(part.read_bytes()[:-3])
    with pytest.raises(SpanielError, match="is damaged; make the plan again"):
        list(folder.rows(info, WHOLE))
    (tmp_path / "plan" / "plan.json").write_text('{"format": 99}')
    with pytest.raises(SpanielError, match="another version"):
        folder.read()


def test_one_site_without_delays_is_spread_over_shards(tmp_path: Path) -> None:
    items = (Item(n, f"http://www.site.example/{n}") for n in range(300))
    plan = make_plan(ListRows(items, POLICY), str(tmp_path), shards=4, is_spread=True)
    assert min(plan.shards.values()) > 40
    assert (plan.counts.tasks, len(plan.shards)) == (300, 4)


def test_credentials_are_not_written_down(tmp_path: Path) -> None:
    items = [Item(0, "http://user:secret@www.site.example/"), Item(1, "ftp://user:secret@x/")]
    make_plan(ListRows(items, POLICY), str(tmp_path))
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
    return make_plan(ListRows(items, POLICY), folder, shards=8).counts.tasks


def test_memory_does_not_follow_the_length_of_the_input(tmp_path: Path) -> None:
    tasks, grew = weigh("tests.batch.test_planning:plan_many", tmp_path)
    assert tasks == 60_000
    assert grew < 80 * MB, f"{grew / MB:.0f} MB"
