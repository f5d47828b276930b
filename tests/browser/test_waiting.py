"""Pages whose content waits for something: it is waited for, and nothing is waited for that will not come."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from spaniel.browser.cdp import CdpSession
from spaniel.browser.idle import SETTLED_MS, IdleWaiter
from spaniel.errors import SpanielError
from spaniel.testing import Page, Reply, Site, text
from tests.browser.gallery.site import Gallery
from tests.browser.gallery.waiting import ARRIVED, WAITING
from tests.browser.harness import SITE, WORDS, html, open_web

pytestmark = pytest.mark.timeout(900)
AT_ONCE = 4
# Each page in one of its two forms; the other is tried with `make torture`.
FORMS = {name: ("bare", "text")[number % 2] for number, name in enumerate(WAITING)}


async def fetched(forms: dict[str, str]) -> dict[str, str]:
    """What is wrong with each page; empty where it came whole."""
    turns = asyncio.Semaphore(AT_ONCE)
    async with Gallery(SITE) as site, open_web(site.port) as web:

        async def render(form: str, name: str) -> str:
            async with turns:
                try:
                    page = await web.render(f"http://{SITE}:{site.port}/{form}/{quote(name)}")
                except SpanielError as error:
                    return str(error)
                return ", ".join(page.notes) if ARRIVED in page.body.decode() else f"incomplete {page.notes}"

        found = await asyncio.gather(*(render(form, name) for name, form in forms.items()))
    return dict(zip(forms, found, strict=True))


@pytest.fixture(scope="module")
def wrong() -> dict[str, str]:
    return asyncio.run(fetched(FORMS))


@pytest.mark.req("D2-35", "FR-WF-11e")
@pytest.mark.parametrize("name", WAITING)
def test_a_page_comes_whole_and_without_a_note(wrong: dict[str, str], name: str) -> None:
    assert wrong[name] == ""


@pytest.mark.req("FR-WF-11e")
async def test_a_page_in_which_nothing_is_pending_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: one to which somebody may speak is waited for, for longer at a time."""
    waits: list[float] = []
    wait = IdleWaiter._live

    async def live(self: IdleWaiter, session: CdpSession, milliseconds: float) -> float:
        waits.append(milliseconds)
        return await wait(self, session, milliseconds)

    monkeypatch.setattr(IdleWaiter, "_live", live)

    async def late() -> Reply:
        await asyncio.sleep(0.3)  # the page is loaded by then
        return text(WORDS * 20)

    load = "<h1>Page</h1><p id=p></p><script>fetch('/late').then((r) => r.text()).then((t) => p.append(t));"
    pages: dict[str, Page] = {
        "/still": html(f"{load}</script>"),
        "/live": html(f"{load}new BroadcastChannel('x')</script>"),
        "/late": late,
    }
    async with Site(pages, SITE) as site, open_web(site.port) as web:
        await web.render(f"http://{SITE}:{site.port}/still")
        assert waits
        assert max(waits) <= SETTLED_MS
        await web.render(f"http://{SITE}:{site.port}/live")
        assert max(waits) > SETTLED_MS


@pytest.mark.req("D2-35", "FR-WF-11f")
async def test_an_observer_that_never_ends_is_not_waited_for() -> None:
    endless = (
        f"<h1>Page</h1><p>{WORDS * 20}</p><div id=box style='height: 1px'></div><script>let n = 0;"
        "new ResizeObserver(() => { box.style.height = `${++n % 50 + 1}px` }).observe(box)</script>"
    )
    async with Site({"/": html(endless)}, SITE) as site, open_web(site.port) as web:
        page = await web.render(f"http://{SITE}:{site.port}/")
    assert page.notes == ()
