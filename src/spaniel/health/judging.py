"""The result of a link's check: its verdict (`spaniel/verdicts.py`), changes, findings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.links import Checked, LinkFinding, Remark
from spaniel.health.page_patterns import FOR_SALE, LOGIN, load_patterns
from spaniel.url.value import split
from spaniel.verdicts import ANYTHING, Change, Verdict, asserts_content, decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.links import Link
    from spaniel.verdicts import Expected, Observation, Past


def judge(observation: Observation, link: Link, past: Past) -> Checked:
    """The verdict on a link, with its evidence and findings."""
    findings = findings_of(observation, past)
    if _is_plain(observation, link):
        return Checked(link, Verdict.OK, evidence=observation.evidence, findings=findings)
    why = _why_suspect(observation) if observation.is_redirected else ""
    decision = decide(observation, link.expected, past, why_suspect=why, changes=_changes(observation, link.expected))
    text = observation.content.text_sha256 if observation.content is not None else ""
    return Checked(
        link,
        decision.verdict,
        decision.reason,
        code=observation.code,
        evidence=observation.evidence,
        move=decision.move,
        changes=decision.changes,
        text_sha256=text,
        text_changed=text != past.text_sha256 if text and past.text_sha256 else None,
        findings=findings,
        failures=decision.failures,
    )


def _is_plain(observation: Observation, link: Link) -> bool:
    """Whether a page came from the URL itself, nothing is asserted of it, and it was not read: so with most links.

    A property in the tests compares this with `decide`, which takes three times as long."""
    status = observation.evidence.status or 0
    return (
        200 <= status <= 299
        and link.expected == ANYTHING
        and not (observation.code or observation.page_type or observation.evidence.chain)
        and observation.content is None
    )


def _changes(observation: Observation, expected: Expected) -> tuple[Change, ...]:
    """Every assertion about the content that does not hold: old and new."""
    if expected == ANYTHING or not asserts_content(expected):
        return ()
    content, found = observation.content, []
    if content is not None:
        if expected.length is not None and content.length != expected.length:
            length = str(content.length) if content.is_whole else f"at least {content.length}"
            found.append(Change("length", str(expected.length), length))
        if expected.sha256 is not None and content.sha256 != expected.sha256.lower():
            found.append(Change("sha256", expected.sha256, content.sha256 or "not read to its end"))
    wanted = expected.content_type
    may_differ = expected.type_may_change or (expected.redirect_is_fine and observation.is_redirected)
    if wanted is not None and not may_differ and not load_patterns().same_type(wanted, observation.content_type):
        found.append(Change("content-type", wanted, observation.content_type))
    return tuple(found)


def _why_suspect(observation: Observation) -> str:
    """Why the end of some redirects is not the page under a new address."""
    first, last, known = (
        split(observation.evidence.chain[0].url),
        split(observation.evidence.final_url),
        load_patterns(),
    )
    if observation.page_type == "login" and not known.is_login(first):
        return LOGIN
    return known.why_suspect(first, last) or (FOR_SALE if observation.is_parked else "")


def findings_of(observation: Observation, past: Past) -> tuple[LinkFinding, ...]:
    seen = observation.soft_404 or observation.is_parked or observation.fragments
    if not seen and observation.certificate_ends is None and not past.final_url:
        return ()  # as of most links
    return tuple(_findings(observation, past))


def _findings(observation: Observation, past: Past) -> Iterator[LinkFinding]:
    if observation.soft_404:
        text = "The page looks like one that says 'not found': a page that cannot exist looks the same."
        yield LinkFinding(Remark.SOFT_404, text)
    if observation.is_parked:
        yield LinkFinding(Remark.PARKED, Remark.PARKED.meaning)
    for fragment in observation.fragments:
        name = fragment.name.removeprefix("#")
        if fragment.found is False:
            yield LinkFinding(Remark.FRAGMENT_MISSING, f"The page has no anchor '#{shown(name)}'.", fragment.name)
        elif fragment.found is None:
            text = f"Whether the page has an anchor '#{shown(name)}' is not known."
            yield LinkFinding(Remark.FRAGMENT_UNKNOWN, text, fragment.name)
    if (soon := ending(observation.certificate_ends, observation.at)) is not None:
        yield soon
    if _chain_changed(observation, past):
        yield LinkFinding(Remark.CHAIN_CHANGED, f"It led to {past.final_url} before; the redirects are others now.")


def _chain_changed(observation: Observation, past: Past) -> bool:
    """Only of a good answer: what a host says while it is down is no change of address."""
    status = observation.evidence.status
    if not past.final_url or observation.code or status is None or not 200 <= status <= 399:
        return False
    return (past.chain, past.final_url) != (observation.evidence.chain, observation.evidence.final_url)


DAY = 86_400.0
SOON = 14 * DAY


def ending(ends: float | None, now: float) -> LinkFinding | None:
    """What is to be said of a certificate that ends within fourteen days."""
    if ends is None or ends - now > SOON:
        return None
    days = math.floor((ends - now) / DAY)
    left = "in less than a day" if days < 1 else "in 1 day" if days == 1 else f"in {days} days"
    return LinkFinding(Remark.CERTIFICATE_ENDING, f"Its certificate ends {left}.")
