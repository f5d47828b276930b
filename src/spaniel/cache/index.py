"""The index beside the files: who was used last, how much there is, and who is writing just now.

Reading an entry never comes here. Every change is one short transaction, and the files change inside it: whoever
holds the write lock may rename and remove, so rows and files agree unless a process dies in between; what it then
leaves behind is named in `writing` and is put right by the next one (`recovery.py`).
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

EVICTED_AT_ONCE = 256  # in one transaction, so that a limit that was lowered far does not lock out the others


class IndexTotals(NamedTuple):
    entries: int
    bytes: int
    tick: int
    reconciled: int


class CacheLimits(NamedTuple):
    """What eviction keeps the cache within."""

    entries: int
    bytes: int | None


class IndexRow(NamedTuple):
    """One entry as the index knows it; moments are whole seconds since 1970."""

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


# `used` is a tick, not a time, so that a clock that jumps cannot make an entry the last to be evicted. Entries that
# were found on disk get a negative one, by the age of the file: older than all that was used since.
# `totals` is kept by triggers in the transaction that changes the rows: a million rows are never counted.
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
    """The index of the cache in this folder, which the cache has checked."""
    return Database(root, LAYOUT, PATIENCE, folder_is_checked=True, on_open=on_open)


def totals(tx: sqlite3.Connection) -> IndexTotals:
    found = tx.execute("SELECT entries, bytes, tick, reconciled FROM totals").fetchone()
    if not (found and all(type(number) is int and number >= 0 for number in found)):
        raise damage("the index has lost count")
    return IndexTotals(*found)


def sizes(found: Iterable[tuple[object, object]]) -> Iterator[tuple[bytes, int]]:
    """Keys and sizes as they must be; a damaged file may hold anything in their place."""
    for key, size in found:
        if not (isinstance(key, bytes) and isinstance(size, int)):
            raise damage("the index is damaged")
        yield key, size


def announce(tx: sqlite3.Connection, temporary: str) -> None:
    """Written down before the file exists, so that no file of a dead writer is ever unknown."""
    tx.execute("INSERT INTO writing VALUES (?, ?, ?)", (temporary, os.getpid(), int(time.time())))


def forget_writing(tx: sqlite3.Connection, temporary: str) -> None:
    tx.execute("DELETE FROM writing WHERE temporary = ?", (temporary,))


def add(tx: sqlite3.Connection, row: IndexRow, used: int | None = None) -> None:
    """Insert or replace; without `used` the entry is the one used last."""
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
    """These were used, in this order, since the index was last told."""
    tick = totals(tx).tick
    marks = [(tick + number, bytes.fromhex(key)) for number, key in enumerate(keys, 1)]
    tx.executemany("UPDATE entries SET used = ? WHERE key = ?", marks)
    tx.execute("UPDATE totals SET tick = ?", (tick + len(marks),))


def renew(tx: sqlite3.Connection, times: Mapping[str, tuple[int, int]]) -> None:
    """These were found to be the same, and have new times in their files already."""
    rows = [(fetched, expires, bytes.fromhex(key)) for key, (fetched, expires) in times.items()]
    tx.executemany("UPDATE entries SET fetched = ?, expires = ? WHERE key = ?", rows)


def remove(tx: sqlite3.Connection, key: str) -> None:
    tx.execute("DELETE FROM entries WHERE key = ?", (bytes.fromhex(key),))


def evict_for(tx: sqlite3.Connection, row: IndexRow, limits: CacheLimits, remove: Callable[[str], object]) -> bool:
    """Remove what was used longest ago until `row` has room; False where one transaction was not enough.

    The file goes before its row does: a crash in between leaves a row without a file, next in line for eviction,
    and never a file that nobody knows.
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
