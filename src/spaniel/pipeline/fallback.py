"""What a fallback is, and what a failure means for the next one: may it pass, is the page gone, or was it refused?"""

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


PAGE_FETCHED = "the page was brought"


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


def requested_wait(ascent: Attempts, services: Services, _options: Options) -> float:
    """What the host asked for with Retry-After, where the profile respects it."""
    task = ascent.task
    asked = services.door.hosts.asked(task.url.origin) if task.way.politeness.respect_delays else None
    return asked.seconds if asked else 0.0


class FallbackKind(NamedTuple):
    """A kind of rung; a profile's ladder names it, with options of its own."""

    skip_reason: SkipReason  # empty: it is to be climbed, after what came of the rungs before; else why not
    fetch: Fetch  # None comes of one that brings no page, and did what it is for
    may_serve_cached: Callable[
        [FetchTask, Services], bool
    ]  # whether what it brought another time may be served from the cache
    rendering_method: str = "http"
    failure_note: Callable[[SpanielError], str] | None = (
        None  # what to note on an earlier rung's page if this one fails
    )
    wait: Wait = no_wait  # seconds before it; the ladder says whether they are worth it, and waits
    variants: Variants = one_variant  # climbed one by one until one brings the page, each with options of its own
    options: Callable[[Table], Options] = no_options  # from what a profile says about it
    elsewhere: bool = False  # it asks somebody else than the page's own site: its failure is not the site's word
    local: bool = False  # it asks nobody: it is climbed even when the time is over


GONE = (404, 410)
SILENT = frozenset({"start", "dns", "connect", "headers", "robots"})  # phases before an answer begins
RATE_LIMIT = "rate_limit"  # the type of a page that says "not now"
REFUSED_HERE = frozenset({Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST})  # by our guard, not by the site


def root_of(error: SpanielError) -> SpanielError:
    """What kept robots.txt from being read, where that is why the page was not asked for; else the error itself."""
    cause = error.__cause__
    if error.code is not Code.ROBOTS_UNAVAILABLE or not isinstance(cause, SpanielError):
        return error
    return cause


def not_transient(failure: SpanielError | None) -> str:
    """Why another try would end as this one did (FG-30, FG-22); empty where it might not."""
    if failure is None:
        return "nothing has failed"
    root = root_of(failure)
    if root.details.get("cause") == GIVEN_UP:
        return "the host was given up"
    if _is_closed(failure):
        return f"the page is not given out: {failure.details['page_type']}"
    passing = root.code is Code.HTTP_5XX or root.details.get("status") == 429 or _is_unreached(root)
    untrusted = root.details.get("cause") == "certificate"  # which is the same a minute later
    return "" if passing and not untrusted else f"not after {fields(failure)}"


def asks_for_time(failure: SpanielError | None) -> bool:
    """Whether the server said "not now": 429, or 503 that says when (FG-22, FG-46)."""
    status = None if failure is None else failure.details.get("status")
    return status == 429 or (status == 503 and failure is not None and "retry_after" in failure.details)


def is_unanswered(failure: SpanielError, phase: str) -> bool:
    """Whether no answer of the host came at all: no address, no connection, or one that was closed or stayed silent.

    `phase` is the one in which the attempt ended: what breaks off in its body has been answered.
    """
    root = root_of(failure)
    if root.details.get("cause") == GIVEN_UP:  # it was not asked
        return False
    if root.code is Code.DNS_FAILED:
        return True
    if root.code is Code.TIMEOUT:
        return root.details.get("phase") in SILENT
    return _is_unreached(root) and (root is not failure or phase in SILENT)


def not_down(failure: SpanielError | None) -> str:
    """Why a copy from elsewhere is not asked for (FG-32): the page is neither gone nor out of reach.

    Whoever said no is not got round: 401, 402, 403, 429 and robots.txt. A robots.txt that answers 5xx says no as well
    (RFC 9309 2.3.1.4); a host that is not reached at all has not said anything.
    """
    if failure is None:
        return "nothing has failed"
    root = root_of(failure)
    if _is_closed(failure):
        return f"the page is not given out: {failure.details['page_type']}"
    gone = failure.details.get("status") in GONE
    down = failure.code in (Code.HTTP_5XX, Code.DNS_FAILED) or _is_unreached(root)
    return "" if gone or down else f"not after {fields(failure)}"


def _is_closed(failure: SpanielError) -> bool:
    """Whether the site has said no in words: nobody gets round that by asking again, or elsewhere."""
    return failure.details.get("page_type", RATE_LIMIT) != RATE_LIMIT


def fields(failure: SpanielError) -> str:
    """A failure in a word: the status if the server gave one, else the code."""
    return str(failure.details.get("status") or failure.code)


def _is_unreached(error: SpanielError) -> bool:
    """The network failed, or the time was over before the page was there; not while it was read."""
    if error.code is Code.TIMEOUT:
        return error.details.get("phase") != "extract"
    return error.code is Code.NETWORK and "status" not in error.details
