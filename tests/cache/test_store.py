"""What a fetch may rely on: hits, misses, time, and notes instead of failures."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.cache import WRITE_FAILED, key_for
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.testing import FakeClock
from tests.cache.harness import PAGE, content, file_of, numbered, problems, quick, temporaries

WEEK = 7 * 86_400


@pytest.mark.req("FR-WF-17a", "T-WF-CCH-01")
def test_a_hit_is_what_was_put_with_the_time_of_the_original_fetch(folder: Path, clock: FakeClock) -> None:
    then = datetime(2027, 1, 1, 3, 4, 5, 678_901, tzinfo=UTC)
    clock.set(then.timestamp())
    with quick(folder, clock) as cache:
        assert cache.get(PAGE) is None
        assert cache.put(PAGE, {"markdown": "# Hi"}, then) is None
        clock.advance(3_600)
        entry = cache.get(PAGE)
    assert entry is not None
    assert content(entry) == {"markdown": "# Hi"}
    assert entry.fetched_at == then.replace(microsecond=0)


@pytest.mark.req("FR-WF-17", "T-WF-CCH-02")
def test_a_put_replaces_what_is_there_fresh_or_not(folder: Path) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, {"n": 1})
        cache.put(PAGE, {"n": 2})
        assert content(cache.get(PAGE)) == {"n": 2}
    assert not problems(folder)


@pytest.mark.req("FR-WF-16", "T-WF-CCH-04", "D2-24")
def test_renderings_and_profiles_are_kept_apart(folder: Path) -> None:
    url = "https://example.com/"
    keys = [
        key_for(url, "http"),
        key_for(url, "browser"),
        key_for(url, "http", "ingest", 1),
        key_for(url, "http", "ingest", 2),
    ]
    with quick(folder) as cache:
        for number, key in enumerate(keys):
            cache.put(key, number)
        assert [content(cache.get(key)) for key in keys] == [0, 1, 2, 3]


@pytest.mark.req("D2-24")
def test_what_overrides_let_in_is_no_strict_runs_answer(folder: Path) -> None:
    url = "http://127.0.0.1/"
    relaxed, other = (key_for(url, overrides=text) for text in ("block_loopback=false", "block_reserved=false"))
    with quick(folder) as cache:
        cache.put(relaxed, "from the inside")
        assert cache.get(key_for(url)) is None
        assert cache.get(other) is None
        assert content(cache.get(relaxed)) == "from the inside"  # the control
        file_of(folder, key_for(url)).parent.mkdir(mode=0o700, exist_ok=True)
        file_of(folder, relaxed).rename(file_of(folder, key_for(url)))  # under the strict run's name, too
        assert cache.get(key_for(url)) is None
    assert [problem.kind for problem in problems(folder)] == ["misplaced", "missing"]


@pytest.mark.req("D2-24")
def test_upkeep_knows_an_entry_with_overrides_by_its_name(folder: Path) -> None:
    with quick(folder) as cache:
        cache.put(key_for("http://127.0.0.1/", overrides="block_loopback=false"), 1)
        cache.put(key_for("http://127.0.0.1/", "http", "ingest", 2, "block_loopback=false"), 2)
    assert not problems(folder)


@pytest.mark.req("FR-WF-16d", "T-WF-CCH-03")
def test_entry_is_fresh_for_exactly_its_ttl(folder: Path, clock: FakeClock) -> None:
    start = clock.time()
    with quick(folder, clock) as cache, quick(folder, clock, ttl_days=30) as longer:
        cache.put(PAGE, 7)
        longer.put(numbered(1), 30)
        clock.set(start + WEEK - 1)
        assert content(cache.get(PAGE)) == 7
        clock.set(start + WEEK)
        assert cache.get(PAGE) is None
        assert content(cache.get(numbered(1))) == 30


@pytest.mark.req("FR-WF-16d")
def test_a_put_may_set_its_own_time_to_live(folder: Path, clock: FakeClock) -> None:
    with quick(folder, clock) as cache:
        cache.put(PAGE, 1, ttl=timedelta(hours=1))
        clock.advance(3_599)
        assert cache.get(PAGE)
        clock.advance(1)
        assert cache.get(PAGE) is None
        assert content(cache.peek(PAGE)) == 1


@pytest.mark.req("FR-WF-16d")
def test_no_entry_lives_for_ever_however_the_clock_jumps(folder: Path, clock: FakeClock) -> None:
    """Whatever the clock said at the put, an entry is served within one week of that, and at no other time."""
    with quick(folder, clock) as cache:

        @given(st.integers(0, 1 << 32), st.integers(0, 1 << 32), st.integers(-2 * WEEK, 2 * WEEK))
        def law(written: int, anywhere: int, near: int) -> None:
            clock.set(written + 0.5)
            assert cache.put(PAGE, 1) is None
            for moment in (anywhere, written + near, written, written + WEEK - 1, written + WEEK):
                clock.set(moment)
                hit = cache.get(PAGE) is not None
                assert hit == (written <= moment < written + WEEK)

        law()


@pytest.mark.req("FR-WF-16d")
def test_entries_from_the_future_are_replaced_by_the_next_put(folder: Path, clock: FakeClock) -> None:
    now = clock.time()
    with quick(folder, clock, max_entries=2) as cache:
        clock.set(now + 50 * 365 * 86_400)
        cache.put(PAGE, "from the future")
        clock.set(now)
        assert cache.get(PAGE) is None
        for number in range(2):
            cache.put(numbered(number), number)
        assert cache.peek(PAGE) is None, "evicted in its turn, not kept as the one used last"


@pytest.mark.req("FR-WF-16d")
def test_a_time_to_live_without_end_ends(folder: Path, clock: FakeClock) -> None:
    with quick(folder, clock) as cache:
        assert cache.put(PAGE, 1, ttl=timedelta.max) is None
        clock.advance(3650 * 86_400)
        assert cache.get(PAGE) is None


@pytest.mark.req("FR-WF-16d", "FR-WF-16h")
@pytest.mark.parametrize(("days", "note"), [(1e300, None), (float("inf"), None), (float("nan"), WRITE_FAILED)])
def test_no_number_of_days_makes_a_put_raise(folder: Path, clock: FakeClock, days: float, note: str | None) -> None:
    with quick(folder, clock, ttl_days=days) as cache:
        assert cache.put(PAGE, 1) == note
        assert (cache.get(PAGE) is None) == (note is not None)
        clock.advance(3650 * 86_400)
        assert cache.get(PAGE) is None


@pytest.mark.req("FR-WF-17b")
def test_files_may_be_removed_by_hand_at_any_time(folder: Path) -> None:
    import shutil

    with quick(folder) as cache:
        cache.put(PAGE, 1)
        cache.put(numbered(1), 1)
        file_of(folder, PAGE).unlink()
        assert cache.get(PAGE) is None
        with CacheMaintenance(str(folder)) as upkeep:
            assert [row.key for row, _ in upkeep.find({PAGE.canonical_url, numbered(1).canonical_url})] == [
                numbered(1).hex
            ]
        shutil.rmtree(folder)
        assert cache.get(numbered(1)) is None
        assert cache.put(PAGE, 2) is None
        assert content(cache.get(PAGE)) == 2
    assert not problems(folder)


@pytest.mark.req("FR-WF-16g", "NFR-WF-REL-01")
def test_write_uses_a_temporary_file_in_the_same_folder_and_a_rename(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, str, str]] = []
    replace = os.replace

    def watched(source: str, target: str, **places: int) -> None:
        if target.endswith(".json"):
            steps.append((source, target, (folder / source).read_text()[:12]))
        replace(source, target, **places)

    monkeypatch.setattr(os, "replace", watched)
    with quick(folder) as cache:
        cache.put(PAGE, 1)
    [(source, target, begun)] = steps
    assert folder / target == file_of(folder, PAGE)
    assert Path(source).parent == Path(target).parent
    assert Path(source).name.startswith(f"{PAGE.hex}.tmp.")
    assert begun == '{"checksum":'


@pytest.mark.req("FR-WF-16g")
def test_a_rename_across_devices_falls_back_to_copy_then_delete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def refusing(source: str, target: str, **places: int) -> None:
        if target.endswith(".json"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(source, target, **places)

    monkeypatch.setattr(os, "replace", refusing)
    with quick(folder) as cache:
        for number in (1, 2):
            assert cache.put(PAGE, number) is None
            assert content(cache.get(PAGE)) == number
    assert not temporaries(folder)
    assert not problems(folder)


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04")
@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE])
def test_a_write_that_fails_at_any_call_is_a_note_and_the_old_entry_stays(
    folder: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with quick(folder, durable=True) as cache:
        cache.put(PAGE, "old")
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            assert cache.put(PAGE, "new") == WRITE_FAILED
        assert warnings == [f"cache_write_failed: {os.strerror(number)}"]
        assert content(cache.get(PAGE)) == "old"
        assert cache.put(PAGE, "new") is None
        assert content(cache.get(PAGE)) == "new"
    assert not temporaries(folder)
    assert not problems(folder)


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04")
@pytest.mark.parametrize("replaces", [True, False])
def test_an_index_that_fails_after_the_rename_still_agrees_with_the_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, replaces: bool
) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with quick(folder) as cache:
        cache.put(numbered(1), "other")
        if replaces:
            cache.put(PAGE, "old")
        with monkeypatch.context() as patch:
            patch.setattr("spaniel.cache.index.add", failing)
            assert cache.put(PAGE, "a longer new one") == WRITE_FAILED
            patch.undo()
        cache.put(numbered(2), "next")
        assert content(cache.get(PAGE)) == "a longer new one"
    with sqlite3.connect(folder / "index.sqlite3") as db:  # as the next process would, a minute later
        db.execute("UPDATE writing SET began = 0")
    db.close()
    with quick(folder) as cache:
        cache.put(numbered(2), "next")
    assert not problems(folder)


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04")
def test_what_is_no_json_is_a_note_too(folder: Path, warnings: list[str]) -> None:
    with quick(folder) as cache:
        assert cache.put(PAGE, {"markdown": "a lone surrogate: \ud800"}) == WRITE_FAILED
        assert cache.get(PAGE) is None
    assert len(warnings) == 1


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04")
def test_an_index_that_another_process_holds_is_a_note_and_gets_go_on(
    folder: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spaniel.cache.index.PATIENCE", 0.05)
    with quick(folder) as cache:
        cache.put(PAGE, 1)
        holder = sqlite3.connect(folder / "index.sqlite3", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        cache._index.close()  # so that the next connection has the short patience
        assert cache.put(PAGE, 2) == WRITE_FAILED
        assert warnings == ["cache_write_failed: database is locked"]
        start = time.monotonic()
        monkeypatch.setattr("spaniel.cache.store.TOUCHES", 10)
        cache._index._patience = 30
        monkeypatch.setattr("spaniel.cache.index.PATIENCE", 30)
        for _ in range(1_000):
            assert content(cache.get(PAGE)) == 1
        cache._index.close()
        with quick(folder) as cold:
            cold._tell_at = 1
            assert content(cold.get(PAGE)) == 1
            cold._touched.clear()
        assert time.monotonic() - start < 30, "a reader has waited for the writer"
        holder.execute("ROLLBACK")
        holder.close()
        assert cache.put(PAGE, 2) is None


@pytest.mark.req("D2-22")
def test_a_read_that_fails_is_a_miss_and_a_warning(
    folder: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with quick(folder) as cache:
        cache.put(PAGE, 1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "read", failing)
            assert cache.get(PAGE) is None
        assert warnings == ["cache_read_failed: Input/output error"]
        assert content(cache.get(PAGE)) == 1


@pytest.mark.req("NFR-WF-PERF-03")
def test_a_look_up_costs_the_same_in_a_small_cache_and_in_a_large_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hit or miss: no folder is listed, no index asked, and at most one file opened."""
    opened: list[str] = []
    real = os.open

    def counting(path: str, flags: int, mode: int = 0o777, **places: int) -> int:
        opened.append(path)
        return real(path, flags, mode, **places)

    costs = []
    with quick(folder) as cache:
        for first, last in ((0, 1), (1, 150)):
            for number in range(first, last):
                cache.put(numbered(number), number)
            with monkeypatch.context() as patch:
                patch.setattr(os, "open", counting)
                patch.setattr(os, "scandir", None)
                patch.setattr(os, "listdir", None)
                patch.setattr(sqlite3, "connect", None)
                opened.clear()
                assert content(cache.get(numbered(0))) == 0
                assert cache.get(numbered(1000)) is None
                costs.append(len(opened))
    assert max(costs) <= 4  # the folder and the file, for each of the two


@pytest.mark.req("NFR-WF-PERF-03")
def test_a_get_opens_its_folder_and_one_file_by_its_name_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quick(folder) as cache:
        for number in range(20):
            cache.put(numbered(number), number)
        opened: list[str] = []
        real = os.open

        def counting(path: str, flags: int, mode: int = 0o777, **places: int) -> int:
            opened.append(path)
            return real(path, flags, mode, **places)

        monkeypatch.setattr(os, "open", counting)
        monkeypatch.setattr(os, "scandir", None)
        monkeypatch.setattr(sqlite3, "connect", None)
        assert content(cache.get(numbered(7))) == 7
        assert [folder / path for path in opened] == [folder, file_of(folder, numbered(7))]


def test_a_cache_of_no_entries_keeps_nothing_and_complains_of_nothing(folder: Path) -> None:
    with quick(folder, max_entries=0) as cache:
        assert cache.put(PAGE, 1) is None
        assert cache.get(PAGE) is None
    assert not folder.exists()


def test_threads_may_share_a_cache(folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with quick(folder) as cache:

        def work(number: int) -> bool:
            key = numbered(number % 10)
            return cache.put(key, [number] * 100) is None and (entry := cache.get(key)) is not None and bool(entry)

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, range(400)))
    assert not problems(folder)
