"""A small file of the user's own: private, made whole, judged before it is opened, set aside when it is damaged."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.database import Database, Layout

LAYOUT = Layout("notes", 3, "CREATE TABLE notes (text TEXT PRIMARY KEY)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "above" / "notes"


@pytest.fixture
def notes(folder: Path) -> Iterator[Database]:
    database = Database(str(folder), LAYOUT)
    yield database
    database.close()


def put(database: Database, text: str) -> None:
    database.write(lambda tx: tx.execute("INSERT OR REPLACE INTO notes VALUES (?)", (text,)))


def texts(database: Database) -> list[str]:
    return database.read(lambda tx: [text for (text,) in tx.execute("SELECT text FROM notes ORDER BY text")], ["none"])


def test_it_is_made_when_it_is_first_written_and_for_this_user_alone(folder: Path, notes: Database) -> None:
    assert texts(notes) == ["none"]
    assert not folder.exists()
    old = os.umask(0)
    try:
        put(notes, "a")
    finally:
        os.umask(old)
    assert texts(notes) == ["a"]
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_what_fails_in_the_middle_is_taken_back(notes: Database) -> None:
    def work(tx: sqlite3.Connection) -> None:
        tx.execute("INSERT INTO notes VALUES ('half')")
        raise KeyError

    put(notes, "a")
    with pytest.raises(KeyError):
        notes.write(work)
    assert texts(notes) == ["a"]


@pytest.mark.parametrize(
    "content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 5000], ids=["empty", "text", "torn"]
)
@pytest.mark.parametrize("is_open", [False, True])
def test_a_damaged_file_is_set_aside_and_nobody_is_held_up(
    folder: Path, notes: Database, content: bytes, is_open: bool
) -> None:
    put(notes, "a")
    if not is_open:
        notes.close()
    file = folder / "notes.sqlite3"
    damaged = folder / "put"
    damaged.write_bytes(content)
    damaged.chmod(0o600)
    damaged.replace(file)
    assert texts(notes) == ["none"]
    put(notes, "b")
    assert texts(notes) == ["b"]
    assert (folder / "notes.sqlite3.damaged").read_bytes().startswith(content[:16])


def test_a_file_damaged_inside_is_set_aside_when_that_is_found_out(folder: Path, notes: Database) -> None:
    for number in range(2000):
        put(notes, f"{number:0100}")
    notes.write(lambda tx: None)
    notes.close()
    file = folder / "notes.sqlite3"
    size = file.stat().st_size
    with file.open("r+b") as raw:
        raw.seek(4096)
        raw.write(b"\xff" * (size - 4096))
    put(notes, "b")
    assert texts(notes) == ["b"]
    assert (folder / "notes.sqlite3.damaged").stat().st_size == size


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE others (x); PRAGMA user_version = 3", "CREATE TABLE notes (x); PRAGMA user_version = 9"]
)
def test_a_file_of_another_make_is_not_used(folder: Path, notes: Database, sql: str) -> None:
    put(notes, "a")
    notes.close()
    file = folder / "notes.sqlite3"
    file.unlink()
    with sqlite3.connect(file) as other:
        other.executescript(sql)
    other.close()
    file.chmod(0o600)
    put(notes, "b")
    assert texts(notes) == ["b"]


def test_one_that_is_removed_meanwhile_is_made_again(folder: Path, notes: Database) -> None:
    put(notes, "a")
    for file in folder.iterdir():
        file.unlink()
    assert texts(notes) == ["none"]
    put(notes, "b")
    assert texts(notes) == ["b"]


def test_links_and_what_others_may_write_are_refused(folder: Path, notes: Database, tmp_path: Path) -> None:
    put(notes, "a")
    notes.close()
    file = folder / "notes.sqlite3"
    file.chmod(0o666)
    with pytest.raises(PermissionError, match="others may write"):
        texts(notes)
    file.chmod(0o600)
    elsewhere = tmp_path / "elsewhere.sqlite3"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.raises(PermissionError, match="not a regular file"):
        put(notes, "b")
    file.unlink()
    elsewhere.rename(file)
    assert texts(notes) == ["a"]  # the control: the very file is read where it is no link
    notes.close()
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(PermissionError, match="symbolic link"):
        put(notes, "b")


def test_many_threads_use_one(notes: Database) -> None:
    def work(number: int) -> None:
        for step in range(20):
            put(notes, f"{number} {step}")
            texts(notes)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(texts(notes)) == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_that_was_forked_opens_its_own(notes: Database) -> None:
    put(notes, "parent")
    child = os.fork()
    if child == 0:
        try:
            put(notes, "child")
            os._exit(0 if texts(notes) == ["child", "parent"] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    put(notes, "then")
    assert texts(notes) == ["child", "parent", "then"]


def test_somebody_elses_lock_is_waited_for_and_not_taken_for_damage(folder: Path, notes: Database) -> None:
    put(notes, "a")
    hasty = Database(str(folder), LAYOUT, patience=0)
    with sqlite3.connect(folder / "notes.sqlite3") as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            put(hasty, "b")
        assert texts(hasty) == ["a"]  # reading waits for no writer
    other.close()
    hasty.close()
    assert not (folder / "notes.sqlite3.damaged").exists()
