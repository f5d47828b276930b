"""The page as a browser shows it (FG-31)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.browser.rendering import RenderRequest
from spaniel.chunking.plain import visible_length
from spaniel.errors import Code, SpanielError
from spaniel.net.http import Page
from spaniel.pipeline.retrieve import Retrieved, successful
from spaniel.pipeline.rungs.kind import Kind
from spaniel.pipeline.rungs.shells import shell_in
from spaniel.pipeline.rungs.site import asked_wait, is_rendered_from_the_start
from spaniel.reading.kinds import loadable_types
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.pipeline.errand import Ascent, Brought
    from spaniel.pipeline.retrieve import PageHops
    from spaniel.pipeline.rooms import Rendering, Rooms
    from spaniel.pipeline.rungs.kind import Options
    from spaniel.pipeline.rungs.shells import Shell
    from spaniel.url.value import Url

UNAVAILABLE = "browser_unavailable_used_http"
FAILED = "browser_failed_used_http"  # ours: the SRD names only the first
EMPTY = "rendered_empty_http"  # D2-34


def _applies(ascent: Ascent, rooms: Rooms) -> str:
    """Where it is asked for, and where HTTP brought little more than the place for a script's page (FR-WF-12b, 12c)."""
    errand, best = ascent.errand, ascent.best
    if not ascent.attempts:
        first = is_rendered_from_the_start(errand, rooms) or "http" not in errand.rungs
        return "" if first else "HTTP comes first"
    if best is None:
        return "there is no page to render"
    return _off(rooms) or _why_not(best, rooms.rendering)


def _off(rooms: Rooms) -> str:
    if rooms.renderer is None:
        return "off: the browser is switched off"
    return "" if rooms.rendering.spa_fallback else "off: it is not used for what HTTP brought"


def _why_not(best: Brought, rendering: Rendering) -> str:
    page = best.retrieved.page
    if best.instead is not None:  # a browser is no way round it
        return f"the page is not given out: {best.instead.page_type}"
    if page.status != 200:
        return f"the page came with status {page.status}"
    if _shell(best, rendering) is not None:
        return ""
    enough = visible_length(best.document.markdown, rendering.least_chars) >= rendering.least_chars
    return "the page has its text" if enough else "nothing says that a script fills the page"


def _shell(best: Brought, rendering: Rendering) -> Shell | None:
    empty = rendering.empty_fallback and best.reader == "html"
    return shell_in(best.retrieved.page.body, best.document.markdown, rendering.least_chars, empty_counts=empty)


async def _climb(ascent: Ascent, rooms: Rooms, deadline: Deadline, hops: PageHops, _options: Options) -> Retrieved:
    """Guard and robots are asked for the page, and for wherever it moves on to."""
    errand = ascent.errand
    door, way, url = rooms.door, errand.way, errand.url
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
    types = loadable_types(errand.kinds)
    wanted = RenderRequest(
        *(url, target, gate, left, way.max_redirects, errand.request.picture, headers.user_agent, types),
        languages=headers.accept_language,
        display=errand.request.display,
        picture_height=errand.request.picture_height,
        max_document_bytes=way.options.max_bytes,
    )
    found = (await _render(wanted, rooms, hops, deadline.seconds))._replace(content_signal=permission.content_signal)
    notes = (permission.note, EMPTY if _came_empty(ascent, rooms) else None, *found.notes)
    return found._replace(notes=tuple(dict.fromkeys(note for note in notes if note is not None)))


def _came_empty(ascent: Ascent, rooms: Rooms) -> bool:
    shell = _shell(ascent.best, rooms.rendering) if ascent.best is not None else None
    return shell is not None and shell.is_empty


async def _render(wanted: RenderRequest, rooms: Rooms, hops: PageHops, seconds: float) -> Retrieved:
    if rooms.renderer is None:
        switched_off = "it is switched off in the settings"
        raise SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path="", error=switched_off, cause="off")
    with hops.step("render") as step:
        try:
            shown = await rooms.renderer.render(wanted)
        except SpanielError as error:
            raise _in_whole_time(error, seconds) from None
        hops.status, step.text = shown.head.status, str(shown.head.status)
    hops.chain = [Hop(url, 0) for url in shown.chain]
    hops.start(shown.url)
    rooms.door.hosts.answered(shown.url.origin, shown.head.status, shown.head.headers, led=hops.is_led)
    headers = {**shown.head.headers, "content-type": shown.content_type}
    hops.answer = Page(shown.url, shown.head.status, shown.head.reason, headers, shown.body)
    return Retrieved(successful(hops.answer), shown.chain, shown.notes, shown.picture)


def _in_whole_time(error: SpanielError, seconds: float) -> SpanielError:
    """Whoever is told that the time is over set it for all of the fetch, not for what the browser got of it."""
    if error.code is not Code.TIMEOUT:
        return error
    return SpanielError(Code.TIMEOUT, **{**error.details, "timeout_ms": round(seconds * 1000)})


def _in_vain(error: SpanielError) -> str:
    """What an answer carries that should have been rendered (FR-WF-12d)."""
    return UNAVAILABLE if error.code is Code.BROWSER_UNAVAILABLE else FAILED


BROWSER = Kind(_applies, _climb, lambda _, __: True, "browser", _in_vain, asked_wait)
