"""The index is a convenience: lost, damaged, stale or of another version, it is made again from the files."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spaniel.cache import PageCache, key_for
from spaniel.cache.entry import Validators, compose, encode
from spaniel.cache.folder import CacheFolder
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.errors import SpanielError
from tests.cache.harness import PAGE, content, file_of, numbered, problems, quick, temporaries

COUNT = 16


@pytest.fixture
def filled(folder: Path) -> Path:
    with quick(folder) as cache:
        for number in range(COUNT):
            cache.put(numbered(number), {"n": number})
    return folder


def lose(folder: Path) -> None:
    for path in folder.glob("index.sqlite3*"):
        path.unlink()


def all_there(cache: PageCache) -> bool:
    return all(content(cache.get(numbered(number))) == {"n": number} for number in range(COUNT))


def indexed(folder: Path) -> int:
    with CacheMaintenance(str(folder)) as upkeep:
        return upkeep.stats().entries


def test_a_lost_index_is_rebuilt_from_the_files(filled: Path) -> None:
    lose(filled)
    with quick(filled) as cache:
        assert all_there(cache), "reading needs no index"
        assert cache.put(PAGE, 1) is None
        assert all_there(cache)
    assert indexed(filled) == COUNT + 1
    with CacheMaintenance(str(filled)) as upkeep:
        rows = {row.url: row for row in upkeep.entries()}
    assert rows["https://example.com/7"].host == "example.com"
    assert rows["https://example.com/7"].method == "http"
    assert rows["https://example.com/7"].expires - rows["https://example.com/7"].fetched == 7 * 86_400
    assert not problems(filled)


def test_a_rebuilt_index_evicts_the_oldest_files_first(filled: Path) -> None:
    now = time.time()
    for number in range(COUNT):
        age = 1_000 - number if number != 5 else 0
        os.utime(file_of(filled, numbered(number)), (now - age, now - age))
    lose(filled)
    assert indexed(filled) == COUNT  # a put alone would rebuild for no longer than a moment
    with quick(filled, max_entries=4) as cache:
        assert cache.put(PAGE, 1) is None
    left = [number for number in range(COUNT) if file_of(filled, numbered(number)).exists()]
    assert left == [5, COUNT - 2, COUNT - 1]


def test_a_rebuilt_index_takes_the_temporary_files_of_the_dead_along(filled: Path) -> None:
    abandoned = file_of(filled, PAGE).with_name(f"{PAGE.hex}.tmp.0123456789abcdef")
    living = file_of(filled, numbered(1)).with_name(f"{numbered(1).hex}.tmp.0123456789abcdef")
    abandoned.parent.mkdir(mode=0o700, exist_ok=True)
    abandoned.write_bytes(b"half")
    held = CacheFolder(str(filled)).create(living.name)
    lose(filled)
    with quick(filled) as cache:
        cache.put(PAGE, 1)
    assert temporaries(filled) == [living.name]
    os.close(held)


@pytest.mark.parametrize(
    "damage", ["garbage", "empty", "cut", "header", "pages", "other version", "stranger", "no table"]
)
def test_a_damaged_or_foreign_index_is_replaced_and_nothing_is_lost(filled: Path, damage: str) -> None:
    path = filled / "index.sqlite3"
    raw = path.read_bytes()
    match damage:
        case "garbage":
            path.write_bytes(random.Random(1).randbytes(len(raw)))
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(raw[: len(raw) // 2])
        case "header":
            path.write_bytes(b"\0" * 100 + raw[100:])
        case "pages":
            path.write_bytes(raw[:4096] + random.Random(2).randbytes(len(raw) - 4096))
        case "other version":
            _sql(path, "PRAGMA user_version = 2")
        case "stranger":
            path.unlink()
            _sql(path, "CREATE TABLE totals (a)")
        case "no table":
            _sql(path, "DROP TABLE writing")
    with quick(filled) as cache:
        assert all_there(cache)
        assert cache.put(PAGE, 1) is None
        assert all_there(cache)
    assert indexed(filled) == COUNT + 1
    assert not problems(filled)


def _sql(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize("flips", [1, 5, 50, 500])
def test_flipped_bytes_in_the_index_lose_no_entry_and_are_healed(filled: Path, tmp_path: Path, flips: int) -> None:
    raw = (filled / "index.sqlite3").read_bytes()
    for seed in range(15):
        folder = tmp_path / str(seed)
        shutil.copytree(filled, folder)
        (folder / "index.sqlite3").write_bytes(flipped(raw, flips, random.Random(seed)))
        with quick(folder) as cache:
            cache.put(PAGE, 1)  # may be a note, but nothing worse
            assert all_there(cache)
        (folder / "index.sqlite3").write_bytes(flipped(raw, flips, random.Random(seed)))
        with CacheMaintenance(str(folder)) as upkeep:
            with suppress(SpanielError):
                upkeep.stats()
                list(upkeep.entries())
            list(upkeep.verify(repair=True))
        assert not problems(folder)
        with quick(folder) as cache:
            assert all_there(cache)
            assert cache.put(PAGE, 2) is None


def flipped(raw: bytes, flips: int, dice: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(flips):
        changed[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def test_an_index_that_is_lost_under_a_running_process_is_noticed(filled: Path) -> None:
    with quick(filled) as cache:
        cache.put(PAGE, 1)
        lose(filled)
        assert cache.put(PAGE, 2) is None
    assert indexed(filled) == COUNT + 1
    assert not problems(filled)


def test_an_index_that_another_process_replaced_is_taken_up(filled: Path) -> None:
    with quick(filled) as one, quick(filled) as two:
        one.put(PAGE, 1)
        two._index.replace()
        two.put(PAGE, 2)
        one.put(numbered(COUNT), 3)
        assert one._index._identity == two._index._identity
    assert indexed(filled) == COUNT + 2
    assert not problems(filled)


def test_a_stale_index_is_put_right_little_by_little(folder: Path, tmp_path: Path) -> None:
    """An old copy of the index comes back from a backup: rows without files, files without rows."""
    with quick(folder) as cache:
        for number in range(20):
            cache.put(numbered(number), number)
    backup = (folder / "index.sqlite3").read_bytes()
    with quick(folder) as cache:
        for number in range(20, 40):
            cache.put(numbered(number), number)
    for number in range(10):
        file_of(folder, numbered(number)).unlink()
    lose(folder)
    (folder / "index.sqlite3").write_bytes(backup)
    (folder / "index.sqlite3").chmod(0o600)
    assert {problem.kind for problem in problems(folder)} == {"missing", "unknown"}
    _sql(folder / "index.sqlite3", "UPDATE totals SET tick = tick / 256 * 256 + 255")
    with quick(folder) as cache:
        for _ in range(256):  # every 256th put compares one shard of 256: here the tick is helped on
            cache.put(PAGE, 1)
            with cache._index.transaction() as tx:
                tx.execute("UPDATE totals SET tick = tick + 255")
        cache.put(PAGE, 1)
    assert not problems(folder)


@pytest.mark.req("D2-22")
def test_verify_names_each_problem_and_repairs_only_when_told(filled: Path, tmp_path: Path) -> None:
    one, two, three = (file_of(filled, numbered(number)) for number in (1, 2, 3))
    one.write_bytes(one.read_bytes().replace(b'"n":1', b'"n":7'))
    two.rename(tmp_path / "two")
    three.write_bytes(file_of(filled, numbered(4)).read_bytes())
    (one.parent / "notes.txt").touch()
    abandoned = one.with_name(f"{one.name[:64]}.tmp.0123456789abcdef")
    abandoned.touch()
    _sql(filled / "index.sqlite3", "UPDATE totals SET bytes = bytes + 1")
    wanted = [
        ("abandoned", str(abandoned)),
        ("damaged", str(one)),
        ("misplaced", str(three)),
        ("missing", str(two)),
        ("stranger", str(one.parent / "notes.txt")),
        ("totals", str(filled)),
    ]
    assert sorted((problem.kind, problem.path) for problem in problems(filled)) == wanted
    assert one.exists()
    assert three.exists()
    with CacheMaintenance(str(filled)) as upkeep:
        assert {problem.kind for problem in upkeep.verify(repair=True)} >= {kind for kind, _ in wanted}
    assert not one.exists()
    assert not three.exists()
    assert [problem.kind for problem in problems(filled)] == ["stranger"]
    assert indexed(filled) == COUNT - 3


def test_a_damaged_file_of_another_size_is_one_problem(filled: Path) -> None:
    path = file_of(filled, numbered(1))
    path.write_bytes(path.read_bytes()[:-9])
    assert [(problem.kind, problem.path) for problem in problems(filled)] == [("damaged", str(path))]


def test_a_file_that_cannot_be_read_still_counts_and_can_be_evicted(filled: Path) -> None:
    path = file_of(filled, numbered(0))
    path.write_bytes(b"not an entry at all")
    os.utime(path, (1, 1))
    lose(filled)
    assert indexed(filled) == COUNT
    with quick(filled, max_entries=COUNT) as cache:
        cache.put(PAGE, 1)
    assert not path.exists()


@pytest.mark.parametrize("url", ["http://a:²/", "http://a:" + "9" * 5000 + "/"])
def test_a_file_that_names_no_real_url_does_not_stop_the_rebuilding(filled: Path, url: str) -> None:
    key = key_for(url)
    raw = encode(compose(key, 1, datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1), Validators()))
    path = file_of(filled, key)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(raw)
    path.chmod(0o600)
    lose(filled)
    with quick(filled) as cache:
        assert cache.put(PAGE, 1) is None
    assert indexed(filled) == COUNT + 2
