"""The rows of the history. Checks in a row that told the same are one row: a link that is well takes one for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.packing import pack, plain, unpack_chain
from spaniel.health.verdict import Link
from spaniel.verdicts import BAD, GOOD, MIN_INTERVAL, Past, Verdict

if TYPE_CHECKING:
    import sqlite3

    from spaniel.health.ports import Heard
    from spaniel.health.verdict import Checked
    from spaniel.verdicts import Hop

    Facts = tuple[str, int | None, str, str, str, str, str]  # verdict, status, code, reason, final URL, chain, text

MOST_ROWS = 100  # of a link: of one that comes and goes, the oldest are forgotten
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
    tx.execute(TOO_MANY, (asked, asked, MOST_ROWS - 1))


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
