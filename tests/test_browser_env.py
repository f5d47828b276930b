"""Browser tests are left out without a Chromium, and CI does not let them be (T-WF-BR-ENV-01)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ONE = "tests/browser/test_rendering.py::test_plain_text_stays_text"


def run(what: str = ONE, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("FORGE_TEST_CHROMIUM_PATH", "CI")} | more
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", what]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.req("T-WF-BR-ENV-01")
def test_without_the_variable_no_browser_test_is_run() -> None:
    every = run("tests/browser", FORGE_TEST_CHROMIUM_PATH="")  # empty is as good as unset
    assert every.returncode == 0
    assert "FORGE_TEST_CHROMIUM_PATH is not set" in every.stdout
    [counts] = [line for line in every.stdout.splitlines() if " skipped" in line and " in " in line]
    assert not {"passed", "failed", "error"} & set(counts.replace(",", " ").split())


@pytest.mark.req("T-WF-BR-ENV-01")
def test_in_ci_a_skipped_browser_test_is_a_failure() -> None:
    strict = run(CI="true")
    assert strict.returncode == 1
    assert "CI should have what it needs" in strict.stdout
