"""The queue of failed pages: nothing is lost with several writers, or when one is killed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.queue import Queue, QueueSettings
from tests import programs
from tests.queue.worker import failure

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "queue"


@pytest.fixture
def queue(folder: Path) -> Iterator[Queue]:
    found = Queue(QueueSettings(str(folder), 5))
    yield found
    found.close()


@pytest.mark.req("FG-35")
def test_what_is_put_in_is_listed_oldest_first_and_found_by_number_or_url(queue: Queue) -> None:
    assert queue.entries() == []
    for number, profile in enumerate(("ingest", "other", "ingest")):
        queue.add(failure(f"https://a.example/{number % 2}", profile), 1000 + number)
    entries = queue.entries()
    assert [(entry.url[-1], entry.profile, entry.added) for entry in entries] == [
        ("0", "ingest", 1000), ("1", "other", 1001),
    ]  # fmt: skip
    assert (entries[0].times, entries[0].tried) == (2, 1002)
    assert queue.find("https://a.example/0") == queue.find(str(entries[0].id)) == [entries[0]]
    assert queue.find("99") == queue.find("https://a.example/9") == queue.find("9" * 40) == []


@pytest.mark.req("FG-35")
def test_the_same_page_by_two_profiles_is_there_twice(queue: Queue) -> None:
    for profile in ("ingest", "other"):
        queue.add(failure("https://a.example/", profile), 1)
    assert [entry.profile for entry in queue.find("https://a.example/")] == ["ingest", "other"]


@pytest.mark.req("FG-35")
def test_what_failed_again_meanwhile_is_not_taken_out(queue: Queue) -> None:
    queue.add(failure("https://a.example/"), 1)
    queue.add(failure("https://b.example/"), 1)
    seen = queue.entries()
    queue.add(failure("https://a.example/", code="timeout"), 2)
    assert queue.remove(seen) == 1
    [left] = queue.entries()
    assert (left.url, left.code, left.times) == ("https://a.example/", "timeout", 2)
    assert queue.remove([left]) == 1
    assert queue.remove([left]) == queue.remove([]) == 0


@pytest.mark.req("FG-35")
def test_a_full_queue_takes_no_more_and_forgets_nothing(queue: Queue) -> None:
    for number in range(5):
        queue.add(failure(f"https://a.example/{number}"), number)
    with pytest.raises(SpanielError) as caught:
        queue.add(failure("https://a.example/5"), 5)
    assert caught.value.details["field"] == "spaniel.queue.max_entries"
    queue.add(failure("https://a.example/0"), 6)  # which is there already
    assert len(queue.entries()) == 5


def test_numbers_are_not_given_twice(queue: Queue) -> None:
    queue.add(failure("https://a.example/"), 1)
    [first] = queue.entries()
    queue.remove([first])
    queue.add(failure("https://b.example/"), 1)
    assert queue.entries()[0].id > first.id


def test_a_folder_that_cannot_be_used_is_a_refusal_that_names_it(folder: Path, queue: Queue) -> None:
    folder.write_text("no folder")
    assert queue.entries() == []
    with pytest.raises(SpanielError) as caught:
        queue.add(failure("https://a.example/"), 1)
    assert caught.value.code is Code.BAD_ARGS
    assert caught.value.details["field"] == str(folder / "queue.sqlite3")


@pytest.mark.parametrize("text", ["no JSON", "{}", "[1, {}]", "[" * 100_000])
def test_attempts_that_somebody_has_spoilt_spoil_nothing_else(folder: Path, queue: Queue, text: str) -> None:
    queue.add(failure("https://a.example/"), 1)
    with sqlite3.connect(folder / "queue.sqlite3") as file:
        file.execute("UPDATE queue SET attempts = ?", (text,))
    file.close()
    [entry] = queue.entries()
    assert entry.attempts in ([], [{}])


def worker(folder: Path, tag: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.queue.worker", str(folder), tag, str(count)]
    return programs.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.req("FG-35")
def test_many_processes_put_pages_in_at_once(folder: Path) -> None:
    workers = [worker(folder, f"w{number}", 50) for number in range(4)]
    said = [url for process in workers for url in process.communicate(timeout=120)[0].split()]
    assert [process.returncode for process in workers] == [0] * 4
    queue = Queue(QueueSettings(str(folder)))
    assert len(said) == 200
    assert {entry.url for entry in queue.entries()} == set(said)
    queue.close()


@pytest.mark.req("FG-35")
def test_a_process_that_is_killed_loses_nothing_that_was_in(folder: Path) -> None:
    said: set[str] = set()
    for number in range(6):
        process = worker(folder, f"w{number}", 100_000)
        assert process.stdout is not None
        said |= {process.stdout.readline().strip() for _ in range(5 + 7 * number)}
        process.send_signal(signal.SIGKILL)
        rest = process.communicate(timeout=60)[0].split("\n")
        said |= set(rest[:-1]) - {""}  # whole lines
        assert process.returncode == -signal.SIGKILL
    queue = Queue(QueueSettings(str(folder), 1_000_000))
    assert said <= {entry.url for entry in queue.entries()}
    queue.add(failure("https://after.example/"), 1)
    assert queue.find("https://after.example/")
    queue.close()
    file = sqlite3.connect(folder / "queue.sqlite3")
    assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    assert not (folder / "queue.sqlite3.damaged").exists()
