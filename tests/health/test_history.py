"""The history: observations, never verdicts that are used again; runs that end, are killed, and write at once."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spaniel.health.history import ABANDONED_AFTER, MOST_ROWS_OF_LINK, History, HostReach, facts_of, fold
from spaniel.health.links import Checked, Link
from spaniel.health.store import LinkResult, LinkStore, LinkTask, open_store
from spaniel.registry.database import create, open_registry
from spaniel.verdicts import DAY, MIN_INTERVAL, Evidence, Hop, Verdict, failures_apart
from tests import programs
from tests.health.conftest import MONDAY, Wall

URL, HOST = "http://a.example/page", "a.example"


def result(verdict: Verdict, at: float, url: str = URL, **facts: object) -> LinkResult:
    status = {Verdict.OK: 200, Verdict.FAILING: 404, Verdict.DEAD: 410, Verdict.UNKNOWN: 500}.get(verdict, 200)
    evidence = facts.pop("evidence", Evidence("GET", status, final_url=url))
    checked = Checked(Link(url), verdict, evidence=evidence, **facts)  # type: ignore[arg-type]
    return LinkResult(LinkTask(0, url, checked.link), checked, HostReach.ANSWER, at)


def begin(history: History, *urls: str, scope: str = "test") -> LinkStore:
    """A run over these links, which are at hosts of their own."""
    store = open_store(lambda url: (url, url.split("/")[2]), history, scope)
    store.take(map(Link, urls))
    return store


def commit(store: LinkStore, *results: LinkResult) -> None:
    """Results, each of the link with its URL."""
    tasks = {task.url: task for host, _ in store.hosts() for task in store.of_host(host, 0, 5000)}
    store.commit([found._replace(task=tasks[found.task.url]) for found in results])


def observe(history: History, *results: LinkResult, network: bool = True) -> None:
    """A run with these results."""
    store = begin(history, *(found.task.url for found in results))
    commit(store, *results)
    for _ in store.settle(network=network):
        pass
    assert store.trouble == ""
    store.close()


def settle(history: History, *results: LinkResult, network: bool = True) -> None:
    """The same without a run."""
    rows = [
        (n, found.task.url, found.task.url.split("/")[2], found.at, facts_of(found.checked), found.head_differs)
        for n, found in enumerate(results)
    ]
    for _ in history.settle("run", lambda after, count: rows[after + 1 : after + 1 + count], network=network):
        pass
    history.forget_run("run")


def check(history: History, wall: Wall, *verdicts: Verdict, url: str = URL, network: bool = True) -> None:
    """A run in which a link was asked, and a day that goes by after it."""
    for verdict in verdicts:
        settle(history, result(verdict, wall.now, url), network=network)
        wall.now += DAY


def test_what_is_never_written_is_not_known_and_makes_no_file(history: History) -> None:
    assert (history.past(URL).failures, history.of(URL), history.uptime(URL), history.last(URL)) == ((), [], None, None)
    assert not os.path.exists(history.folder)


@pytest.mark.req("LH-02")
def test_failures_count_from_the_last_good_check_on_and_three_days_apart(history: History, wall: Wall) -> None:
    ok, failing = Verdict.OK, Verdict.FAILING
    check(history, wall, failing, failing, failing, failing, ok, failing, failing, failing)
    assert history.past(URL).failures == (MONDAY + 5 * DAY,)
    assert history.past(URL).last_good == MONDAY + 4 * DAY
    check(history, wall, failing)  # three days after the first
    assert history.past(URL).failures == (MONDAY + 5 * DAY, MONDAY + 8 * DAY)


@pytest.mark.req("LH-02")
def test_what_counts_is_the_same_as_if_every_check_had_been_kept(history: History, wall: Wall) -> None:
    every: list[float] = []
    for hours in (1, 40, 30, 2, 71, 73, 72, 1, 1, 100, 200, 3):
        check(history, wall, Verdict.FAILING)
        every.append(wall.now - DAY)
        assert failures_apart(history.past(URL).failures) == failures_apart(tuple(every))
        wall.now += hours * 3600 - DAY
    assert MIN_INTERVAL == 3 * DAY


@pytest.mark.req("LH-02")
def test_a_check_that_told_nothing_is_neither_good_nor_a_failure(history: History, wall: Wall) -> None:
    check(history, wall, Verdict.OK, Verdict.FAILING, Verdict.UNKNOWN, Verdict.BLOCKED, Verdict.RATE_LIMITED)
    assert history.past(URL).failures == (MONDAY + DAY,)
    assert history.past(URL).last_good == MONDAY


@pytest.mark.req("LH-01")
def test_a_run_without_network_has_no_failures(history: History, wall: Wall) -> None:
    check(history, wall, Verdict.FAILING, Verdict.DEAD, network=False)
    assert history.past(URL).failures == ()
    assert {(row.verdict, row.reason.split(":")[0]) for row in history.of(URL)} == {("unknown", "no network")}
    assert history.uptime(URL) is None
    check(history, wall, Verdict.FAILING)  # the control
    assert len(history.past(URL).failures) == 1


def test_uptime_is_the_share_of_good_checks_of_thirty_days(history: History, wall: Wall) -> None:
    check(history, wall, *[Verdict.FAILING] * 40, *[Verdict.OK] * 27, *[Verdict.FAILING] * 3)
    uptime = history.uptime(URL)
    assert uptime is not None
    assert uptime == pytest.approx(27 / 30, abs=0.03)
    assert history.of(URL)[-2].verdict == "ok"
    assert history.of(URL)[-2].checks == 27


def test_it_does_not_grow_with_the_number_of_checks(history: History, wall: Wall) -> None:
    check(history, wall, *[Verdict.OK] * 50)
    assert [row.checks for row in history.of(URL)] == [50]
    turns = [Verdict.OK, Verdict.UNKNOWN] * MOST_ROWS_OF_LINK
    settle(history, *(result(verdict, wall.now + n) for n, verdict in enumerate(turns)))
    assert len(history.of(URL)) == MOST_ROWS_OF_LINK
    wall.now += 500 * DAY
    check(history, wall, Verdict.OK, url="http://b.example/")
    assert history.of(URL) == []


def test_the_last_good_chain_and_text_are_kept_for_the_next_check(history: History, wall: Wall) -> None:
    chain = (Hop(URL, 301),)
    evidence = Evidence("GET", 200, chain, "http://a.example/new")
    moved = result(Verdict.MOVED, wall.now, evidence=evidence, text_sha256="ab")
    observe(history, moved, result(Verdict.OK, wall.now, "http://a.example/other")._replace(head_differs=True))
    check(history, wall, Verdict.FAILING)
    past = history.past(URL, HOST)
    assert (past.chain, past.final_url, past.text_sha256, past.head_differs) == (
        *(chain, "http://a.example/new", "ab"),
        True,
    )
    wall.now += 200 * DAY
    assert not history.past(URL, HOST).head_differs  # it is tried again after half a year


def test_a_run_that_nobody_went_on_with_is_settled_by_what_it_had_heard(history: History, wall: Wall) -> None:
    silent = [
        result(Verdict.FAILING, wall.now, f"http://{n}.example/")._replace(reach=HostReach.NO_LOOKUP_ANSWER)
        for n in range(3)
    ]
    results = [*silent, result(Verdict.OK, wall.now, "http://fine.example/")]
    cut_off = begin(history, *(found.task.url for found in results), scope="off")
    commit(cut_off, *results)
    cut_off.close()
    well = begin(history, URL, scope="on")
    commit(well, result(Verdict.FAILING, wall.now))
    well.close()
    wall.now += ABANDONED_AFTER - 1
    begin(history).close()
    assert history.past(URL).failures == ()  # it may still be resumed
    wall.now += 2
    begin(history).close()
    assert history.past(URL).failures == (MONDAY,)
    assert history.past("http://0.example/").failures == ()
    assert history.past("http://fine.example/").last_good == MONDAY


def test_answers_are_read_lot_by_lot_and_the_last_observation_is_the_newest(
    history: History, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spaniel.health.history.BLOCK", 2)
    urls = [f"http://{n}.example/" for n in range(5)]
    observe(history, *(result(Verdict.OK, wall.now, url) for url in urls))
    assert [history.of(url)[0].checks for url in urls] == [1] * 5
    check(history, wall, Verdict.OK, Verdict.FAILING, Verdict.UNKNOWN)
    last = history.last(URL)
    assert last is not None
    assert last.verdict == "unknown"


@pytest.mark.parametrize(("network", "failures"), [(True, 1), (False, 0)])
def test_a_run_that_was_killed_while_it_was_settled_is_settled_as_it_was_to_be(
    history: History, wall: Wall, monkeypatch: pytest.MonkeyPatch, network: bool, failures: int
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr("spaniel.health.history.fold", lambda *_, **__: sys.exit())
        with pytest.raises(SystemExit):
            observe(history, result(Verdict.FAILING, wall.now), network=network)
    gc.collect()  # its locks are free, as of a process that was killed
    begin(history).close()
    assert len(history.past(URL).failures) == failures


def test_that_head_and_get_disagree_is_known_for_half_a_year(history: History, wall: Wall) -> None:
    differs = result(Verdict.OK, wall.now)._replace(head_differs=True)
    observe(history, differs, result(Verdict.OK, wall.now, "http://b.example/"))
    wall.now += 180 * DAY - 1
    assert history.past(URL, HOST).head_differs
    assert not history.past("http://b.example/", "b.example").head_differs
    wall.now += 1
    assert not history.past(URL, HOST).head_differs


def test_uptime_looks_thirty_days_back_unless_it_is_told_otherwise(history: History, wall: Wall) -> None:
    check(history, wall, Verdict.FAILING, Verdict.OK)
    wall.now = MONDAY + 30 * DAY
    assert history.uptime(URL) == 0.5
    assert history.uptime(URL, 29.5) == 1.0
    wall.now += 1
    assert history.uptime(URL) == 1.0


def test_two_runs_at_once_lose_nothing(history: History, wall: Wall) -> None:
    writer = (
        "import sys\n"
        "from tests.health.test_history import observe, result\n"
        "from spaniel.health.history import History\n"
        "from spaniel.health.links import Verdict\n"
        "history = History(sys.argv[1], now=lambda: 1_800_000_000.0)\n"
        "at = 1_800_000_000.0 + int(sys.argv[2])\n"
        "observe(history, *(result(Verdict.OK, at + n, f'http://{n}.example/') for n in range(100)))\n"
    )
    runs = [programs.Popen([sys.executable, "-c", writer, history.folder, str(n * 1000)]) for n in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    for n in range(100):
        assert sum(row.checks for row in history.of(f"http://{n}.example/")) == 2


def test_a_damaged_file_is_set_aside(history: History, wall: Wall) -> None:
    check(history, wall, Verdict.OK)
    history.close()
    file = Path(history.folder, "health.sqlite3")
    file.write_bytes(b"this is no database" * 100)
    assert history.past(URL).last_good is None
    check(history, wall, Verdict.OK)
    assert history.past(URL).last_good is not None
    assert Path(history.folder, "health.sqlite3.damaged").read_bytes().startswith(b"this is no database")


def test_beside_a_database_it_is_seen_by_neither_git_nor_readers(tmp_path: Path, wall: Wall) -> None:
    folder = tmp_path / "urls"
    create(str(folder))
    folder.chmod(0o775)  # as a checkout with a umask of 002
    (folder / "a.example.yaml").write_text("---\n---\n_path: /page\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    history = History(f"{folder}/.spaniel", is_shared=True, now=wall)
    observe(history, result(Verdict.OK, wall.now))
    assert history.past(URL).last_good == MONDAY
    assert (folder / ".spaniel/.gitignore").read_text() == "*\n"
    (folder / ".spaniel/.gitignore").write_text("*\n# mine\n")
    observe(history, result(Verdict.OK, wall.now))
    assert (folder / ".spaniel/.gitignore").read_text() == "*\n# mine\n"
    history.close()
    status = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"], check=True, capture_output=True, text=True
    )
    assert {line[3:] for line in status.stdout.splitlines()} == {"urls/a.example.yaml", "urls/registry.toml"}
    registry = open_registry(str(folder))
    assert [record.url for record in registry] == [URL]
    assert registry.strangers() == []


def test_a_folder_that_everybody_may_write_to_keeps_no_history(tmp_path: Path, wall: Wall) -> None:
    folder = tmp_path / "urls"
    create(str(folder))
    folder.chmod(0o777)
    history = History(f"{folder}/.spaniel", is_shared=True, now=wall)
    with pytest.raises(PermissionError, match="everyone may write"):
        history.open_runs()
    assert "everyone may write" in begin(history).remarks[0]


def test_text_that_is_no_unicode_is_kept_as_its_escapes(history: History, wall: Wall) -> None:
    observe(history, result(Verdict.UNKNOWN, wall.now, reason="half \udc80"))
    assert [row.reason for row in history.of(URL)] == ["half \\udc80"]


def test_a_kill_while_answers_become_observations_loses_none_and_counts_none_twice(
    history: History, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [result(Verdict.OK, wall.now, f"http://{n}.example/") for n in range(1200)]
    calls = iter(range(10_000))

    def killed(*given: Any) -> None:
        if next(calls) == 700:
            raise KeyboardInterrupt
        fold(*given)

    monkeypatch.setattr("spaniel.health.history.fold", killed)
    with pytest.raises(KeyboardInterrupt):
        observe(history, *results)
    monkeypatch.undo()
    gc.collect()  # its locks are free, as of a process that was killed
    begin(history).close()
    assert [history.of(f"http://{n}.example/")[0].checks for n in range(1200)] == [1] * 1200
