"""What a fallback is, and what a failure means for the next one: retry, fetch a copy, or stop?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.hosts import GIVEN_UP

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.retrieve import FetchedPage, PageHops
    from spaniel.pipeline.services import Services
    from spaniel.pipeline.task import Attempts, FetchTask
    from spaniel.tables import Table

    Options = Mapping[str, object]
    SkipReason = Callable[[Attempts, Services], str]
    Fetch = Callable[[Attempts, Services, Deadline, PageHops, Options], Awaitable[FetchedPage | None]]
    Wait = Callable[[Attempts, Services, Options], float]
    Variants = Callable[[FetchTask, Services, Options], tuple[Options, ...]]


PAGE_FETCHED = "the page was fetched"


def no_wait(_ascent: Attempts, _services: Services, _options: Options) -> float:
    return 0.0


def one_variant(_errand: FetchTask, _services: Services, options: Options) -> tuple[Options, ...]:
    return (options,)


def no_options(_table: Table) -> Options:
    return {}


def never_cached(_errand: FetchTask, _services: Services) -> bool:
    return False


def is_rendered_first(task: FetchTask, services: Services) -> bool:
    return task.request.force_browser or task.url.host in services.rendering.js_heavy


def requested_wait(state: Attempts, services: Services, _options: Options) -> float:
    """The wait that the host requested with Retry-After, if the profile respects it."""
    task = state.task
    asked = services.door.hosts.asked(task.url.origin) if task.way.politeness.respect_delays else None
    return asked.seconds if asked else 0.0


class FallbackKind(NamedTuple):
    """A kind of fallback; a profile lists it by name, with options."""

    skip_reason: SkipReason  # empty: it applies after the attempts so far; else why it is skipped
    fetch: Fetch  # None from one that fetches no page, such as the queue
    may_serve_cached: Callable[
        [FetchTask, Services], bool
    ]  # whether a page it fetched earlier may be served from the cache
    rendering_method: str = "http"
    failure_note: Callable[[SpanielError], str] | None = None  # the note on an earlier page if this fallback fails
    wait: Wait = no_wait  # seconds to wait before it; the runner decides whether that is acceptable
    variants: Variants = one_variant  # tried one by one until one fetches the page, each with its own options
    options: Callable[[Table], Options] = no_options  # from the profile's options
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
    return "" if passing and not untrusted else f"not after {fields(failure)}"


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
    return "" if gone or down else f"not after {fields(failure)}"


def _is_closed(failure: SpanielError) -> bool:
    """Whether the site refused explicitly: asking again, or elsewhere, would circumvent that."""
    return failure.details.get("page_type", RATE_LIMIT) != RATE_LIMIT


def fields(failure: SpanielError) -> str:
    """A failure in one word: the status if there was a response, else the code."""
    return str(failure.details.get("status") or failure.code)


def _is_unreached(error: SpanielError) -> bool:
    """The network failed, or the deadline passed before the page was complete; not while it was being read."""
    if error.code is Code.TIMEOUT:
        return error.details.get("phase") != "extract"
    return error.code is Code.NETWORK and "status" not in error.details
