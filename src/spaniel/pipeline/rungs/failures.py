"""What a failure says about the next rung: may it pass, is the page gone, or did somebody say no?"""

from __future__ import annotations

from spaniel.errors import Code, SpanielError
from spaniel.hosts import GIVEN_UP

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
    return "" if passing and not untrusted else f"not after {told(failure)}"


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
    return "" if gone or down else f"not after {told(failure)}"


def _is_closed(failure: SpanielError) -> bool:
    """Whether the site has said no in words: nobody gets round that by asking again, or elsewhere."""
    return failure.details.get("page_type", RATE_LIMIT) != RATE_LIMIT


def told(failure: SpanielError) -> str:
    """A failure in a word: the status if the server gave one, else the code."""
    return str(failure.details.get("status") or failure.code)


def _is_unreached(error: SpanielError) -> bool:
    """The network failed, or the time was over before the page was there; not while it was read."""
    if error.code is Code.TIMEOUT:
        return error.details.get("phase") != "extract"
    return error.code is Code.NETWORK and "status" not in error.details
