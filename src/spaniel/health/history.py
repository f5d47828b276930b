"""The history of links: a small SQLite file beside the database, or in the user's state folder.

A result is stored as an observation; a verdict is never reused. The answers of a run are written as they come, so that
a killed run can be resumed. They become observations when the run has ended: only then is it known whether its
failures count, for they do not in a run without a network.
"""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING, NamedTuple

from spaniel.database import Database, Layout
from spaniel.health.links import Link, pack, plain, unpack_chain, unpack_checked
from spaniel.health.ports import Heard, HostCounts
from spaniel.private_folder import open_shared_folder
from spaniel.verdicts import BAD, DAY, GOOD, MIN_INTERVAL, NOTHING, Past, Verdict

if TYPE_CHECKING:
    import sqlite3

    from spaniel.health.links import Checked
    from spaniel.verdicts import Hop

    Facts = tuple[str, int | None, str, str, str, str, str]  # verdict, status, code, reason, final URL, chain, text
    from collections.abc import Callable, Iterator, Sequence

MOST_ROWS_OF_LINK = 100  # of a link: of one that comes and goes, the oldest are forgotten
KEPT_DAYS = 400
NO_NETWORK = "no network"
OFFLINE = f"{NO_NETWORK}: the names of most hosts of this run could not be looked up"

TABLES = """
CREATE TABLE health (url TEXT NOT NULL, first_at REAL NOT NULL, last_at REAL NOT NULL, checks INTEGER NOT NULL,
    verdict TEXT NOT NULL, status INTEGER, code TEXT NOT NULL, reason TEXT NOT NULL, final_url TEXT NOT NULL,
    chain TEXT NOT NULL, text_sha256 TEXT NOT NULL, PRIMARY KEY (url, first_at)) WITHOUT ROWID;
CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, input TEXT NOT NULL, began REAL NOT NULL,
    touched REAL NOT NULL, state TEXT NOT NULL, process TEXT NOT NULL);
CREATE TABLE answers (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, asked TEXT NOT NULL, host TEXT NOT NULL,
    reached INTEGER NOT NULL, at REAL NOT NULL, verdict TEXT NOT NULL, status INTEGER, code TEXT NOT NULL,
    reason TEXT NOT NULL, final_url TEXT NOT NULL, chain TEXT NOT NULL, text_sha256 TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX answers_of_run ON answers (run, id);
CREATE TABLE hosts (host TEXT PRIMARY KEY, head_differs REAL NOT NULL) WITHOUT ROWID;
"""
LAST = """SELECT first_at, last_at, verdict, status, code, reason, final_url FROM health WHERE url = ?
    ORDER BY first_at DESC LIMIT 1"""
LONGER = """UPDATE health SET last_at = ?, checks = checks + 1, chain = ?, text_sha256 = ?
    WHERE url = ? AND first_at = ?"""
TOO_MANY = """DELETE FROM health WHERE url = ? AND first_at <
    (SELECT first_at FROM health WHERE url = ? ORDER BY first_at DESC LIMIT 1 OFFSET ?)"""
COLUMNS = "first_at, last_at, checks, verdict, status, code, reason, final_url, chain, text_sha256"


class Answer(NamedTuple):
    """One link that was asked in a run."""

    asked: str  # the URL
    host: str
    heard: Heard  # how far the request came
    at: float  # seconds since 1970
    checked: Checked
    head_differs: bool = False

    def row(self, run: int) -> tuple[int | str | float | bytes | None, ...]:
        """Where it stands in documents is known to whoever asks again."""
        link = self.checked.link
        checked = self.checked._replace(link=Link(link.url, link.fragments, expected=link.expected))
        facts = _facts(checked)
        if not all(text is None or isinstance(text, int) or text.isascii() for text in facts):
            facts = plain(facts)
        return run, self.asked, self.host, int(self.heard), self.at, *facts, pack(checked)


class Observed(NamedTuple):
    """Checks in a row that told the same. Times are seconds since 1970."""

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


def _facts(checked: Checked) -> Facts:
    evidence = checked.evidence
    chain = pack(evidence.chain).decode() if evidence.chain else ""
    reason = "" if checked.verdict in GOOD else checked.reason
    told = checked.verdict.value, evidence.status, checked.code, reason, evidence.final_url
    return *told, chain, checked.text_sha256


def without_network(checked: Checked) -> Checked:
    """What may be said of a failure in a run without a network (LH-01)."""
    if checked.verdict not in BAD:
        return checked
    return checked._replace(verdict=Verdict.UNKNOWN, reason=OFFLINE, failures=0)


def facts_without_network(facts: Facts) -> Facts:
    return (Verdict.UNKNOWN.value, facts[1], facts[2], OFFLINE, *facts[4:]) if facts[0] in BAD else facts


def uptime(rows: list[Observed], since: float) -> float | None:
    """The share of good checks among those that told something, since then; None where there were none.

    Of a row that began earlier, as many checks count as would fall into the time if they were evenly spread.
    """
    good = told = 0.0
    for row in rows:
        if row.last_at < since or row.verdict in ("blocked", "rate-limited") or row.reason.startswith(NO_NETWORK):
            continue
        lasted = row.last_at - row.first_at
        share = 1.0 if row.first_at >= since or not lasted else (row.last_at - since) / lasted
        checks = max(1.0, row.checks * share)
        told += checks
        good += checks if row.verdict in GOOD else 0.0
    return good / told if told else None


LAYOUT = Layout("health", 1, TABLES)
LOT = 500  # answers that become observations in one transaction: another run may write in between
HEAD_DAYS = 180  # for which it is remembered that HEAD and GET disagreed at a host
ABANDONED_AFTER = 86_400.0  # seconds without a sign of life, after which nobody will go on with a run
ALIVE_FOR = 60.0  # seconds without a sign of life in which a run may still be alive
MOST_ROWS = 5_000_000
OPEN, STOPPED, NETWORK_UP, NETWORK_DOWN = "open", "stopped", "up", "down"
UNSETTLED = (OPEN, STOPPED)


class Unfinished(NamedTuple):
    """A run that can go on."""

    id: int
    input: str
    touched: float
    process: str
    state: str
    answers: int


class History:
    """What fails is an `OSError` or a `sqlite3.Error`; whoever checks links says so once, and goes on without it.

    `is_shared`: the folder stands in one that people share, as a checkout. Then git is told to leave it alone.
    """

    def __init__(self, folder: str, *, is_shared: bool = False, now: Callable[[], float] = time.time) -> None:
        self.folder = os.path.abspath(folder)
        self._is_shared, self._now = is_shared, now
        self._reads = Database(self.folder, LAYOUT, patience=1.0, in_shared_folder=is_shared)
        self._writes = Database(self.folder, LAYOUT, in_shared_folder=is_shared)

    def close(self) -> None:
        self._reads.close()
        self._writes.close()

    @property
    def damage(self) -> str:
        """What became of a file that was damaged; empty where none was."""
        return self._writes.damage or self._reads.damage

    def begin(self, scope: str, input_: str) -> int:
        """A new run; what others have left behind is tidied up first."""
        if self._is_shared:
            self._keep_out_of_git()
        self._tidy()
        now = self._now()
        new = "INSERT INTO runs (scope, input, began, touched, state, process) VALUES (?, ?, ?, ?, ?, ?)"

        def work(tx: sqlite3.Connection) -> int:
            return int(tx.execute(new, (scope, input_, now, now, OPEN, this_process())).lastrowid or 0)

        return self._writes.write(work)

    def unfinished(self, scope: str) -> Unfinished | None:
        """The last run of this that did not come to its end."""
        columns = "id, input, touched, process, state, (SELECT COUNT(*) FROM answers WHERE run = runs.id)"
        wanted = f"SELECT {columns} FROM runs WHERE scope = ? AND state IN (?, ?) ORDER BY id DESC"  # noqa: S608

        def work(db: sqlite3.Connection) -> Unfinished | None:
            row = db.execute(wanted, (scope, *UNSETTLED)).fetchone()
            return None if row is None else Unfinished(*row)

        return self._reads.read(work, None)

    def is_alive(self, run: Unfinished) -> bool:
        """Whether another process is at it now."""
        if run.state == STOPPED or self._now() - run.touched > ALIVE_FOR or run.process == this_process():
            return False
        machine, _, number = run.process.rpartition(" ")
        return machine != platform.node() or not number.isdecimal() or _runs(int(number))

    def go_on(self, run: Unfinished, input_: str) -> bool:
        """From now on the run is this process's; False where another was quicker."""
        mine = "UPDATE runs SET state = ?, input = ?, touched = ?, process = ?"
        mine += " WHERE id = ? AND process = ? AND touched = ?"
        given = (OPEN, input_, self._now(), this_process(), run.id, run.process, run.touched)
        return self._writes.write(lambda tx: tx.execute(mine, given).rowcount) == 1

    def answers(self, run: int) -> Iterator[tuple[str, Heard, Checked]]:
        """The URLs that a run has asked, how far each request came, and what was reported."""
        after = 0
        wanted = "SELECT id, asked, reached, data FROM answers WHERE run = ? AND id > ? ORDER BY id LIMIT ?"

        none: list[tuple[int, str, int, bytes]] = []
        while rows := self._reads.read(lambda db: db.execute(wanted, (run, after, LOT)).fetchall(), none):  # noqa: B023  read at once
            for _, asked, heard, data in rows:
                yield asked, Heard(heard), unpack_checked(data)
            after = rows[-1][0]

    def note(self, run: int, answers: Sequence[Answer]) -> None:
        """Written before they are told: what was told is never asked again by a run that goes on."""
        now = self._now()
        new = "INSERT INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

        def work(tx: sqlite3.Connection) -> None:
            tx.executemany(new, [answer.row(run) for answer in answers])
            tx.execute("UPDATE runs SET touched = ? WHERE id = ?", (now, run))
            hosts = {answer.host for answer in answers if answer.head_differs}
            tx.executemany("INSERT OR REPLACE INTO hosts VALUES (?, ?)", [(host, now) for host in hosts])

        self._writes.write(work)

    def stop(self, run: int) -> None:
        """It ended before its end, and may go on later."""
        self._writes.write(lambda tx: tx.execute("UPDATE runs SET state = ? WHERE id = ?", (STOPPED, run)))

    def settle(self, run: int, *, network: bool) -> None:
        """A run has ended, and its answers become observations."""
        state = NETWORK_UP if network else NETWORK_DOWN
        self._writes.write(lambda tx: tx.execute("UPDATE runs SET state = ? WHERE id = ?", (state, run)))
        self._fold(run, network=network)
        self._writes.write(lambda tx: _forget(tx, self._now()))

    def pasts(self, urls: Sequence[tuple[str, str]]) -> dict[str, Past]:
        """What is known of some URLs, which are given with their hosts."""
        since = self._now() - HEAD_DAYS * DAY
        differs = "SELECT 1 FROM hosts WHERE host = ? AND head_differs > ?"

        def work(db: sqlite3.Connection) -> dict[str, Past]:
            hosts = {host: bool(db.execute(differs, (host, since)).fetchone()) for _, host in urls}
            return {url: past_of(db, url, head_differs=hosts[host]) for url, host in urls}

        return self._reads.read(work, {})

    def past(self, url: str, host: str = "") -> Past:
        return self.pasts([(url, host)]).get(url, NOTHING)

    def of(self, url: str) -> list[Observed]:
        """All that is known of a URL, the oldest first."""
        nothing: list[Observed] = []
        return self._reads.read(lambda db: rows_of(db, url)[::-1], nothing)

    def last(self, url: str) -> Observed | None:
        """The last that was told of it."""
        rows = self.of(url)
        return rows[-1] if rows else None

    def uptime(self, url: str, days: float = 30) -> float | None:
        """The share of good checks; None where nothing is known."""
        return uptime(self.of(url), self._now() - days * DAY)

    def _fold(self, run: int, *, network: bool) -> None:
        columns = "id, asked, at, verdict, status, code, reason, final_url, chain, text_sha256"
        wanted = f"SELECT {columns} FROM answers WHERE run = ? ORDER BY id LIMIT ?"  # noqa: S608  names of ours

        def work(tx: sqlite3.Connection) -> bool:
            rows = tx.execute(wanted, (run, LOT)).fetchall()
            for _, asked, at, *facts in rows:
                fold(tx, asked, at, tuple(facts) if network else facts_without_network(tuple(facts)))
            if rows:
                tx.execute("DELETE FROM answers WHERE run = ? AND id <= ?", (run, rows[-1][0]))
            return bool(rows)

        while self._writes.write(work):
            pass

    def _tidy(self) -> None:
        """Runs that were killed while they were settled, or that nobody went on with."""
        left = (
            "SELECT id, state FROM runs WHERE (state IN (?, ?) AND touched < ?)"
            " OR (state IN (?, ?) AND EXISTS (SELECT 1 FROM answers WHERE run = runs.id))"
        )
        long_ago = self._now() - ABANDONED_AFTER
        states = (*UNSETTLED, long_ago, NETWORK_UP, NETWORK_DOWN)
        for run, state in self._writes.write(lambda tx: tx.execute(left, states).fetchall()):
            self.settle(run, network=self._had_network(run) if state in UNSETTLED else state == NETWORK_UP)

    def _had_network(self, run: int) -> bool:
        counts, best = HostCounts(), "SELECT MAX(reached) FROM answers WHERE run = ? GROUP BY host"
        for (heard,) in self._writes.write(lambda tx: tx.execute(best, (run,)).fetchall()):
            counts = counts.with_one(heard)
        return counts.had_network

    def _keep_out_of_git(self) -> None:
        above, name = os.path.split(self.folder)
        with open_shared_folder(above, write=True) as outer, outer.folder(name, make=True) as folder:
            if ".gitignore" not in {entry.name for entry in folder.entries()}:
                folder.write(".gitignore", b"*\n")


def this_process() -> str:
    return f"{platform.node()} {os.getpid()}"


def _runs(process: int) -> bool:
    if os.name == "nt":  # where this signal would not ask, but end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _forget(tx: sqlite3.Connection, now: float) -> None:
    """What is very old, runs that are over; and where there are still too many rows, the oldest of them."""
    tx.execute("DELETE FROM runs WHERE state NOT IN (?, ?) AND touched < ?", (*UNSETTLED, now - ABANDONED_AFTER))
    tx.execute("DELETE FROM health WHERE last_at < ?", (now - KEPT_DAYS * DAY,))
    tx.execute("DELETE FROM hosts WHERE head_differs < ?", (now - HEAD_DAYS * DAY,))
    many = tx.execute("SELECT COUNT(*) FROM health").fetchone()[0]
    if many > MOST_ROWS:
        edge = "SELECT last_at FROM health ORDER BY last_at DESC LIMIT 1 OFFSET ?"
        tx.execute(f"DELETE FROM health WHERE last_at < ({edge})", (MOST_ROWS - 1,))  # noqa: S608
