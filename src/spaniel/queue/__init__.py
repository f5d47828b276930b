"""The queue of pages that could not be fetched: one row per page and profile, in a SQLite file beside the page cache.

A page that fails again keeps its row, which counts failures. A full queue refuses new pages: it never drops one.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from spaniel.database import Database, Layout
from spaniel.defaults import QUEUE_ENTRIES
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAYOUT = Layout(
    "queue",
    1,
    "CREATE TABLE queue (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, requested_url TEXT NOT NULL,"
    " profile TEXT NOT NULL, profile_file TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,"
    " attempts TEXT NOT NULL, added INTEGER NOT NULL, tried INTEGER NOT NULL, times INTEGER NOT NULL,"
    " UNIQUE (url, profile, profile_file))",
)
SELECT = (
    "SELECT id, url, requested_url, profile, profile_file, code, message, attempts, added, tried, times FROM queue "
)
SIZE_KEY = "spaniel.queue.max_entries"


class QueueSettings(NamedTuple):
    """The settings `[spaniel.queue]`, and the file."""

    folder: str
    max_entries: int = QUEUE_ENTRIES.default


class Failure(NamedTuple):
    """A page that could not be fetched, and why. URLs are without credentials."""

    url: str  # the canonical one
    requested_url: str
    profile: str  # by its name
    profile_file: str  # empty: a shipped one
    code: str
    message: str
    attempts: Sequence[dict[str, object]] = ()


class Entry(NamedTuple):
    """A row; times are whole seconds since 1970."""

    id: int
    url: str
    requested_url: str
    profile: str
    profile_file: str
    code: str
    message: str
    attempts: list[dict[str, object]]
    added: int
    tried: int  # the last time
    times: int  # that it failed


class Queue:
    """Opened on first use; close it."""

    def __init__(self, settings: QueueSettings) -> None:
        self._most = settings.max_entries
        self._file = Database(settings.folder, LAYOUT)

    def add(self, failure: Failure, now: float) -> None:
        """Add a page. `bad_args` if the queue is full, or the file cannot be written."""
        attempts = json.dumps(list(failure.attempts), ensure_ascii=False)

        def work(tx: sqlite3.Connection) -> None:
            known = tx.execute(
                "UPDATE queue SET requested_url = ?, code = ?, message = ?, attempts = ?, tried = ?, times = times + 1"
                " WHERE url = ? AND profile = ? AND profile_file = ?",
                (failure.requested_url, failure.code, failure.message, attempts, int(now), *_key(failure)),
            ).rowcount
            if known:
                return
            if tx.execute("SELECT COUNT(*) FROM queue").fetchone()[0] >= self._most:
                raise _full(self._most)
            tx.execute(
                "INSERT INTO queue VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                (*failure[:6], attempts, int(now), int(now)),
            )

        with self._mapped_errors():
            self._file.write(work)

    def entries(self) -> list[Entry]:
        """All of them, the oldest first."""
        with self._mapped_errors():
            return self._file.read(lambda tx: _entries(tx.execute(SELECT + "ORDER BY id")), [])

    def find(self, named: str) -> list[Entry]:
        """Entries by number, or by URL (one for each profile)."""
        number = int(named) if named.isascii() and named.isdigit() and len(named) < 19 else -1
        where = SELECT + "WHERE id = ? OR url = ? OR requested_url = ? ORDER BY id"
        with self._mapped_errors():
            return self._file.read(lambda tx: _entries(tx.execute(where, (number, named, named))), [])

    def remove(self, entries: Sequence[Entry]) -> int:
        """Remove entries; return how many were still there. One that failed again meanwhile stays."""
        rows = [(entry.id, entry.times) for entry in entries]
        if not rows:
            return 0

        def work(tx: sqlite3.Connection) -> int:
            return sum(tx.execute("DELETE FROM queue WHERE id = ? AND times = ?", row).rowcount for row in rows)

        with self._mapped_errors():
            return self._file.write(work)

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        """Convert errors of the file system and SQLite to `bad_args`."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SpanielError(Code.BAD_ARGS, field=self._file.path, reason=f"cannot be used: {reason}") from None


def _key(failure: Failure) -> tuple[str, str, str]:
    return failure.url, failure.profile, failure.profile_file


def _full(most: int) -> SpanielError:
    reason = f"the queue is full ({most:,} pages); take pages out with 'spaniel queue done', or raise this setting"
    return SpanielError(Code.BAD_ARGS, field=SIZE_KEY, reason=reason)


def _entries(rows: sqlite3.Cursor) -> list[Entry]:
    return [Entry._make((*row[:7], _attempts(row[7]), *row[8:])) for row in rows]


def _attempts(text: object) -> list[dict[str, object]]:
    """The recorded attempts; empty if the file was changed or damaged."""
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        return []
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
