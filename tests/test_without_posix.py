"""What can be known of Windows without it: see `without_posix.py`, which runs as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NO_BROWSER = "Cannot run Chromium: it cannot be driven on this system yet"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = str(tmp_path_factory.mktemp("windows"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.without_posix", folder],
        cwd=ROOT,
        env=os.environ | {"XDG_CACHE_HOME": folder, "HOME": folder},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return ended


def test_what_windows_lacks_is_lacking(found: dict[str, str]) -> None:
    assert found["emulation"] == "fine"


def test_every_module_can_be_imported(found: dict[str, str]) -> None:
    assert found["imports"] == "fine"
    assert int(found["modules"]) > 100


@pytest.mark.parametrize("what", ["commands", "page_cache", "robots_cache", "written_files", "link_database"])
def test_it_works_without_posix(found: dict[str, str], what: str) -> None:
    assert found[what] == "fine"


@pytest.mark.parametrize("what", ["whole_fetch", "doctor"])
def test_page_is_fetched_and_cached_and_only_the_browser_is_missing(found: dict[str, str], what: str) -> None:
    assert found[what] == NO_BROWSER
