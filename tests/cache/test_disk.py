"""Disks that are full, read-only or out of descriptors: the fetch goes on, and old entries stay (FR-WF-16h)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cache.harness import PAGE, ROOT, content, problems, quick

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]
NOTE = "cache_write_failed"


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """Real file systems, in a mount namespace: no root is needed, and nothing of this machine is touched."""
    possible = shutil.which("unshare") and not subprocess.run([*UNSHARE, "true"], check=False).returncode
    if not possible:
        pytest.skip("mount namespaces are not to be had here")
    done = subprocess.run(
        [
            *UNSHARE,
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.cache.disk_scenario",
            str(tmp_path_factory.mktemp("disk")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04", "NFR-WF-REL-01")
@pytest.mark.parametrize("how", ["full", "no inodes"])
def test_a_full_disk_costs_a_note_and_no_old_entry(scenario: dict[str, dict[str, object]], how: str) -> None:
    assert scenario[how] == {
        "notes": [NOTE],
        "intact": 10,
        "temporaries": 0,
        "afterwards": None,
        "intact in another process": 10,
        "problems": [],
    }


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04")
def test_a_read_only_disk_is_read_and_costs_a_note(scenario: dict[str, dict[str, object]]) -> None:
    found = scenario["read-only"]
    assert (found["note"], found["intact"]) == (NOTE, 10)


@pytest.mark.req("D2-22")
def test_the_command_says_that_a_read_only_cache_cannot_be_opened(scenario: dict[str, dict[str, object]]) -> None:
    assert scenario["read-only"]["command"] == [7, True, False]


DESCRIPTORS = """
import os, resource, sys
from pathlib import Path
from tests.cache.harness import *
folder, warm = Path(sys.argv[1]), sys.argv[2] == "warm"
cache = quick(folder)
if warm:
    cache.put(numbered(1), 1)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
print(cache.get(PAGE), cache.put(PAGE, "new"), cache.put(numbered(2), 2))
for descriptor in held:
    os.close(descriptor)
print(content(cache.get(PAGE)), cache.put(numbered(2), 2), content(cache.get(numbered(2))))
cache.close()
"""


@pytest.mark.req("FR-WF-16h", "NFR-WF-REL-04")
@pytest.mark.parametrize("state", ["warm", "cold"])
def test_without_descriptors_a_get_is_a_miss_and_a_put_a_note(folder: Path, state: str) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, "old")
    command = [sys.executable, "-W", "ignore", "-c", DESCRIPTORS, str(folder), state]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.splitlines() == [f"None {NOTE} {NOTE}", "old None 2"], done.stderr
    with quick(folder) as cache:
        assert content(cache.get(PAGE)) == "old"
    assert not problems(folder)
