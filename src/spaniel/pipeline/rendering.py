"""Which way a page is fetched, and the browser's way (SRD Appendix B.3, FR-WF-12)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.browser.rendered import PARTIAL, Wanted
from spaniel.errors import Code, SpanielError
from spaniel.net.http import Page
from spaniel.pipeline.retrieve import Retrieved, Trail, successful
from spaniel.url.hostlists import HostList

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.browser.rendered import Rendered
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import Door
    from spaniel.pipeline.trace import Trace
    from spaniel.reading import Document
    from spaniel.url.value import Url

UNAVAILABLE = "browser_unavailable_used_http"
FAILED = "browser_failed_used_http"  # ours: the SRD names only the first
PASSING = frozenset({PARTIAL, UNAVAILABLE, FAILED})  # notes on what may be better next time: nothing to keep

# FR-WF-12c; bounded, so that a page of a million "<script" takes no longer than another
SIGNS = re.compile(
    rb"<script\b[^>]{0,500}?\btype\s{0,9}=\s{0,9}[\"']?module\b"
    rb"|\bid\s{0,9}=\s{0,9}[\"']?(?:__next|app|root)(?=[\"'\s>])"
    rb"|window\.__(?:NUXT|INITIAL_STATE)__",
    re.IGNORECASE,
)


class Renders(Protocol):
    """The browser, as a fetch needs it."""

    async def render(self, wanted: Wanted) -> Rendered: ...


class Browser(NamedTuple):
    """The browser and when it is used: `[tools.webfetch.browser]` and `[tools.webfetch.rendering]`."""

    renderer: Renders | None = None  # None: switched off
    js_heavy: HostList = HostList(())
    spa_fallback: bool = True
    least_chars: int = 400
    picture: Callable[[bytes], None] | None = None  # who wants a picture of the page (PNG)


def first_method(request: Request, url: Url, browser: Browser) -> str:
    """How a page is fetched at first (FR-WF-12a, 12b)."""
    return "browser" if request.force_browser or url.host in browser.js_heavy else "http"


def is_bare(page: Page, document: Document, browser: Browser) -> bool:
    """Whether HTTP brought little more than the place where a script would put the page (FR-WF-12c)."""
    return (
        browser.renderer is not None
        and browser.spa_fallback
        and page.status == 200
        and len(document.markdown.strip()) < browser.least_chars
        and SIGNS.search(page.body) is not None
    )


def fallback_note(error: SpanielError) -> str:
    """What an answer carries that should have been rendered (FR-WF-12d)."""
    return UNAVAILABLE if error.code is Code.BROWSER_UNAVAILABLE else FAILED


async def render(
    url: Url, door: Door, browser: Browser, deadline: Deadline, max_redirects: int = 5, trace: Trace | None = None
) -> Retrieved:
    """Fetch a page with the browser: guard and robots are asked for it, and for wherever it moves on to."""
    trail = Trail(url, trace, "browser")

    async def gate(moved_to: Url, target: Target, /) -> str | None:
        return await door.robots.require(moved_to, target, deadline.within(deadline.seconds))

    try:
        async with deadline.guarding("start"):
            target, note = await _admit(url, door, deadline, trail)
        deadline.phase = "browser"
        left = max(0.0, deadline.left())
        found = await _render(Wanted(url, target, gate, left, max_redirects, bool(browser.picture)), browser, trail)
    except SpanielError as error:
        trail.record(str(error.code), deadline, error)
        raise
    trail.record("fetch_complete", deadline)
    return found if note is None else found._replace(notes=tuple(dict.fromkeys((note, *found.notes))))


async def _admit(url: Url, door: Door, deadline: Deadline, trail: Trail) -> tuple[Target, str | None]:
    with trail.trace.step("guard"):
        target = await door.guard.vet(url, deadline)
    with trail.trace.step("robots"):
        return target, await door.robots.require(url, target, deadline)


async def _render(wanted: Wanted, browser: Browser, trail: Trail) -> Retrieved:
    if browser.renderer is None:
        raise SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path="", error="it is switched off in the settings")
    with trail.trace.step("fetch") as outcome:
        page = await browser.renderer.render(wanted)
        outcome.text = str(page.head.status)
    trail.url = page.url
    trail.chain = list(page.chain)
    if browser.picture is not None and page.picture is not None:
        browser.picture(page.picture)
    headers = {**page.head.headers, "content-type": page.content_type}
    answered = Page(page.url, page.head.status, page.head.reason, headers, page.body)
    return Retrieved(successful(answered), page.chain, page.notes)
