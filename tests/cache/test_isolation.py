"""No test writes to the cache of the user: tests of the guard in tests/conftest.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cache.harness import ROOT

CARELESS = """
from spaniel.app.settings import Settings
from spaniel.cache import PageCache, key_for

def test_careless():
    with PageCache(Settings().cache) as cache:
        assert cache.put(key_for("https://a.example/"), "x") is None

def test_careful(tmp_path):
    with PageCache(Settings().cache._replace(folder=str(tmp_path))) as cache:
        assert cache.put(key_for("https://a.example/"), "x") is None
"""


@pytest.mark.req("T-WF-INFRA-03")
def test_using_the_users_cache_fails_the_test_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(CARELESS, encoding="utf-8")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    options = ("-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-q")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env=os.environ | {"XDG_CACHE_HOME": str(theirs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR at teardown of test_careless" in done.stdout
    assert "the test has written into the user's own folders" in done.stdout
    assert os.listdir(theirs) == []


@pytest.mark.req("T-WF-INFRA-03")
def test_users_folders_are_left_alone_where_no_variable_names_them(tmp_path: Path) -> None:
    """Nor does a program that a test starts, which has the home of the user."""
    started = (
        "import subprocess, sys\n\ndef test_started():\n    subprocess.run([sys.executable, '-c', CODE], check=True)\n"
    )
    code = "import test_it; test_it.test_careless()"
    (tmp_path / "test_it.py").write_text(f"{CARELESS}\nCODE = {code!r}\n{started}", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    options = ("-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-q", "-k", "started")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env=plain | {"HOME": str(home), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed, 2 deselected, 1 error" in done.stdout, done.stdout + done.stderr
    assert os.listdir(home) == []
