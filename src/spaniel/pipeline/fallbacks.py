"""The fallbacks by name, as a profile lists them: those at the page's own site, and the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from spaniel.browser.rendering import MISSING, PARTIAL
from spaniel.errors import PAGE_TYPE_HINTS, Code
from spaniel.hosts.retry_after import seconds_until
from spaniel.pipeline.browser_fallback import BROWSER, FAILED, UNAVAILABLE
from spaniel.pipeline.copies import ARCHIVE, FROM_MIRROR, FROM_SEARCH_CACHE, MIRRORS, SEARCH_CACHE
from spaniel.pipeline.fallback import (
    PAGE_FETCHED,
    REFUSED_HERE,
    FallbackKind,
    asks_for_time,
    fields,
    is_rendered_first,
    never_cached,
    not_transient,
    requested_wait,
    root_of,
)
from spaniel.pipeline.outcome import FROM_ARCHIVE, shortened
from spaniel.pipeline.page_types import SITE_SIGNAL
from spaniel.pipeline.retrieve import retrieve
from spaniel.queue import Failure
from spaniel.tables import complaint
from spaniel.url.parsing import requested

if TYPE_CHECKING:
    from spaniel.errors import SpanielError
    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.fallback import Options
    from spaniel.pipeline.outcome import Attempt
    from spaniel.pipeline.retrieve import FetchedPage, PageHops
    from spaniel.pipeline.services import Services
    from spaniel.pipeline.task import Attempts, FetchTask
    from spaniel.tables import Table


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
    return f"not after {fields(refusal)}" if refusal.code in REFUSED_HERE else ""


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


QUEUE = FallbackKind(_queue_applies, _put_in_queue, never_cached, elsewhere=True, local=True)


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
