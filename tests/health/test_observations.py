"""The rows of the history: what is one row, what counts of it, and how long it is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from spaniel.health.history import (
    HEAD_DAYS,
    KEPT_DAYS,
    MOST_ROWS_OF_LINK,
    OFFLINE,
    TABLES,
    History,
    HostCounts,
    Observed,
    _forget,
    facts_of,
    facts_without_network,
    fold,
    past_of,
    rows_of,
    uptime,
    without_network,
)  # fmt: skip
from spaniel.health.links import Checked, Link, Place
from spaniel.verdicts import DAY, MIN_INTERVAL, Evidence, Hop, Verdict

URL, NOW = "http://a.example/page", 1_800_000_000.0
CHAIN = (Hop(URL, 301), Hop("http://a.example/2", 302))


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(TABLES)
        yield made


def result(verdict: Verdict = Verdict.OK, status: int | None = 200, **facts: object) -> Checked:
    evidence = Evidence("GET", status, CHAIN, "http://a.example/3")
    link = Link(URL, ("part",), (Place("a.md", 1, 2),))
    return Checked(link, verdict, evidence=evidence, **facts)  # type: ignore[arg-type]


def folded(db: sqlite3.Connection, one: Checked, *times: float) -> list[Observed]:
    for time in times:
        fold(db, URL, time, facts_of(one))
    return rows_of(db, URL)


def test_a_row_has_all_that_was_told(db: sqlite3.Connection) -> None:
    found = result(Verdict.FAILING, 404, reason="Not here", code="http_4xx", text_sha256="ab")
    row = Observed(NOW, NOW, 1, "failing", 404, "http_4xx", "Not here", "http://a.example/3", CHAIN, "ab")
    assert folded(db, found, NOW) == [row]


def test_what_is_good_has_no_reason_and_no_status_is_none(db: sqlite3.Connection) -> None:
    [row] = folded(db, result(Verdict.MOVED, None, reason="It redirects"), NOW)
    assert (row.reason, row.status) == ("", None)


def test_text_in_any_script_is_kept(db: sqlite3.Connection) -> None:
    [row] = folded(db, result(Verdict.UNKNOWN, None, reason="nicht erreichbar: Straße \udcff"), NOW)
    assert row.reason == "nicht erreichbar: Straße \\udcff"


def test_equal_checks_are_one_row_but_a_failure_three_days_later_is_one_more(db: sqlite3.Connection) -> None:
    assert [(row.first_at, row.last_at, row.checks) for row in folded(db, result(), NOW, NOW, NOW + 9 * DAY)] == [
        (NOW, NOW + 9 * DAY, 3)
    ]
    later = NOW + 10 * DAY
    rows = folded(db, result(Verdict.FAILING, 404), later, later + MIN_INTERVAL - 1, later + MIN_INTERVAL)
    assert [(row.first_at - later, row.checks) for row in rows[:2]] == [(MIN_INTERVAL, 1), (0.0, 2)]
    assert past_of(db, URL, head_differs=False).failures == (later, later + MIN_INTERVAL)


def test_a_check_that_is_older_than_the_last_begins_a_row_of_its_own(db: sqlite3.Connection) -> None:
    assert [row.first_at for row in folded(db, result(), NOW, NOW - 1)] == [NOW, NOW - 1]


def test_of_a_link_that_comes_and_goes_a_hundred_rows_are_kept(db: sqlite3.Connection) -> None:
    for number in range(120):
        rows = folded(db, result(Verdict.OK if number % 2 else Verdict.UNKNOWN), NOW + number)
    assert MOST_ROWS_OF_LINK == 100
    assert (len(rows), rows[-1].first_at) == (100, NOW + 20)


def test_in_a_run_without_network_only_failures_are_taken_back() -> None:
    failed = result(Verdict.DEAD, 410, reason="Gone", failures=3)
    assert without_network(failed) == failed._replace(verdict=Verdict.UNKNOWN, reason=OFFLINE, failures=0)
    blocked = result(Verdict.BLOCKED, 403, reason="No")
    assert without_network(blocked) is blocked
    assert facts_without_network(("failing", 404, "c", "r", "u", "h", "t")) == (
        *("unknown", 404, "c", OFFLINE),
        *("u", "h", "t"),
    )
    assert facts_without_network(("blocked", 403, "c", "r", "u", "h", "t"))[3] == "r"


@pytest.mark.req("LH-01")
@pytest.mark.parametrize(
    ("counts", "is_up"),
    [
        (HostCounts(), True),
        (HostCounts(1, unanswered=1), False),
        (HostCounts(1), False),
        (HostCounts(1, looked_up=1), True),
        (HostCounts(9, looked_up=1, unanswered=8), True),
        (HostCounts(3, reached=1, unanswered=2), True),
        (HostCounts(4, reached=1, unanswered=3), False),
        (HostCounts(4, reached=2, unanswered=2), True),
        (HostCounts(9, reached=1, looked_up=8), True),
    ],
)
def test_no_network_is_where_lookups_get_no_result(counts: HostCounts, is_up: bool) -> None:
    assert counts.had_network is is_up


def row(verdict: str, first: float, last: float, checks: int, reason: str = "") -> Observed:
    return Observed(NOW + first * DAY, NOW + last * DAY, checks, verdict, 200, "", reason, "", (), "")


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([], None),
        ([row("ok", 1, 2, 3), row("failing", 3, 3, 1)], 0.75),
        ([row("moved", 1, 1, 1), row("changed", 2, 2, 1), row("unknown", 3, 3, 2)], 0.5),
        ([row("ok", 1, 1, 1), row("blocked", 2, 2, 9), row("rate-limited", 2, 2, 9)], 1.0),
        ([row("ok", 1, 1, 1), row("unknown", 2, 2, 9, OFFLINE)], 1.0),
        ([row("ok", -9, -1, 9), row("failing", 1, 1, 1)], 0.0),  # what is over does not count
        ([row("ok", -6, 2, 8), row("failing", 3, 3, 2)], 0.5),  # a quarter of eight
        ([row("ok", -100, 1, 2), row("failing", 3, 3, 1)], 0.5),  # one at the least
        ([row("ok", 0, 0, 5), row("failing", 1, 1, 5)], 0.5),
    ],
)
def test_uptime_is_the_share_of_good_checks_among_those_that_told_something(
    rows: list[Observed], share: float | None
) -> None:
    assert uptime(rows, NOW) == share


def test_what_is_old_is_forgotten_to_the_day(db: sqlite3.Connection) -> None:
    assert (KEPT_DAYS, HEAD_DAYS) == (400, 180)
    folded(db, result(), NOW - 400 * DAY)
    db.execute("INSERT INTO hosts VALUES ('a.example', ?)", (NOW - 180 * DAY,))
    _forget(db, NOW)
    assert [db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in ("health", "hosts")] == [1, 1]  # noqa: S608
    _forget(db, NOW + 1)
    assert [db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in ("health", "hosts")] == [0, 0]  # noqa: S608


def test_of_too_many_rows_the_oldest_are_forgotten(db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.health.history.MOST_ROWS", 3)
    for number in range(5):
        fold(db, f"http://{number}.example/", NOW - number, facts_of(result()))
    _forget(db, NOW)
    assert [found[0] for found in db.execute("SELECT last_at FROM health ORDER BY last_at")] == [NOW - 2, NOW - 1, NOW]


def test_the_file_has_the_version_that_released_spaniels_know(tmp_path: Path) -> None:
    """With any other number everybody's history would be set aside."""
    history = History(str(tmp_path / "health"))
    assert list(history.settle("run", lambda *_: [], network=True)) == []
    history.close()
    with closing(sqlite3.connect(tmp_path / "health" / "health.sqlite3")) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (1,)
