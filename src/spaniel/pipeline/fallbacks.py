"""The fallbacks by name, as a profile lists them, and what a failure means for the next one: retry, copy, or stop?

To add one: a `FallbackKind` here, and its name in `FALLBACKS`. Copies of a page come from the web archive (FG-32), a
search engine's cache (FG-33) and mirrors (FG-34); each of their hops passes the guard and robots.txt.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import quote

import msgspec

from spaniel.browser.rendering import MISSING, PARTIAL, RenderRequest
from spaniel.chunking.plain_text import visible_length
from spaniel.errors import PAGE_TYPE_HINTS, Code, SpanielError
from spaniel.hosts import GIVEN_UP
from spaniel.hosts.retry_after import seconds_until
from spaniel.net.http import Page
from spaniel.pipeline.outcome import FROM_ARCHIVE, moment, shortened
from spaniel.pipeline.page_types import SITE_SIGNAL, Shell, shell_in
from spaniel.pipeline.retrieve import FetchedPage, retrieve, successful
from spaniel.queue import Failure
from spaniel.reading.kinds import loadable_types
from spaniel.tables import complaint
from spaniel.url.hostlists import domains
from spaniel.url.parsing import parse, requested
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.pipeline.outcome import Attempt
    from spaniel.pipeline.retrieve import FetchOptions, PageHops
    from spaniel.pipeline.services import Rendering, Services
    from spaniel.pipeline.task import Attempts, FetchTask
    from spaniel.tables import Table
    from spaniel.url.value import Url

    Options = Mapping[str, object]
    SkipReason = Callable[[Attempts, Services], str]
    Fetch = Callable[[Attempts, Services, Deadline, PageHops, Options], Awaitable[FetchedPage | None]]
    Wait = Callable[[Attempts, Services, Options], float]
    Variants = Callable[[FetchTask, Services, Options], tuple[Options, ...]]


PAGE_FETCHED = "the page was fetched"


def is_rendered_first(task: FetchTask, services: Services) -> bool:
    return task.request.force_browser or task.url.host in services.rendering.js_heavy_domains


def requested_wait(state: Attempts, services: Services, _options: Options) -> float:
    """The wait that the host requested with Retry-After, if the profile respects it."""
    task = state.task
    asked = services.door.hosts.asked(task.url.origin) if task.way.politeness.respect_delays else None
    return asked.seconds if asked else 0.0


class FallbackKind(NamedTuple):
    """A kind of fallback; a profile lists it by name, with options."""

    skip_reason: SkipReason  # empty: it applies after the attempts so far; else why it is skipped
    fetch: Fetch  # None from one that fetches no page, such as the queue
    may_serve_cached: Callable[[FetchTask, Services], bool] | None = None  # a page it fetched earlier; None: never
    rendering_method: str = "http"
    failure_note: Callable[[SpanielError], str] | None = None  # the note on an earlier page if this fallback fails
    wait: Wait | None = None  # seconds to wait before it; the runner decides whether that is acceptable
    variants: Variants | None = None  # options for several tries, one by one until one fetches the page
    options: Callable[[Table], Options] | None = None  # from the profile's options; None: it has none
    elsewhere: bool = False  # it asks another site: its failure says nothing about the page's own site
    local: bool = False  # it makes no requests: it runs even after the deadline


GONE = (404, 410)
SILENT = frozenset({"start", "dns", "connect", "headers", "robots"})  # phases before a response starts
RATE_LIMIT = "rate_limit"  # the page type that means "not now"
REFUSED_HERE = frozenset({Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST})  # by our guard, not by the site


def root_of(error: SpanielError) -> SpanielError:
    """The error that made robots.txt unreadable, if that is why the page was not requested; else the error itself."""
    cause = error.__cause__
    if error.code is not Code.ROBOTS_UNAVAILABLE or not isinstance(cause, SpanielError):
        return error
    return cause


def not_transient(failure: SpanielError | None) -> str:
    """Why a retry would fail the same way (FG-30, FG-22); empty if it might succeed."""
    if failure is None:
        return "nothing has failed"
    root = root_of(failure)
    if root.details.get("cause") == GIVEN_UP:
        return "the host was given up"
    if _is_closed(failure):
        return f"access to the page is restricted: {failure.details['page_type']}"
    passing = root.code is Code.HTTP_5XX or root.details.get("status") == 429 or _is_unreached(root)
    untrusted = root.details.get("cause") == "certificate"  # it would be the same a minute later
    return "" if passing and not untrusted else f"not after {failure_label(failure)}"


def asks_for_time(failure: SpanielError | None) -> bool:
    """Whether the server said "not now": 429, or 503 that says when (FG-22, FG-46)."""
    status = None if failure is None else failure.details.get("status")
    return status == 429 or (status == 503 and failure is not None and "retry_after" in failure.details)


def is_unanswered(failure: SpanielError, phase: str) -> bool:
    """Whether the host gave no response at all: no address, no connection, or a connection closed or silent.

    `phase` is where the attempt ended: a failure in the body comes after a response.
    """
    root = root_of(failure)
    if root.details.get("cause") == GIVEN_UP:  # no request was made
        return False
    if root.code is Code.DNS_FAILED:
        return True
    if root.code is Code.TIMEOUT:
        return root.details.get("phase") in SILENT
    return _is_unreached(root) and (root is not failure or phase in SILENT)


def not_down(failure: SpanielError | None) -> str:
    """Why no copy from elsewhere is fetched (FG-32): the page is neither gone nor unreachable.

    A refusal is not circumvented: 401, 402, 403, 429 and robots.txt. A robots.txt that answers 5xx is a refusal too
    (RFC 9309 2.3.1.4); a host that cannot be reached has not refused.
    """
    if failure is None:
        return "nothing has failed"
    root = root_of(failure)
    if _is_closed(failure):
        return f"access to the page is restricted: {failure.details['page_type']}"
    gone = failure.details.get("status") in GONE
    down = failure.code in (Code.HTTP_5XX, Code.DNS_FAILED) or _is_unreached(root)
    return "" if gone or down else f"not after {failure_label(failure)}"


def _is_closed(failure: SpanielError) -> bool:
    """Whether the site refused explicitly: asking again, or elsewhere, would circumvent that."""
    return failure.details.get("page_type", RATE_LIMIT) != RATE_LIMIT


def failure_label(failure: SpanielError) -> str:
    """A failure in one word: the status if there was a response, else the code."""
    return str(failure.details.get("status") or failure.code)


def _is_unreached(error: SpanielError) -> bool:
    """The network failed, or the deadline passed before the page was complete; not while it was being read."""
    if error.code is Code.TIMEOUT:
        return error.details.get("phase") != "extract"
    return error.code is Code.NETWORK and "status" not in error.details


HTTP_ONLY = "http_only_host"
JITTER = 0.2  # up to this share is added to a wait, so that fetches that failed together do not retry together
LONGEST_BACKOFF = 3600
MOST_ASKED = 3  # requests in all for a page whose server asks to wait (FG-46)
NO_CONNECTION = ("connect", "tls", "certificate")  # causes that mean HTTPS is not available


def may_serve_http(task: FetchTask, services: Services) -> bool:
    return not is_rendered_first(task, services)


def _http_applies(state: Attempts, services: Services) -> str:
    """The first attempt, except for pages rendered from the start (FR-WF-12a)."""
    if state.attempts:
        return "it runs first or not at all"
    return "the page is rendered from the start" if is_rendered_first(state.task, services) else ""


async def _fetch_over_http(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, _options: Options
) -> FetchedPage:
    return await retrieve(state.task.url, services.door, deadline, state.task.way, hops)


def _retry_applies(state: Attempts, _services: Services) -> str:
    if state.best is not None:
        return PAGE_FETCHED
    if why := not_transient(state.failure):
        return why
    asked = sum(asks_for_time(attempt.error) for attempt in state.at_site())
    return f"asked to wait {asked} times" if asked >= MOST_ASKED else ""


def _retry_after_applies(state: Attempts, services: Services) -> str:
    """For profiles without retries, in a batch: only if the server asked to wait."""
    why = _retry_applies(state, services)
    return why or ("" if asks_for_time(state.failure) else "the server did not ask to wait")


def _retry_wait(state: Attempts, services: Services, options: Options) -> float:
    """The backoff with jitter, or the wait that the host requested, if longer (FG-22, FG-30).

    A wait requested in this fetch counts in full, even after a redirect from another site.
    """
    backoff = cast("int", options["after_seconds"]) * (1 + JITTER * services.chance())
    asked = services.door.hosts.asked(state.last_url.origin)
    said = state.failure.details.get("retry_after") if state.failure else None
    own = seconds_until(str(said), services.clock.now()) if said and asks_for_time(state.failure) else None
    return max(backoff, asked.seconds if asked else 0.0, own or 0.0)


def _retry_options(table: Table) -> Options:
    seconds = table.number("after_seconds")
    if seconds > LONGEST_BACKOFF:
        raise complaint(f"{table.place}.after_seconds", f"{seconds} is more than {LONGEST_BACKOFF}")
    return {"after_seconds": seconds}


def _plain_http_applies(state: Attempts, _services: Services) -> str:
    """For an HTTP URL that the policy upgraded to HTTPS, if the host has no HTTPS (FG-13)."""
    task = state.task
    if state.best is not None:
        return PAGE_FETCHED
    if not task.is_upgraded:
        return "the requested URL was not http" if task.url.scheme == "https" else "the canonical URL is already http"
    failure = state.failure
    if failure is None or state.last_url.host != task.url.host:
        return "HTTPS has not failed on this host"
    return "" if _is_without_https(root_of(failure)) else "HTTPS works on this host"


def _is_without_https(error: SpanielError) -> bool:
    timed_out = error.code is Code.TIMEOUT and error.details.get("phase") == "connect"
    return timed_out or error.details.get("cause") in NO_CONNECTION


async def _fetch_over_plain_http(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, _options: Options
) -> FetchedPage:
    """A page fetched this way, without a redirect to HTTPS, shows that the host has no HTTPS."""
    url = state.task.url._replace(scheme="http")
    found = await retrieve(url, services.door, deadline, state.task.way, hops)
    if not any(hop.startswith("https:") for hop in (*found.chain, found.page.url.href)):
        services.door.hosts.set_http_only(url.host)
    return found._replace(notes=(HTTP_ONLY, *found.notes))


HTTP = FallbackKind(_http_applies, _fetch_over_http, may_serve_http, wait=requested_wait)
RETRY = FallbackKind(_retry_applies, _fetch_over_http, may_serve_http, wait=_retry_wait, options=_retry_options)
RETRY_AFTER = FallbackKind(
    _retry_after_applies, _fetch_over_http, may_serve_http, wait=_retry_wait, options=_retry_options
)
PLAIN_HTTP = FallbackKind(_plain_http_applies, _fetch_over_plain_http, may_serve_http, wait=requested_wait)


UNAVAILABLE = "browser_unavailable_used_http"
FAILED = "browser_failed_used_http"  # our own; the SRD defines only the first
EMPTY = "rendered_empty_http"  # D2-34


def _browser_applies(state: Attempts, services: Services) -> str:
    """Runs if requested, or if HTTP returned little more than a script's mount point (FR-WF-12b, 12c)."""
    task, best = state.task, state.best
    if not state.attempts:
        first = is_rendered_first(task, services) or "http" not in task.fallback_names
        return "" if first else "HTTP comes first"
    if best is None:
        return "there is no page to render"
    if services.renderer is None:
        return "off: the browser is switched off"
    if not services.rendering.spa_fallback_enabled:
        return "off: it is not used for pages that HTTP returned"
    if best.blocked is not None:  # a browser would not change it
        return f"access to the page is restricted: {best.blocked.page_type}"
    if best.page.status != 200:
        return f"the page came with status {best.page.status}"
    if _shell(best, services.rendering) is not None:
        return ""
    least = services.rendering.min_extracted_chars
    enough = visible_length(best.document.markdown, least) >= least
    return "the page has its text" if enough else "no sign that a script fills the page"


def _shell(best: FetchedPage, rendering: Rendering) -> Shell | None:
    empty = rendering.empty_fallback and best.reader == "html"
    return shell_in(best.page.body, best.document.markdown, rendering.min_extracted_chars, empty_counts=empty)


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
    shell = _shell(state.best, services.rendering) if state.best is not None else None
    notes = (permission.note, EMPTY if shell is not None and shell.is_empty else None, *found.notes)
    return found._replace(notes=tuple(dict.fromkeys(note for note in notes if note is not None)))


async def _render(wanted: RenderRequest, services: Services, hops: PageHops, seconds: float) -> FetchedPage:
    if services.renderer is None:
        switched_off = "it is disabled in the settings"
        raise SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path="", error=switched_off, cause="off")
    with hops.step("render") as step:
        try:
            shown = await services.renderer.render(wanted)
        except SpanielError as error:
            if error.code is not Code.TIMEOUT:
                raise error from None
            # The reported limit is that of the whole fetch, which the user set, not the browser's share of it.
            raise SpanielError(Code.TIMEOUT, **{**error.details, "timeout_ms": round(seconds * 1000)}) from None
        hops.status, step.text = shown.head.status, str(shown.head.status)
    hops.chain = [Hop(url, 0) for url in shown.chain]
    hops.start(shown.url)
    services.door.hosts.answered(shown.url.origin, shown.head.status, shown.head.headers, led=hops.is_led)
    headers = {**shown.head.headers, "content-type": shown.content_type}
    hops.answer = Page(shown.url, shown.head.status, shown.head.reason, headers, shown.body)
    return FetchedPage(successful(hops.answer), shown.chain, shown.notes, shown.picture)


def _browser_failure_note(error: SpanielError) -> str:
    """The note on an answer that should have been rendered (FR-WF-12d)."""
    return UNAVAILABLE if error.code is Code.BROWSER_UNAVAILABLE else FAILED


BROWSER = FallbackKind(
    _browser_applies, _fetch_rendered, lambda _, __: True, "browser", _browser_failure_note, requested_wait
)


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


ARCHIVE = FallbackKind(_archive_applies, _fetch_from_archive, elsewhere=True)


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


SEARCH_CACHE = FallbackKind(_search_cache_applies, _fetch_from_search_cache, elsewhere=True)
MIRRORS = FallbackKind(_mirrors_apply, _fetch_from_mirror, variants=_mirrors_of, elsewhere=True)


SHOWN = 500  # characters of a tried address; a hostile one must not fill the file


def _queue_applies(state: Attempts, services: Services) -> str:
    blocked = state.best.blocked if state.best is not None else None
    if state.best is not None and blocked is None:
        return PAGE_FETCHED
    if blocked is not None and blocked.page_type == SITE_SIGNAL:
        return f"the profile respects the site's {blocked.notes[-1]}"
    if services.queue is None:
        return "off: there is no queue"
    if blocked is not None:
        return ""
    refusal = state.refusal
    if refusal is None:
        return "nothing has failed"
    return f"not after {failure_label(refusal)}" if refusal.code in REFUSED_HERE else ""


async def _put_in_queue(
    state: Attempts, services: Services, _deadline: Deadline, hops: PageHops, _options: Options
) -> None:
    assert services.queue is not None  # noqa: S101  it applied
    with hops.step("queue"):
        await services.writer.write(services.queue.add, _failure(state), services.clock.now().timestamp())


def _failure(state: Attempts) -> Failure:
    """One rule for pages whose access is restricted, by status or by content: they are queued for a person (FG-35)."""
    task, refusal, best = state.task, state.refusal, state.best
    if best is not None and best.blocked is not None:
        code = best.blocked.page_type
        message = PAGE_TYPE_HINTS.get(code) or f"The site returned something else instead of the page: {code}."
    else:
        assert refusal is not None  # noqa: S101  it applied
        code, message = str(refusal.code), refusal.message
    return Failure(
        task.canonical.url,
        requested(task.canonical.original),
        task.profile,
        task.profile_file,
        code,
        message,
        [_attempt_record(attempt) for attempt in state.attempts],
    )


def _attempt_record(attempt: Attempt) -> dict[str, object]:
    return {
        "fallback": attempt.fallback,
        "outcome": attempt.outcome,
        "url": shortened(attempt.url, SHOWN),
        "status": attempt.status,
        "waited": round(attempt.waited, 3),
        "ms": attempt.ms,
    }


QUEUE = FallbackKind(_queue_applies, _put_in_queue, elsewhere=True, local=True)


FALLBACKS: dict[str, FallbackKind] = {
    "http": HTTP,
    "plain_http": PLAIN_HTTP,
    "retry": RETRY,
    "retry_after": RETRY_AFTER,
    "browser": BROWSER,
    "archive": ARCHIVE,
    "search_cache": SEARCH_CACHE,
    "mirrors": MIRRORS,
    "queue": QUEUE,
}

# Notes on pages that are not cached. A copy from elsewhere replaces a page that may be back next time,
# and a page fetched over plain HTTP must not be served for an HTTPS request.
PASSING = frozenset({PARTIAL, MISSING, UNAVAILABLE, FAILED, FROM_ARCHIVE, FROM_SEARCH_CACHE, FROM_MIRROR, HTTP_ONLY})
