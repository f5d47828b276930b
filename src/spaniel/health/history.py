"""The history of links: a small SQLite file beside the database, or in the user's state folder.

A result is stored as an observation; a verdict is never reused. Until a run has ended its results are in the run's own
shard (`store.py`). Then they become observations: only then is it known whether its failures count, for they do not in
a run without a network.
"""

from __future__ import annotations

import os
import time
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.database import Database, Layout
from spaniel.errors import Code, SpanielError
from spaniel.health.links import pack, plain, unpack_chain
from spaniel.private_folder import open_folder, open_shared_folder
from spaniel.verdicts import BAD, DAY, GOOD, MIN_INTERVAL, NOTHING, Past, Verdict

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spaniel.health.links import Checked
    from spaniel.private_folder import OpenFolder
    from spaniel.verdicts import Hop

    Facts = tuple[str, int | None, str, str, str, str, str]  # verdict, status, code, reason, final URL, chain, text
    # ordinal in its run, URL, host, seconds since 1970, facts, whether HEAD and GET disagreed
    PastResult = tuple[int, str, str, float, Facts, bool]

MOST_ROWS_OF_LINK = 100  # of a link: of one that comes and goes, the oldest are forgotten
KEPT_DAYS = 400
NO_NETWORK = "no network"
OFFLINE = f"{NO_NETWORK}: the names of most hosts of this run could not be looked up"

TABLES = """
CREATE TABLE health (url TEXT NOT NULL, first_at REAL NOT NULL, last_at REAL NOT NULL, checks INTEGER NOT NULL,
    verdict TEXT NOT NULL, status INTEGER, code TEXT NOT NULL, reason TEXT NOT NULL, final_url TEXT NOT NULL,
    chain TEXT NOT NULL, text_sha256 TEXT NOT NULL, PRIMARY KEY (url, first_at)) WITHOUT ROWID;
CREATE TABLE hosts (host TEXT PRIMARY KEY, head_differs REAL NOT NULL) WITHOUT ROWID;
"""
# Files of versions before are used as they are. They may have the tables `runs` and `answers`, which are only read.
LAST = """SELECT first_at, last_at, verdict, status, code, reason, final_url FROM health WHERE url = ?
    ORDER BY first_at DESC LIMIT 1"""
LONGER = """UPDATE health SET last_at = ?, checks = checks + 1, chain = ?, text_sha256 = ?
    WHERE url = ? AND first_at = ?"""
TOO_MANY = """DELETE FROM health WHERE url = ? AND first_at <
    (SELECT first_at FROM health WHERE url = ? ORDER BY first_at DESC LIMIT 1 OFFSET ?)"""
COLUMNS = "first_at, last_at, checks, verdict, status, code, reason, final_url, chain, text_sha256"


class HostReach(IntEnum):
    """How far a request to a host came: of several, the highest counts."""

    NO_LOOKUP_ANSWER = -2  # its name was looked up, and no name server answered
    SILENT = -1  # it has no name that could be looked up, and did not answer
    LOOKUP_ANSWER = 0  # an address, or that there is none; nothing else came
    ANSWER = 1  # from the host itself, if only to refuse a connection


FEW_HOSTS = 4  # fewer than these say nothing of the network, once one of them answers


class HostCounts(NamedTuple):
    """Hosts that were requested, by how far the best request to each came."""

    requested: int = 0
    reached: int = 0  # ANSWER
    looked_up: int = 0  # LOOKUP_ANSWER
    unanswered: int = 0  # NO_LOOKUP_ANSWER

    @classmethod
    def of(cls, reaches: Iterable[int]) -> HostCounts:
        counts = cls()
        for reach in reaches:
            counts = counts.with_one(reach)
        return counts

    def with_one(self, reach: int) -> HostCounts:
        return HostCounts(
            self.requested + 1,
            self.reached + (reach >= HostReach.ANSWER),
            self.looked_up + (reach == HostReach.LOOKUP_ANSWER),
            self.unanswered + (reach == HostReach.NO_LOOKUP_ANSWER),
        )

    @property
    def had_network(self) -> bool:
        """LH-01: no host and no lookup answered, or, where some hosts were reached, most of four or more lookups
        failed without an answer. An NXDOMAIN is an answer."""
        if not self.requested:
            return True
        if not self.reached:
            return self.looked_up > 0
        return self.requested < FEW_HOSTS or self.unanswered * 2 <= self.requested


class Observed(NamedTuple):
    """Checks in a row with the same result. Times are seconds since 1970."""

    first_at: float
    last_at: float
    checks: int
    verdict: str
    status: int | None
    code: str
    reason: str
    final_url: str
    chain: tuple[Hop, ...]
    text_sha256: str


def observed(row: tuple[float, float, int, str, int | None, str, str, str, str, str]) -> Observed:
    return Observed(*row[:8], unpack_chain(row[8]) if row[8] else (), row[9])


def rows_of(db: sqlite3.Connection, url: str) -> list[Observed]:
    """The newest first."""
    found = f"SELECT {COLUMNS} FROM health WHERE url = ? ORDER BY first_at DESC"  # noqa: S608  names of ours
    return [observed(row) for row in db.execute(found, (url,))]


def past_of(db: sqlite3.Connection, url: str, *, head_differs: bool) -> Past:
    failures: list[float] = []
    past, text = Past(head_differs=head_differs), ""
    for row in rows_of(db, url):
        text = text or row.text_sha256
        if row.verdict in GOOD:
            past = past._replace(last_good=row.last_at, chain=row.chain, final_url=row.final_url)
            break
        if row.verdict in BAD:
            failures.append(row.first_at)
    return past._replace(failures=tuple(reversed(failures)), text_sha256=text)


def fold(tx: sqlite3.Connection, asked: str, at: float, facts: Facts) -> None:
    """One more check of a link: it lengthens the last row, or begins another."""
    last = tx.execute(LAST, (asked,)).fetchone()
    if last is not None and last[1] <= at and last[2:] == facts[:5] and not _is_new_failure(last, at):
        tx.execute(LONGER, (at, *facts[5:], asked, last[0]))
        return
    row = (asked, at, at, 1, *facts)
    tx.execute("INSERT OR IGNORE INTO health VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    tx.execute(TOO_MANY, (asked, asked, MOST_ROWS_OF_LINK - 1))


def _is_new_failure(last: tuple[float, float, str], at: float) -> bool:
    """A failure three days after the row's first is one more of the three; the row must not swallow it."""
    return last[2] in BAD and at - last[0] >= MIN_INTERVAL


def facts_of(checked: Checked) -> Facts:
    """What a row of the history has of a result."""
    evidence = checked.evidence
    chain = pack(evidence.chain).decode() if evidence.chain else ""
    reason = "" if checked.verdict in GOOD else checked.reason
    facts = checked.verdict.value, evidence.status, checked.code, reason, evidence.final_url, chain, checked.text_sha256
    return facts if all(text is None or isinstance(text, int) or text.isascii() for text in facts) else plain(facts)


def without_network(checked: Checked) -> Checked:
    """What may be said of a failure in a run without a network (LH-01)."""
    if checked.verdict not in BAD:
        return checked
    return checked._replace(verdict=Verdict.UNKNOWN, reason=OFFLINE, failures=0)


def facts_without_network(facts: Facts) -> Facts:
    return (Verdict.UNKNOWN.value, facts[1], facts[2], OFFLINE, *facts[4:]) if facts[0] in BAD else facts


def uptime(rows: list[Observed], since: float) -> float | None:
    """The share of good checks among those with a result, since then; None where there were none.

    Of a row that began earlier, as many checks count as would fall into the time if they were evenly spread.
    """
    good = total = 0.0
    for row in rows:
        if row.last_at < since or row.verdict in ("blocked", "rate-limited") or row.reason.startswith(NO_NETWORK):
            continue
        lasted = row.last_at - row.first_at
        share = 1.0 if row.first_at >= since or not lasted else (row.last_at - since) / lasted
        checks = max(1.0, row.checks * share)
        total += checks
        good += checks if row.verdict in GOOD else 0.0
    return good / total if total else None


LAYOUT = Layout("health", 1, TABLES)
FOLDING = """CREATE TABLE IF NOT EXISTS folding (run TEXT PRIMARY KEY, last INTEGER NOT NULL, network INTEGER NOT NULL,
    at REAL NOT NULL) WITHOUT ROWID"""
RUNS = "runs"  # the folder for runs that have not ended, inside the history's
BLOCK = 500  # results that become observations in one transaction: another run may write in between
HEAD_DAYS = 180  # for which it is remembered that HEAD and GET disagreed at a host
ABANDONED_AFTER = 86_400.0  # seconds after its last result; then a run that was not resumed is settled
MOST_ROWS = 5_000_000
EARLIER_VERSION = (
    "the unfinished run of this was begun by an earlier version of Spaniel, which this version cannot resume. Finish it"
    " with that version, or leave --resume out: the results that it has are kept in the history"
)


class History:
    """What fails is an `OSError` or a `sqlite3.Error`; callers report it once, and continue without the history.

    `is_shared`: the folder is in one that people share, such as a checkout. Then it gets a `.gitignore`.
    """

    def __init__(self, folder: str, *, is_shared: bool = False, now: Callable[[], float] = time.time) -> None:
        self.folder = os.path.abspath(folder)
        self._is_shared, self.now = is_shared, now
        self._reads = Database(self.folder, LAYOUT, patience=1.0, in_shared_folder=is_shared)
        self._writes = Database(self.folder, LAYOUT, in_shared_folder=is_shared)

    def close(self) -> None:
        self._reads.close()
        self._writes.close()

    @property
    def damage(self) -> str:
        """What became of a file that was damaged; empty where none was."""
        return self._writes.damage or self._reads.damage

    def open_runs(self) -> OpenFolder:
        """The folder for runs that have not ended; it is created."""
        above, name = os.path.split(self.folder)
        outer = open_shared_folder(above, write=True) if self._is_shared else open_folder(above, make=True)
        with outer, outer.folder(name, make=True) as folder:
            if self._is_shared and ".gitignore" not in {entry.name for entry in folder.entries()}:
                folder.write(".gitignore", b"*\n")
            return folder.folder(RUNS, make=True)

    def settle(self, run: str, read: Callable[[int, int], Sequence[PastResult]], *, network: bool) -> Iterator[None]:
        """The results of a run become observations, block by block; it yields after each. `read(after, count)` reads
        them in the order of their ordinals. If this was cut short, it continues where it was, with the network as
        it was said then."""
        self._writes.write(lambda tx: tx.execute(FOLDING))
        begin = "INSERT OR IGNORE INTO folding VALUES (?, -1, ?, ?)"
        self._writes.write(lambda tx: tx.execute(begin, (run, network, self.now())))
        state = "SELECT last, network FROM folding WHERE run = ?"

        def work(tx: sqlite3.Connection) -> bool:
            last, had_network = tx.execute(state, (run,)).fetchone()
            results = read(last, BLOCK)
            for _, url, host, at, facts, head_differs in results:
                fold(tx, url, at, facts if had_network else facts_without_network(facts))
                if head_differs:
                    tx.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?)", (host, at))
            if results:
                tx.execute("UPDATE folding SET last = ? WHERE run = ?", (results[-1][0], run))
            return bool(results)

        while self._writes.write(work):
            yield
        self._writes.write(lambda tx: _forget(tx, self.now()))

    def forget_run(self, run: str) -> None:
        """It is settled, and its shard is removed."""
        self._writes.write(lambda tx: tx.execute("DELETE FROM folding WHERE run = ?", (run,)))

    def is_settling(self, run: str) -> bool:
        """Whether a run had ended, and was cut short while it was settled."""
        wanted = "SELECT COUNT(*) FROM folding WHERE run = ?"
        return self._has("folding") and bool(self._rows(wanted, run)[0][0])

    def take_earlier_version(self, scope: str, *, resume: bool) -> None:
        """Results of runs that a version before has left unfinished become observations; a run to be resumed is
        refused."""
        if not self._has("answers"):
            return
        wanted = "SELECT COUNT(*) FROM runs WHERE scope = ? AND state IN ('open', 'stopped')"
        if resume and self._rows(wanted, scope)[0][0]:
            raise SpanielError(Code.BAD_ARGS, field="--resume", reason=EARLIER_VERSION)
        left = "SELECT id, state FROM runs WHERE touched < ?"  # one that was just written to may still be running
        for run, state in self._rows(left, self.now() - 60.0):
            network = self._had_network(run) if state in ("open", "stopped") else state == "up"
            name = f"version 1, run {run}"
            for _ in self.settle(name, partial(self._answers, run), network=network):
                pass
            self._writes.write(lambda tx: tx.execute("DELETE FROM answers WHERE run = ?", (run,)))  # noqa: B023
            self._writes.write(lambda tx: tx.execute("DELETE FROM runs WHERE id = ?", (run,)))  # noqa: B023
            self.forget_run(name)

    def _answers(self, run: int, after: int, count: int) -> list[PastResult]:
        columns = "id, asked, host, at, verdict, status, code, reason, final_url, chain, text_sha256"
        wanted = f"SELECT {columns} FROM answers WHERE run = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
        rows = self._rows(wanted, run, after, count)
        return [(id_, url, host, at, tuple(facts), False) for id_, url, host, at, *facts in rows]

    def _had_network(self, run: int) -> bool:
        best = "SELECT MAX(reached) FROM answers WHERE run = ? GROUP BY host"
        return HostCounts.of(reach for (reach,) in self._rows(best, run)).had_network

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        nothing: list[tuple[Any, ...]] = []
        return self._reads.read(lambda db: db.execute(query, values).fetchall(), nothing)

    def _has(self, table: str) -> bool:
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))

    def pasts(self, host: str, urls: Sequence[str]) -> dict[str, Past]:
        """What is known of some URLs of a host."""
        since = self.now() - HEAD_DAYS * DAY
        differs = "SELECT 1 FROM hosts WHERE host = ? AND head_differs > ?"

        def work(db: sqlite3.Connection) -> dict[str, Past]:
            head_differs = bool(db.execute(differs, (host, since)).fetchone())
            return {url: past_of(db, url, head_differs=head_differs) for url in urls}

        return self._reads.read(work, {})

    def past(self, url: str, host: str = "") -> Past:
        return self.pasts(host, [url]).get(url, NOTHING)

    def of(self, url: str) -> list[Observed]:
        """All that is known of a URL, the oldest first."""
        nothing: list[Observed] = []
        return self._reads.read(lambda db: rows_of(db, url)[::-1], nothing)

    def last(self, url: str) -> Observed | None:
        """The newest."""
        rows = self.of(url)
        return rows[-1] if rows else None

    def uptime(self, url: str, days: float = 30) -> float | None:
        """The share of good checks; None where nothing is known."""
        return uptime(self.of(url), self.now() - days * DAY)


def _forget(tx: sqlite3.Connection, now: float) -> None:
    """What is very old; and where there are still too many rows, the oldest of them."""
    tx.execute("DELETE FROM health WHERE last_at < ?", (now - KEPT_DAYS * DAY,))
    tx.execute("DELETE FROM hosts WHERE head_differs < ?", (now - HEAD_DAYS * DAY,))
    many = tx.execute("SELECT COUNT(*) FROM health").fetchone()[0]
    if many > MOST_ROWS:
        edge = "SELECT last_at FROM health ORDER BY last_at DESC LIMIT 1 OFFSET ?"
        tx.execute(f"DELETE FROM health WHERE last_at < ({edge})", (MOST_ROWS - 1,))  # noqa: S608
