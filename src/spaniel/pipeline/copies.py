"""Copies of a page on other sites: the web archive (FG-32), a search engine's cache (FG-33), mirrors (FG-34).

Of the archive's answer only the snapshot's timestamp is used: the snapshot's URL is built here, from that timestamp
and the page's own URL. Each hop passes the guard and robots.txt, and none may leave the archive.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.fallback import PAGE_FETCHED, FallbackKind, never_cached, not_down
from spaniel.pipeline.outcome import FROM_ARCHIVE, moment
from spaniel.pipeline.retrieve import retrieve
from spaniel.url.hostlists import domains
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.fallback import Options
    from spaniel.pipeline.retrieve import FetchedPage, FetchOptions, PageHops
    from spaniel.pipeline.services import Services
    from spaniel.pipeline.task import Attempts, FetchTask
    from spaniel.url.value import Url


URL_FIELD, TIMESTAMP_FIELD = "{url}", "{timestamp}"


def filled(template: str, url: Url, timestamp: str = "") -> Url:
    """The address of a copy. The page's URL is percent-encoded inside a query, and left as it is in a path."""
    href = url._replace(fragment=None).href
    in_query = "?" in template.partition(URL_FIELD)[0]
    return parse(
        template.replace(TIMESTAMP_FIELD, timestamp).replace(URL_FIELD, quote(href, safe="") if in_query else href)
    )


LARGEST_ANSWER = 64 << 10  # bytes; the answer is a few lines of JSON
TIMESTAMP = re.compile("[0-9]{14}")


class Closest(msgspec.Struct):
    """The snapshot nearest to now; its own `url` is not used."""

    timestamp: str = ""
    available: bool = False
    status: str | int = "200"  # the page's status when the snapshot was taken


class Snapshots(msgspec.Struct):
    closest: Closest | None = None


class Availability(msgspec.Struct):
    archived_snapshots: Snapshots


_decoder = msgspec.json.Decoder(Availability)


def _archive_applies(state: Attempts, services: Services) -> str:
    if state.best is not None:
        return PAGE_FETCHED
    if not (services.copies.archive_available and services.copies.archive_snapshot):
        return "off: no archive is set"
    return not_down(state.failure)


async def _fetch_from_archive(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, _options: Options
) -> FetchedPage:
    task, copies = state.task, services.copies
    asked = filled(copies.archive_available, task.url)
    answer = await _get_from_archive(asked, _asking(task.way), services, deadline, hops)
    timestamp = read_availability(answer.page.body, services.clock.now())
    found = await _get_from_archive(
        filled(copies.archive_snapshot, task.url, timestamp), task.way, services, deadline, hops
    )
    page = found.page
    return found._replace(
        page=page._replace(url=task.url),  # links are resolved against the original page
        chain=(),
        notes=(FROM_ARCHIVE, *found.notes),
        archive_url=page.url.href,
        archive_date=moment(_taken(page.headers) or _moment_of(timestamp)),
    )


async def _get_from_archive(
    url: Url, way: FetchOptions, services: Services, deadline: Deadline, hops: PageHops
) -> FetchedPage:
    """One of the archive's own pages: an allowlist of the request does not apply to it, and it must stay there."""
    hops.start(url)
    services.door.guard.check_page(url, way.domains)
    inside = way.domains._replace(allowed=domains((url.host,)))
    return await retrieve(url, services.door, deadline, way._replace(domains=inside), hops)


def _asking(way: FetchOptions) -> FetchOptions:
    headers = way.options.headers._replace(accept="application/json")
    return way._replace(options=way.options._replace(headers=headers, max_bytes=LARGEST_ANSWER, cut=False))


def read_availability(body: bytes, now: datetime) -> str:
    """The snapshot's time as the archive's fourteen digits."""
    try:
        closest = _decoder.decode(body).archived_snapshots.closest
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise _unusable("its answer is not the expected JSON") from None
    if closest is None or not closest.available or str(closest.status) != "200":
        raise SpanielError(Code.HTTP_4XX, status=404, status_text="Not Found: the archive has no copy of this page")
    if not TIMESTAMP.fullmatch(closest.timestamp) or _moment_of(closest.timestamp) > now + timedelta(days=1):
        raise _unusable("its timestamp is invalid")
    return closest.timestamp


def _moment_of(timestamp: str) -> datetime:
    try:
        return datetime.strptime(timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise _unusable("its timestamp is invalid") from None


def _taken(headers: Mapping[str, str]) -> datetime | None:
    """When the snapshot was taken: the archive may redirect to another one than requested (RFC 7089 2.1.1)."""
    try:
        return parsedate_to_datetime(headers["memento-datetime"]).astimezone(UTC)
    except (KeyError, ValueError, OverflowError):
        return None


def _unusable(why: str) -> SpanielError:
    return SpanielError(Code.NETWORK, error=f"the archive cannot be used: {why}")


ARCHIVE = FallbackKind(_archive_applies, _fetch_from_archive, never_cached, elsewhere=True)


FROM_SEARCH_CACHE, FROM_MIRROR = "from_search_cache", "from_mirror"


def _search_cache_applies(state: Attempts, services: Services) -> str:
    if state.best is not None:
        return PAGE_FETCHED
    return not_down(state.failure) if services.copies.search_cache else "off: no template is set"


async def _fetch_from_search_cache(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, _options: Options
) -> FetchedPage:
    url = filled(services.copies.search_cache, state.task.url)
    found = await retrieve(url, services.door, deadline, state.task.way, hops)
    page = found.page._replace(url=state.task.url)  # links are resolved against the original page
    notes = (FROM_SEARCH_CACHE, *found.notes)
    return found._replace(page=page, chain=(), notes=notes, archive_url=found.page.url.href)


def _mirrors_apply(state: Attempts, services: Services) -> str:
    if state.best is not None:
        return PAGE_FETCHED
    if not services.copies.mirrors:
        return "off: no mirror is set"
    if not _mirrors_of(state.task, services, {}):
        return "no mirror is set for this address"
    return not_down(state.failure)


def _mirrors_of(task: FetchTask, services: Services, _options: Options) -> tuple[Options, ...]:
    """The addresses of the page at each mirror, in the order of the settings. Prefixes end with a slash."""
    href = task.url._replace(fragment=None).href
    page = href if href.endswith("/") else f"{href}/"  # a policy may have removed the last slash
    return tuple(
        {"address": to + href[len(prefix) :]} for prefix, to in services.copies.mirrors if page.startswith(prefix)
    )


async def _fetch_from_mirror(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, options: Options
) -> FetchedPage:
    url = parse(str(options["address"]))
    found = await retrieve(url, services.door, deadline, state.task.way, hops)
    return found._replace(notes=(FROM_MIRROR, *found.notes))


SEARCH_CACHE = FallbackKind(_search_cache_applies, _fetch_from_search_cache, never_cached, elsewhere=True)
MIRRORS = FallbackKind(_mirrors_apply, _fetch_from_mirror, never_cached, variants=_mirrors_of, elsewhere=True)
