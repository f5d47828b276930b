"""No test writes into the cache of whoever runs it: the guard in tests/conftest.py, put to the test."""

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
def test_a_test_that_uses_the_users_cache_fails_and_the_cache_stays_as_it_was(tmp_path: Path) -> None:
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
