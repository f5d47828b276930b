"""Runs that did not finish: which are resumed, and with what."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.health.history import History
from spaniel.health.links import Checked, Link, LinkFinding, Place, Remark
from spaniel.health.store import LinkStore, open_store
from spaniel.verdicts import DAY, Expected, Verdict
from tests import programs
from tests.health.conftest import MONDAY, Wall
from tests.health.test_history import commit, result

LINKS = [Link(f"http://{name}.example/") for name in "abcd"]


def store_of(history: History, *links: Link | Checked, scope: str = "docs", resume: bool = False) -> LinkStore:
    store = open_store(lambda url: (url, url.split("/")[2]), history, scope, resume=resume)
    store.take(links)
    return store


def stop_after(history: History, *verdicts: tuple[Verdict, Link]) -> None:
    """A run over the links, which is stopped after these results."""
    store = store_of(history, *LINKS)
    commit(store, *(result(verdict, MONDAY, link.url) for verdict, link in verdicts))
    store.close()


def test_resuming_reports_what_was_checked_and_leaves_the_rest(history: History) -> None:
    stop_after(history, (Verdict.OK, LINKS[0]), (Verdict.FAILING, LINKS[1]))
    store = store_of(history, *LINKS, resume=True)
    assert store.remarks == ["resuming: 2 of 4 links were checked before"]
    assert [checked.link.url for checked in store.earlier()] == ["http://a.example/", "http://b.example/"]
    assert [checked.link.url for checked in store.held()] == ["http://b.example/"]
    assert [host for host, _ in store.hosts()] == ["c.example", "d.example"]
    commit(store, result(Verdict.OK, MONDAY, LINKS[2].url))
    assert len(list(store.earlier())) == 2  # what was checked since is not among it
    store.close()


def test_places_are_those_of_the_documents_as_they_are_now(history: History) -> None:
    stop_after(history, (Verdict.OK, LINKS[0]))
    again = [link._replace(places=(Place("d.md", line),)) for line in (7, 9) for link in LINKS]
    store = store_of(history, *again, resume=True)
    assert [checked.link.places for checked in store.earlier()] == [(Place("d.md", 7), Place("d.md", 9))]
    store.close()


def test_changed_input_is_reported(history: History) -> None:
    stop_after(history, (Verdict.OK, LINKS[0]), (Verdict.OK, LINKS[1]))
    other = LINKS[0]._replace(expected=Expected(length=3))  # it asserts more than was looked at
    store = store_of(history, other, *LINKS[1:], Link("http://new.example/"), resume=True)
    assert "1 of 5 links were checked before" in store.remarks[0]
    assert "1 of those that were checked are no longer wanted" in store.remarks[1]
    assert {host for host, _ in store.hosts()} == {"a.example", "c.example", "d.example", "new.example"}
    store.close()


def test_run_that_is_killed_while_it_is_planned_again_is_resumed_as_it_was(history: History) -> None:
    stop_after(history, (Verdict.OK, LINKS[0]))

    def broken_off(_: str) -> tuple[str, str]:
        raise KeyboardInterrupt

    store = open_store(broken_off, history, "docs", resume=True)
    with pytest.raises(KeyboardInterrupt):
        store.take(LINKS)
    store.close()
    store = store_of(history, *LINKS, resume=True)
    assert store.remarks == ["resuming: 1 of 4 links were checked before"]
    store.close()


def test_unfinished_run_is_mentioned_and_without_one_the_run_begins_anew(history: History, wall: Wall) -> None:
    first = store_of(history, *LINKS, resume=True)
    assert first.remarks == ["there is no unfinished run of this to resume; it begins anew"]
    commit(first, result(Verdict.OK, wall.now, LINKS[0].url))
    first.close()
    second = store_of(history, *LINKS)
    assert "with 1 results; --resume would resume it" in second.remarks[0]
    assert list(second.earlier()) == []
    second.close()
    others = store_of(history, *LINKS, scope="others")
    assert others.remarks == []
    others.close()


ALIVE = """
import sys, time
from spaniel.health.history import History
from tests.health.test_unfinished_runs import LINKS, store_of
history = History(sys.argv[1], now=lambda: float(sys.argv[2]))
store = store_of(history, *LINKS)
print("begun", flush=True)
time.sleep(600)
"""


def test_run_of_another_process_is_not_resumed_until_it_ends(history: History, wall: Wall) -> None:
    """However long ago its last result was, and at once when it is killed."""
    command = [sys.executable, "-c", ALIVE, history.folder, str(wall.now)]
    with programs.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "begun\n"
        for seconds in (0.0, 61.0, 2 * DAY):
            wall.now = MONDAY + seconds
            with pytest.raises(SpanielError, match="still under way"):
                open_store(lambda url: (url, ""), history, "docs", resume=True)
        beside = store_of(history, *LINKS)  # one that does not resume it is no trouble
        assert beside.remarks == []
        other.kill()
        other.wait()
    beside.close()
    stop_after(history, (Verdict.OK, LINKS[0]))
    assert store_of(history, *LINKS, resume=True).remarks == ["resuming: 1 of 4 links were checked before"]


def test_only_one_process_resumes_a_run(history: History) -> None:
    stop_after(history, (Verdict.OK, LINKS[0]))
    store = store_of(history, *LINKS, resume=True)
    with pytest.raises(SpanielError, match="still under way"):
        open_store(lambda url: (url, ""), history, "docs", resume=True)
    for _ in store.settle(network=True):
        pass
    store.close()
    assert store_of(history, *LINKS, resume=True).remarks[0].startswith("there is no unfinished run")


def test_damaged_run_is_not_resumed(history: History) -> None:
    stop_after(history, (Verdict.OK, LINKS[0]))
    (file,) = Path(history.folder).glob("runs/*/shard-0000.sqlite3")
    file.write_bytes(b"this is no database" * 500)
    with pytest.raises(SpanielError, match=r"cannot be read .*leave --resume out"):
        open_store(lambda url: (url, ""), history, "docs", resume=True)


@pytest.mark.req("LH-03")
def test_a_resumed_run_blames_the_lines_that_ask_for_a_missing_fragment(history: History, wall: Wall) -> None:
    url = "http://a.example/"
    link = Link(url, ("nope",), (Place("d.md", 1), Place("d.md", 2, 0, "nope")))
    store = store_of(history, link)
    found = result(Verdict.OK, wall.now, url)
    missing = LinkFinding(Remark.FRAGMENT_MISSING, "no anchor", "nope")
    commit(store, found._replace(checked=found.checked._replace(link=link, findings=(missing,))))
    store.close()
    store = store_of(history, link, resume=True)
    assert store.remarks == ["resuming: 1 of 1 links were checked before"]
    for results in (store.earlier(), store.held()):
        assert [(one.link.places, one.findings) for one in results] == [(link.places, (missing,))]
    store.close()
    more = store_of(history, link._replace(fragments=("nope", "new")), resume=True)  # which was not looked for
    assert list(more.hosts()) == [("a.example", 1)]
    more.close()


OLD_TABLES = """
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
PRAGMA user_version = 1;
"""


@pytest.fixture
def of_before(history: History) -> History:
    """As the version before wrote it: observations, a run that was stopped, and one that no name server answered."""
    with history.open_runs():
        file = Path(history.folder, "health.sqlite3")
    file.touch(0o600)
    with closing(sqlite3.connect(file)) as db:
        db.executescript(OLD_TABLES)
        row = ("ok", 200, "", "", LINKS[0].url, "", "")
        db.execute(
            "INSERT INTO health VALUES (?, ?, ?, 5, ?, ?, ?, ?, ?, ?, ?)", (LINKS[0].url, MONDAY - 9, MONDAY - 5, *row)
        )
        db.execute("INSERT INTO hosts VALUES ('a.example', ?)", (MONDAY,))
        facts = ("failing", 404, "", "gone", LINKS[1].url, "", "", b"")
        for run, scope, state, reached in ((1, "docs", "stopped", 1), (2, "others", "open", -2)):
            db.execute("INSERT INTO runs VALUES (?, ?, '', 0, ?, ?, 'here 1')", (run, scope, MONDAY - 100, state))
            host = LINKS[run].url.split("/")[2]
            answer = (run, LINKS[run].url, host, reached, MONDAY - 100, *facts)
            db.execute("INSERT INTO answers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", answer)
        db.commit()
    return history


def test_history_of_the_version_before_is_used_and_its_results_are_kept(of_before: History) -> None:
    store = store_of(of_before, *LINKS)
    (task,) = store.of_host("a.example", 0, 9)
    assert (task.past.last_good, task.past.head_differs) == (MONDAY - 5, True)
    assert of_before.past(LINKS[1].url).failures == (MONDAY - 100,)
    assert of_before.past(LINKS[2].url).failures == ()  # there was no network
    assert of_before.of(LINKS[2].url)[0].verdict == "unknown"
    store.close()
    store_of(of_before, *LINKS, resume=True).close()  # there is nothing of that version any more
    assert of_before.of(LINKS[1].url)[0].checks == 1


def test_unfinished_run_of_the_version_before_is_refused(of_before: History) -> None:
    with pytest.raises(
        SpanielError, match=r"begun by an earlier version .*Finish it with that version, or leave --resume"
    ):
        open_store(lambda url: (url, ""), of_before, "docs", resume=True)
    assert of_before.past(LINKS[1].url).failures == ()  # it is left as it was
