"""Copies that the settings know of: a search engine's (FG-33), and mirrors (FG-34)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.pipeline.retrieve import retrieve
from spaniel.pipeline.rungs.failures import not_down
from spaniel.pipeline.rungs.kind import BROUGHT, Kind, never_served
from spaniel.pipeline.rungs.templates import filled
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.errand import Ascent, Errand
    from spaniel.pipeline.retrieve import PageHops, Retrieved
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.rungs.kind import Options

FROM_SEARCH_CACHE, FROM_MIRROR = "from_search_cache", "from_mirror"


def _search_cache_applies(ascent: Ascent, rooms: Rooms) -> str:
    if ascent.best is not None:
        return BROUGHT
    return not_down(ascent.failure) if rooms.copies.search_cache else "off: no template is set"


async def _climb_search_cache(
    ascent: Ascent, rooms: Rooms, deadline: Deadline, hops: PageHops, _options: Options
) -> Retrieved:
    url = filled(rooms.copies.search_cache, ascent.errand.url)
    found = await retrieve(url, rooms.door, deadline, ascent.errand.way, hops)
    page = found.page._replace(url=ascent.errand.url)  # links in it lead from where the page was
    notes = (FROM_SEARCH_CACHE, *found.notes)
    return found._replace(page=page, chain=(), notes=notes, archive_url=found.page.url.href)


def _mirrors_apply(ascent: Ascent, rooms: Rooms) -> str:
    if ascent.best is not None:
        return BROUGHT
    if not rooms.copies.mirrors:
        return "off: no mirror is set"
    if not _mirrors_of(ascent.errand, rooms, {}):
        return "no mirror is known for this address"
    return not_down(ascent.failure)


def _mirrors_of(errand: Errand, rooms: Rooms, _options: Options) -> tuple[Options, ...]:
    """The addresses of the page at each mirror, in the order of the settings. Prefixes end with a slash."""
    href = errand.url._replace(fragment=None).href
    page = href if href.endswith("/") else f"{href}/"  # a policy may have dropped the last one
    return tuple(
        {"address": to + href[len(prefix) :]} for prefix, to in rooms.copies.mirrors if page.startswith(prefix)
    )


async def _climb_mirror(
    ascent: Ascent, rooms: Rooms, deadline: Deadline, hops: PageHops, options: Options
) -> Retrieved:
    url = parse(str(options["address"]))
    found = await retrieve(url, rooms.door, deadline, ascent.errand.way, hops)
    return found._replace(notes=(FROM_MIRROR, *found.notes))


SEARCH_CACHE = Kind(_search_cache_applies, _climb_search_cache, never_served, elsewhere=True)
MIRRORS = Kind(_mirrors_apply, _climb_mirror, never_served, ways=_mirrors_of, elsewhere=True)
