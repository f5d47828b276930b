"""The page as a browser renders it (FG-31), when HTTP returned a shell that scripts fill (FR-WF-12c, D2-34).

The patterns of shells are data: `shells.toml`.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.browser.rendering import RenderRequest
from spaniel.chunking.plain_text import visible_length
from spaniel.errors import Code, SpanielError
from spaniel.net.http import Page
from spaniel.pipeline.fallback import FallbackKind, is_rendered_first, requested_wait
from spaniel.pipeline.retrieve import FetchedPage, successful
from spaniel.reading.kinds import loadable_types
from spaniel.tables import Table, read_toml
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.pipeline.fallback import Options
    from spaniel.pipeline.retrieve import PageHops
    from spaniel.pipeline.services import Rendering, Services
    from spaniel.pipeline.task import Attempts, FetchResult
    from spaniel.url.value import Url


NEXT_TO_NOTHING = 60  # characters of text
WITHOUT_SCRIPTS = 1_500  # characters; a longer `noscript` is the page itself, not a notice
LOOKED_AT = 1_000_000  # bytes of a page searched for shell patterns; bounds the cost of a hostile page
_SCRIPT = re.compile(rb"<script\b(?![^<>]{0,300}?\btype\s{0,9}=\s{0,9}[\"']?application/(?:ld\+)?json\b)")
_NOSCRIPT = b"<noscript"
_FILE = os.path.join(os.path.dirname(__file__), "shells.toml")


class ShellPattern(NamedTuple):
    """How a shell is recognized, and how much text makes a page not a shell."""

    name: str
    has: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None
    also: re.Pattern[bytes] | None
    below: int  # 0: use the setting

    def is_in(self, page: bytes) -> bool:
        if not any(word in page for word in self.has):
            return False
        return all(each is None or each.search(page) for each in (self.pattern, self.also))


class Shell(NamedTuple):
    """The evidence for rendering a page."""

    sign: str
    is_empty: bool = False  # almost no text, and scripts


def shell_in(body: bytes, markdown: str, least_chars: int, *, empty_counts: bool) -> Shell | None:
    """The evidence that scripts fill this page; None if there is none."""
    enough = max(WITHOUT_SCRIPTS, least_chars)
    size = visible_length(markdown, enough)  # link targets are not visible text
    if size >= enough:
        return None
    page = body[:LOOKED_AT].lower()
    if size and _NOSCRIPT in page:  # often only a notice for readers without scripts
        size = min(size, len(_text_without_noscript(body)))
    for sign in shell_patterns():
        if size < (sign.below or least_chars) and sign.is_in(page):
            return Shell(sign.name)
    if empty_counts and size < NEXT_TO_NOTHING and _SCRIPT.search(page):
        return Shell("scripts, and almost no text", is_empty=True)
    return None


def _text_without_noscript(body: bytes) -> str:
    from turbohtml import parse

    page = parse(body, positions=False)
    for element in page.select("noscript,script,style,template,head"):
        element.decompose()
    return " ".join(page.text.split())


@cache
def shell_patterns() -> tuple[ShellPattern, ...]:
    what = "shell_patterns of shells"
    return tuple(map(_pattern, Table(read_toml(_FILE, what), what).tables("sign")))


def _pattern(one: Table) -> ShellPattern:
    has = tuple(word.encode() for word in one.texts("has"))
    pattern, also = _compiled(one.text("pattern", "")), _compiled(one.text("and", ""))
    return ShellPattern(one.text("name"), has, pattern, also, one.number("below"))


def _compiled(pattern: str) -> re.Pattern[bytes] | None:
    return re.compile(pattern.encode()) if pattern else None


UNAVAILABLE = "browser_unavailable_used_http"
FAILED = "browser_failed_used_http"  # our own; the SRD defines only the first
EMPTY = "rendered_empty_http"  # D2-34


def _applies(state: Attempts, services: Services) -> str:
    """Runs if requested, or if HTTP returned little more than a script's mount point (FR-WF-12b, 12c)."""
    task, best = state.task, state.best
    if not state.attempts:
        first = is_rendered_first(task, services) or "http" not in task.fallback_names
        return "" if first else "HTTP comes first"
    if best is None:
        return "there is no page to render"
    return _off(services) or _why_not(best, services.rendering)


def _off(services: Services) -> str:
    if services.renderer is None:
        return "off: the browser is switched off"
    return "" if services.rendering.spa_fallback else "off: it is not used for pages that HTTP returned"


def _why_not(best: FetchResult, rendering: Rendering) -> str:
    page = best.fetched.page
    if best.blocked is not None:  # a browser would not change it
        return f"access to the page is restricted: {best.blocked.page_type}"
    if page.status != 200:
        return f"the page came with status {page.status}"
    if _shell(best, rendering) is not None:
        return ""
    enough = visible_length(best.document.markdown, rendering.least_chars) >= rendering.least_chars
    return "the page has its text" if enough else "no sign that a script fills the page"


def _shell(best: FetchResult, rendering: Rendering) -> Shell | None:
    empty = rendering.empty_fallback and best.reader == "html"
    return shell_in(best.fetched.page.body, best.document.markdown, rendering.least_chars, empty_counts=empty)


async def _fetch_rendered(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, _options: Options
) -> FetchedPage:
    """The guard and robots.txt are checked for the page, and for every page it navigates to."""
    task = state.task
    door, way, url = services.door, task.way, task.url
    headers = way.options.headers

    async def gate(moved_to: Url, target: Target, /) -> str | None:
        door.guard.check_page(moved_to, way.domains)
        return (await door.robots.require(moved_to, target, deadline.within(deadline.seconds), headers)).note

    with deadline.guarding("start"):
        with hops.step("guard"):
            door.guard.check_page(url, way.domains)
            target = await door.guard.vet(url, deadline)
        with hops.step("robots"):
            permission = await door.robots.require(url, target, deadline, headers)
    deadline.phase = "browser"
    left = max(0.0, deadline.left())
    types = loadable_types(task.kinds)
    wanted = RenderRequest(
        *(url, target, gate, left, way.max_redirects, task.request.picture, headers.user_agent, types),
        languages=headers.accept_language,
        display=task.request.display,
        picture_height=task.request.picture_height,
        max_document_bytes=way.options.max_bytes,
    )
    found = (await _render(wanted, services, hops, deadline.seconds))._replace(content_signal=permission.content_signal)
    notes = (permission.note, EMPTY if _came_empty(state, services) else None, *found.notes)
    return found._replace(notes=tuple(dict.fromkeys(note for note in notes if note is not None)))


def _came_empty(state: Attempts, services: Services) -> bool:
    shell = _shell(state.best, services.rendering) if state.best is not None else None
    return shell is not None and shell.is_empty


async def _render(wanted: RenderRequest, services: Services, hops: PageHops, seconds: float) -> FetchedPage:
    if services.renderer is None:
        switched_off = "it is disabled in the settings"
        raise SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path="", error=switched_off, cause="off")
    with hops.step("render") as step:
        try:
            shown = await services.renderer.render(wanted)
        except SpanielError as error:
            raise _in_whole_time(error, seconds) from None
        hops.status, step.text = shown.head.status, str(shown.head.status)
    hops.chain = [Hop(url, 0) for url in shown.chain]
    hops.start(shown.url)
    services.door.hosts.answered(shown.url.origin, shown.head.status, shown.head.headers, led=hops.is_led)
    headers = {**shown.head.headers, "content-type": shown.content_type}
    hops.answer = Page(shown.url, shown.head.status, shown.head.reason, headers, shown.body)
    return FetchedPage(successful(hops.answer), shown.chain, shown.notes, shown.picture)


def _in_whole_time(error: SpanielError, seconds: float) -> SpanielError:
    """The reported limit is that of the whole fetch, which the user set, not the browser's share of it."""
    if error.code is not Code.TIMEOUT:
        return error
    return SpanielError(Code.TIMEOUT, **{**error.details, "timeout_ms": round(seconds * 1000)})


def _failure_note(error: SpanielError) -> str:
    """The note on an answer that should have been rendered (FR-WF-12d)."""
    return UNAVAILABLE if error.code is Code.BROWSER_UNAVAILABLE else FAILED


BROWSER = FallbackKind(_applies, _fetch_rendered, lambda _, __: True, "browser", _failure_note, requested_wait)
