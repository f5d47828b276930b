"""The history of links: a small SQLite file beside the database, or in the user's state folder.

What was told of a link is an observation here, never a verdict that is used again. The answers of a run are written
as they come, so that a run that was killed can go on. They become observations when the run has ended: only then is
it known whether its failures count, for they do not in a run without a network.
"""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING, NamedTuple

from spaniel.database import Database, Layout
from spaniel.health import observations
from spaniel.health.observations import Observed, facts_without_network, fold, past_of, rows_of
from spaniel.health.packing import unpack_checked
from spaniel.health.ports import Heard, HostCounts
from spaniel.private_folder import open_shared_folder
from spaniel.verdicts import DAY, NOTHING, Past

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from spaniel.health.observations import Answer
    from spaniel.health.verdict import Checked

LAYOUT = Layout("health", 1, observations.TABLES)
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
        return observations.uptime(self.of(url), self._now() - days * DAY)

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
    tx.execute("DELETE FROM health WHERE last_at < ?", (now - observations.KEPT_DAYS * DAY,))
    tx.execute("DELETE FROM hosts WHERE head_differs < ?", (now - HEAD_DAYS * DAY,))
    many = tx.execute("SELECT COUNT(*) FROM health").fetchone()[0]
    if many > MOST_ROWS:
        edge = "SELECT last_at FROM health ORDER BY last_at DESC LIMIT 1 OFFSET ?"
        tx.execute(f"DELETE FROM health WHERE last_at < ({edge})", (MOST_ROWS - 1,))  # noqa: S608
