"""How an attempt ended, as an `Observation` with its evidence."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError, shown
from spaniel.health.signs import signs
from spaniel.hosts.retry_after import seconds_until
from spaniel.verdicts import Evidence, Observation

if TYPE_CHECKING:
    from spaniel.clock import Clock
    from spaniel.health.following import LinkHops
    from spaniel.health.pages import Seen
    from spaniel.health.verdict import Link
    from spaniel.net.http import Page
    from spaniel.url.value import Url

LONGEST_TYPE = 100  # characters that are told
UNSAID = 10.0  # seconds, where a host says "too many requests" and not for how long
PHASES = {"headers": "head", "start": ""}  # as evidence has them; others have their own names
TLS = ("certificate", "tls")


class Errand:
    """A link that is being asked, and what has come of it so far."""

    __slots__ = ("at", "attempts", "began", "clock", "head", "head_end", "link", "url")
    url: Url  # as soon as it is known to be one

    def __init__(self, link: Link, clock: Clock, attempts: int) -> None:
        self.link, self.attempts, self.clock = link, attempts, clock
        self.at = clock.now().timestamp()
        self.began = clock.monotonic()
        self.head: bool | None = None  # whether HEAD had a good answer; None where it was not asked
        self.head_end: Url | None = None  # where that one came from


def asked_to_wait(page: Page, clock: Clock) -> float | None:
    """For how long a host asks to be left alone with an answer; None where it does not."""
    if page.status not in (429, 503) or signs().is_challenge(page.headers):
        return None  # who asks for a proof will ask for it later, too
    seconds = seconds_until(page.headers.get("retry-after"), clock.now())
    if seconds is None:
        return UNSAID if page.status == 429 else None
    return float(math.ceil(seconds))  # not a moment too early


def answered(errand: Errand, hops: LinkHops, method: str, page: Page, seen: Seen) -> Observation:
    """There was an answer, whatever its status."""
    return Observation(
        at=errand.at,
        evidence=_evidence(errand, hops, method, ""),
        content_type=_essence(page.headers.get("content-type", "")),
        content=seen.content,
        page_type=seen.page_type,
        is_parked=seen.is_parked,
        soft_404=seen.soft_404,
        fragments=seen.fragments,
        certificate_ends=hops.certificate_ends,
        retry_after=asked_to_wait(page, errand.clock),
    )


def failed(errand: Errand, hops: LinkHops | None, method: str, error: SpanielError) -> Observation:
    """There was none: a refusal, whose details are the evidence."""
    cause = "refused" if error.details.get("refused") else str(error.details.get("cause", ""))
    evidence = _evidence(errand, hops, method, _phase(error, hops, cause))
    waits = error.code in (Code.HTTP_4XX, Code.HTTP_5XX)  # what a host said before, and would say again
    if waits:
        status = error.details.get("status")
        evidence = evidence._replace(status=status if isinstance(status, int) else None)
    return Observation(
        at=errand.at,
        evidence=evidence,
        code=str(error.code),
        error=error.message,
        cause=cause,
        certificate_ends=hops.certificate_ends if hops is not None else None,
        retry_after=float(str(error.details["retry_after"])) if waits else None,
    )


def _phase(error: SpanielError, hops: LinkHops | None, cause: str) -> str:
    if error.code is Code.DNS_FAILED:
        return "dns"
    if error.code not in (Code.NETWORK, Code.TIMEOUT, Code.ROBOTS_UNAVAILABLE):
        return ""
    if cause:
        return "tls" if cause in TLS else "connect"
    phase = str(error.details.get("phase") or (hops.deadline.phase if hops is not None else ""))
    return PHASES.get(phase, phase)


def _evidence(errand: Errand, hops: LinkHops | None, method: str, phase: str) -> Evidence:
    if hops is None:
        return Evidence(at=_written(int(errand.at)), attempts=errand.attempts)
    return Evidence(
        method=method if hops.is_asked else "",
        status=hops.status,
        chain=tuple(hops.chain),
        final_url=hops.url.href,
        phase=phase,
        attempts=errand.attempts,
        address=hops.address,
        at=_written(int(errand.at)),
        seconds=round(errand.clock.monotonic() - errand.began, 3),
    )


@lru_cache(maxsize=256)
def _essence(content_type: str) -> str:
    return shown(content_type.partition(";")[0].strip().lower(), LONGEST_TYPE)


@lru_cache(maxsize=8)
def _written(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC).isoformat()[:19]}Z"
