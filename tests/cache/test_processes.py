"""Many processes on one folder, and processes that are killed. The long forms are in tests/torture."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spaniel.cache import key_for
from spaniel.cache.folder import write_all
from tests import programs
from tests.cache.harness import PAGE, ROOT, content, numbered, problems, quick, temporaries


def start(*job: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cache.worker", *map(str, job)]
    return programs.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> dict[str, int]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    found: dict[str, int] = json.loads(out)
    return found


def run(*job: object) -> dict[str, int]:
    return finish(start(*job))


def mixed(folder: Path, processes: int, operations: int) -> dict[str, int]:
    """What all of them saw, added up."""
    return run("mix_many", folder, processes, operations)


@pytest.mark.req("NFR-WF-REL-01", "FR-WF-16g")
def test_32_processes_read_only_complete_values(folder: Path) -> None:
    result = mixed(folder, processes=32, operations=30)
    assert result["torn"] == 0
    assert result["failed"] == 0
    assert result["hits"] > 0
    assert result["puts"] > 0
    assert not temporaries(folder)
    assert not problems(folder)


def test_the_control_that_writes_in_place_is_seen_torn(tmp_path: Path) -> None:
    assert run("careless", tmp_path) == {"torn": 1}


@pytest.mark.req("NFR-WF-REL-01", "FR-WF-16g")
def test_a_killed_writer_leaves_the_old_value_or_the_new_one(folder: Path) -> None:
    result = run("kill", folder, 40, 1)
    assert result.pop("puts") > 0
    assert result.pop("in flight") > 0, "no process was killed during a write"
    assert result == {"kills": 40, "lost": 0, "torn": 0, "left": 0, "problems": 0}


@pytest.mark.req("NFR-WF-REL-01", "FR-WF-16g")
@pytest.mark.parametrize(
    ("step", "right"),
    [
        ("announced", "old"),
        ("created", "old"),
        ("half written", "old"),
        ("written", "old"),
        ("evicted", "old"),
        ("renamed", "new"),
        ("indexed", "new"),
        ("committed", "new"),
    ],
)
@pytest.mark.parametrize("replaces", [True, False])
def test_a_writer_killed_at_any_step_leaves_nothing_torn_lost_or_unknown(
    folder: Path, step: str, right: str, replaces: bool
) -> None:
    with quick(folder) as cache:
        if replaces:
            cache.put(numbered(9), "old")
        for number in range(3):
            cache.put(numbered(number), number)
    process = start("die", folder, step)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with quick(folder) as cache:
        found = content(cache.get(numbered(9)))
        assert found == (right if replaces or right == "new" else None)
        assert cache.put(PAGE, 1) is None
        assert content(cache.get(numbered(9))) == found
        assert content(cache.get(numbered(2))) == 2
    assert not temporaries(folder)
    left = {problem.kind for problem in problems(folder)}
    # killed between removing an evicted file and saying so: the row is next in line for eviction
    assert left <= {"missing"} if step in ("evicted", "renamed", "indexed") else not left


def test_the_temporary_file_of_a_living_writer_is_left_alone(folder: Path) -> None:
    with quick(folder) as writer, quick(folder) as other:
        writer.put(PAGE, 1)

        def meanwhile(descriptor: int, raw: bytes, durable: bool) -> None:
            patch.undo()
            with quick(folder) as opened_now:
                opened_now.put(key_for("https://example.com/meanwhile"), 1)
            other._index.replace()  # even if the index that knew of it is lost
            other.put(key_for("https://example.com/rebuilt"), 1)
            write_all(descriptor, raw, durable)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("spaniel.cache.store.write_all", meanwhile)
            assert writer.put(PAGE, 2) is None
        assert content(writer.get(PAGE)) == 2
    assert not problems(folder)


def test_a_forked_child_may_go_on_with_its_parents_cache(folder: Path) -> None:
    script = (
        "import os, sys; from tests.cache.harness import *\n"
        "from pathlib import Path\n"
        "with quick(Path(sys.argv[1])) as cache:\n"
        "    cache.put(PAGE, 1)\n"
        "    cache._index._lock.acquire()\n"  # as another thread of the parent might just have
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        assert cache.put(numbered(1), 'child') is None and cache.get(PAGE)\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    assert cache.put(numbered(2), 'parent') is None\n"
        "    cache._index._lock.release()\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(folder)], cwd=ROOT, check=True, timeout=100)
    with quick(folder) as cache:
        assert content(cache.get(numbered(1))) == "child"
        assert content(cache.get(numbered(2))) == "parent"
    assert not problems(folder)
