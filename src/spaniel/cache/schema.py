"""The index file: its tables, and how it comes into being, whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spaniel.private_folder import open_folder

try:
    import fcntl
except ImportError:  # Windows; two processes that meet a damaged index at one moment may both replace it
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.private_folder import OpenFolder

VERSION = 1
NAME = "index.sqlite3"
_LOCK = "index.lock"
_SIDE_FILES = ("", "-wal", "-shm")

# `used` is a tick, not a time, so that a clock that jumps cannot make an entry the last to be evicted. Entries that
# were found on disk get a negative one, by the age of the file: older than all that was used since.
# `totals` is kept by triggers in the transaction that changes the rows: nobody ever counts a million of them.
# `reconciled` counts the shards that were compared with the files; below 256 the index is still being rebuilt.
_TABLES = """
CREATE TABLE entries (
    key BLOB PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, method TEXT NOT NULL, profile TEXT,
    size INTEGER NOT NULL, fetched INTEGER NOT NULL, expires INTEGER NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX entries_by_use ON entries (used);
CREATE TABLE writing (temporary TEXT PRIMARY KEY, pid INTEGER NOT NULL, began INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE totals (
    entries INTEGER NOT NULL, bytes INTEGER NOT NULL, tick INTEGER NOT NULL, reconciled INTEGER NOT NULL
);
INSERT INTO totals VALUES (0, 0, 0, 0);
CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
    UPDATE totals SET entries = entries + 1, bytes = bytes + new.size;
END;
CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
    UPDATE totals SET entries = entries - 1, bytes = bytes - old.size;
END;
CREATE TRIGGER entry_resized AFTER UPDATE OF size ON entries WHEN new.size <> old.size BEGIN
    UPDATE totals SET bytes = bytes + new.size - old.size;
END;
"""


def connect(path: str, timeout: float) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time; transactions are begun and ended by hand."""
    folder, name = os.path.split(path)
    with open_folder(folder) as root:
        for side in _SIDE_FILES:
            with suppress(FileNotFoundError):
                root.judge_file(name + side)
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    connection.text_factory = _lenient
    try:
        with naming_damage():
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {4 << 20}")
    except BaseException:
        connection.close()
        raise
    return connection


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def is_sound(connection: sqlite3.Connection) -> bool:
    """Of this version, and not a stranger's."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version == VERSION and connection.execute("SELECT COUNT(*) FROM totals").fetchone()[0] == 1


@contextmanager
def naming_damage() -> Iterator[None]:
    """SQLite quotes what it could not read, and Python then cannot read the quotation."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damage("the index is damaged") from error


def damage(message: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def is_damage(error: sqlite3.Error) -> bool:
    """True where a new index would help: not for a full disk or a lock that another process holds."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def identity(path: str) -> tuple[int, int] | None:
    """Which file is at this path now; None where there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def create(root: str, instead_of: tuple[int, int] | None) -> None:
    """A new, empty index in place of the one that was found missing or damaged; it appears whole, by a rename.

    One process does it; the others, who waited, see that another file is there already.
    """
    fresh = f"{NAME}.new"
    with open_folder(root) as folder, _locked(folder):
        if identity(f"{root}/{NAME}") != instead_of:
            return
        for name in (NAME, fresh):
            for side in _SIDE_FILES:  # another file's WAL would be replayed into ours
                with suppress(FileNotFoundError):
                    folder.remove(name + side)
        os.close(folder.create(fresh))
        connection = sqlite3.connect(f"{root}/{fresh}", isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        finally:
            connection.close()
        folder.rename(fresh, NAME)


@contextmanager
def _locked(folder: OpenFolder) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(folder.at(_LOCK), flags, 0o600, dir_fd=folder.descriptor)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
