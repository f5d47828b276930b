"""Processes that die, stop or never answer: the next fetch works, and nothing comes back silently incomplete."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.browser.home import PREFIX
from spaniel.browser.launch import launch
from spaniel.errors import SpanielError
from spaniel.testing import Page, Reply, Site, text
from tests.browser.harness import SITE, WORDS, Web, alive, all_gone, chromium_path, html, open_web, spaniel_at

ROOT = Path(__file__).parents[2]
GOOD = html(f"<h1>Good</h1><p>{WORDS}</p>")
APP = html(
    f"<h1>App</h1><p>{WORDS * 20}</p><script>fetch('/slow').then((r) => r.text()).then((t) => document.body.append(t))"
    "</script>"
)
SECONDS = 60.0


def kind_of(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
    if "network.mojom.NetworkService" in command:
        return "network"
    if "--type=" in command:
        return command.partition("--type=")[2].split()[0]
    return "" if command.startswith("/bin/sh") else "browser"


def hit(kind: str, how: signal.Signals) -> int:
    """How many processes of ours were hit."""
    pids = [pid for pid in alive() if kind_of(pid) == kind]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
    return len(pids)


async def outcome(web: Web, url: str, seconds: float) -> str:
    try:
        page = await web.render(url, seconds)
    except SpanielError as error:
        return str(error.code)
    return "whole" if b"arrived" in page.body else "noted" if page.notes else "SILENTLY INCOMPLETE"


@pytest.mark.req("FR-WF-18", "NFR-WF-REL-02", "FR-WF-11f")
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("network", signal.SIGKILL),
        ("network", signal.SIGSTOP),
        ("zygote", signal.SIGKILL),
        ("renderer", signal.SIGKILL),
        ("renderer", signal.SIGSTOP),
        ("browser", signal.SIGSTOP),
    ],
)
async def test_after_a_process_is_lost_the_next_fetch_works(kind: str, how: signal.Signals) -> None:
    go = asyncio.Event()

    async def slow() -> Reply:
        await go.wait()
        return text("arrived")

    pages: dict[str, Page] = {"/": GOOD, "/app": APP, "/slow": slow}
    # By default a page may take 20 s to become idle: for that long, one whose process is lost would be waited for.
    async with Site(pages, SITE) as site, open_web(site.port, network_idle_ms=2_000) as web:
        base = f"http://{SITE}:{site.port}"
        assert b"Good" in (await web.render(f"{base}/", SECONDS)).body
        flying = asyncio.create_task(outcome(web, f"{base}/app", 5))
        while not site.requests["/slow"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert hit(kind, how)
        go.set()
        assert await flying in ("whole", "noted", "browser_crashed", "timeout")
        for _ in range(2):
            assert b"Good" in (await web.render(f"{base}/", SECONDS)).body
    assert await all_gone()


@pytest.mark.req("NFR-WF-REL-02", "D2-25")
async def test_pages_that_never_end_do_not_hold_up_those_behind_them() -> None:
    pages: dict[str, Page] = {"/": GOOD, "/bad": html("<h1>Bad</h1><script>while (1);</script>")}
    async with Site(pages, SITE) as site, open_web(site.port) as web:
        base = f"http://{SITE}:{site.port}"
        await web.render(f"{base}/", SECONDS)
        bad = [asyncio.create_task(outcome(web, f"{base}/bad", 45)) for _ in range(8)]
        while site.requests["/bad"] < 8:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        good = await asyncio.gather(*(web.render(f"{base}/", 40) for _ in range(4)))
        assert all(b"Good" in page.body for page in good)
        assert not any(task.done() for task in bad)  # they had their turns all the while
        for task in bad:
            task.cancel()
        await asyncio.gather(*bad, return_exceptions=True)
    assert await all_gone()


@pytest.fixture
def sleeper() -> Iterator[str]:
    """A program that passes for Chromium, where every user may run it, and only sleeps."""
    with tempfile.TemporaryDirectory(prefix="spaniel-fake-") as folder:
        program = Path(folder, "chromium")
        program.write_text("#!/bin/sh\nexec sleep 600\n", encoding="ascii")
        for path in (program, program.parent):
            path.chmod(0o755)
        yield str(program)


def homes_of(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{pid}-*"))


@pytest.mark.req("FR-WF-10a", "D2-25")
async def test_a_chromium_that_never_answers_does_not_outlive_a_short_timeout(sleeper: str) -> None:
    async with Site({"/": GOOD}, SITE) as site, open_web(site.port, chromium_path=sleeper) as web:
        for _ in range(2):
            async with asyncio.timeout(30):
                assert await outcome(web, f"http://{SITE}:{site.port}/", 1) == "timeout"
    assert await all_gone()


async def test_the_timeout_that_is_told_is_the_one_that_was_set(tmp_path: Path) -> None:
    async def never() -> Reply:
        await asyncio.sleep(600)
        return GOOD

    async with spaniel_at({"/": never, "/good": GOOD}, tmp_path, timeout_seconds=3) as (spaniel, site):
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/"), force_browser=True)
    assert caught.value.details["timeout_ms"] == 3000


TERMINATED = """
import asyncio, sys
from tests.browser.harness import SITE, open_web
async def main():
    async with open_web(int(sys.argv[1])) as web:
        await web.render(f"http://{SITE}:{sys.argv[1]}/")
        print("up", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_whoever_is_killed_leaves_nothing_in_its_folder(how: signal.Signals) -> None:
    """What Chromium wrote is gone before anybody sweeps; of root's, two empty folders may be left."""
    async with Site({"/": GOOD}, SITE) as site:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            TERMINATED,
            str(site.port),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
        )
        assert child.stdout
        assert await child.stdout.readline() == b"up\n"
        (home,) = homes_of(child.pid)
        assert any((home / "home").iterdir())
        child.send_signal(how)
        await child.wait()
        assert await all_gone(child.pid)
        assert not (home / "home").exists() or not any((home / "home").iterdir())
        assert os.geteuid() == 0 or not home.exists()


async def test_the_command_leaves_no_folder_when_it_is_terminated(tmp_path: Path) -> None:
    async def never() -> Reply:
        await asyncio.sleep(600)
        return GOOD

    async with Site({"/": never, "/robots.txt": text("")}) as site:
        config = tmp_path / "open.toml"
        config.write_text(
            f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.browser]\n'
            f'chromium_path = "{chromium_path()}"\n[tools.webfetch.security]\n'
            f"allowed_ports = [{site.port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "spaniel", "fetch", "--config", str(config), "--browser"]
        child = await asyncio.create_subprocess_exec(
            *command, f"http://127.0.0.1:{site.port}/", stderr=subprocess.DEVNULL, cwd=ROOT
        )
        while not site.requests["/"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        child.terminate()
        await child.wait()
        assert await all_gone(child.pid)
        assert not homes_of(child.pid)


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
async def test_cancelled_close_leaves_no_process_and_no_port(turns: int) -> None:
    process = await launch(chromium_path())
    pid, port = process.pid, process._closed_port
    closing = asyncio.create_task(process.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    closing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await closing
    if turns:  # a task that is cancelled before its first step has done nothing
        assert port.fileno() == -1
    await process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
