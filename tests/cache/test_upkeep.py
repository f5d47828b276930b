"""Counting, finding, clearing and verifying a cache: what `spaniel cache` does, without the command line."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spaniel.cache import CacheKey, key_for
from spaniel.cache.folder import CacheFolder
from spaniel.cache.maintenance import CacheMaintenance, ClearedEntries
from spaniel.database import Database, damage
from spaniel.errors import Code, SpanielError
from tests.cache.harness import OTHER, content, file_of, numbered, problems, quick, run_sql


def there(folder: Path) -> list[CacheKey]:
    return [key for key in (*map(numbered, range(5)), OTHER) if file_of(folder, key).exists()]


@pytest.mark.req("FR-WF-17b")
def test_what_was_fetched_long_ago_is_cleared_and_nothing_else(kept: Path) -> None:
    with CacheMaintenance(str(kept)) as upkeep:
        size = file_of(kept, numbered(4)).stat().st_size
        assert upkeep.clear(older_than=5 * 86_400) == ClearedEntries(1, size)
        assert upkeep.clear(older_than=5 * 86_400) == ClearedEntries(0, 0)
        assert upkeep.stats().entries == 5
    assert numbered(4) not in there(kept)
    assert len(there(kept)) == 5
    assert not problems(kept)


@pytest.mark.req("FR-WF-17b")
def test_one_host_is_cleared_and_no_other(kept: Path) -> None:
    with CacheMaintenance(str(kept)) as upkeep:
        assert upkeep.clear(host="example.com").entries == 5
        assert [row.url for row in upkeep.entries()] == ["https://other.example/page"]
    assert there(kept) == [OTHER]


@pytest.mark.req("FR-WF-17b")
def test_everything_is_cleared_in_batches_with_what_dead_writers_left(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spaniel.cache.maintenance.CLEARED_AT_ONCE", 2)
    one = file_of(kept, numbered(1))
    left = one.with_name(f"{one.name[:64]}.tmp.0123456789abcdef")
    left.touch()
    (one.parent / "notes.txt").touch()
    with CacheMaintenance(str(kept)) as upkeep:
        assert upkeep.clear(host="nobody.example") == ClearedEntries(0, 0)
        assert left.exists()
        assert upkeep.clear().entries == 6
        assert upkeep.stats()[1:] == (0, 0, 0, 0, {}, None, None)
    assert not there(kept)
    assert not left.exists()
    assert (one.parent / "notes.txt").exists()


@pytest.mark.req("D2-22")
def test_a_file_that_cannot_be_removed_is_an_error_that_names_it(kept: Path) -> None:
    path = file_of(kept, numbered(0))
    path.unlink()
    path.mkdir()
    (path / "inside").touch()
    with CacheMaintenance(str(kept)) as upkeep, pytest.raises(SpanielError) as caught:
        upkeep.clear()
    assert caught.value.code is Code.CACHE_READ_FAILED
    assert caught.value.details["path"] == str(path)


def test_a_page_is_found_in_every_rendering_and_one_removed_by_hand_is_not(kept: Path) -> None:
    with quick(kept) as cache:
        cache.put(key_for("https://example.com/0", "browser"), "rendered")
    file_of(kept, numbered(1)).unlink()
    with CacheMaintenance(str(kept)) as upkeep:
        found = list(upkeep.find({"https://example.com/0", "https://example.com/1", "https://example.com/none"}))
    assert sorted((row.method, content(entry)) for row, entry in found) == [("browser", "rendered"), ("http", 0)]


def test_a_folder_is_made_only_for_whoever_asks(folder: Path) -> None:
    with pytest.raises(SpanielError) as caught, CacheMaintenance(str(folder)):
        pass
    assert caught.value.code is Code.CACHE_READ_FAILED
    with CacheMaintenance(str(folder), create=True) as upkeep:
        assert upkeep.stats().entries == 0
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.req("D2-22")
def test_what_does_not_belong_is_named_and_left_alone(kept: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shard = next(kept / f"{n:02x}" for n in range(256) if not (kept / f"{n:02x}").exists())
    shard.symlink_to(elsewhere)
    inside = file_of(kept, numbered(0)).parent
    fifo = inside / f"{inside.name}{'f' * 62}.json"
    os.mkfifo(fifo)
    with CacheMaintenance(str(kept)) as upkeep:
        result = [(problem.kind, problem.path) for problem in upkeep.verify(repair=True)]
        assert sorted(result) == sorted([("stranger", str(shard)), ("stranger", str(fifo))])
        assert upkeep.checked == 6
    assert shard.is_symlink()


@pytest.mark.parametrize(
    "statement", ["UPDATE totals SET entries = -1", "UPDATE totals SET tick = 'many'", "DELETE FROM totals"]
)
def test_an_index_that_has_lost_count_is_made_again(kept: Path, statement: str) -> None:
    run_sql(kept, statement)
    with CacheMaintenance(str(kept)) as upkeep:
        assert upkeep.stats().entries == 6
    assert not problems(kept)


def test_verify_says_that_the_index_is_damaged_and_repairs_it_when_told(kept: Path) -> None:
    run_sql(kept, "PRAGMA wal_checkpoint(TRUNCATE)")
    pages = run_sql(kept, "SELECT rootpage FROM sqlite_master WHERE type = 'index'")
    assert pages
    with (kept / "index.sqlite3").open("r+b") as file:  # what only a whole check reads
        for (page,) in pages:
            file.seek((page - 1) * 4096 + 8)
            file.write(b"\xff" * 512)
    assert "index" in {problem.kind for problem in problems(kept)}
    with CacheMaintenance(str(kept)) as upkeep:
        assert "index" in {problem.kind for problem in upkeep.verify(repair=True)}
    assert not problems(kept)
    assert len(there(kept)) == 6


def test_rows_that_hold_nonsense_are_damage_and_no_crash(kept: Path) -> None:
    run_sql(kept, "UPDATE entries SET fetched = 'yesterday' WHERE url LIKE '%/1'")
    with CacheMaintenance(str(kept)) as upkeep, pytest.raises(SpanielError) as caught:
        list(upkeep.entries())
    assert caught.value.code is Code.CACHE_READ_FAILED


@pytest.mark.req("D2-22")
def test_a_cache_that_somebody_holds_is_not_taken_for_a_damaged_one(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spaniel.cache.index.PATIENCE", 0.05)
    holder = sqlite3.connect(kept / "index.sqlite3", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with CacheMaintenance(str(kept)) as upkeep, pytest.raises(SpanielError, match="locked"):
            upkeep.stats()
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert run_sql(kept, "SELECT COUNT(*) FROM entries") == [(6,)]


def test_what_a_writer_has_mended_meanwhile_is_not_removed(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(kept, numbered(0))
    good = path.read_bytes()
    path.write_bytes(b"{")
    read = CacheFolder.read_named

    def mended(folder: CacheFolder, key: str) -> object:
        try:
            return read(folder, key)
        finally:
            if key == path.name[:64]:
                path.write_bytes(good)  # another process puts the page again, just after it was looked at

    monkeypatch.setattr(CacheFolder, "read_named", mended)
    with CacheMaintenance(str(kept)) as upkeep:
        assert [problem.kind for problem in upkeep.verify(repair=True)] == ["damaged"]
    assert path.read_bytes() == good


def test_an_index_too_damaged_to_be_checked_is_damaged(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Database.snapshot
    failing = [damage("the file is malformed")]

    @contextmanager
    def snapshot(index: Database) -> Iterator[sqlite3.Connection]:
        if failing:
            raise failing.pop()
        with checked(index) as connection:
            yield connection

    monkeypatch.setattr(Database, "snapshot", snapshot)
    with CacheMaintenance(str(kept)) as upkeep:
        assert [problem.kind for problem in upkeep.verify(repair=True)] == ["index"]
    failing.append(sqlite3.OperationalError("disk I/O error"))  # no damage: nothing is made again for it
    with CacheMaintenance(str(kept)) as upkeep, pytest.raises(SpanielError, match="disk I/O"):
        list(upkeep.verify(repair=True))
