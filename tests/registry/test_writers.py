"""Several writers at once, and writers that are killed: nothing is lost, nothing is torn."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spaniel import registry
from spaniel.registry.database import Registry
from spaniel.registry.host_file import formatted
from spaniel.registry.reformat import misfits
from tests.registry.files import database

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.req("DB-04")
def test_four_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    found = database(tmp_path)
    count = 25
    command = [sys.executable, "-m", "tests.registry.writer", str(tmp_path)]
    writers = [subprocess.Popen([*command, name, str(count)], cwd=ROOT, stdout=subprocess.DEVNULL) for name in "abcd"]
    for writer in writers:
        assert writer.wait(120) == 0
    paths = {record.url for record in found}
    assert paths == {f"http://example.com/{name}/{n}" for name in "abcd" for n in range(count)} | {
        f"http://host{n % 3}.example/{name}/{n}" for name in "abcd" for n in range(count)
    }
    assert not list(misfits(found))
    assert not [name for name in os.listdir(tmp_path) if not name.endswith(".yaml")]


def killed_while_adding(found: Registry, number: int, wait: float) -> bool:
    """A child adds a record and is killed meanwhile; whether it had ended before."""
    child = os.fork()
    if child == 0:
        try:
            with found.editing() as editor:
                editor.add(f"http://example.com/new/{number}", {"note": "x" * 2_000})
                editor.move(f"http://example.com/old/{number}", f"http://moved.example/{number}")
        finally:
            os._exit(0)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status)


@pytest.mark.req("DB-04")
@pytest.mark.parametrize("times", [pytest.param(40, id="40"), pytest.param(200, id="200", marks=pytest.mark.torture)])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path, times: int) -> None:
    old = "".join(f"---\n_path: /old/{number}\nnote: {'y' * 300}\n" for number in range(times))
    found = database(tmp_path, example_com=f"---\n{old}".encode())
    list(found)  # all is imported: the child spends its time on writing
    with found.editing() as editor:
        editor.set("http://example.com/old/1", "note", "x")
    before = {record.path for record in found}
    dice, lives = random.Random(5), {True: 0, False: 0}
    for number in range(times):
        ended = killed_while_adding(found, number, dice.random() * 0.012)
        lives[ended] += 1
        after = {record.path for record in found}  # reads every file: none is torn
        added, moved = f"/new/{number}", f"/old/{number}"
        assert after - before <= {added, f"/{number}"}
        assert before - after <= {moved}
        assert moved in after or f"/{number}" in after  # in one of the two files, or in both
        if ended:
            assert after == (before - {moved}) | {added, f"/{number}"}
        before = after
    assert lives[False] > times // 10, "too few were killed in time to say anything"
    with found.editing():
        pass
    assert not [name for name in os.listdir(tmp_path) if not name.endswith(".yaml")]


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
