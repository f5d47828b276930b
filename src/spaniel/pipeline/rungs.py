"""The ways to get a page. A rung says whether it is worth climbing now, and brings what it finds there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.browser.rendered import PARTIAL, Wanted
from spaniel.errors import Code, SpanielError
from spaniel.net.http import Page
from spaniel.pipeline.retrieve import Retrieved, retrieve, successful
from spaniel.reading.kinds import loadable_types

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.pipeline.errand import Ascent, Errand
    from spaniel.pipeline.retrieve import Trail
    from spaniel.pipeline.rooms import Rooms
    from spaniel.url.value import Url

    Applies = Callable[[Ascent, Rooms], bool]
    Climb = Callable[[Errand, Rooms, Deadline, Trail, Mapping[str, object]], Awaitable[Retrieved]]

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


class Kind(NamedTuple):
    """A kind of rung; a profile's ladder names it, with options of its own."""

    applies: Applies  # whether to climb it, after what came of the rungs before
    climb: Climb
    serves: Callable[[Errand, Rooms], bool]  # whether what it brought another time may be served from the cache
    rendering_method: str = "http"
    in_vain: Callable[[SpanielError], str] | None = None  # what to note on an earlier rung's page if this one fails


def _http_applies(ascent: Ascent, rooms: Rooms) -> bool:
    """First of all, but for what is rendered from the start (FR-WF-12a)."""
    return not ascent.attempts and not _is_rendered_from_the_start(ascent.errand, rooms)


async def _climb_http(
    errand: Errand, rooms: Rooms, deadline: Deadline, trail: Trail, _: Mapping[str, object]
) -> Retrieved:
    return await retrieve(errand.url, rooms.door, deadline, errand.way, trail)


def _browser_applies(ascent: Ascent, rooms: Rooms) -> bool:
    """Where it is asked for, and where HTTP brought little more than the place for a script's page (FR-WF-12b, 12c)."""
    if not ascent.attempts:
        return _is_rendered_from_the_start(ascent.errand, rooms) or "http" not in ascent.errand.rungs
    best, rule = ascent.best, rooms.rendering
    return (
        best is not None
        and rooms.renderer is not None
        and rule.spa_fallback
        and best.retrieved.page.status == 200
        and len(best.document.markdown.strip()) < rule.least_chars
        and SIGNS.search(best.retrieved.page.body) is not None
    )


def _is_rendered_from_the_start(errand: Errand, rooms: Rooms) -> bool:
    return errand.request.force_browser or errand.url.host in rooms.rendering.js_heavy


async def _climb_browser(
    errand: Errand, rooms: Rooms, deadline: Deadline, trail: Trail, _: Mapping[str, object]
) -> Retrieved:
    """Guard and robots are asked for the page, and for wherever it moves on to."""
    door, way, url = rooms.door, errand.way, errand.url
    headers = way.options.headers

    async def gate(moved_to: Url, target: Target, /) -> str | None:
        door.guard.check_page(moved_to, way.domains)
        return (await door.robots.require(moved_to, target, deadline.within(deadline.seconds), headers)).note

    async with deadline.guarding("start"):
        with trail.step("guard"):
            door.guard.check_page(url, way.domains)
            target = await door.guard.vet(url, deadline)
        with trail.step("robots"):
            note = (await door.robots.require(url, target, deadline, headers)).note
    deadline.phase = "browser"
    left = max(0.0, deadline.left())
    types = loadable_types(errand.kinds)
    wanted = Wanted(url, target, gate, left, way.max_redirects, errand.request.picture, headers.user_agent, types)
    found = await _render(wanted, rooms, trail)
    return found if note is None else found._replace(notes=tuple(dict.fromkeys((note, *found.notes))))


async def _render(wanted: Wanted, rooms: Rooms, trail: Trail) -> Retrieved:
    if rooms.renderer is None:
        raise SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path="", error="it is switched off in the settings")
    with trail.step("render") as step:
        shown = await rooms.renderer.render(wanted)
        trail.status, step.text = shown.head.status, str(shown.head.status)
    trail.chain = list(shown.chain)
    trail.arrive(shown.url)
    headers = {**shown.head.headers, "content-type": shown.content_type}
    page = successful(Page(shown.url, shown.head.status, shown.head.reason, headers, shown.body))
    return Retrieved(page, shown.chain, shown.notes, shown.picture)


def _browser_in_vain(error: SpanielError) -> str:
    """What an answer carries that should have been rendered (FR-WF-12d)."""
    return UNAVAILABLE if error.code is Code.BROWSER_UNAVAILABLE else FAILED


RUNGS: dict[str, Kind] = {
    "http": Kind(_http_applies, _climb_http, lambda errand, rooms: not _is_rendered_from_the_start(errand, rooms)),
    "browser": Kind(_browser_applies, _climb_browser, lambda _, __: True, "browser", _browser_in_vain),
}
