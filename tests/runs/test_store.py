"""A shard: every item once, pages that are several times there together, what is done marked."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.runs.store import Item, Shard, ShardCounts, Shards, host_of

ROWS = [
    (0, "a.example", "https://a.example/1", None, None, None),
    (1, "b.example", "https://b.example/", "http://b.example", {"n": 1}, None),
    (2, "a.example", "https://a.example/1", "HTTPS://A.example/1", {"n": 2}, None),
    (3, "", "", "no url", None, {"code": "invalid_url"}),
    (4, "a.example", "https://a.example/2", None, None, None),
    (5, "a.example", "https://a.example/1", None, None, None),
]


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    planned = Shard.create(str(tmp_path), 7)
    planned.add(ROWS)
    assert planned.finish_planning() == ShardCounts(planned=6, tasks=3, refused=1, hosts=2, longest=2)
    planned.close()
    opened = Shard.open(str(tmp_path), 7)
    yield opened
    opened.close()


def test_hosts_with_most_pages_come_first(shard: Shard) -> None:
    assert list(shard.hosts()) == [("a.example", 2), ("b.example", 1)]


def test_items_with_one_url_are_one_task(shard: Shard) -> None:
    first, second = shard.of_host("a.example", 0, 10)
    assert (first.ordinal, first.url, first.copies) == (0, "https://a.example/1", 2)
    assert shard.copies(first) == [Item(2, "HTTPS://A.example/1", {"n": 2}), Item(5, "https://a.example/1", {})]
    assert (second.ordinal, second.copies, shard.copies(second)) == (4, 0, [])
    assert shard.of_host("a.example", first.id, 10) == [second]
    assert shard.of_host("other.example", 0, 10) == []


def test_lines_that_are_not_urls_keep_their_reason(shard: Shard) -> None:
    assert list(shard.refused()) == [(Item(3, "no url", {}), {"code": "invalid_url"})]


def test_what_is_committed_is_not_given_out_again(shard: Shard) -> None:
    shard.commit({("records", 0): 120}, [(0, ""), (2, ""), (3, "invalid_url")], [3])
    assert list(shard.refused()) == []
    (first, _) = shard.of_host("a.example", 0, 10)
    assert (shard.is_done(0), [item.ordinal for item in shard.copies(first)]) == (True, [5])  # the task is still open
    shard.commit({("records", 0): 150, ("captures", 1): 9}, [(5, "http_4xx")], [0])
    assert [task.ordinal for task in shard.of_host("a.example", 0, 10)] == [4]
    assert list(shard.hosts()) == [("b.example", 1), ("a.example", 1)]
    assert shard.recorded() == {"": 2, "invalid_url": 1, "http_4xx": 1}
    assert shard.parts() == {("captures", 1): 9, ("records", 0): 150}
    assert shard.left() == 2


def test_shard_that_is_missing_damaged_or_half_planned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpanielError, match="is missing; begin again with --overwrite"):
        Shard.open(str(tmp_path), 1)
    half = Shard.create(str(tmp_path), 1)
    half.add(ROWS)
    half.discard()
    with pytest.raises(SpanielError, match="has no plan"):
        Shard.open(str(tmp_path), 1)
    (tmp_path / "shard-0002.sqlite3").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    (tmp_path / "shard-0002.sqlite3").chmod(0o600)
    with pytest.raises(SpanielError, match=r"damaged .*--overwrite"):
        Shard.open(str(tmp_path), 2)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40), st.integers(1, 3))
def test_every_item_comes_out_once(pages: list[tuple[int, int]], count: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            planned = Shard.create(folder, number)
            urls = [(n, f"h{host}.example", f"https://h{host}.example/{page}") for n, (host, page) in enumerate(pages)]
            planned.add([(*row, None, None, None) for row in urls if row[0] % count == number])
            planned.finish_planning()
            planned.close()
        shards = Shards(Shard.open(folder, number) for number in range(count))
        found = []
        for host, _ in shards.hosts():
            after = 0
            while tasks := shards.of_host(host, after, 2):
                after = tasks[-1].id
                for task in tasks:
                    assert host_of(task.url) == host
                    found += [task.ordinal, *(item.ordinal for item in shards[task.shard].copies(task))]
        shards.close()
    assert sorted(found) == list(range(len(pages)))


def test_urls_with_one_number_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.runs.store.hash", lambda _: 1, raising=False)
    planned = Shard.create(str(tmp_path), 0)
    planned.add(ROWS)
    assert planned.finish_planning().tasks == 3
    planned.close()


def test_readers_do_not_keep_the_log_from_being_cleaned_up(shard: Shard, tmp_path: Path) -> None:
    """A list of hosts that is read slowly is no open transaction: else the log would grow as long as a run lasts."""
    hosts = shard.hosts()
    next(hosts)
    shard.commit({("records", 0): 1}, [(1, "")], [1])
    other = sqlite3.connect(tmp_path / "shard-0007.sqlite3")
    busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    other.close()
    assert busy == 0


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.example", "a.example"),
        ("http://a.example:80/x?y#z", "a.example"),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]"),
        ("http://a.example?q=/", "a.example"),
    ],
)
def test_host_of_a_canonical_url(url: str, host: str) -> None:
    assert host_of(url) == host


def test_shard_is_written_by_one_process_at_a_time(shard: Shard, tmp_path: Path) -> None:
    """A worker whose supervisor was killed commits what it has; the next one waits for it."""
    shard.lock()
    other = Shard.open(str(tmp_path), 7)
    with pytest.raises(SpanielError, match="still writing"):
        other.lock(wait=0.05)
    threading.Timer(0.1, shard.close).start()
    other.lock(wait=30)
    other.close()
