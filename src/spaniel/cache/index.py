"""The index beside the files: who was used last, how much there is, and who is writing just now.

Reading an entry never comes here. Every change is one short transaction, and the files change inside it: whoever
holds the write lock may rename and remove, so rows and files agree unless a process dies in between; what it then
leaves behind is named in `writing` and is put right by the next one (`recovery.py`).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cache import schema
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from spaniel.cache.entry import Entry

PATIENCE = 5.0  # seconds to wait for another writer
EVICTED_AT_ONCE = 256  # in one transaction, so that a limit that was lowered far does not lock out the others


class Totals(NamedTuple):
    entries: int
    bytes: int
    tick: int
    reconciled: int


class Limits(NamedTuple):
    """What eviction keeps the cache within."""

    entries: int
    bytes: int | None


class Row(NamedTuple):
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
    def of(cls, hex_key: str, entry: Entry, size: int) -> Row:
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


class Index:
    """A connection that is opened when first needed, and again when the file was lost, replaced or forked away from."""

    def __init__(self, root: str, on_open: Callable[[sqlite3.Connection], None]) -> None:
        self._root = root
        self._path = f"{root}/{schema.NAME}"
        self._on_open = on_open
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._left_to_parent: list[object] = []

    @contextmanager
    def transaction(self, patient: bool = True) -> Iterator[sqlite3.Connection]:
        """The write lock. Not patient: `database is locked` at once, rather than waiting for another writer."""
        self._leave_parent()
        if not self._lock.acquire(blocking=patient):
            raise sqlite3.OperationalError("the index is in use")
        try:
            with schema.naming_damage():
                connection = self._begun(patient)
                with ended(connection):
                    yield connection
        finally:
            self._lock.release()

    def _begun(self, patient: bool) -> sqlite3.Connection:
        connection = self._connected(patient)
        if patient:
            connection.execute("BEGIN IMMEDIATE")
            return connection
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
        return connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own to read at leisure, while others write."""
        self._leave_parent()
        with self._lock:
            self._connected()
        connection = schema.connect(self._path, PATIENCE)
        try:
            with schema.naming_damage():
                yield connection
        finally:
            connection.close()

    def discard(self) -> None:
        """The index is damaged: an empty one takes its place, to be filled again from the files."""
        with self._lock:
            damaged = self._identity or schema.identity(self._path)
            self.close()
            schema.create(self._root, damaged)

    def close(self) -> None:
        self._leave_parent()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _connected(self, patient: bool = True) -> sqlite3.Connection:
        if self._connection is not None:
            if schema.identity(self._path) == self._identity:
                return self._connection
            self.close()
        connection = self._open(PATIENCE if patient else 0)
        try:
            self._on_open(connection)
        except BaseException:
            connection.close()
            raise
        connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
        self._connection = connection
        return connection

    def _leave_parent(self) -> None:
        """After a fork: a child may not even close what its parent opened (SQLite), and the lock may stay held."""
        if self._pid != os.getpid():
            self._left_to_parent.append(self._connection)
            self._connection = None
            self._lock = threading.RLock()
            self._pid = os.getpid()

    def _open(self, patience: float) -> sqlite3.Connection:
        for last in (False, True):
            self._identity = found = schema.identity(self._path)
            if found is not None and (connection := self._sound(patience)):
                return connection
            if not last:
                schema.create(self._root, found)
        raise sqlite3.DatabaseError("the index is damaged and cannot be replaced")

    def _sound(self, patience: float) -> sqlite3.Connection | None:
        """A connection to the index as it is; None where it is damaged, or not ours."""
        connection = None
        try:
            with schema.naming_damage():
                connection = schema.connect(self._path, patience)
                if schema.is_sound(connection):
                    return connection
        except sqlite3.Error as error:
            if not schema.is_damage(error):
                raise
        if connection is not None:
            connection.close()
        return None


@contextmanager
def ended(connection: sqlite3.Connection) -> Iterator[None]:
    """Commits what was begun, or takes it back."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def totals(tx: sqlite3.Connection) -> Totals:
    found = tx.execute("SELECT entries, bytes, tick, reconciled FROM totals").fetchone()
    if not (found and all(type(number) is int and number >= 0 for number in found)):
        raise schema.damage("the index has lost count")
    return Totals(*found)


def sizes(found: Iterable[tuple[object, object]]) -> Iterator[tuple[bytes, int]]:
    """Keys and sizes as they must be; a damaged file may hold anything in their place."""
    for key, size in found:
        if not (isinstance(key, bytes) and isinstance(size, int)):
            raise schema.damage("the index is damaged")
        yield key, size


def announce(tx: sqlite3.Connection, temporary: str) -> None:
    """Written down before the file exists, so that no file of a dead writer is ever unknown."""
    tx.execute("INSERT INTO writing VALUES (?, ?, ?)", (temporary, os.getpid(), int(time.time())))


def forget_writing(tx: sqlite3.Connection, temporary: str) -> None:
    tx.execute("DELETE FROM writing WHERE temporary = ?", (temporary,))


def add(tx: sqlite3.Connection, row: Row, used: int | None = None) -> None:
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


def evict_for(tx: sqlite3.Connection, row: Row, limits: Limits, remove: Callable[[str], object]) -> bool:
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
