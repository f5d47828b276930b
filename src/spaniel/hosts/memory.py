"""What hosts asked for and lack, written down for other processes and later ones: a small file beside the page cache.

It only ever helps: whatever fails is as if nothing were known, and a damaged file is set aside. Times are the wall's,
since processes share no other clock; what is too far ahead comes from a clock that jumped, and is ignored.
"""

from __future__ import annotations

import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.database import Database, Layout
from spaniel.defaults import HTTP_ONLY_DAYS
from spaniel.hosts.retry_after import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

log = logging.getLogger("spaniel.hosts")

WEEK = HTTP_ONLY_DAYS * 86_400.0  # for which a host that lacks HTTPS is taken at its word
MOST = 10_000  # hosts
LAYOUT = Layout(
    "hosts",
    2,  # since 2 by origin
    "CREATE TABLE hosts (place TEXT PRIMARY KEY, not_before REAL NOT NULL, status INTEGER NOT NULL,"
    " http_only_until REAL NOT NULL) WITHOUT ROWID",
)


class Known(NamedTuple):
    """One origin that asked us to wait, or host without HTTPS; moments are seconds since 1970, 0 for nothing."""

    not_before: float = 0.0
    status: int = 0  # with which it asked for time
    http_only_until: float = 0.0

    def sane(self, now: float) -> Known:
        """Without what is over, and without what cannot have been said."""
        waits = now < self.not_before <= now + LONGEST
        lacks = now < self.http_only_until <= now + WEEK
        return Known(
            self.not_before if waits else 0.0, self.status if waits else 0, self.http_only_until if lacks else 0.0
        )


NOTHING = Known()


class Memory:
    """Reading never waits for a lock; writing is done by a thread, which `close` waits for."""

    def __init__(self, folder: str) -> None:
        self._reads, self._writes = Database(folder, LAYOUT, patience=0), Database(folder, LAYOUT)
        self._thread = ThreadPoolExecutor(1, "spaniel-hosts")
        self._warned = False

    def snapshot(self, now: float) -> dict[str, Known]:
        """Everything that is remembered and not over; nothing where that cannot be read."""
        try:
            return dict(self.entries(now))
        except (OSError, sqlite3.Error) as error:
            self._warn(error)
            return {}

    def asked_for_time(self, host: str, until: float, status: int, now: float) -> None:
        def later(known: Known) -> Known:
            return known if known.not_before >= until else known._replace(not_before=until, status=status)

        self._thread.submit(self._change, host, later, now)

    def lacks_https(self, host: str, now: float) -> None:
        self._thread.submit(self._change, host, lambda known: known._replace(http_only_until=now + WEEK), now)

    def entries(self, now: float) -> list[tuple[str, Known]]:
        """All that is remembered and not over, by name; trouble with the file is the caller's to report."""
        rows: list[tuple[object, ...]] = self._reads.read(
            lambda connection: connection.execute("SELECT * FROM hosts").fetchall(), []
        )
        found = [(str(place), _known(facts).sane(now)) for place, *facts in rows]
        return sorted(entry for entry in found if entry[1] != NOTHING)

    def forget(self, places: Iterable[str]) -> int:
        """Take these out; how many were there."""
        wanted = [(place,) for place in places]
        if not wanted or not self._reads.read(lambda _: True, otherwise=False):
            return 0
        return self._writes.write(lambda tx: tx.executemany("DELETE FROM hosts WHERE place = ?", wanted).rowcount)

    def close(self) -> None:
        self._thread.shutdown()
        self._reads.close()
        self._writes.close()

    def _change(self, host: str, change: Callable[[Known], Known], now: float) -> None:
        def work(tx: sqlite3.Connection) -> None:
            known = change(_row(tx, host).sane(now))
            tx.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?)", (host, *known))
            _forget_some(tx, now)

        try:
            self._writes.write(work)
        except (OSError, sqlite3.Error) as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        """Once: the fetch itself is not affected."""
        if not self._warned:
            self._warned = True
            log.warning("hosts_memory_failed: %s", getattr(error, "strerror", None) or error)


def _row(connection: sqlite3.Connection, host: str) -> Known:
    found = connection.execute("SELECT not_before, status, http_only_until FROM hosts WHERE place = ?", (host,))
    row = found.fetchone()
    return NOTHING if row is None else _known(row)


def _known(row: Sequence[Any]) -> Known:
    return Known(*row) if all(isinstance(number, int | float) for number in row) else NOTHING


def _forget_some(tx: sqlite3.Connection, now: float) -> None:
    """What is over; then, where there are too many, what will be over first."""
    if tx.execute("SELECT COUNT(*) FROM hosts").fetchone()[0] <= MOST:
        return
    tx.execute("DELETE FROM hosts WHERE max(not_before, http_only_until) <= ?", (now,))
    most = "SELECT place FROM hosts ORDER BY max(not_before, http_only_until) DESC LIMIT -1 OFFSET ?"
    tx.execute(f"DELETE FROM hosts WHERE place IN ({most})", (MOST,))  # noqa: S608  no word of it is from outside
