"""The verdict on a URL: evidence and history in, one word with its reason out (LH-02). Pure functions.

`check`, `db check` and the ingest record use it. A verdict is never worse than its evidence: a page that could not be
requested is not broken, a failed HEAD alone proves nothing, and a single check makes nothing dead. The exception is
410, by which the server itself says that the page is gone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from spaniel.errors import Code


class Verdict(StrEnum):
    """One word for each URL."""

    OK = "ok"
    MOVED = "moved"
    CHANGED = "changed"
    BLOCKED = "blocked"
    RATE_LIMITED = "rate-limited"
    FAILING = "failing"  # not yet dead
    DEAD = "dead"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


MEANINGS = {
    Verdict.OK: "It answers, and what is asserted of it holds.",
    Verdict.MOVED: "It leads elsewhere by redirects, and there is a page.",
    Verdict.CHANGED: "The content differs from what is asserted, or from what was fetched last time.",
    Verdict.BLOCKED: "The site, its robots.txt or a rule of ours does not let a program read it. People may see it.",
    Verdict.RATE_LIMITED: "The host asked us to wait, and still did after waiting.",
    Verdict.FAILING: "It fails now: 404, an unknown name, a refused connection. It is not dead yet.",
    Verdict.DEAD: "410; or it failed in three checks at least three days apart, with none good between.",
    Verdict.UNKNOWN: "It could not be determined: 5xx, a timeout, trouble with TLS or the name server.",
    Verdict.SKIPPED: "It was not requested.",
}
GOOD = frozenset({Verdict.OK, Verdict.MOVED, Verdict.CHANGED})  # the URL leads to a page
BAD = frozenset({Verdict.FAILING, Verdict.DEAD})
CONTRADICTED = frozenset({Verdict.FAILING, Verdict.DEAD, Verdict.CHANGED})  # what was asserted does not hold
UNVERIFIED = frozenset({Verdict.BLOCKED, Verdict.RATE_LIMITED, Verdict.UNKNOWN})  # could not be verified

# -- Evidence


class Hop(NamedTuple):
    """One response that redirected."""

    url: str
    status: int  # 0 if a browser followed it: only the final status is known then


class Evidence(NamedTuple):
    """The requests behind a verdict."""

    method: str = ""  # HEAD, GET; "disk" for a local file; "" if nothing was requested
    status: int | None = None  # of the last response
    chain: tuple[Hop, ...] = ()  # the responses before it
    final_url: str = ""
    phase: str = ""  # of a failure: dns, connect, tls, head, body
    attempts: int = 0
    address: str = ""  # of the server
    at: str = ""  # UTC, as 2026-11-16T12:00:00Z
    seconds: float = 0.0


class Content(NamedTuple):
    """Measurements of a decoded body, after redirects."""

    length: int
    sha256: str = ""  # lower-case hex; "" if the body was not read completely
    is_whole: bool = True  # False: it has more than `length` bytes
    text_sha256: str = ""  # of the extracted text; "" if there is none, or the body was too long


class Fragment(NamedTuple):
    """Whether a page has an anchor; `found` is None if a script may create it."""

    name: str
    found: bool | None


class Observation(NamedTuple):
    """The facts of one check of a URL."""

    at: float  # seconds since 1970
    evidence: Evidence
    code: str = ""  # of the error, if there was no response
    error: str = ""  # its message
    cause: str = ""  # of a network error, if known: nxdomain, refused, certificate, tls, connect
    content_type: str = ""  # without parameters, in lower case
    content: Content | None = None  # if the body was measured
    page_type: str = ""  # returned instead of the page: challenge, login, geo_block, rate_limit …; "" for the page
    is_parked: bool = False  # the page says that its domain is for sale
    soft_404: bool | None = None  # whether a page that cannot exist looks the same; None if that was not tried
    fragments: tuple[Fragment, ...] = ()
    certificate_ends: float | None = None  # the earliest expiry of all hops; seconds since 1970
    head_differs: bool = False  # HEAD and GET disagreed; stored for the host
    retry_after: float | None = None  # seconds that the host asked us to wait

    @property
    def is_redirected(self) -> bool:
        return bool(self.evidence.chain)


class Expected(NamedTuple):
    """What a record of a link database asserts about the content, after redirects; None: not asserted."""

    length: int | None = None
    sha256: str | None = None  # lower-case hex
    content_type: str | None = None  # without parameters
    may_redirect: bool = True  # a redirect counts as a page
    type_may_change: bool = False
    redirect_is_fine: bool = False  # the record accepts the redirect: the verdict is ok instead of moved


ANYTHING = Expected()
REDIRECTS = {"x-301-redirect": frozenset({301, 308}), "x-302-redirect": frozenset({302, 303, 307})}
NO_STATUS: frozenset[int] = frozenset()


def asserts_redirect(expected: Expected) -> frozenset[int]:
    """The redirect statuses that a record asserts; empty if it does not assert a redirect."""
    return NO_STATUS if expected.content_type is None else REDIRECTS.get(expected.content_type.lower(), NO_STATUS)


def asserts_content(expected: Expected) -> bool:
    """Whether length, hash or type of the content are asserted."""
    if expected.length is None and expected.sha256 is None and expected.content_type is None:
        return False
    return not asserts_redirect(expected)


class Change(NamedTuple):
    """A difference between the content and the record."""

    what: str  # length, sha256, content-type
    old: str
    new: str


class Move(NamedTuple):
    """Where a URL redirects to."""

    to: str
    is_permanent: bool  # every hop was a 301 or a 308
    is_suspect: bool = False  # a deep path redirected to the site's root or to a login
    why_suspect: str = ""


# -- History

DAY = 86_400.0
MIN_INTERVAL = 3 * DAY  # between two failed checks that both count (LH-02)
DEAD_AFTER = 3  # failed checks that count, with no good one between them (LH-02)


class Past(NamedTuple):
    """The history of one URL. Times are seconds since 1970.

    A good check is one that got the page: ok, moved or changed. A check that was blocked, rate-limited or unknown is
    neither good nor a failure, and is not in `failures`.
    """

    failures: tuple[float, ...] = ()  # times of the failures since the last good check
    last_good: float | None = None
    chain: tuple[Hop, ...] = ()  # of the last good check
    final_url: str = ""  # of the last good check; "" if unknown
    text_sha256: str = ""  # of the extracted text, as last read
    head_differs: bool = False  # HEAD and GET once disagreed at its host


NOTHING = Past()


def failures_apart(times: tuple[float, ...]) -> int:
    """Count the failures that are at least three days apart: ten failures within an hour are one outage."""
    counted, last = 0, float("-inf")
    for time in sorted(times):
        if time - last >= MIN_INTERVAL:
            counted, last = counted + 1, time
    return counted


# -- The table

RATE_LIMIT = "rate_limit"  # the type of a rate-limit page
OTHER_PAGE = {  # by the type of the page that was returned instead, for any status
    "challenge": "the site asks programs to prove that they are people",
    "geo_block": "the site does not show it in our region",
    "login": "login required",
    "paywall": "payment required",
    "site_signal": "the site does not allow this use",
}
BLOCKING = {
    401: "login required",
    402: "payment required",
    403: "the server does not show it to us",
    407: "a proxy requires authentication",
    451: "the server may not show it, for legal reasons",
    999: "the server does not show it to programs",
}
PHRASES = {
    300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 304: "Not Modified", 400: "Bad Request",
    401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 410: "Gone",
    429: "Too Many Requests", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip
OWN_RULES = frozenset({Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST})  # refused by our own guard
UNREADABLE = frozenset(  # there was a response, but it cannot be read
    {Code.UNSUPPORTED_CONTENT_TYPE, Code.RESPONSE_TOO_LARGE, Code.EXTRACTION_FAILED}
)
NO_HOST = {"nxdomain": "its host has no address: the name is not known", "refused": "its host refuses connections"}
PERMANENT = frozenset({301, 308})


class Decision(NamedTuple):
    """A verdict and its reasons."""

    verdict: Verdict
    reason: str = ""  # one short sentence; "" for a plain ok
    failures: int = 0  # checks that failed in a row, this one included
    move: Move | None = None
    changes: tuple[Change, ...] = ()


def decide(
    seen: Observation,
    expected: Expected = ANYTHING,
    past: Past = NOTHING,
    *,
    why_suspect: str = "",
    changes: tuple[Change, ...] = (),
) -> Decision:
    """Decide the verdict on a URL.

    `why_suspect` says why the final URL is not the page; `changes` are the differences from the asserted or earlier
    content. After a redirect, a record that asserts content and permits redirects (`may_redirect`) is ok; any other
    URL has moved.
    """
    status, move = seen.evidence.status or 0, _move(seen, why_suspect)
    if seen.code and not (seen.code in UNREADABLE and 200 <= status <= 299):
        return _no_response(seen, past)
    is_fine = expected.redirect_is_fine and seen.is_redirected and seen.page_type == "login"
    if seen.page_type and seen.page_type != RATE_LIMIT and not is_fine:
        why = OTHER_PAGE.get(seen.page_type) or BLOCKING.get(status, "another page was returned instead")
        return Decision(Verdict.BLOCKED, f"{_named(status)}: {why}", move=move)
    if status == 429 or (status == 503 and seen.retry_after is not None) or seen.page_type == RATE_LIMIT:
        return Decision(Verdict.RATE_LIMITED, f"{_named(status)}. {_wait(seen.retry_after)}")
    if status in BLOCKING:
        return Decision(Verdict.BLOCKED, f"{_named(status)}: {BLOCKING[status]}")
    if wanted := asserts_redirect(expected):
        return _redirect(seen, expected, past, wanted)
    if 200 <= status <= 299:
        return _page(expected, move, changes)
    if 300 <= status <= 399 and expected.may_redirect and not asserts_content(expected):
        return Decision(Verdict.OK, f"{_named(status)}, and no content is asserted")
    return _no_page(seen, past)


def _no_response(seen: Observation, past: Past) -> Decision:
    code, error = seen.code, seen.error
    where = f" (after a redirect, at {seen.evidence.final_url})" if seen.is_redirected else ""
    if seen.retry_after is not None:
        return Decision(Verdict.RATE_LIMITED, _wait(seen.retry_after))
    if code == Code.INVALID_SCHEME and not seen.is_redirected and seen.evidence.status is None:
        return Decision(Verdict.SKIPPED, error)
    if code in OWN_RULES:
        return Decision(Verdict.BLOCKED, f"Spaniel's own guard refused it{where}: {error}")
    if code == Code.ROBOTS_DISALLOWED:
        return Decision(Verdict.BLOCKED, f"{error}{where}")
    if seen.cause in NO_HOST and seen.evidence.method != "HEAD":
        return _failing(seen, past, f"{NO_HOST[seen.cause]}{where}")
    return Decision(Verdict.UNKNOWN, f"{error}{where}")


def _no_page(seen: Observation, past: Past) -> Decision:
    status = seen.evidence.status or 0
    if seen.evidence.method == "HEAD":
        return Decision(Verdict.UNKNOWN, f"{_named(status)} to HEAD, which proves nothing")
    if status == 410:
        return Decision(Verdict.DEAD, f"{_named(status)}: the server says that it is gone for good", failures=1)
    if status == 404:
        return _failing(seen, past, _named(status))
    return Decision(Verdict.UNKNOWN, f"{_named(status)}: this does not say whether the page exists")


def _failing(seen: Observation, past: Past, why: str) -> Decision:
    """Failing, or dead after three failed checks that are at least three days apart."""
    counted = failures_apart((*past.failures, seen.at))
    verdict = Verdict.DEAD if counted >= DEAD_AFTER else Verdict.FAILING
    checks = (
        f"{counted} checks, at least three days apart,"
        if counted >= DEAD_AFTER
        else f"{counted} of {DEAD_AFTER} checks"
    )
    return Decision(verdict, f"{why} ({checks} failed)", counted)


def _redirect(seen: Observation, expected: Expected, past: Past, wanted: frozenset[int]) -> Decision:
    """The verdict for a record that asserts a redirect with certain statuses."""
    status = seen.evidence.status or 0
    if status in wanted or (expected.may_redirect and 300 <= status <= 399):
        return Decision(Verdict.OK)
    if not 200 <= status <= 399:
        return _no_page(seen, past)
    actual = f"X-{status}-Redirect" if status >= 300 else seen.content_type  # a redirect as records write it
    change = Change("content-type", expected.content_type or "", actual)
    reason = f"It should redirect with {min(wanted)}: {_named(status)}"
    return Decision(Verdict.CHANGED, reason, changes=(change,))


def _page(expected: Expected, move: Move | None, changes: tuple[Change, ...]) -> Decision:
    """The verdict for a page that was received: ok, moved or changed."""
    if changes:
        what = ", ".join(change.what for change in changes)
        return Decision(Verdict.CHANGED, f"It differs from what is asserted: {what}", move=move, changes=changes)
    is_fine = asserts_content(expected) and expected.may_redirect and not (move and move.is_suspect)
    if move is None or expected.redirect_is_fine or is_fine:
        return Decision(Verdict.OK)
    how = "permanently" if move.is_permanent else "temporarily"
    why = f"; suspect: {move.why_suspect}" if move.is_suspect else ""
    return Decision(Verdict.MOVED, f"It redirects {how} to {move.to}{why}", move=move)


def _move(seen: Observation, why_suspect: str) -> Move | None:
    """Where the URL redirects to; None if it redirects back to itself, as after setting a cookie."""
    chain, end = seen.evidence.chain, seen.evidence.final_url
    if not chain or end == chain[0].url:
        return None
    return Move(end, all(hop.status in PERMANENT for hop in chain), bool(why_suspect), why_suspect)


def _named(status: int) -> str:
    return f"{status} {PHRASES[status]}" if status in PHRASES else str(status)


def _wait(seconds: float | None) -> str:
    return "The host asked us to wait" + (f" {seconds:.0f} s" if seconds else "")
