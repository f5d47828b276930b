"""An index that is locked, half written, rebuilt by other processes or given invalid values."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from spaniel.cache.index import LAYOUT
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.database import Database, identity
from spaniel.errors import SpanielError
from tests.cache.harness import PAGE, content, file_of, numbered, problems, quick, run_sql


def test_whoever_is_not_patient_does_not_wait_for_another_thread(kept: Path) -> None:
    with quick(kept) as cache:
        cache.put(PAGE, 1)
        taken, done = threading.Event(), threading.Event()

        def hold() -> None:
            with cache._index.transaction():
                taken.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        assert taken.wait(60)
        with pytest.raises(sqlite3.OperationalError, match="in use"), cache._index.transaction(patient=False):
            pass
        done.set()
        thread.join()
        with cache._index.transaction(patient=False) as tx:  # the control
            assert tx.execute("SELECT COUNT(*) FROM entries").fetchone() == (7,)


def test_what_a_parent_opened_is_left_to_it(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as after a fork, seen from inside: the connection is not even closed."""
    with quick(kept) as cache:
        cache.put(PAGE, 1)
        opened = cache._index._connection
        assert opened is not None
        monkeypatch.setattr("spaniel.database.os.getpid", lambda: -1)
        assert cache.put(PAGE, 2) is None
        assert cache._index._connection is not opened
        assert opened.execute("SELECT COUNT(*) FROM entries").fetchone() == (7,)
        opened.close()


def test_an_index_that_cannot_be_replaced_is_an_error_and_no_endless_loop(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept / "index.sqlite3").write_bytes(b"garbage")
    monkeypatch.setattr(Database, "create", lambda _database, _instead_of: None)
    with CacheMaintenance(str(kept)) as upkeep, pytest.raises(SpanielError, match="cannot be replaced"):
        upkeep.stats()


def test_an_index_that_another_process_has_just_made_is_not_made_again(kept: Path) -> None:
    count, database = "SELECT COUNT(*) FROM entries", Database(str(kept), LAYOUT, folder_is_checked=True)
    database.create((0, 0))  # in place of a file that is there no more
    assert run_sql(kept, count) == [(6,)]
    database.create(identity(str(kept / "index.sqlite3")))  # the control
    assert run_sql(kept, count) == [(0,)]
    with CacheMaintenance(str(kept)) as upkeep:
        assert upkeep.stats().entries == 6


def test_invalid_temporary_name_in_the_index_is_ignored(kept: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.touch()
    run_sql(kept, "INSERT INTO writing VALUES (?, 0, 0)", f"../../{outside.name}")
    with CacheMaintenance(str(kept)) as upkeep:
        assert upkeep.stats().entries == 6
    assert run_sql(kept, "SELECT COUNT(*) FROM writing") == [(0,)]
    assert outside.exists()


def test_a_file_that_is_being_written_is_no_problem(kept: Path) -> None:
    one = file_of(kept, numbered(1))
    writing = one.with_name(f"{one.name[:64]}.tmp.0123456789abcdef")
    writing.touch()
    assert [problem.kind for problem in problems(kept)] == ["abandoned"]
    run_sql(kept, "INSERT INTO writing VALUES (?, ?, strftime('%s', 'now'))", writing.name, os.getpid())
    assert not problems(kept)


def test_pending_uses_are_limited_while_the_index_is_locked(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.cache.store.TOUCHES", 1)
    monkeypatch.setattr("spaniel.cache.store.MAX_TOUCHES", 3)
    with quick(kept) as cache:
        cache._tell_at = 1
        monkeypatch.setattr(Database, "transaction", unavailable)
        for number in range(4):
            assert cache.get(numbered(number)) is not None
        assert len(cache._touched) <= 3
        monkeypatch.undo()


def unavailable(_index: Database, *, patient: bool = True) -> object:
    raise sqlite3.OperationalError("disk I/O error")


def test_sizes_that_are_no_numbers_are_damage_and_the_index_is_made_again(kept: Path) -> None:
    run_sql(kept, "UPDATE entries SET size = x'00' WHERE url LIKE '%/1'")
    with quick(kept, max_entries=3) as cache:
        cache.put(PAGE, 1)
        assert cache.put(PAGE, 2) is None
        assert content(cache.get(PAGE)) == 2
    assert not problems(kept)
