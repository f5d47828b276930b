"""Repairs the index and the files after a crash, the loss of the index, or manual changes."""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cache.folder import ENTRY_NAME, SHARDS, TEMPORARY_NAME, CacheFolder, ShardFile
from spaniel.cache.index import IndexRow, add, forget_writing, sizes, totals
from spaniel.database import ended
from spaniel.errors import SpanielError

if TYPE_CHECKING:
    import sqlite3

JUST_BEGUN = 60  # seconds in which a live writer may not have locked its file yet; later, only the lock counts
_OLDER_THAN_ANY_USE = 1 << 48  # subtracted from the file's time: negative, and still ordered by age


class Differences(NamedTuple):
    """The differences between files and index in one shard."""

    missing: list[str]  # rows without a file
    unknown: list[str]  # files without a row, or with another size
    abandoned: list[str]  # temporary files of dead writers


def sweep(folder: CacheFolder, connection: sqlite3.Connection) -> None:
    """Finish the writes of dead processes: temporary files are removed; entries that were renamed are indexed."""
    if connection.execute("SELECT 1 FROM writing LIMIT 1").fetchone():
        connection.execute("BEGIN IMMEDIATE")
        with ended(connection):
            _sweep(connection, folder)


def _sweep(tx: sqlite3.Connection, folder: CacheFolder) -> None:
    for temporary, pid, began in tx.execute("SELECT temporary, pid, began FROM writing").fetchall():
        if _alive(pid) and abs(time.time() - began) < JUST_BEGUN:
            continue
        end(tx, folder, temporary)


def end(tx: sqlite3.Connection, folder: CacheFolder, temporary: str) -> None:
    """Finish an interrupted write; the files show how far it came."""
    if TEMPORARY_NAME.fullmatch(temporary):
        with suppress(OSError, SpanielError):  # the folder is gone, or no longer ours to touch
            if not folder.remove_if_abandoned(temporary):
                return
            _adopt(tx, folder, temporary[:64])
    forget_writing(tx, temporary)


def catch_up(tx: sqlite3.Connection, folder: CacheFolder, seconds: float) -> bool:
    """Compare the remaining shards for about `seconds`; True when all are done."""
    end, present = time.monotonic() + seconds, None
    while (now := totals(tx)).reconciled < len(SHARDS):
        if time.monotonic() > end:
            return False
        if not now.entries:  # a new cache: shards without a folder have nothing to compare
            present = folder.shards() if present is None else present
            first = next((at for at in range(now.reconciled, len(SHARDS)) if SHARDS[at] in present), len(SHARDS))
            if first > now.reconciled:
                tx.execute("UPDATE totals SET reconciled = ?", (first,))
                continue
        reconcile_next(tx, folder, now.reconciled)
    return True


def reconcile_next(tx: sqlite3.Connection, folder: CacheFolder, done: int) -> None:
    shard = SHARDS[done % len(SHARDS)]
    reconcile(tx, folder, compare(tx, folder, shard))
    tx.execute("UPDATE totals SET reconciled = reconciled + 1")


def compare(tx: sqlite3.Connection, folder: CacheFolder, shard: str) -> Differences:
    """Compare names and sizes in one shard; `verify` checks the contents."""
    low = bytes.fromhex(shard)
    high = bytes([low[0] + 1]) if low[0] < 255 else b"\xff" * 33
    indexed = tx.execute("SELECT key, size FROM entries WHERE key >= ? AND key < ?", (low, high))
    rows = {key.hex(): size for key, size in sizes(indexed)}
    announced = {name for (name,) in tx.execute("SELECT temporary FROM writing")}
    unknown, abandoned = [], []
    for found in _trusted(folder, shard):
        if TEMPORARY_NAME.fullmatch(found.name):
            if found.name not in announced:
                abandoned.append(found.name)
        elif ENTRY_NAME.fullmatch(found.name) and found.name.startswith(shard):
            known = rows.pop(found.name[:64], None)
            if stat.S_ISREG(found.status.st_mode) and found.status.st_size != known:
                unknown.append(found.name[:64])
    return Differences(list(rows), unknown, abandoned)


def _trusted(folder: CacheFolder, shard: str) -> list[ShardFile]:
    try:
        return list(folder.listing(shard))
    except PermissionError:  # a link, or another user's: its files are never read
        return []


def reconcile(tx: sqlite3.Connection, folder: CacheFolder, differences: Differences) -> None:
    """Make the index match the files."""
    tx.executemany("DELETE FROM entries WHERE key = ?", [(bytes.fromhex(key),) for key in differences.missing])
    for key in differences.unknown:
        _adopt(tx, folder, key)
    for name in differences.abandoned:
        with suppress(OSError):
            folder.remove_if_abandoned(name)


def _adopt(tx: sqlite3.Connection, folder: CacheFolder, key: str) -> None:
    """Index an unknown file. An unreadable one counts too: it takes space, and can be evicted."""
    try:
        found = folder.status(key)
    except FileNotFoundError:
        tx.execute("DELETE FROM entries WHERE key = ?", (bytes.fromhex(key),))
        return
    indexed = tx.execute("SELECT size FROM entries WHERE key = ?", (bytes.fromhex(key),)).fetchone()
    if not stat.S_ISREG(found.st_mode) or indexed == (found.st_size,):
        return
    try:
        row = IndexRow.of(key, folder.head(key), found.st_size)
    except (SpanielError, OSError, ValueError):  # not verified, so anything can be wrong
        row = IndexRow(key, "", "", "", None, found.st_size, 0, 0)
    add(tx, row, int(found.st_mtime) - _OLDER_THAN_ANY_USE)


def _alive(pid: int) -> bool:
    if sys.platform == "win32":  # there is no signal 0
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
