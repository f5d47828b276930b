"""Which Chromium is run, as whom, and whether it sits in its sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spaniel.browser.find import locate
from spaniel.testing import Site
from tests.browser.harness import SITE, alive, chromium_path, html, open_web

ROOT = Path(__file__).parents[2]


@pytest.mark.req("FR-WF-11", "FR-WF-CFG-03")
def test_the_chromium_of_the_settings_is_found_and_tried() -> None:
    found = locate(chromium_path())
    assert found.path == chromium_path()
    assert int(found.version.split()[1].partition(".")[0]) >= 100


async def test_root_never_runs_it_and_it_is_always_in_its_sandbox() -> None:
    async with Site({"/": html("<h1>x</h1>")}, SITE) as site, open_web(site.port) as web:
        await web.render(f"http://{SITE}:{site.port}/")
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in alive()]  # noqa: ASYNC240
        users = {os.stat(f"/proc/{pid}").st_uid for pid in alive()}
        renderers = [line for line in lines if b"--type=renderer" in line]
    assert renderers
    assert 0 not in users
    assert not any(b"--no-sandbox" in line for line in lines)


def _user_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("Uid:")[2].split()[0])


# Everything is imported before root is given up: other users may not be able to read this Python.
CHILD = """
import asyncio, concurrent.futures.thread, encodings.idna, json, os, resource, shutil, sys, tempfile
from spaniel.browser.idle import pending_script
from spaniel.browser.page_reader import script
from spaniel.browser.tab import PENDING_SCRIPT_NAME
from tests.browser.harness import SITE, alive, html, open_web
from spaniel.testing import Site
script(); pending_script(PENDING_SCRIPT_NAME)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
async def main():
    async with Site({"/": html("<h1>Unprivileged</h1>")}, SITE) as site, open_web(site.port) as web:
        assert b"Unprivileged" in (await web.render(f"http://{SITE}:{site.port}/", 30)).body
        lines = [open(f"/proc/{pid}/cmdline", "rb").read() for pid in alive()]
        print("sandboxed" if lines and not any(b"--no-sandbox" in line for line in lines) else "bare")
asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user already")
def test_an_ordinary_user_renders_in_the_sandbox() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "sandboxed"
