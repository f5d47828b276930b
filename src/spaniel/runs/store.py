"""A shard of a run: one SQLite file with its items, what became of them, and how far its part files are committed.

A shard holds whole hosts, unless their requests need no spacing. It is written by one process at a time. Planning adds
rows and ends with `finish_planning`; then items are taken host by host. What became of them is committed in one of two
ways: `commit` writes which items have their record, and how long the part files are that hold these records;
`commit_results` writes the results themselves.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from heapq import merge
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spaniel.database import Database, Layout
from spaniel.errors import Code, SpanielError
from spaniel.files import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    # ordinal, host (empty: not a URL), canonical URL, URL as written (None: the same), columns, why it is not a URL
    Row = tuple[int, str, str, str | None, Mapping[str, object] | None, Mapping[str, object] | None]

TABLES = """
CREATE TABLE items (
    ordinal INTEGER PRIMARY KEY, host INTEGER NOT NULL, page INTEGER, url TEXT NOT NULL, variant BLOB, raw TEXT,
    data BLOB, refusal BLOB, same_as INTEGER, copies INTEGER NOT NULL DEFAULT 0, is_open INTEGER NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0);
CREATE TABLE results (
    ordinal INTEGER PRIMARY KEY, reach INTEGER, at REAL NOT NULL, head_differs INTEGER NOT NULL,
    is_held INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE records (code TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE parts (kind TEXT, number INTEGER, bytes INTEGER NOT NULL, PRIMARY KEY (kind, number)) WITHOUT ROWID;
CREATE TABLE counts (planned INTEGER, tasks INTEGER, refused INTEGER, hosts INTEGER, longest INTEGER);
"""
# `is_open`: 1 for a page that is still to be fetched, or a line that is not a URL and still has no record.
# `same_as`: the ordinal of the first item with the same URL; `copies`: how many items follow this one.
# `variant`: of items that need a request of their own although they have the same URL. Of items with and without one,
# those without join the first that has one.
# `results`: `reach`: how far the request came; `is_held`: whether it is reported when the run ends, and not before.
VERSION = 2
CACHE_KIB = 2048  # of SQLite, for each connection
TOGETHER = 1000  # rows that are inserted at once
BLOCK = 200  # rows that are read at once
LOCK_SECONDS = 60.0  # to wait for a worker of an earlier run
PAGE_OK = ""  # the code of a record with a page

_pack, _unpack = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode

INSERT = """INSERT INTO items (ordinal, host, page, url, variant, raw, data, refusal, is_open)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)"""


class ShardResult(NamedTuple):
    """The result of an item that is kept in the shard itself."""

    ordinal: int
    reach: int | None  # how far the request to its host came; None where there was none
    at: float  # seconds since 1970
    head_differs: bool  # HEAD and GET disagreed
    is_held: bool
    data: bytes


class Item(NamedTuple):
    """One URL of the input: its place there, the URL as it was written (without credentials), and other columns."""

    ordinal: int
    raw: str
    columns: Mapping[str, object] = MappingProxyType({})


class Task(NamedTuple):
    """A page to fetch, for every item that has its URL."""

    shard: int
    host: str
    url: str
    first: Item
    copies: int = 0  # how many other items have the same URL

    @property
    def ordinal(self) -> int:
        """Of the first of them."""
        return self.first.ordinal

    @property
    def id(self) -> int:
        """As schedulers count: from 1."""
        return self.first.ordinal + 1


class ShardCounts(NamedTuple):
    """What the plan of one shard holds."""

    planned: int = 0
    tasks: int = 0  # pages to fetch
    refused: int = 0  # items that are not URLs
    hosts: int = 0
    longest: int = 0  # pages of the host that has the most


@lru_cache(maxsize=1 << 16)
def host_number(host: str) -> int:
    """By which a host is found in a shard: the same in every process. 0: not a URL."""
    if not host:
        return 0
    return int.from_bytes(blake2b(host.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


class Shard:
    """An open shard. Failures are `SpanielError`s that say what to do."""

    def __init__(self, folder: str, number: int) -> None:
        self.folder, self.number = folder, number
        self.name = f"shard-{number:04}"
        layout = Layout(self.name, VERSION, TABLES, "items")
        self._database: Database | _TemporaryDatabase = (
            Database(folder, layout, folder_is_checked=True, on_open=self._opened) if folder else _TemporaryDatabase()
        )
        self._open = ExitStack()
        self._reading: sqlite3.Connection | None = None
        self._adding: sqlite3.Connection | None = None
        self._rows: list[tuple[object, ...]] = []
        self._is_durable = True

    @classmethod
    def create(cls, folder: str, number: int) -> Shard:
        """A new shard, in a transaction that ends with `finish_planning`."""
        shard = cls(folder, number)
        shard._is_durable = False
        with _readable(shard):
            shard._adding = shard._open.enter_context(shard._database.transaction())
        return shard

    @classmethod
    def temporary(cls) -> Shard:
        """A new shard in a file without a name, which is gone when the process ends, for whatever reason."""
        return cls.create("", 0)

    @classmethod
    def open(cls, folder: str, number: int, *, is_durable: bool = True) -> Shard:
        """A shard that was planned. One that is not durable loses its last commits in a power cut, but not if the
        process is killed."""
        shard = cls(folder, number)
        shard._is_durable = is_durable
        if not os.path.exists(shard._database.path):
            raise _damaged(shard, "is missing")
        shard._begin_reading()
        return shard

    @classmethod
    def is_planned(cls, folder: str, number: int) -> bool:
        """Whether its plan was finished; also where it is damaged, which opening it reports."""
        shard = cls(folder, number)
        try:
            with shard._database.snapshot() as reading:
                return bool(reading.execute("SELECT COUNT(*) FROM counts").fetchone()[0])
        except sqlite3.Error:
            return True
        finally:
            shard.close()

    def _begin_reading(self) -> None:
        with _readable(self):
            self._reading = self._open.enter_context(self._database.snapshot())
            self._reading.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            if self._reading.execute("SELECT COUNT(*) FROM counts").fetchone()[0] != 1:
                raise _damaged(self, "has no plan")

    @classmethod
    def plan_again(cls, folder: str, number: int) -> Shard:
        """A shard that was planned, to be planned with other items: those of before are in `earlier` and their results
        in `earlier_results` until `finish_planning`. Before that, nothing of it is committed."""
        shard = cls(folder, number)
        if not os.path.exists(shard._database.path):
            raise _damaged(shard, "is missing")
        shard._is_durable = False
        with _readable(shard):
            shard._adding = shard._open.enter_context(shard._database.transaction())
            for statement in (
                "DROP INDEX IF EXISTS waiting", "DROP INDEX IF EXISTS copies", "DELETE FROM counts",
                "ALTER TABLE items RENAME TO earlier", "ALTER TABLE results RENAME TO earlier_results",
                *(text for text in TABLES.split(";") if "TABLE items" in text or "TABLE results" in text),
            ):  # fmt: skip
                shard._adding.execute(statement)
        return shard

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self.folder or "the folder for temporary files (TMPDIR)"

    def lock(self, wait: float = LOCK_SECONDS) -> None:
        """Be the one that writes, until it is closed. A worker may outlive its supervisor for a moment, in which it
        commits what it has; one that continues the run waits for that."""
        path = os.path.join(self.folder, f"{self.name}.writer")
        try:
            self._open.enter_context(locked(path, wait=wait))
        except TimeoutError:
            reason = "another process is still writing to it"
            raise SpanielError(Code.BAD_ARGS, field=self.folder, reason=reason) from None

    def close(self) -> None:
        self._open.close()
        self._database.close()

    def discard(self) -> None:
        """Close a shard that is not planned to its end; the file is the caller's to remove."""
        with suppress(sqlite3.Error):
            self._open.__exit__(RuntimeError, RuntimeError("discarded"), None)
        self._database.close()

    def remove(self) -> None:
        """Remove the file of a shard that is not needed any more."""
        self.close()
        for end in (".sqlite3", ".sqlite3-wal", ".sqlite3-shm", ".lock"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, self.name + end))

    def _opened(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        # A plan that is lost in a power cut is made again. What was committed must stay: the output has it, too.
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._is_durable else 'NORMAL'}")

    # planning

    def add(self, rows: Iterable[Row]) -> None:
        self.add_stored(map(_stored, rows))

    def add_stored(self, rows: Iterable[tuple[object, ...]]) -> None:
        """`rows`: ordinal, number of the host, page (equal for equal URLs; None: never joined), URL, variant, URL as
        written, data, refusal."""
        self._rows += rows
        if len(self._rows) >= TOGETHER:
            self._insert()

    def _insert(self) -> None:
        with _readable(self):
            self._plan.executemany(INSERT, self._rows)
        self._rows.clear()

    @property
    def _plan(self) -> sqlite3.Connection:
        if self._adding is None:
            raise RuntimeError("this shard is planned already")
        return self._adding

    def finish_planning(self, carry_over: Callable[[sqlite3.Connection], None] | None = None) -> ShardCounts:
        """Join the items that have one URL, make the index of hosts, and commit. `carry_over` takes what it needs of
        `earlier` and `earlier_results` of a shard that is planned again."""
        self._insert()
        plan = self._plan
        with _readable(self):
            self._join_copies(plan)
            if carry_over is not None:
                plan.execute("CREATE INDEX copies ON items (same_as) WHERE same_as IS NOT NULL")
                carry_over(plan)
                plan.execute("DROP TABLE earlier")
                plan.execute("DROP TABLE earlier_results")
            plan.execute("DROP INDEX pages")
            plan.execute("CREATE INDEX waiting ON items (host, ordinal) WHERE is_open = 1")
            plan.execute("CREATE INDEX IF NOT EXISTS copies ON items (same_as) WHERE same_as IS NOT NULL")
            planned, refused = plan.execute("SELECT COUNT(*), COUNT(refusal) FROM items").fetchone()
            hosts = "SELECT COUNT(*) AS pages FROM items WHERE is_open = 1 AND host <> 0 GROUP BY host"
            found = plan.execute(f"SELECT COUNT(*), TOTAL(pages), MAX(pages) FROM ({hosts})").fetchone()  # noqa: S608
            counts = ShardCounts(planned, int(found[1]), refused, found[0], found[2] or 0)
            plan.execute("INSERT INTO counts VALUES (?, ?, ?, ?, ?)", counts)
            self._adding = None
            self._open.close()
        if not self.folder:  # it is not opened again
            self._begin_reading()
        return counts

    def _join_copies(self, plan: sqlite3.Connection) -> None:
        """Pages that are several times there are found by their numbers, and compared by their URLs."""
        plan.execute("CREATE INDEX pages ON items (page) WHERE page IS NOT NULL")
        again = "SELECT page FROM items WHERE page IS NOT NULL GROUP BY page HAVING COUNT(*) > 1"
        groups = "SELECT url, MIN(ordinal), COUNT(*), COUNT(variant) FROM items WHERE page = ? GROUP BY url"
        plan.execute(f"CREATE TEMP TABLE again AS {again}")
        for (page,) in plan.execute("SELECT page FROM again"):
            for url, first, count, with_variant in plan.execute(groups, (page,)).fetchall():
                if with_variant:
                    self._join_variants(plan, page, url)
                elif count > 1:
                    same = "UPDATE items SET same_as = ?, is_open = 0 WHERE page = ? AND url = ? AND ordinal <> ?"
                    plan.execute(same, (first, page, url, first))
                    plan.execute("UPDATE items SET copies = ? WHERE ordinal = ?", (count - 1, first))
        plan.execute("DROP TABLE again")

    def _join_variants(self, plan: sqlite3.Connection, page: int, url: str) -> None:
        found = plan.execute(
            "SELECT ordinal, variant FROM items WHERE page = ? AND url = ? ORDER BY ordinal", (page, url)
        )
        groups: dict[bytes | None, list[int]] = {}
        for ordinal, variant in found.fetchall():
            groups.setdefault(variant, []).append(ordinal)
        plain = groups.pop(None, [])
        joined = list(groups.values())
        joined[0] = sorted(joined[0] + plain)
        for first, *others in joined:
            same = "UPDATE items SET same_as = ?, is_open = 0 WHERE ordinal = ?"
            plan.executemany(same, [(first, ordinal) for ordinal in others])
            plan.execute("UPDATE items SET copies = ? WHERE ordinal = ?", (len(others), first))

    # reading

    def counts(self) -> ShardCounts:
        with _readable(self):
            return ShardCounts(*self._read.execute("SELECT * FROM counts").fetchone())

    def left(self) -> int:
        """How many pages are still to be fetched, and lines to be refused."""
        with _readable(self):
            found: int = self._read.execute("SELECT COUNT(*) FROM items WHERE is_open = 1").fetchone()[0]
            return found

    def left_of(self, host: str) -> int:
        """How many pages of a host are still to be fetched."""
        wanted = "SELECT COUNT(*) FROM items WHERE is_open = 1 AND host = ?"
        with _readable(self):
            found: int = self._read.execute(wanted, (host_number(host),)).fetchone()[0]
            return found

    def hosts(self) -> Iterator[tuple[str, int]]:
        """Hosts with pages that are still to be fetched, and how many: the most first.

        The list is copied first: a query that stays open would keep SQLite from cleaning its log up.
        """
        pages = "SELECT COUNT(*) AS pages, MIN(ordinal) AS first FROM items WHERE is_open = 1 AND host <> 0"
        with _readable(self):
            self._read.execute("DROP TABLE IF EXISTS temp.queue")
            self._read.execute(f"CREATE TEMP TABLE queue AS {pages} GROUP BY host ORDER BY pages DESC, first")
            after = 0
            while rows := self._read.execute(
                "SELECT queue.rowid, pages, url FROM queue JOIN items ON ordinal = first"
                " WHERE queue.rowid > ? ORDER BY queue.rowid LIMIT ?",
                (after, BLOCK),
            ).fetchall():
                for after, count, url in rows:  # noqa: B007  the last one's
                    yield host_of(url), count

    def of_host(self, host: str, after: int, count: int) -> list[Task]:
        """The next pages of a host that are still to be fetched, in the order of the input: with an `id` above this."""
        return [
            Task(self.number, host, url, _item(ordinal, url, raw, data), copies)
            for ordinal, url, raw, data, copies in self.rows_of_host(host, after - 1, count)
        ]

    def rows_of_host(self, host: str, after: int, count: int) -> list[tuple[int, str, str | None, bytes, int]]:
        """Ordinal (above `after`), URL, the URL as written, data, copies."""
        wanted = (
            "SELECT ordinal, url, raw, data, copies FROM items"
            " WHERE is_open = 1 AND host = ? AND ordinal > ? AND refusal IS NULL ORDER BY ordinal LIMIT ?"
        )
        with _readable(self):
            return self._read.execute(wanted, (host_number(host), after, count)).fetchall()

    def copies(self, task: Task, after: int = -1, count: int = BLOCK) -> list[Item]:
        """Items with the task's URL that have no record yet: in blocks, since there may be very many."""
        wanted = (
            "SELECT ordinal, url, raw, data FROM items WHERE same_as = ? AND is_done = 0 AND ordinal > ?"
            " ORDER BY ordinal LIMIT ?"
        )
        with _readable(self):
            return [_item(*row) for row in self._read.execute(wanted, (task.ordinal, after, count))]

    def copy(self) -> bytes:
        """The whole file, for a machine that has no access to it."""
        with _readable(self):
            return self._read.serialize()

    def read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with _readable(self):
            return self._read.execute(query, values).fetchall()

    def is_done(self, ordinal: int) -> bool:
        with _readable(self):
            found = self._read.execute("SELECT is_done FROM items WHERE ordinal = ?", (ordinal,)).fetchone()
            return bool(found and found[0])

    def refused(self) -> Iterator[tuple[Item, Mapping[str, Any]]]:
        """Lines that are not URLs and have no record yet, with the reason."""
        after, wanted = (
            -1,
            (
                "SELECT ordinal, url, raw, data, refusal FROM items WHERE is_open = 1 AND host = 0 AND ordinal > ?"
                " ORDER BY ordinal LIMIT ?"
            ),
        )
        with _readable(self):
            while rows := self._read.execute(wanted, (after, BLOCK)).fetchall():
                for after, *item, refusal in rows:
                    yield _item(after, *item), _unpack(refusal)

    def recorded(self) -> Counter[str]:
        """How many records there are, by why they have no page (`PAGE_OK`: they have one)."""
        with _readable(self):
            return Counter(dict(self._read.execute("SELECT code, count FROM records").fetchall()))

    def parts(self) -> dict[tuple[str, int], int]:
        """The committed length of each part file, by kind and number."""
        with _readable(self):
            rows = self._read.execute("SELECT kind, number, bytes FROM parts ORDER BY kind, number")
            return {(kind, number): size for kind, number, size in rows}

    # results

    def commit(
        self,
        parts: Mapping[tuple[str, int], int],
        done: Sequence[tuple[int, str]],
        closed: Iterable[int],
    ) -> None:
        """These items have their records, with these codes, in part files that are on the disk up to these lengths.

        `closed`: tasks of which every item has its record.
        """
        with _readable(self), self._database.transaction() as tx:
            tx.executemany("UPDATE items SET is_done = 1 WHERE ordinal = ?", [(ordinal,) for ordinal, _ in done])
            tx.executemany("UPDATE items SET is_open = 0 WHERE ordinal = ?", [(ordinal,) for ordinal in closed])
            tx.executemany(
                "INSERT INTO records VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                Counter(code for _, code in done).items(),
            )
            tx.executemany(
                "INSERT INTO parts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes",
                [(*part, size) for part, size in parts.items()],
            )

    def commit_results(self, results: Sequence[ShardResult]) -> None:
        """These items are done, and these are their results."""
        with _readable(self), self._database.transaction() as tx:
            tx.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?)", results)
            tx.executemany("UPDATE items SET is_open = 0 WHERE ordinal = ?", [(result.ordinal,) for result in results])

    @property
    def _read(self) -> sqlite3.Connection:
        if self._reading is None:
            raise RuntimeError("this shard is not open for reading")
        return self._reading


class _TemporaryDatabase:
    """As a `Database`, with one connection to a file without a name."""

    path = ""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN")
        yield self._connection
        self._connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        yield self._connection

    def close(self) -> None:
        self._connection.close()


class Shards:
    """Several shards as one source of items, by their numbers. `find` says in which one a host is; None: it may be in
    any of them, or in several."""

    def __init__(self, shards: Iterable[Shard], find: Callable[[str], int] | None = None) -> None:
        self._shards = {shard.number: shard for shard in shards}
        if find is None and len(self._shards) == 1:
            (only,) = self._shards
            find = lambda _: only  # noqa: E731
        self._find = find

    def add(self, shard: Shard) -> None:
        """Only where `find` says which hosts it has."""
        self._shards[shard.number] = shard

    def __getitem__(self, number: int) -> Shard:
        return self._shards[number]

    def __iter__(self) -> Iterator[Shard]:
        return iter(self._shards.values())

    def hosts(self) -> Iterator[tuple[str, int]]:
        """As of one shard. A host that is in several comes once, at the place of its largest part."""
        seen: set[int] = set()
        for host, count in merge(*(shard.hosts() for shard in self), key=lambda found: -found[1]):
            if self._find is not None:
                yield host, count
            elif (number := host_number(host)) not in seen:
                seen.add(number)
                yield host, sum(shard.left_of(host) for shard in self)

    def of_host(self, host: str, after: int, count: int) -> list[Task]:
        if self._find is not None:
            shard = self._shards.get(self._find(host))
            return shard.of_host(host, after, count) if shard is not None else []
        found = [task for shard in self for task in shard.of_host(host, after, count)]
        found.sort(key=attrgetter("id"))
        return found[:count]

    def close(self) -> None:
        for shard in self:
            shard.close()


def host_of(url: str) -> str:
    """The host of a canonical URL, which has a scheme and no credentials."""
    rest = url[url.index("://") + 3 :]
    end = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    host = rest[:end]
    return host[: host.index("]") + 1] if host.startswith("[") else host.partition(":")[0]


def _stored(row: Row) -> tuple[object, ...]:
    ordinal, host, url, raw, columns, refusal = row
    number, page = (host_number(host), hash(url)) if host else (0, None)  # equal URLs are joined by this very process
    packed = _pack(columns) if columns else None
    return ordinal, number, page, url, None, raw, packed, _pack(refusal) if refusal is not None else None


def _item(ordinal: int, url: str, raw: str | None, data: bytes | None) -> Item:
    return Item(ordinal, url if raw is None else raw, _unpack(data) if data else {})


@contextmanager
def _readable(shard: Shard) -> Iterator[None]:
    """What SQLite and the system refuse, as a sentence."""
    try:
        yield
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=shard.place, reason=f"cannot be written: {error.strerror}") from None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise SpanielError(Code.BAD_ARGS, field=shard.place, reason=f"cannot be written: {error}") from None
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise _damaged(shard, f"is damaged ({error})") from None
        raise


def _damaged(shard: Shard, what: str) -> SpanielError:
    reason = f"{shard.name}.sqlite3 {what}; begin again with --overwrite"
    return SpanielError(Code.BAD_ARGS, field=shard.folder, reason=reason)
