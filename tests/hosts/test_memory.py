"""What hosts asked for and lack, remembered from one process to the next."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.hosts import AskedToWait, Hosts, Memory, Politeness
from spaniel.hosts import memory as module
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock
from tests import programs

HOST = "site.example"
BUSY = {"retry-after": "100"}
PATIENT = Politeness(respect_delays=True)


def remembering(folder: Path, clock: FakeClock) -> tuple[Hosts, Memory]:
    memory = Memory(str(folder / "hosts"))
    return Hosts(clock, memory), memory


@pytest.mark.req("FG-22", "FG-13")
def test_another_process_knows_what_a_host_asked_for_and_lacks(tmp_path: Path) -> None:
    """A real one, with the system clock."""
    code = f"""
import sys
from spaniel.clock import SystemClock
from spaniel.hosts import Hosts, Memory
memory = Memory({str(tmp_path / "hosts")!r})
hosts = Hosts(SystemClock(), memory)
hosts.answered("busy.example", 429, {{"retry-after": "1000"}})
hosts.answered("ill.example", 503, {{"retry-after": "2000"}})
hosts.set_http_only("old.example")
memory.close()
"""
    programs.run([sys.executable, "-c", code], check=True, timeout=60)
    clock = FakeClock(datetime.now(UTC))
    hosts, memory = remembering(tmp_path, clock)
    busy, ill = hosts.asked("busy.example"), hosts.asked("ill.example")
    assert busy is not None
    assert ill is not None
    assert (busy.status, ill.status) == (429, 503)
    assert 900 < busy.seconds <= 1000
    assert 1900 < ill.seconds <= 2000
    assert hosts.is_http_only("old.example")
    assert hosts.asked("old.example") is None
    assert not hosts.is_http_only("busy.example")
    memory.close()


@pytest.mark.req("FG-22")
def test_it_is_over_when_its_time_has_come(tmp_path: Path) -> None:
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    hosts.answered(HOST, 429, BUSY)
    memory.close()
    later, memory = remembering(tmp_path, clock)
    assert later.asked(HOST) == AskedToWait(429, 100)
    clock.advance(40)
    assert later.asked(HOST) == AskedToWait(429, 60)
    clock.advance(60)
    assert later.asked(HOST) is None
    memory.close()


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(("status", "code"), [(429, Code.HTTP_4XX), (503, Code.HTTP_5XX)])
def test_refusal_has_the_status_of_the_host(status: int, code: Code) -> None:
    error = AskedToWait(status, 59.2).refusal()
    assert (error.code, error.details["status"], error.details["retry_after"]) == (code, status, "60")
    assert error.retryable
    assert error.message.startswith(f"The server returned {status} ")


@pytest.mark.req("FG-22")
async def test_a_host_is_left_alone_for_as_long_as_it_asked_or_the_wait_is_refused(tmp_path: Path) -> None:
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    hosts.answered(HOST, 503, {"retry-after": "50"})
    await hosts.wait(HOST, Deadline(60), Politeness())  # which respects no delays
    assert clock.slept == []
    for deadline, politeness in ((Deadline(60), PATIENT._replace(longest_wait=49)), (Deadline(49), PATIENT)):
        with pytest.raises(SpanielError) as caught:
            await hosts.wait(HOST, deadline, politeness)
        assert caught.value.details["retry_after"] == "50"
    assert clock.slept == []
    deadline = Deadline(60)
    await hosts.wait(HOST, deadline, PATIENT)
    assert (clock.slept, deadline.phase) == ([50], "queue")
    await hosts.wait(HOST, Deadline(1), PATIENT)
    assert clock.slept == [50]
    memory.close()


async def test_the_longest_of_what_was_said_here_and_elsewhere_counts(tmp_path: Path) -> None:
    clock = FakeClock()
    here, memory = remembering(tmp_path, clock)
    there, other = remembering(tmp_path, clock)
    there.answered(HOST, 429, {"retry-after": "300"})
    other.close()
    here.answered(HOST, 503, {"retry-after": "200"})
    assert here.asked(HOST) == AskedToWait(429, 300)
    memory.close()
    again, memory = remembering(tmp_path, clock)
    assert again.asked(HOST) == AskedToWait(429, 300)  # what was said last did not shorten it
    memory.close()


def test_clock_that_jumps_causes_no_endless_wait(tmp_path: Path) -> None:
    clock = FakeClock(datetime(2090, 1, 1, tzinfo=UTC))
    hosts, memory = remembering(tmp_path, clock)
    hosts.answered(HOST, 429, BUSY)
    hosts.set_http_only(HOST)
    memory.close()
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    assert (hosts.asked(HOST), hosts.is_http_only(HOST)) == (None, False)
    hosts.answered(HOST, 429, BUSY)  # and what is said now is written over it
    memory.close()
    hosts, memory = remembering(tmp_path, clock)
    assert hosts.asked(HOST) == AskedToWait(429, 100)
    memory.close()


@pytest.mark.req("FG-13")
def test_a_host_without_https_is_believed_for_a_week(tmp_path: Path) -> None:
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    hosts.set_http_only(HOST)
    memory.close()
    for_itself, (later, memory) = Hosts(clock), remembering(tmp_path, clock)
    for_itself.set_http_only(HOST)
    clock.advance(timedelta(days=7).total_seconds() - 1)
    assert for_itself.is_http_only(HOST)
    assert later.is_http_only(HOST)
    clock.advance(1)
    assert not for_itself.is_http_only(HOST)
    assert not later.is_http_only(HOST)
    memory.close()


@pytest.mark.req("FG-22", "FG-13")
def test_what_is_over_and_what_cannot_have_been_said_is_not_known() -> None:
    now, day, week = 1e9, 86_400.0, 7 * 86_400.0
    longest = module.Known(now + day, 429, now + week)
    assert longest.sane(now) == longest
    shortest = module.Known(now + 1, 503, now + 1)
    assert shortest.sane(now) == shortest
    assert module.Known(now, 429, now).sane(now) == module.Known(now + day + 1, 429, now + week + 1).sane(now)
    assert module.Known(now, 429, now).sane(now) == module.NOTHING == (0.0, 0, 0.0)


@pytest.mark.req("FG-22", "FG-13")
def test_one_thing_that_is_said_of_a_host_leaves_the_other(tmp_path: Path) -> None:
    memory = Memory(str(tmp_path / "hosts"))
    memory.asked_for_time(HOST, 1100.0, 429, 1000.0)
    memory.lacks_https(HOST, 1000.0)
    memory.asked_for_time(HOST, 1100.0, 503, 1000.0)  # no longer than before: what was said first stands
    memory.close()
    memory = Memory(str(tmp_path / "hosts"))
    assert memory.snapshot(1000.0).get(HOST, module.NOTHING) == (1100.0, 429, 1000.0 + 7 * 86_400)
    assert memory.snapshot(1000.0).get("other.example", module.NOTHING) == module.NOTHING
    memory.close()


def test_where_there_is_no_room_what_is_over_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    memory = Memory(str(tmp_path / "hosts"))
    for number in range(3):  # as many as fit
        memory.asked_for_time(f"h{number}.example", 1010.0 + number, 429, 1000.0)
    memory.close()
    assert written(tmp_path) == {"h0.example", "h1.example", "h2.example"}
    memory = Memory(str(tmp_path / "hosts"))
    memory.asked_for_time("new.example", 1100.0, 429, 1011.0)
    memory.close()
    assert written(tmp_path) == {"h2.example", "new.example"}


def written(folder: Path) -> set[str]:
    rows = sqlite3.connect(folder / "hosts" / "hosts.sqlite3")
    hosts = {host for (host,) in rows.execute("SELECT place FROM hosts")}
    rows.close()
    return hosts


def test_no_more_are_remembered_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    for number in range(30):
        hosts.answered(f"h{number}.example", 429, {"retry-after": str(1000 + number)})
    memory.close()
    assert written(tmp_path) == {f"h{number}.example" for number in range(20, 30)}  # those that last longest


def test_unusable_file_is_logged_once_and_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "hosts").write_text("no folder")
    clock = FakeClock()
    with caplog.at_level(logging.WARNING, "spaniel.hosts"):
        hosts, memory = remembering(tmp_path, clock)
        hosts.answered(HOST, 429, BUSY)
        hosts.set_http_only(HOST)
        memory.close()
    assert (hosts.asked(HOST), hosts.is_http_only(HOST)) == (AskedToWait(429, 100), True)  # this process knows it still
    expected = [("spaniel.hosts", "hosts_memory_failed: it is not a folder")]
    assert [(record.name, record.getMessage()) for record in caplog.records] == expected


@pytest.mark.parametrize("row", [("soon", 429, 0), (1e300, 429, 1e300), (-1, 429, -1), (b"", b"", b"")])
def test_a_row_that_holds_anything_else_is_as_none(tmp_path: Path, row: tuple[object, ...]) -> None:
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    hosts.set_http_only("other.example")
    memory.close()
    with sqlite3.connect(tmp_path / "hosts" / "hosts.sqlite3") as file:
        file.execute("INSERT INTO hosts VALUES (?, ?, ?, ?)", (HOST, *row))
    file.close()
    hosts, memory = remembering(tmp_path, clock)
    assert (hosts.asked(HOST), hosts.is_http_only(HOST)) == (None, False)
    assert hosts.is_http_only("other.example")
    memory.close()


async def test_writing_does_not_block_the_loop(tmp_path: Path) -> None:
    """Another process holds the lock: the loop continues, and the entry is written later."""
    clock = FakeClock()
    hosts, memory = remembering(tmp_path, clock)
    hosts.set_http_only("first.example")
    while not memory.snapshot(clock.time()).get("first.example", module.NOTHING).http_only_until:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    lock = sqlite3.connect(tmp_path / "hosts" / "hosts.sqlite3", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    hosts.answered(HOST, 429, BUSY)  # returns at once
    assert memory.snapshot(clock.time()).get(HOST, module.NOTHING) == module.NOTHING
    lock.execute("ROLLBACK")
    lock.close()
    memory.close()
    later, memory = remembering(tmp_path, clock)
    assert later.asked(HOST) == AskedToWait(429, 100)
    memory.close()


def test_what_is_remembered_can_be_listed_and_forgotten(tmp_path: Path) -> None:
    memory = Memory(str(tmp_path / "hosts"))
    assert memory.forget([]) == memory.forget(["http://a.example"]) == 0
    memory.asked_for_time("http://a.example", 200.0, 429, 100.0)
    memory.lacks_https("b.example", 100.0)
    memory.close()
    again = Memory(str(tmp_path / "hosts"))
    assert [place for place, _ in again.entries(100.0)] == ["b.example", "http://a.example"]
    assert [place for place, _ in again.entries(300.0)] == ["b.example"]
    assert again.forget(["http://a.example", "c.example"]) == 1
    assert [place for place, _ in again.entries(100.0)] == ["b.example"]
    again.close()
