"""The operations of `spaniel cache`: stats, list, clear, verify. Failures are errors here, not misses (D2-22)."""

from __future__ import annotations

import sqlite3
import stat
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.cache import index as rows
from spaniel.cache import recovery
from spaniel.cache.folder import ENTRY_NAME, SHARDS, TEMPORARY_NAME, CacheFolder
from spaniel.cache.index import IndexRow, open_index
from spaniel.cache.keys import hash_of
from spaniel.cache.store import CATCH_UP_SECONDS
from spaniel.database import damage
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.cache.entry import CacheEntry

CLEARED_AT_ONCE = 256
_COLUMNS = "key, url, host, method, profile, size, fetched, expires"


class CacheStats(NamedTuple):
    folder: str
    entries: int
    bytes: int
    expired: int
    hosts: int
    renderings: dict[str, int]
    oldest: int | None  # fetch times in seconds since 1970
    newest: int | None


class ClearedEntries(NamedTuple):
    entries: int
    bytes: int


class CacheProblem(NamedTuple):
    """`kind` is damaged, misplaced, stranger, missing, unknown, abandoned, totals or index."""

    kind: str
    path: str
    detail: str


def _row(columns: tuple[Any, ...]) -> IndexRow:
    """In a damaged index the columns can contain anything."""
    if not (isinstance(columns[0], bytes) and all(isinstance(number, int) for number in columns[5:])):
        raise damage("the index is damaged")
    url, host, method, profile = (value and str(value) for value in columns[1:5])
    return IndexRow(columns[0].hex(), url or "", host or "", method or "", profile, *columns[5:])


class CacheMaintenance:
    """A cache folder that is opened for a command."""

    def __init__(self, root: str, create: bool = False) -> None:
        self._create = create
        self.folder = CacheFolder(root)
        self.checked = 0  # files that `verify` has read
        self._index = open_index(self.folder.root, partial(recovery.sweep, self.folder))

    def __enter__(self) -> CacheMaintenance:
        with self._errors_named(), self.folder.opened(self._create):
            return self

    def __exit__(self, *_: object) -> None:
        self._index.close()

    def stats(self) -> CacheStats:
        with self._errors_named(), self._settled() as db:
            now = int(time.time())
            totals = rows.totals(db)
            expired = db.execute("SELECT COUNT(*) FROM entries WHERE expires <= ? OR fetched > ?", (now, now))
            spread = db.execute("SELECT COUNT(DISTINCT host), MIN(fetched), MAX(fetched) FROM entries")
            hosts, oldest, newest = spread.fetchone()
            renderings = dict(db.execute("SELECT method, COUNT(*) FROM entries GROUP BY method ORDER BY method"))
            return CacheStats(self.folder.root, totals.entries, totals.bytes, expired.fetchone()[0], hosts, renderings,
                         oldest, newest)  # fmt: skip

    def entries(self) -> Iterator[IndexRow]:
        """All entries as a stream, the most recently used first."""
        with self._errors_named(), self._settled() as db:
            for found in db.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY used DESC"):  # noqa: S608
                yield _row(found)

    def find(self, urls: set[str]) -> Iterator[tuple[IndexRow, CacheEntry]]:
        """The entries of these canonical URLs, with every rendering method and profile."""
        with self._errors_named():
            with self._settled() as db:
                asked = ", ".join("?" * len(urls))
                found = db.execute(f"SELECT {_COLUMNS} FROM entries WHERE url IN ({asked})", sorted(urls)).fetchall()  # noqa: S608
            for columns in found:
                row = _row(columns)
                try:
                    entry = self.folder.read_named(row.key)
                except FileNotFoundError:  # removed by hand, or evicted since
                    continue
                yield row, entry

    def clear(self, older_than: float | None = None, host: str | None = None) -> ClearedEntries:
        """Remove entries older than `older_than` seconds, or of a host, or (with neither) all."""
        before = None if older_than is None else time.time() - older_than
        entries = size = 0
        with self._errors_named():
            self._settle()
            while batch := self._clear_some(before, host):
                entries, size = entries + len(batch), size + sum(batch)
            if older_than is None and host is None:
                self._clear_temporaries()
        return ClearedEntries(entries, size)

    def verify(self, repair: bool = False) -> Iterator[CacheProblem]:
        """Read every file; compare it with its name, and the index with the files. Changes nothing without `repair`."""
        with self._errors_named():
            self._settle()
            sound = self._index_is_sound()
            if not sound:
                yield self._damaged_index(repair)
            for shard in SHARDS:
                reported = set()
                for problem in self._verify_files(shard, repair):
                    reported.add(problem.path)
                    yield problem
                if sound or repair:
                    yield from (row for row in self._verify_rows(shard, repair) if row.path not in reported)
            if sound or repair:
                yield from self._verify_totals(repair)

    def _damaged_index(self, repair: bool) -> CacheProblem:
        if repair:
            self._index.replace()
            self._settle()
        return CacheProblem("index", self.folder.root, "the index is damaged; repair makes it again from the files")

    def _verify_files(self, shard: str, repair: bool) -> Iterator[CacheProblem]:
        try:
            listing = list(self.folder.listing(shard))
        except PermissionError as error:
            yield CacheProblem("stranger", f"{self.folder.root}/{shard}", str(error.strerror))
            return
        for found in listing:
            if problem := self._verify_file(found.name, found.status.st_mode, shard):
                yield problem
                if repair and problem.kind in ("damaged", "misplaced"):
                    self._remove_if_still(found.name, shard)

    def _verify_rows(self, shard: str, repair: bool) -> Iterator[CacheProblem]:
        try:
            differences = self._compared(shard, repair)
        except sqlite3.Error as error:
            if not self._index.is_damage(error):
                raise
            yield self._damaged_index(repair)  # damage that the integrity check does not find: invalid text
            if not repair:
                return
            differences = self._compared(shard, repair)
        for key in differences.missing:
            yield CacheProblem("missing", self.folder.path(key), "the index has it, but there is no such file")
        for key in differences.unknown:
            yield CacheProblem(
                "unknown", self.folder.path(key), "the index does not have this file, or not at this size"
            )
        for name in differences.abandoned:
            yield CacheProblem("abandoned", self.folder.temporary_path(name), "a writer that is gone has left it")

    def _compared(self, shard: str, repair: bool) -> recovery.Differences:
        with self._index.transaction() as tx:
            differences = recovery.compare(tx, self.folder, shard)
            if repair:
                recovery.reconcile(tx, self.folder, differences)
            return differences

    def _verify_file(self, name: str, mode: int, shard: str) -> CacheProblem | None:
        if TEMPORARY_NAME.fullmatch(name):
            return None
        path = f"{self.folder.root}/{shard}/{name}"
        if not (ENTRY_NAME.fullmatch(name) and name.startswith(shard)):
            return CacheProblem("stranger", path, "it is not a name that the cache gives")
        if not stat.S_ISREG(mode):
            return CacheProblem("stranger", path, "it is not a regular file")
        try:
            entry = self.folder.read_named(name[:64])
        except FileNotFoundError:  # evicted since it was listed
            return None
        except PermissionError as error:
            return CacheProblem("damaged", path, str(error.strerror))
        except SpanielError as error:
            return CacheProblem("damaged", path, str(error.details["error"]))
        self.checked += 1
        made_of = entry.canonical_url, entry.rendering_method, entry.profile, entry.overrides
        if hash_of(*made_of) != name[:64]:
            return CacheProblem("misplaced", path, f"it holds {entry.canonical_url}, whose name is another")
        return None

    def _remove_if_still(self, name: str, shard: str) -> None:
        """Check it again under the write lock: a writer may have replaced it."""
        with self._index.transaction():
            if self._verify_file(name, stat.S_IFREG, shard):
                self.folder.remove(name[:64])

    def _index_is_sound(self) -> bool:
        try:
            with self._index.snapshot() as db:
                return bool(db.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
        except sqlite3.Error as error:
            if not self._index.is_damage(error):
                raise
            return False

    def _verify_totals(self, repair: bool) -> Iterator[CacheProblem]:
        with self._index.transaction() as tx:
            said = rows.totals(tx)
            counted = tx.execute("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM entries").fetchone()
            if repair and counted != said[:2]:
                tx.execute("UPDATE totals SET entries = ?, bytes = ?", counted)
        if counted != said[:2]:
            yield CacheProblem("totals", self.folder.root, f"the index says {said[:2]}, and has {counted}")

    def _clear_some(self, before: float | None, host: str | None) -> list[int]:
        """Remove some entries in one short transaction; return their sizes."""
        with self._index.transaction() as tx:
            named = tx.execute(
                "SELECT key, size FROM entries WHERE (:before IS NULL OR fetched < :before)"
                " AND (:host IS NULL OR host = :host) LIMIT :most",
                {"before": before, "host": host, "most": CLEARED_AT_ONCE},
            )
            found = list(rows.sizes(named))
            for key, _ in found:
                if not self.folder.remove(key.hex()):
                    raise SpanielError(
                        Code.CACHE_READ_FAILED, path=self.folder.path(key.hex()), error="it cannot be removed"
                    )
            tx.executemany("DELETE FROM entries WHERE key = ?", [(key,) for key, _ in found])
        return [size for _, size in found]

    def _clear_temporaries(self) -> None:
        for shard in SHARDS:
            for found in self.folder.listing(shard):
                if TEMPORARY_NAME.fullmatch(found.name):
                    with suppress(OSError):
                        self.folder.remove_if_abandoned(found.name)

    @contextmanager
    def _settled(self) -> Iterator[sqlite3.Connection]:
        self._settle()
        with self._index.snapshot() as connection:
            yield connection

    def _settle(self) -> None:
        """Complete an index that is being rebuilt."""
        try:
            self._catch_up()
        except sqlite3.Error as error:
            if not self._index.is_damage(error):
                raise
            self._index.replace()
            self._catch_up()

    def _catch_up(self) -> None:
        done = False
        while not done:
            with self._index.transaction() as tx:
                done = recovery.catch_up(tx, self.folder, CATCH_UP_SECONDS)

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            refused = error.filename if isinstance(error, PermissionError) else None  # names the file or folder
            raise SpanielError(Code.CACHE_READ_FAILED, path=refused or self.folder.root, error=reason) from error
