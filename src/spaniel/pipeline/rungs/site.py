"""The page's own site over HTTP: asked once, asked again, asked without TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from spaniel.errors import Code
from spaniel.hosts.retry_after import seconds_until
from spaniel.pipeline.retrieve import retrieve
from spaniel.pipeline.rungs.failures import asks_for_time, not_transient, root_of
from spaniel.pipeline.rungs.kind import BROUGHT, Kind
from spaniel.tables import complaint

if TYPE_CHECKING:
    from spaniel.errors import SpanielError
    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.errand import Ascent, Errand
    from spaniel.pipeline.retrieve import PageHops, Retrieved
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.rungs.kind import Options
    from spaniel.tables import Table

HTTP_ONLY = "http_only_host"
JITTER = 0.2  # at most this share is added to a wait: many who failed together do not come back together
LONGEST_BACKOFF = 3600
MOST_ASKED = 3  # requests in all for a page whose server asks to wait (FG-46)
NO_CONNECTION = ("connect", "tls", "certificate")  # causes for which no HTTPS came about


def is_rendered_from_the_start(errand: Errand, rooms: Rooms) -> bool:
    return errand.request.force_browser or errand.url.host in rooms.rendering.js_heavy


def serves_http(errand: Errand, rooms: Rooms) -> bool:
    return not is_rendered_from_the_start(errand, rooms)


def asked_wait(ascent: Ascent, rooms: Rooms, _options: Options) -> float:
    """What the host asked for with Retry-After, to whoever heeds it."""
    errand = ascent.errand
    asked = rooms.door.hosts.asked(errand.url.origin) if errand.way.politeness.heeds_delays else None
    return asked.seconds if asked else 0.0


def _http_applies(ascent: Ascent, rooms: Rooms) -> str:
    """First of all, but for what is rendered from the start (FR-WF-12a)."""
    if ascent.attempts:
        return "it comes first or not at all"
    return "the page is rendered from the start" if is_rendered_from_the_start(ascent.errand, rooms) else ""


async def _climb_http(ascent: Ascent, rooms: Rooms, deadline: Deadline, hops: PageHops, _options: Options) -> Retrieved:
    return await retrieve(ascent.errand.url, rooms.door, deadline, ascent.errand.way, hops)


def _retry_applies(ascent: Ascent, _rooms: Rooms) -> str:
    if ascent.best is not None:
        return BROUGHT
    if why := not_transient(ascent.failure):
        return why
    asked = sum(asks_for_time(attempt.error) for attempt in ascent.at_the_site())
    return f"asked to wait {asked} times" if asked >= MOST_ASKED else ""


def _retry_after_applies(ascent: Ascent, rooms: Rooms) -> str:
    """For profiles without retries, in a batch: only where the server says that it is to be asked again."""
    why = _retry_applies(ascent, rooms)
    return why or ("" if asks_for_time(ascent.failure) else "the server did not ask to wait")


def _retry_wait(ascent: Ascent, rooms: Rooms, options: Options) -> float:
    """The backoff with its jitter, or what the host that answered asked for, if that is longer (FG-22, FG-30).

    What it said to this very fetch counts in full, also where a redirect of another site led to it.
    """
    backoff = cast("int", options["after_seconds"]) * (1 + JITTER * rooms.chance())
    asked = rooms.door.hosts.asked(ascent.last_url.origin)
    said = ascent.failure.details.get("retry_after") if ascent.failure else None
    own = seconds_until(str(said), rooms.clock.now()) if said and asks_for_time(ascent.failure) else None
    return max(backoff, asked.seconds if asked else 0.0, own or 0.0)


def _retry_options(table: Table) -> Options:
    seconds = table.number("after_seconds")
    if seconds > LONGEST_BACKOFF:
        raise complaint(f"{table.place}.after_seconds", f"{seconds} is more than {LONGEST_BACKOFF}")
    return {"after_seconds": seconds}


def _plain_http_applies(ascent: Ascent, _rooms: Rooms) -> str:
    """HTTP was asked for, the policy made HTTPS of it, and there is none (FG-13)."""
    errand = ascent.errand
    if ascent.best is not None:
        return BROUGHT
    if not errand.is_upgraded:
        return "the address was not http" if errand.url.scheme == "https" else "the address is http as it is"
    failure = ascent.failure
    if failure is None or ascent.last_url.host != errand.url.host:
        return "HTTPS has not failed there"
    return "" if _is_without_https(root_of(failure)) else "HTTPS works there"


def _is_without_https(error: SpanielError) -> bool:
    timed_out = error.code is Code.TIMEOUT and error.details.get("phase") == "connect"
    return timed_out or error.details.get("cause") in NO_CONNECTION


async def _climb_plain_http(
    ascent: Ascent, rooms: Rooms, deadline: Deadline, hops: PageHops, _options: Options
) -> Retrieved:
    """A page that comes so, without a redirect back to HTTPS, says that the host has no HTTPS."""
    url = ascent.errand.url._replace(scheme="http")
    found = await retrieve(url, rooms.door, deadline, ascent.errand.way, hops)
    if not any(hop.startswith("https:") for hop in (*found.chain, found.page.url.href)):
        rooms.door.hosts.set_http_only(url.host)
    return found._replace(notes=(HTTP_ONLY, *found.notes))


HTTP = Kind(_http_applies, _climb_http, serves_http, wait=asked_wait)
RETRY = Kind(_retry_applies, _climb_http, serves_http, wait=_retry_wait, options=_retry_options)
RETRY_AFTER = Kind(_retry_after_applies, _climb_http, serves_http, wait=_retry_wait, options=_retry_options)
PLAIN_HTTP = Kind(_plain_http_applies, _climb_plain_http, serves_http, wait=asked_wait)
