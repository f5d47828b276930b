"""How a document may end otherwise than by being loaded: each at once, and with the code that HTTP would give."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.browser.navigation import TABLE, FrameEvent, FrameState, after
from spaniel.errors import SpanielError
from spaniel.testing import Page, Site, spaniel_for
from tests.browser.harness import SITE, WORDS, html, open_web, script, spaniel_at, with_chromium
from tests.stopwatch import Stopwatch

START = f"<h1>Here</h1><p>{WORDS * 12}</p>"
ENDINGS = {
    "window.stop": f"{START}<script>window.stop()</script><p>after</p>",
    "window.stop later": f"{START}<script>setTimeout(() => window.stop(), 10)</script><script src=/never.js></script>",
    "mailto": f"{START}<script>location = 'mailto:a@b.example'</script><p>after</p>",
    "app scheme": f"{START}<script>location = 'zoommtg://join?x=1'</script><p>after</p>",
    "app scheme in a frame": f"{START}<iframe src='intent://x#Intent;scheme=y;end'></iframe>",
    "history.back": f"{START}<script>history.back()</script><p>after</p>",
    "history.back late": f"{START}<p>after</p><script>onload = () => setTimeout(() => history.back(), 100)</script>",
    "history.back in a frame": f"{START}<iframe srcdoc='<script>history.back(); parent.history.back()</script>'>"
    "</iframe><p>after</p>",
    "history.back in another's frame": f"{START}<script>const f = document.createElement('iframe');"
    "f.src = `http://other.example:${location.port}/goes-back`; document.body.append(f);"
    "setTimeout(() => fetch('/nothing'), 600)</script><p>after</p>",
    "history.back where a script has gone to": f"<script>if (!location.search) location = '?2'</script>{START}"
    "<script>if (location.search) history.back()</script><p>after</p>",
    "history.back in the page itself": f"{START}<p id=p></p><script>onpopstate = () => {{ p.textContent = 'after' }};"
    "history.pushState(0, '', '#a'); history.back()</script>",
    "history.go": f"{START}<script>history.go(-3); history.forward()</script><p>after</p>",
    "leaves for 204": f"{START}<script>location = '/nothing'</script><p>after</p>",
    "leaves for 205": f"{START}<script>onload = () => location.assign('/reset')</script>",
    "leaves for a file": f"{START}<script>location = '/file.zip'</script><p>after</p>",
    "document.open": f"<script>onload = () => {{ document.open(); document.write(`{START}`); document.close() }}"
    "</script>",
    "document.open never closed": f"<script>onload = () => {{ document.open(); document.write(`{START}`) }}</script>",
    "nul in the text": f"{START}<script>document.body.prepend('a\\0b'.repeat(99))</script>",
    "lone surrogate": f"{START}<script>document.body.append('a\\ud800b')</script>",
}
PAGES: dict[str, Page] = {
    "/nothing": (204, {}, b""),
    "/goes-back": html("<script>setTimeout(() => history.back(), 300)</script>"),
    "/reset": (205, {}, b""),
    "/file.zip": (200, {"Content-Type": "application/zip"}, b"PK"),
    "/big-picture": html(f"{START}<img alt=big src='data:image/png;base64,{'A' * 6_000_000}'><p>after the picture</p>"),
}
QUICK = (
    15.0  # seconds; a page that rests costs a fraction of one, and what is waited for without result costs the cap: 60
)


async def never() -> tuple[int, dict[str, str], bytes]:
    await asyncio.sleep(600)
    return script("")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str | None, float]]:
    """Of each page: its Markdown, its note, and how long it took."""
    return asyncio.run(endings(tmp_path_factory.mktemp("cache")))


async def endings(folder: Path) -> dict[str, tuple[str, str | None, float]]:
    paths = {name: f"/{number}" for number, name in enumerate(ENDINGS)}
    pages: dict[str, Page] = {**PAGES, "/warm": html(START), "/never.js": never}
    pages |= {path: html(ENDINGS[name]) for name, path in paths.items()}
    found = {}
    async with spaniel_at(pages, folder, {"network_idle_ms": 60_000}) as (spaniel, site):
        await spaniel.fetch(site.url("/warm"), force_browser=True)
        for name, path in paths.items():
            watch = Stopwatch()
            answer = await spaniel.fetch(site.url(path), force_browser=True)
            assert answer.final_url.partition("?")[0] == site.url(path)
            found[name] = answer.markdown, answer.note, watch.seconds
    return found


@pytest.mark.req("D2-25", "FR-WF-11e")
@pytest.mark.parametrize("name", ENDINGS)
def test_a_page_that_ends_in_another_way_is_brought_at_once(
    name: str, ended: dict[str, tuple[str, str | None, float]]
) -> None:
    markdown, note, seconds = ended[name]
    assert "The otter swims" in markdown
    assert note is None
    assert seconds < QUICK + 30
    if "after" in ENDINGS[name] and name.startswith("history"):  # which stops no parser
        assert "after" in markdown


async def test_a_picture_of_many_bytes_in_the_page_costs_no_text(tmp_path: Path) -> None:
    async with spaniel_at(PAGES, tmp_path, max_download_bytes=9_000_000) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/big-picture"), force_browser=True)
    assert "The otter swims" in answer.markdown
    assert "after the picture" in answer.markdown
    assert answer.note is None


@pytest.mark.req("FR-WF-10e")
@pytest.mark.parametrize(("message", "comes"), [(True, True), (False, True), (True, False)])
async def test_a_document_over_the_cap_is_refused_as_it_is_over_http(
    message: bool, comes: bool, tmp_path: Path
) -> None:
    """By what the server says of its length, before anything has come; and by what comes, where it says nothing."""
    body = b"<!doctype html><h1>Long</h1>" + b"<p>too much of it</p>" * 20_000
    length = f"Content-Length: {len(body)}\r\n" if message else ""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{length}Connection: close\r\n\r\n".encode()
    async with (
        Raw(head + (body if comes else body[:999])) as site,
        spaniel_at_raw(site, tmp_path, max_download_bytes=100_000) as spaniel,
    ):
        codes = []
        for browser in (False, True):
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(f"http://site.example:{site.port}/", force_browser=browser)
            codes.append(str(caught.value.code))
    assert codes == ["response_too_large"] * 2


@pytest.mark.req("FR-WF-11f", "D2-35")
async def test_a_document_that_breaks_off_is_brought_with_a_note_and_not_kept(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999\r\nConnection: close\r\n\r\n"
    async with Raw(head + f"<!doctype html>{START}".encode()) as site, spaniel_at_raw(site, tmp_path) as spaniel:
        for _ in range(2):
            answer = await spaniel.fetch(f"http://site.example:{site.port}/", force_browser=True)
            assert "The otter swims" in answer.markdown
            assert answer.note == "browser_timeout_dom_partial"


class Raw(Site):
    """Sends the same bytes to everybody, and hangs up."""

    def __init__(self, answer: bytes) -> None:
        super().__init__({})
        self._answer = answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" if b"robots.txt" in asked else self._answer)
        await writer.drain()
        writer.close()


def spaniel_at_raw(site: Site, folder: Path, **webfetch: Any) -> AbstractAsyncContextManager[Spaniel]:
    return spaniel_for(site, cache=folder, browser=with_chromium(), **{"timeout_seconds": 120, **webfetch})


def test_every_state_has_its_row_and_none_is_left_without_a_way_on() -> None:
    assert set(TABLE) == set(FrameState)
    for state in FrameState:
        reached, new = {state}, {state}
        while new:
            new = {after(one, event) for one in new for event in FrameEvent} - reached
            reached |= new
        assert FrameState.READY in reached, f"from {state} a page is never ready"


@pytest.mark.parametrize("state", FrameState)
def test_what_is_told_twice_changes_nothing_more(state: FrameState) -> None:
    for event in FrameEvent:
        once = after(state, event)
        assert after(once, event) in (once, FrameState.READY)


async def test_a_page_stays_where_it_is_when_it_is_kept_from_leaving() -> None:
    """The control: the same way to a page that is there is followed."""
    pages: dict[str, Page] = {
        "/": html(f"{START}<script>location = '/there'</script>"),
        "/there": html("<h1>There</h1>"),
    }
    async with Site(pages, SITE) as site, open_web(site.port) as web:
        page = await web.render(f"http://{SITE}:{site.port}/")
    assert (page.url.path, b"There" in page.body) == ("/there", True)
