"""The SQLite index beside the files: last use, totals, and active writers.

Reading an entry does not need it. Every change is one short transaction, and files are renamed and removed only under
its write lock, so rows and files agree unless a process dies in between; what it leaves behind is listed in `writing`
and repaired by the next process (`recovery.py`).
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from spaniel.database import Database, Layout, damage
from spaniel.url.value import split

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from spaniel.cache.entry import CacheEntry

EVICTED_AT_ONCE = 256  # in one transaction, so that a much lower limit does not block other writers


class IndexTotals(NamedTuple):
    entries: int
    bytes: int
    tick: int
    reconciled: int


class CacheLimits(NamedTuple):
    """The limits for eviction."""

    entries: int
    bytes: int | None


class IndexRow(NamedTuple):
    """An entry in the index; times are whole seconds since 1970."""

    key: str
    url: str
    host: str
    method: str
    profile: str | None
    size: int
    fetched: int
    expires: int

    @classmethod
    def of(cls, hex_key: str, entry: CacheEntry, size: int) -> IndexRow:
        return cls(
            hex_key,
            entry.canonical_url,
            split(entry.canonical_url).host,
            entry.rendering_method,
            entry.profile,
            size,
            int(entry.fetched_at.timestamp()),
            int(entry.expires_at.timestamp()),
        )


# `used` is a counter, not a time, so that eviction does not depend on the system clock. Entries that were found on disk
# get a negative value by the age of the file: older than all that was used since.
# `totals` is maintained by triggers in the transaction that changes the rows, so that rows are never counted.
# `reconciled` counts the shards that were compared with the files; below 256 the index is still being rebuilt.
TABLES = """
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
PATIENCE = 5.0  # seconds to wait for another writer
LAYOUT = Layout("index", 1, TABLES, table="totals", can_be_rebuilt=True)


def open_index(root: str, on_open: Callable[[sqlite3.Connection], None]) -> Database:
    """The index in this folder, which the cache has checked."""
    return Database(root, LAYOUT, PATIENCE, folder_is_checked=True, on_open=on_open)


def totals(tx: sqlite3.Connection) -> IndexTotals:
    found = tx.execute("SELECT entries, bytes, tick, reconciled FROM totals").fetchone()
    if not (found and all(type(number) is int and number >= 0 for number in found)):
        raise damage("the index has lost count")
    return IndexTotals(*found)


def sizes(found: Iterable[tuple[object, object]]) -> Iterator[tuple[bytes, int]]:
    """Validated keys and sizes; a damaged file can contain anything."""
    for key, size in found:
        if not (isinstance(key, bytes) and isinstance(size, int)):
            raise damage("the index is damaged")
        yield key, size


def announce(tx: sqlite3.Connection, temporary: str) -> None:
    """Recorded before the file exists, so that every file of a dead writer is known."""
    tx.execute("INSERT INTO writing VALUES (?, ?, ?)", (temporary, os.getpid(), int(time.time())))


def forget_writing(tx: sqlite3.Connection, temporary: str) -> None:
    tx.execute("DELETE FROM writing WHERE temporary = ?", (temporary,))


def add(tx: sqlite3.Connection, row: IndexRow, used: int | None = None) -> None:
    """Insert or replace; without `used` the entry is the most recently used."""
    if used is None:
        tx.execute("UPDATE totals SET tick = tick + 1")
        used = totals(tx).tick
    tx.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET url = excluded.url,"
        " host = excluded.host, method = excluded.method, profile = excluded.profile, size = excluded.size,"
        " fetched = excluded.fetched, expires = excluded.expires, used = excluded.used",
        (bytes.fromhex(row.key), *row[1:], used),
    )


def touch(tx: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Record uses, in this order."""
    tick = totals(tx).tick
    marks = [(tick + number, bytes.fromhex(key)) for number, key in enumerate(keys, 1)]
    tx.executemany("UPDATE entries SET used = ? WHERE key = ?", marks)
    tx.execute("UPDATE totals SET tick = ?", (tick + len(marks),))


def renew(tx: sqlite3.Connection, times: Mapping[str, tuple[int, int]]) -> None:
    """Record the new times of revalidated entries, whose files are updated already."""
    rows = [(fetched, expires, bytes.fromhex(key)) for key, (fetched, expires) in times.items()]
    tx.executemany("UPDATE entries SET fetched = ?, expires = ? WHERE key = ?", rows)


def remove(tx: sqlite3.Connection, key: str) -> None:
    tx.execute("DELETE FROM entries WHERE key = ?", (bytes.fromhex(key),))


def evict_for(tx: sqlite3.Connection, row: IndexRow, limits: CacheLimits, remove: Callable[[str], object]) -> bool:
    """Evict the least recently used entries until `row` fits; False if one transaction was not enough.

    The file is removed before its row: a crash in between leaves a row without a file, which is evicted next, and never
    an unknown file.
    """
    key = bytes.fromhex(row.key)
    old = sum(size for _, size in sizes(tx.execute("SELECT key, size FROM entries WHERE key = ?", (key,))))
    now = totals(tx)
    entries = now.entries + (not old) - limits.entries
    excess = 0 if limits.bytes is None else now.bytes + row.size - old - limits.bytes
    if entries <= 0 and excess <= 0:
        return True
    victims = []
    oldest = tx.execute("SELECT key, size FROM entries WHERE key <> ? ORDER BY used LIMIT ?", (key, EVICTED_AT_ONCE))
    for victim, size in sizes(oldest):
        victims.append((victim,))
        entries, excess = entries - 1, excess - size
        if entries <= 0 and excess <= 0:
            break
    for (victim,) in victims:
        remove(victim.hex())
    tx.executemany("DELETE FROM entries WHERE key = ?", victims)
    return len(victims) < EVICTED_AT_ONCE
