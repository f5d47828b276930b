"""Pages and processes that do their worst: a typed code in time, the next fetch works, nothing stays behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from spaniel.browser import renderer
from spaniel.browser.home import PREFIX, sweep
from spaniel.browser.launch import MAX_MEMORY
from spaniel.errors import SpanielError
from spaniel.testing import Page, Reply, Site, text
from tests.browser.harness import SITE, WORDS, Web, alive, all_gone, html, open_web, spaniel_at
from tests.stopwatch import Stopwatch

GOOD = html(f"<h1>Good</h1><p>{WORDS}</p>")
LATE = 1.0  # seconds after its deadline by which a fetch has ended
SECONDS, IDLE = 2.0, 1_000  # D2-25: their sum and two seconds more are the hard limit

TROUBLE = {
    "loop in the head": ("<script>while (1);</script>", ("timeout",)),
    "loop later": (
        "<h1>Bad</h1><script>onload = () => setTimeout(() => {{ while (1); }}, 50)</script>",
        ("partial", "timeout"),
    ),
    "loop of loops": (
        "<h1>Bad</h1><script>addEventListener('DOMContentLoaded', () => {{ const f = () => {{ setTimeout(f, 0);"
        "while (1); }}; f(); }})</script>",
        ("partial", "timeout"),
    ),
    "dialogs without end": ("<script>while (1) alert('x')</script>", ("timeout",)),
    "ten million nodes": (
        "<h1>Bad</h1><script>for (let i = 0; i < 1e7; i++) document.body.append(document.createElement('b'))</script>",
        ("timeout", "browser_crashed", "partial", "truncated"),
    ),
    "strings without end": (
        "<h1>Bad</h1><script>const a = []; while (1) a.push('x'.repeat(1e8) + a.length + Math.random())</script>",
        ("timeout", "browser_crashed"),
    ),
    "buffers without end": (
        "<h1>Bad</h1><script>const a = []; while (1) a.push(new Uint8Array(1e8).fill(1))</script>",
        ("timeout", "browser_crashed", "fine"),  # a script may end by itself at its limit
    ),
    "frames in frames": ("<h1>Bad</h1><iframe src='/?'></iframe><iframe src='/?2'></iframe>", ("fine", "partial")),
    "worker forks": (
        "<h1>Bad</h1><script>const s = 'for (;;) new Worker(URL.createObjectURL(new Blob([`for (;;);`])))';"
        "for (let i = 0; i < 20; i++) new Worker(URL.createObjectURL(new Blob([s])))</script>",
        ("fine", "partial", "timeout"),
    ),
    "popups without end": (
        "<h1>Bad</h1><script>for (let i = 0; i < 1000; i++) open('/?' + i)</script>",
        ("fine", "partial"),
    ),
    "history without end": (
        "<h1>Bad</h1><script>setInterval(() => history.pushState(0, '', '/?' + Math.random()), 0)</script>",
        ("fine", "partial"),
    ),
    "reloads without end": ("<script>location.reload()</script>", ("redirect_limit",)),
}  # fmt: skip


async def outcome(web: Web, url: str, seconds: float = SECONDS) -> str:
    try:
        page = await web.render(url, seconds)
    except SpanielError as error:
        return str(error.code)
    for note in page.notes:
        return {"browser_timeout_dom_partial": "partial", "browser_dom_truncated": "truncated"}[note]
    return "fine"


async def time_for(web: Web, url: str) -> float:
    began = asyncio.get_running_loop().time()
    await web.render(url)
    return asyncio.get_running_loop().time() - began


@pytest.mark.req("D2-25", "NFR-WF-REL-02", "FR-WF-18")
@pytest.mark.parametrize("name", TROUBLE)
async def test_trouble_ends_in_time_and_the_next_page_is_rendered(name: str) -> None:
    body, expected = TROUBLE[name]
    async with (
        Site({"/": html(body.replace("{{", "{").replace("}}", "}")), "/good": GOOD}, SITE) as site,
        open_web(site.port, network_idle_ms=IDLE) as web,
    ):
        base = f"http://{SITE}:{site.port}"
        assert b"Good" in (await web.render(f"{base}/good")).body  # warm: starting is not part of the time
        good = await time_for(web, f"{base}/good")
        seconds = max(SECONDS, 10 * good)  # a busy machine gets the more
        watch = Stopwatch()
        assert await outcome(web, f"{base}/", seconds) in expected
        assert watch.seconds < seconds + IDLE / 1000 + 2 + LATE + good
        assert b"Good" in (await web.render(f"{base}/good")).body
    assert await all_gone()


@pytest.mark.req("D2-25")
@pytest.mark.parametrize("idle_ms", [100, 700])
async def test_the_hard_limit_is_the_wait_for_rest_and_two_seconds(idle_ms: int) -> None:
    """From DOMContentLoaded on, a page that never lets itself be read ends there, whatever `timeout_seconds` is."""

    async def never() -> Reply:
        await asyncio.sleep(300)
        return text("")

    blocks = (
        "<h1>Bad</h1><script>onload = () => {"
        "const asked = new XMLHttpRequest(); asked.open('GET', '/never', false); asked.send() }</script>"
    )
    pages: dict[str, Page] = {"/": html(blocks), "/never": never}
    async with Site(pages, SITE) as site, open_web(site.port, network_idle_ms=idle_ms) as web:
        with pytest.raises(SpanielError) as caught:
            await web.render(f"http://{SITE}:{site.port}/", 100)
        assert site.requests["/never"] == 1
    error = caught.value
    assert (str(error.code), error.details) == ("timeout", {"timeout_ms": idle_ms + 2_000, "phase": "render"})


def kill_all() -> None:
    for pid in alive():
        with contextlib.suppress(ProcessLookupError):  # some go with the others
            os.kill(pid, signal.SIGKILL)


@pytest.mark.req("FR-WF-18", "NFR-WF-REL-02", "T-WF-ERR-02")
async def test_a_killed_browser_is_browser_crashed_and_another_takes_its_place() -> None:
    async def slow() -> Reply:
        await asyncio.sleep(300)
        return text("")

    pages: dict[str, Page] = {"/": slow, "/good": GOOD}
    async with Site(pages, SITE) as site, open_web(site.port) as web:
        base = f"http://{SITE}:{site.port}"
        await web.render(f"{base}/good")
        under_way = asyncio.create_task(web.render(f"{base}/"))
        while not site.requests["/"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        kill_all()
        with pytest.raises(SpanielError) as caught:
            await under_way
        assert (str(caught.value.code), caught.value.retryable) == ("browser_crashed", True)
        assert b"Good" in (await web.render(f"{base}/good")).body
        kill_all()  # while it is idle: no page is affected
        assert b"Good" in (await web.render(f"{base}/good")).body
    assert await all_gone()


async def test_a_page_that_crashes_takes_no_other_with_it() -> None:
    async with Site({"/": GOOD, "/crash": html("<h1>C</h1>")}, SITE) as site, open_web(site.port) as web:
        base = f"http://{SITE}:{site.port}"
        await web.render(f"{base}/")
        place = web.renderer._spare
        while place is None:
            await asyncio.sleep(0.01)
            place = web.renderer._spare
        assert place.tab._session is not None
        place.tab._session.post("Page.crash")
        outcomes = await asyncio.gather(*(web.render(f"{base}/") for _ in range(3)), return_exceptions=True)
        crashed = [o for o in outcomes if isinstance(o, SpanielError)]
        assert [str(error.code) for error in crashed] in ([], ["browser_crashed"])
        assert b"Good" in (await web.render(f"{base}/")).body


async def test_a_hundred_pages_leave_no_process_no_file_and_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a change of Chromium on the way."""
    monkeypatch.setattr(renderer, "PAGES", 60)
    async with Site({"/": GOOD}, SITE) as site:
        async with open_web(site.port) as web:
            first = web.renderer._chrome

            async def some(count: int) -> None:
                for _ in range(count):
                    assert b"Good" in (await web.render(f"http://{SITE}:{site.port}/", 30)).body

            await asyncio.gather(*(some(25) for _ in range(4)))
            assert web.renderer._chrome is not first
            assert len(alive()) < 40
        assert site.requests["/"] == 100
    assert await all_gone()
    assert not _homes(os.getpid())
    assert asyncio.all_tasks() == {asyncio.current_task()}


KILLED = """
import asyncio, sys
from tests.browser.harness import SITE, open_web
async def main():
    async with open_web(int(sys.argv[1])) as web:
        await web.render(f"http://{SITE}:{sys.argv[1]}/")
        print("up", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_killed_spaniel_leaves_no_process_and_its_files_are_swept(how: signal.Signals) -> None:
    async with Site({"/": GOOD}, SITE) as site:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, str(site.port), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert child.stdout
        assert await child.stdout.readline() == b"up\n"
        assert alive(child.pid)
        child.send_signal(how)
        await child.wait()
        assert await all_gone(child.pid)
        await asyncio.to_thread(sweep)
        assert not _homes(child.pid)


def test_the_sweep_leaves_alone_what_is_in_use_and_what_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours, dead, other = f"{PREFIX}{os.getpid()}-x", f"{PREFIX}{_dead_pid()}-x", f"{PREFIX}notes"
    for name in (ours, dead, other):
        (tmp_path / name).mkdir()
    sweep()
    assert {path.name for path in tmp_path.iterdir()} == {ours, other}


def _dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def _homes(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{pid}-*"))


async def test_many_at_once_wait_for_their_turn() -> None:
    async with Site({"/": GOOD}, SITE) as site, open_web(site.port) as web:
        found = await asyncio.gather(*(web.render(f"http://{SITE}:{site.port}/", 60) for _ in range(30)))
        assert all(b"Good" in page.body for page in found)


@pytest.mark.req("FR-WF-10a", "D2-25")
async def test_waiting_for_a_turn_is_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> Reply:
        await asyncio.sleep(300)
        return text("")

    monkeypatch.setattr(renderer, "AT_ONCE", 1)
    async with Site({"/": slow, "/good": GOOD}, SITE) as site, open_web(site.port) as web:
        base = f"http://{SITE}:{site.port}"
        await web.render(f"{base}/good")
        watch = Stopwatch()
        outcomes = await asyncio.gather(*(outcome(web, f"{base}/") for _ in range(3)))
        assert outcomes == ["timeout"] * 3
        assert watch.seconds < 2 * SECONDS  # one after the other they would take three times as long
        assert b"Good" in (await web.render(f"{base}/good")).body


async def test_a_cancelled_render_is_cleaned_up() -> None:
    async def slow() -> Reply:
        await asyncio.sleep(300)
        return text("")

    async with Site({"/": slow, "/good": GOOD}, SITE) as site, open_web(site.port) as web:
        base = f"http://{SITE}:{site.port}"
        task = asyncio.create_task(web.render(f"{base}/"))
        while not site.requests["/"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert b"Good" in (await web.render(f"{base}/good")).body
    assert await all_gone()


async def test_no_process_of_it_may_hold_more_than_its_share_of_memory() -> None:
    async with Site({"/": GOOD}, SITE) as site, open_web(site.port) as web:
        await web.render(f"http://{SITE}:{site.port}/")
        limits = [Path(f"/proc/{pid}/limits").read_text(encoding="ascii") for pid in alive()]  # noqa: ASYNC240
    assert limits
    shares = [text.partition("Max data size")[2].split()[0] for text in limits]
    assert set(shares) == {str(MAX_MEMORY)}


@pytest.mark.req("FR-WF-11")
async def test_the_debugging_wire_is_a_pipe_and_no_port() -> None:
    async with Site({"/": GOOD}, SITE) as site, open_web(site.port) as web:
        await web.render(f"http://{SITE}:{site.port}/")
        assert alive()
        assert not _sockets_of(alive()) & _listening_sockets()
        assert _sockets_of([os.getpid()]) & _listening_sockets()  # the control: our own site is seen


def _signal_renderers(how: signal.Signals) -> None:
    for pid in alive():
        with contextlib.suppress(OSError):
            if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, how)


def _sockets_of(pids: list[int]) -> set[str]:
    found = set()
    for pid in pids:
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def _listening_sockets() -> set[str]:
    tables = (Path(f"/proc/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}


@pytest.mark.req("NFR-WF-REL-02")
@pytest.mark.parametrize("how", ["timeout", "cancelled"])
async def test_prepared_tab_that_does_not_answer_leaves_no_port_open(how: str) -> None:
    """The next page asks it whether it is there, and is stopped before it knows."""
    async with Site({"/": GOOD}, SITE) as site:
        url = f"http://{SITE}:{site.port}/"
        before = _sockets_of([os.getpid()]) & _listening_sockets()
        async with open_web(site.port) as web:
            await web.render(url)
            while web.renderer._spare is None or web.renderer._work:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert (_sockets_of([os.getpid()]) & _listening_sockets()) - before  # the control: a tab has a port
            _signal_renderers(signal.SIGSTOP)
            if how == "timeout":
                assert await outcome(web, url, 0.3) == "timeout"
            else:
                rendering = asyncio.create_task(web.render(url))
                await asyncio.sleep(0.1)
                rendering.cancel()
                await asyncio.gather(rendering, return_exceptions=True)
            _signal_renderers(signal.SIGCONT)
        assert not (_sockets_of([os.getpid()]) & _listening_sockets()) - before
    assert await all_gone()


@pytest.mark.req("NFR-WF-REL-02", "T-WF-INFRA-04")
@pytest.mark.parametrize("moment", [0.0, 0.03, 0.1])
async def test_a_client_that_is_closed_while_chromium_starts_leaves_none_behind(moment: float, tmp_path: Path) -> None:
    before = set(alive())
    async with spaniel_at({"/": GOOD}, tmp_path) as (spaniel, site):
        fetching = asyncio.create_task(spaniel.fetch(site.url("/"), force_browser=True))
        await asyncio.sleep(moment)
        await spaniel.close()
        with pytest.raises((SpanielError, RuntimeError)) as caught:
            await fetching
        assert isinstance(caught.value, SpanielError) or "not open" in str(caught.value)
    for _ in range(600):
        if set(alive()) <= before:
            break
        await asyncio.sleep(0.1)
    assert set(alive()) <= before
