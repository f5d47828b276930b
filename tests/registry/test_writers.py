"""Several writers at once, and writers that are killed: nothing is lost, nothing is torn."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from spaniel import registry
from spaniel.registry.database import Registry, misfits
from spaniel.registry.folder import LOCK
from spaniel.registry.host_file import formatted
from tests import programs
from tests.registry.files import database

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.req("DB-04")
def test_four_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    found = database(tmp_path)
    count = 25
    command = [sys.executable, "-m", "tests.registry.writer", str(tmp_path)]
    writers = [programs.Popen([*command, name, str(count)], cwd=ROOT, stdout=subprocess.DEVNULL) for name in "abcd"]
    for writer in writers:
        assert writer.wait(120) == 0
    paths = {record.url for record in found}
    assert paths == {f"http://example.com/{name}/{n}" for name in "abcd" for n in range(count)} | {
        f"http://host{n % 3}.example/{name}/{n}" for name in "abcd" for n in range(count)
    }
    assert not list(misfits(found))
    assert not [name for name in os.listdir(tmp_path) if not name.endswith(".yaml")]


def child_that_adds(found: Registry, number: int) -> int:
    """The id of a process that adds a record and moves another."""
    child = os.fork()
    if child == 0:
        try:
            with found.editing() as editor:
                editor.add(f"http://example.com/new/{number}", {"note": "x" * 2_000})
                editor.move(f"http://example.com/old/{number}", f"http://moved.example/{number}")
        finally:
            os._exit(0)
    return child


@pytest.mark.req("DB-04")
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    kill_writers(tmp_path, 40)


def kill_writers(folder: Path, times: int) -> None:
    """So many writers, each killed at a moment of its life; after each, every file is whole and nothing is lost."""
    old = "".join(f"---\n_path: /old/{number}\nnote: {'y' * 300}\n" for number in range(times + 1))
    found = database(folder, example_com=f"---\n{old}".encode())
    with found.editing() as editor:
        editor.set("http://example.com/old/1", "note", "x")  # all is imported: children spend their time on writing
    start = time.monotonic()
    os.waitpid(child_that_adds(found, times), 0)
    usual = time.monotonic() - start
    before = {record.path for record in found}
    dice, unfinished = random.Random(5), 0
    for number in range(times):
        child = child_that_adds(found, number)
        time.sleep(dice.random() * usual * 1.2)
        os.kill(child, signal.SIGKILL)
        ended = os.WIFEXITED(os.waitpid(child, 0)[1])
        unfinished += not ended
        if ended:
            usual *= 0.9  # the first one was measured on a busier machine: kill earlier
        after = {record.path for record in found}  # reads every file: none is torn
        added, was, now = f"/new/{number}", f"/old/{number}", f"/{number}"
        assert after - before <= {added, now}
        assert before - after <= {was}
        assert was in after or now in after  # in one of the two files, or in both
        assert not ended or after == (before - {was}) | {added, now}
        before = after
    assert unfinished > times // 10, "too few were killed in time to say anything"
    with found.editing():
        pass
    assert not [name for name in os.listdir(folder) if not name.endswith(".yaml")]


@pytest.mark.req("DB-04", "DB-08")
def test_db_add_killed_while_it_writes_leaves_whole_files(tmp_path: Path) -> None:
    assert kill_commands(tmp_path / "urls", 8).total() == 8


def kill_commands(folder: Path, times: int) -> Counter[str]:
    """So many `spaniel db add`, each killed between taking its lock and its end; how far they had come by then."""
    hosts = ("a.example", "b.example", "c.example")
    old = "".join(f"---\n_path: /old/{number:04}\nnote: {'y' * 300}\n" for number in range(500))
    found = database(folder, **{host.replace(".", "_"): f"---\n{old}".encode() for host in hosts})
    before = {record.url for record in found}
    usual = _time_of_writing(folder, [f"http://{host}/first" for host in hosts])
    before |= {f"http://{host}/first" for host in hosts}
    dice, came_to = random.Random(7), Counter[str]()
    for number in range(times):
        new = {f"http://{host}/new/{number}/{n}" for host in (*hosts, f"d{number}.example") for n in range(2)}
        files = set(os.listdir(folder))
        writer = _adding(folder, sorted(new))
        _wait_for_lock(folder, writer)
        while number % 4 and writer.poll() is None and set(os.listdir(folder)) <= {*files, LOCK}:
            time.sleep(0.0005)  # three of four are killed while files are written, which is the least of the time
        time.sleep(dice.random() * usual * (0.3 if number % 4 else 1.5))
        writer.kill()
        ended = writer.wait(60) == 0
        after = {record.url for record in found}  # reads every file: none is torn
        assert before <= after
        assert after - before <= new
        for host in (*hosts, f"d{number}.example"):  # a file has both of its new records, or none
            assert len({url for url in after - before if f"//{host}/" in url}) in (0, 2)
        assert not ended or after - before == new
        came_to["the end" if ended else "some files" if after > before else "no file"] += 1
        before = after
    last = _adding(folder, ["http://a.example/last"])
    assert last.wait(60) == 0
    assert not [name for name in os.listdir(folder) if not name.endswith(".yaml")]
    assert not list(misfits(found))
    return came_to


def _adding(folder: Path, urls: list[str]) -> subprocess.Popen[bytes]:
    return programs.Popen([sys.executable, "-m", "spaniel", "db", "add", "-q", "--db", str(folder), *urls], cwd=ROOT)


def _wait_for_lock(folder: Path, writer: subprocess.Popen[bytes]) -> None:
    while not _is_held(folder) and writer.poll() is None:
        time.sleep(0.002)


def _is_held(folder: Path) -> bool:
    """Whether somebody writes. A lock file alone says nothing: the last one was killed, and has left it."""
    try:
        with (folder / LOCK).open("rb") as lock:
            flock(lock, LOCK_EX | LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _time_of_writing(folder: Path, urls: list[str]) -> float:
    """From taking the lock to the end."""
    writer = _adding(folder, urls)
    _wait_for_lock(folder, writer)
    start = time.monotonic()
    while _is_held(folder) and writer.poll() is None:
        time.sleep(0.002)
    taken = time.monotonic() - start
    assert writer.wait(60) == 0
    return taken


def test_what_was_written_is_in_form(tmp_path: Path) -> None:
    found = database(tmp_path)
    with found.editing() as editor:
        for number in range(30):
            editor.add(
                f"http://example.com/{number}", {"categories": ["b", "a"][: number % 3], "Z": "1", "content-length": 3}
            )
    [file] = registry.open(tmp_path).files()
    text = (tmp_path / "example.com.yaml").read_text(encoding="utf-8")
    assert [record.path for record in file.records] == sorted(record.path for record in file.records)
    assert formatted(file).replace("- a\n- b\n", "- b\n- a\n") == text
