"""What may honestly be said of a link: observation, link and past in, `Checked` out. Pure, and total.

A verdict is never harder than its evidence: what could not be looked at is not broken, HEAD alone condemns nothing, and
one run makes nothing dead that might answer tomorrow (but for 410, by which a server says so itself).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code
from spaniel.health.bodies import asserts_content, asserts_redirect
from spaniel.health.findings import findings_of
from spaniel.health.pages import INSTEAD
from spaniel.health.past import ENOUGH, failures_apart
from spaniel.health.signs import FOR_SALE, LOGIN, signs
from spaniel.health.verdict import ANYTHING, Change, Checked, Move, Verdict
from spaniel.url.value import split

if TYPE_CHECKING:
    from spaniel.health.observation import Observation
    from spaniel.health.past import Past
    from spaniel.health.verdict import Expected, Link

BLOCKING = {
    401: "it is for those who log in",
    402: "it is for those who pay",
    403: "the server does not show it to us",
    407: "a proxy asks who we are",
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
OURS = frozenset({Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST})  # refused by our own guard
GONE = {"nxdomain": "its host has no address: the name is not known", "refused": "its host refuses connections"}
PERMANENT = frozenset({301, 308})


def judge(observation: Observation, link: Link, past: Past) -> Checked:
    """The verdict on a link, with its evidence and findings.

    A record that asserts content and lets redirects be (`may_redirect`) is ok after one; any other link has moved.
    """
    findings = findings_of(observation, past)
    if _is_plain(observation, link):
        return Checked(link, Verdict.OK, evidence=observation.evidence, findings=findings)
    checked = _failure(observation, link, past) if observation.code else _answer(observation, link, past)
    text = observation.content.text_sha256 if observation.content is not None else ""
    return checked._replace(
        code=observation.code,
        evidence=observation.evidence,
        text_sha256=text,
        text_changed=text != past.text_sha256 if text and past.text_sha256 else None,
        findings=findings,
    )


def _is_plain(observation: Observation, link: Link) -> bool:
    """Whether a page came from where it was asked, nothing is asserted of it, and it was not read: so with most links.

    A law in the tests compares this with the long way, which takes three times as long."""
    status = observation.evidence.status or 0
    return (
        200 <= status <= 299
        and link.expected == ANYTHING
        and not (observation.code or observation.page_type or observation.evidence.chain)
        and observation.content is None
    )


def skipped(link: Link, reason: str) -> Checked:
    """A link that was not asked."""
    return Checked(link, Verdict.SKIPPED, reason)


def _failure(observation: Observation, link: Link, past: Past) -> Checked:
    """There was no answer."""
    code, error = observation.code, observation.error
    where = f" (after a redirect, at {observation.evidence.final_url})" if observation.is_redirected else ""
    if observation.retry_after is not None:
        return Checked(link, Verdict.RATE_LIMITED, _wait(observation.retry_after))
    if code == Code.INVALID_SCHEME and not observation.is_redirected:
        return skipped(link, error)
    if code in OURS:
        return Checked(link, Verdict.BLOCKED, f"Spaniel's own guard refused it{where}: {error}")
    if code == Code.ROBOTS_DISALLOWED:
        return Checked(link, Verdict.BLOCKED, f"{error}{where}")
    if observation.cause in GONE and observation.evidence.method != "HEAD":
        return _failing(observation, link, past, f"{GONE[observation.cause]}{where}")
    return Checked(link, Verdict.UNKNOWN, f"{error}{where}")


def _answer(observation: Observation, link: Link, past: Past) -> Checked:
    """There was one; its status, and what came with it."""
    status, kind = observation.evidence.status or 0, observation.page_type
    if kind in INSTEAD:
        return Checked(link, Verdict.BLOCKED, f"{_named(status)}: {INSTEAD[kind]}")
    if status in BLOCKING:
        return Checked(link, Verdict.BLOCKED, f"{_named(status)}: {BLOCKING[status]}")
    if status == 429 or (status == 503 and observation.retry_after is not None) or kind == "rate_limit":
        return Checked(link, Verdict.RATE_LIMITED, f"{_named(status)}. {_wait(observation.retry_after)}")
    if asserts_redirect(link.expected):
        return _redirect(observation, link, past)
    if 200 <= status <= 299:
        return _page(observation, link)
    if 300 <= status <= 399 and link.expected.may_redirect and not asserts_content(link.expected):
        return Checked(link, Verdict.OK, f"{_named(status)}, and no content is asserted")
    return _no_page(observation, link, past)


def _no_page(observation: Observation, link: Link, past: Past) -> Checked:
    status = observation.evidence.status or 0
    if observation.evidence.method == "HEAD":
        return Checked(link, Verdict.UNKNOWN, f"{_named(status)} to HEAD, which proves nothing")
    if status == 410:
        return Checked(link, Verdict.DEAD, f"{_named(status)}: the server says that it is gone for good", failures=1)
    if status == 404:
        return _failing(observation, link, past, _named(status))
    return Checked(link, Verdict.UNKNOWN, f"{_named(status)}: nobody can tell from that whether the page is there")


def _failing(observation: Observation, link: Link, past: Past, why: str) -> Checked:
    """Dead after three checks, at least three days from one to the next, that all failed."""
    counted = failures_apart((*past.failures, observation.at))
    verdict = Verdict.DEAD if counted >= ENOUGH else Verdict.FAILING
    told = f"{counted} checks, at least three days apart," if counted >= ENOUGH else f"{counted} of {ENOUGH} checks"
    return Checked(link, verdict, f"{why} ({told} failed)", failures=counted)


def _redirect(observation: Observation, link: Link, past: Past) -> Checked:
    """Of a record that says that its URL redirects, and how."""
    status = observation.evidence.status or 0
    wanted = asserts_redirect(link.expected)
    if status in wanted or (link.expected.may_redirect and 300 <= status <= 399):
        return Checked(link, Verdict.OK)
    if not 200 <= status <= 399:
        return _no_page(observation, link, past)
    change = Change("content-type", link.expected.content_type or "", _as_type(observation, status))
    return Checked(link, Verdict.CHANGED, f"It should redirect with {min(wanted)}: {_named(status)}", changes=(change,))


def _as_type(observation: Observation, status: int) -> str:
    """A redirect as records write it, or the type of the page that came."""
    return f"X-{status}-Redirect" if status >= 300 else observation.content_type


def _page(observation: Observation, link: Link) -> Checked:
    """A page came: is it what was asserted, and where it was?"""
    redirects_as_it_may = link.expected.redirect_is_fine and observation.is_redirected
    asserted = link.expected._replace(content_type=None) if redirects_as_it_may else link.expected
    changes = _changes(observation, asserted)
    move = _move(observation)
    if changes:
        what = ", ".join(change.what for change in changes)
        return Checked(link, Verdict.CHANGED, f"It differs from what is asserted: {what}", move=move, changes=changes)
    is_fine = asserts_content(link.expected) and link.expected.may_redirect and not (move and move.is_suspect)
    if move is None or redirects_as_it_may or is_fine:
        return Checked(link, Verdict.OK)
    how = "for good" if move.is_permanent else "for now"
    why = f"; suspect: {move.why_suspect}" if move.is_suspect else ""
    return Checked(link, Verdict.MOVED, f"It redirects {how} to {move.to}{why}", move=move)


def _changes(observation: Observation, expected: Expected) -> tuple[Change, ...]:
    """Every assertion that does not hold: old and new."""
    content, found = observation.content, []
    if content is not None:
        if expected.length is not None and content.length != expected.length:
            length = str(content.length) if content.is_whole else f"at least {content.length}"
            found.append(Change("length", str(expected.length), length))
        if expected.sha256 is not None and content.sha256 != expected.sha256.lower():
            found.append(Change("sha256", expected.sha256, content.sha256 or "not read to its end"))
    wanted = expected.content_type
    if wanted is not None and not expected.type_may_change and not signs().same_type(wanted, observation.content_type):
        found.append(Change("content-type", wanted, observation.content_type))
    return tuple(found)


def _move(observation: Observation) -> Move | None:
    """Where the link leads by redirects; None where it leads to its own page, as after a cookie."""
    evidence = observation.evidence
    if not evidence.chain or evidence.final_url == evidence.chain[0].url:
        return None
    why = _why_suspect(observation, evidence.chain[0].url)
    is_permanent = all(hop.status in PERMANENT for hop in evidence.chain)
    return Move(evidence.final_url, is_permanent, bool(why), why)


def _why_suspect(observation: Observation, start: str) -> str:
    """Why the end of some redirects is not the page under a new address."""
    first, last, known = split(start), split(observation.evidence.final_url), signs()
    if observation.page_type == "login" and not known.is_login(first):
        return LOGIN
    return known.why_suspect(first, last) or (FOR_SALE if observation.is_parked else "")


def _named(status: int) -> str:
    return f"{status} {PHRASES[status]}" if status in PHRASES else str(status)


def _wait(seconds: float | None) -> str:
    return "The host asks to be left alone" + (f" for {seconds:.0f} s" if seconds else "")
