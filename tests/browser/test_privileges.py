"""Who runs Chromium: never root. Where root cannot become somebody else, it is said, with what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.harness import chromium_path

ROOT = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user run Chromium")
TRY = """
import asyncio, sys
from spaniel.browser.find import locate
from spaniel.browser.launch import launch
from spaniel.errors import SpanielError
for attempt in (lambda: asyncio.run(launch(sys.argv[1])), lambda: locate(sys.argv[1])):
    try:
        attempt()
    except SpanielError as error:
        print(error.code, error.message)
    else:
        print("it runs")
"""


def said(*before: str) -> list[str]:
    """What a start and `spaniel doctor` say, under some other program's care."""
    program = shutil.which(before[0])
    if program is None:
        pytest.skip(f"there is no {before[0]}")
    command = [program, *before[1:], sys.executable, "-c", TRY, chromium_path()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip("this machine has no user namespaces")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_root
def test_root_without_capabilities_is_told_what_to_do() -> None:
    lines = said("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("browser_unavailable ")
        assert "root may not become another user here" in line
        assert "--user 1000" in line


@needs_root
def test_a_nobody_who_is_not_mapped_is_told_of() -> None:
    lines = said("unshare", "--user", "--map-root-user")
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("browser_unavailable ")
        assert "run Spaniel as an ordinary user" in line


@needs_root
def test_a_chromium_that_nobody_may_execute_is_told_of(tmp_path: Path) -> None:
    program = tmp_path / "chromium"  # pytest's folders are root's alone
    program.write_text("#!/bin/sh\necho 'Chromium 130.0'\n", encoding="ascii")
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(program)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("browser_unavailable ")
        assert "install it where every user may run it" in line


@needs_root
def test_the_control_it_runs_otherwise() -> None:
    assert said("env") == ["it runs", "it runs"]
