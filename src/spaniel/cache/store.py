"""The page cache: `get` never waits or fails, `put` never raises (FR-WF-16 … 17b)."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.cache import index as rows
from spaniel.cache import recovery
from spaniel.cache.entry import LARGEST, LONGEST_LIFE, CacheEntry, Validators, compose, encode, renewed
from spaniel.cache.folder import SHARDS, CacheFolder, write_all
from spaniel.cache.index import CacheLimits, IndexRow, open_index
from spaniel.defaults import CACHE_BYTES, CACHE_ENTRIES, CACHE_TTL_DAYS
from spaniel.errors import SpanielError
from spaniel.files import OPEN_FILES_STAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.cache.keys import CacheKey

log = logging.getLogger("spaniel.cache")

WRITE_FAILED = "cache_write_failed"  # the note in the result, and the event in the log (FR-WF-16h)
TOUCHES = 1024  # uses that are written to the index together; at 128 a get took a fifth longer
TOUCH_SECONDS = 5.0
MAX_TOUCHES = 8192  # kept in memory while the index cannot be written
CATCH_UP_SECONDS = 0.05  # spent by each put while the index is being rebuilt
WRITE_ERRORS = (OSError, sqlite3.Error, ValueError, OverflowError, msgspec.MsgspecError, SpanielError)


class CacheSettings(NamedTuple):
    """The cache settings of `[tools.webfetch]`."""

    folder: str
    ttl_days: float = CACHE_TTL_DAYS.default
    max_entries: int = CACHE_ENTRIES.default
    max_bytes: int | None = CACHE_BYTES.default
    durable: bool = True  # False: no fsync; a power failure can then lose entries, but never corrupt them


class PageCache:
    """The cache of a folder. Threads can share it; any number of processes can share the folder."""

    def __init__(self, settings: CacheSettings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._folder = CacheFolder(settings.folder)
        self._index = open_index(self._folder.root, partial(recovery.sweep, self._folder))
        self._touched: dict[str, None] = {}
        self._renewed: dict[str, tuple[int, int]] = {}  # new times of fetch and expiry
        self._tell_at = TOUCHES
        self._told = time.monotonic()

    def __enter__(self) -> PageCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: CacheKey) -> CacheEntry | None:
        """The entry if it is fresh. One that cannot be read is a miss and a warning (D2-22)."""
        entry = self.peek(key)
        if entry is None or not entry.fresh(self._now()):
            return None
        self.touch(key)
        return entry

    def path(self, key: CacheKey) -> str:
        """The file of an entry, whether or not it exists."""
        return self._folder.path(key.hex)

    def touch(self, key: CacheKey) -> None:
        """Mark an entry from `peek` as used."""
        self._touch(key.hex)

    def peek(self, key: CacheKey) -> CacheEntry | None:
        """The entry, fresh or stale, for revalidation (FG-39)."""
        try:
            return self._folder.read(key)
        except FileNotFoundError:
            return None
        except (OSError, SpanielError) as error:
            log.warning("cache_read_failed: %s", _reason(error), extra={"fields": {"key": key.hex}})
            return None

    def put(
        self,
        key: CacheKey,
        content: object,
        fetched_at: datetime | None = None,
        ttl: timedelta | None = None,
        validators: Validators | None = None,
    ) -> str | None:
        """Store an entry. Returns the note `cache_write_failed` on failure.

        Waits for the disk (fsync): in an event loop, call it in a thread.
        """
        if self._settings.max_entries < 1:
            return None
        try:
            ttl = self.ttl if ttl is None else ttl
            entry = compose(key, content, fetched_at or self._now(), ttl, validators or Validators())
            self._write(key, entry)
        except WRITE_ERRORS as error:
            return _failed(key, error)
        return None

    def renew_in_place(
        self, key: CacheKey, entry: CacheEntry, fetched_at: datetime, ttl: timedelta, validators: Validators
    ) -> bool:
        """Renew an entry by overwriting its head, without waiting for the disk or another writer (usable in an event
        loop). False if that is not possible: then call `renew`."""
        new = renewed(entry, fetched_at, ttl, validators)
        try:
            done = self._folder.overwrite_head(key.hex, encode(new))
        except (OSError, SpanielError):
            return False
        if done:
            self._renewed[key.hex] = int(new.fetched_at.timestamp()), int(new.expires_at.timestamp())
            self._touch(key.hex)
        return done

    def renew(
        self,
        key: CacheKey,
        entry: CacheEntry,
        fetched_at: datetime,
        ttl: timedelta,
        validators: Validators,
        content: object = None,
    ) -> str | None:
        """Renew an entry from `peek` after a revalidation: new times and validators, and new content if there is any
        (FG-40). Returns what `put` returns, and waits as `put` does.

        An entry that another process has stored meanwhile is at least as new, and stays.
        """
        if content is None and self.renew_in_place(key, entry, fetched_at, ttl, validators):
            return None
        try:
            now = self._folder.read(key)
            if bytes(now.content) != bytes(entry.content):
                return None
        except FileNotFoundError:  # evicted meanwhile
            pass
        except (OSError, SpanielError) as error:
            return _failed(key, error)
        try:
            self._write(key, renewed(entry, fetched_at, ttl, validators, content))
        except WRITE_ERRORS as error:
            return _failed(key, error)
        return None

    def drop(self, key: CacheKey) -> None:
        """Remove an entry that must not be cached any longer; if that fails, it expires as usual."""
        if self.peek(key) is None:
            return
        try:
            with self._index.transaction() as tx:
                if self._folder.remove(key.hex):
                    rows.remove(tx, key.hex)
        except WRITE_ERRORS as error:
            _failed(key, error)

    @property
    def ttl(self) -> timedelta:
        """The default TTL."""
        return timedelta(days=min(self._settings.ttl_days, LONGEST_LIFE.days))

    def close(self) -> None:
        """Write pending uses to the index, and close it."""
        self._tell(patient=True)
        with suppress(sqlite3.Error):
            self._index.close()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _write(self, key: CacheKey, entry: CacheEntry) -> None:
        raw = encode(entry)
        limit = min(LARGEST, LARGEST if self._settings.max_bytes is None else self._settings.max_bytes)
        if len(raw) > limit:
            raise ValueError(f"the entry has {len(raw)} bytes, and there is room for {limit}")
        row = IndexRow.of(key.hex, entry, len(raw))
        self._folder.prepare(key.hex)
        try:
            self._write_file(row, raw)
        except sqlite3.Error as error:
            if not self._index.is_damage(error):
                raise
            self._index.replace()
            self._write_file(row, raw)

    def _write_file(self, row: IndexRow, raw: bytes) -> None:
        temporary = self._folder.new_temporary(row.key)
        with self._index.transaction() as tx:
            recovery.catch_up(tx, self._folder, CATCH_UP_SECONDS)
            rows.announce(tx, temporary)
        try:
            descriptor = self._folder.create(temporary)
            try:
                write_all(descriptor, raw, self._settings.durable)
                if not OPEN_FILES_STAY:  # its lock marks it as in use
                    self._commit(row, temporary)
            finally:
                os.close(descriptor)
            if OPEN_FILES_STAY:
                self._commit(row, temporary)
        except BaseException:
            self._withdraw(temporary)
            raise
        if self._settings.durable:
            self._folder.sync(row.key)

    def _commit(self, row: IndexRow, temporary: str) -> None:
        """Evict, rename, insert the row, all under the write lock (FR-WF-16e, -16f)."""
        limits = CacheLimits(self._settings.max_entries, self._settings.max_bytes)
        while True:
            with self._index.transaction() as tx:
                self._tell_within(tx)
                if rows.evict_for(tx, row, limits, self._folder.remove):
                    self._folder.replace(temporary, row.key)
                    rows.add(tx, row)
                    rows.forget_writing(tx, temporary)
                    now = rows.totals(tx)
                    if now.tick % len(SHARDS) == 0:
                        recovery.reconcile_next(tx, self._folder, now.reconciled)
                    return

    def _withdraw(self, temporary: str) -> None:
        """Remove the file at once; its row too, or else when the next process opens the index."""
        with suppress(OSError):
            self._folder.discard(temporary)
        with suppress(OSError, sqlite3.Error, SpanielError), self._index.transaction(patient=False) as tx:
            recovery.end(tx, self._folder, temporary)

    def _touch(self, key: str) -> None:
        """Buffered: a transaction for every get would cost four times the get."""
        self._touched.pop(key, None)
        self._touched[key] = None
        if len(self._touched) >= self._tell_at or time.monotonic() - self._told > TOUCH_SECONDS:
            self._tell(patient=False)

    def _tell(self, patient: bool) -> None:
        if not self._touched:
            return
        self._told = time.monotonic()
        try:
            with self._index.transaction(patient=patient) as tx:
                self._tell_within(tx)
        except (OSError, sqlite3.Error, SpanielError) as error:
            log.debug("cache_touch_failed: %s", _reason(error))
            self._tell_at = len(self._touched) + TOUCHES
            if self._tell_at > MAX_TOUCHES:
                self._touched, self._renewed = {}, {}

    def _tell_within(self, tx: sqlite3.Connection) -> None:
        touched, self._touched, self._tell_at = self._touched, {}, TOUCHES
        times, self._renewed = self._renewed, {}
        if touched:
            rows.touch(tx, list(touched))
        if times:
            rows.renew(tx, times)


def _failed(key: CacheKey, error: BaseException) -> str:
    log.warning("%s: %s", WRITE_FAILED, _reason(error), extra={"fields": {"key": key.hex}})
    return WRITE_FAILED


def _reason(error: BaseException) -> str:
    """The reason without the path, which the reader of the result need not know."""
    if isinstance(error, SpanielError):
        return str(error.details.get("error", error.message))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
