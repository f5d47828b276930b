"""Runs that did not come to their end: who may go on with them, and with what."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from spaniel.errors import SpanielError
from spaniel.health.history import OPEN, History, Unfinished, this_process
from spaniel.health.links import Finding, Link, Place, Remark
from spaniel.health.resuming import begin
from spaniel.health.spool import Spool
from spaniel.verdicts import Expected, Verdict
from tests.health.conftest import MONDAY, Wall
from tests.health.test_history import answer


def spool_of(*links: Link) -> Spool:
    spool = Spool(lambda url: (url, url.split("/")[2]))
    spool.take(links)
    return spool


LINKS = [Link(f"http://{name}.example/") for name in "abcd"]


def test_going_on_tells_what_was_answered_and_leaves_the_rest(history: History, wall: Wall) -> None:
    begun = begin(history, spool_of(*LINKS), "docs", resume=False)
    history.note(begun.run, [answer(Verdict.OK, wall.now, "http://a.example/")])
    history.note(begun.run, [answer(Verdict.FAILING, wall.now, "http://b.example/")])
    spool = spool_of(*LINKS)
    again = begin(history, spool, "docs", resume=True)
    assert (again.run, again.answered) == (begun.run, 2)
    assert again.remarks == ("going on: 2 of 4 links were answered before",)
    assert [checked.link.url for checked in spool.told()] == ["http://a.example/"]
    assert [checked.link.url for checked in spool.held()] == ["http://b.example/"]
    assert [host for host, _, _ in spool.hosts()] == ["c.example", "d.example"]


def test_a_changed_input_is_told(history: History, wall: Wall) -> None:
    begun = begin(history, spool_of(*LINKS), "docs", resume=False)
    history.note(begun.run, [answer(Verdict.OK, wall.now, link.url) for link in LINKS[:2]])
    other = LINKS[0]._replace(expected=Expected(length=3))  # it asserts more than was looked at
    spool = spool_of(other, *LINKS[1:], Link("http://new.example/"))
    again = begin(history, spool, "docs", resume=True)
    assert again.answered == 1
    assert "1 of those that were answered are no longer wanted" in again.remarks[1]
    assert {host for host, _, _ in spool.hosts()} == {"a.example", "c.example", "d.example", "new.example"}


def test_an_unfinished_run_is_told_of_and_one_without_any_begins_anew(history: History, wall: Wall) -> None:
    first = begin(history, spool_of(*LINKS), "docs", resume=True)
    assert first.remarks == ("there is no unfinished run of this to go on with; it begins anew",)
    history.note(first.run, [answer(Verdict.OK, wall.now)])
    second = begin(history, spool_of(*LINKS), "docs", resume=False)
    assert "--resume would go on with it" in second.remarks[0]
    assert second.run != first.run
    assert begin(history, spool_of(*LINKS), "others", resume=False).remarks == ()


ALIVE = """
import sys, time
from spaniel.health.history import History
history = History(sys.argv[1], now=lambda: float(sys.argv[2]))
history.begin("docs", "")
print("begun", flush=True)
time.sleep(600)
"""


def test_nobody_goes_on_with_a_run_that_is_alive(history: History, wall: Wall) -> None:
    command = [sys.executable, "-c", ALIVE, history.folder, str(wall.now)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(SpanielError, match="still under way"):
            begin(history, spool_of(*LINKS), "docs", resume=True)
        other.kill()
        other.wait()
        assert begin(history, spool_of(*LINKS), "docs", resume=True).answered == 0


HERE = this_process().rpartition(" ")[0]


@pytest.mark.parametrize(
    ("process", "seconds_ago", "is_alive"),
    [
        (f"{HERE} {os.getppid()}", 60, True),
        (f"{HERE} {os.getppid()}", 61, False),
        ("elsewhere 1", 60, True),  # nobody can ask there
        ("elsewhere 1", 61, False),
        (f"{HERE} odd", 0, True),
        (this_process(), 0, False),
    ],
    ids=["parent, a minute", "parent, longer", "elsewhere, a minute", "elsewhere, longer", "odd", "this process"],
)
def test_a_run_may_be_alive_for_a_minute_after_its_last_sign(
    history: History, process: str, seconds_ago: float, is_alive: bool
) -> None:
    assert history.is_alive(Unfinished(1, "", MONDAY - seconds_ago, process, OPEN, 0)) is is_alive


def test_a_run_that_was_stopped_goes_on_at_once_wherever_it_was(
    history: History, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "elsewhere")
        begun = begin(history, spool_of(*LINKS), "docs", resume=False)
    with pytest.raises(SpanielError, match="still under way"):
        begin(history, spool_of(*LINKS), "docs", resume=True)
    history.stop(begun.run)
    assert begin(history, spool_of(*LINKS), "docs", resume=True).run == begun.run


def test_only_one_goes_on_with_a_run(history: History, wall: Wall) -> None:
    run = history.begin("docs", "before")
    wall.now += 5
    history.note(run, [answer(Verdict.OK, wall.now)])
    found = history.unfinished("docs")
    assert found == Unfinished(run, "before", MONDAY + 5, this_process(), OPEN, 1)
    wall.now += 5
    assert history.go_on(found, "after")
    assert not history.go_on(found, "after")
    assert history.unfinished("docs") == found._replace(input="after", touched=MONDAY + 10)
    history.settle(run, network=True)
    assert history.unfinished("docs") is None
    assert (history.unfinished("other"), list(history.answers(run))) == (None, [])


@pytest.mark.req("LH-03")
def test_a_resumed_run_blames_the_lines_that_ask_for_a_missing_fragment(history: History, wall: Wall) -> None:
    url = "http://a.example/"
    link = Link(url, ("nope",), (Place("d.md", 1), Place("d.md", 2, 0, "nope")))
    begun = begin(history, spool_of(link), "docs", resume=False)
    found = answer(Verdict.OK, wall.now, url)
    missing = Finding(Remark.FRAGMENT_MISSING, "no anchor", "nope")
    history.note(begun.run, [found._replace(checked=found.checked._replace(link=link, findings=(missing,)))])
    spool = spool_of(link)
    assert begin(history, spool, "docs", resume=True).answered == 1
    assert [(one.link.url, one.link.places) for one in spool.told()] == [(url, (Place("d.md", 1),))]
    assert [(one.link.url, one.verdict, one.link.places) for one in spool.held()] == [
        (f"{url}#nope", Verdict.FAILING, (Place("d.md", 2, 0, "nope"),))
    ]
    more = spool_of(link._replace(fragments=("nope", "new")))  # which was not looked for: it is asked again
    assert begin(history, more, "docs", resume=True).answered == 0
