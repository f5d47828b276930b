"""One link requested: HEAD where that is enough, else GET, redirects included; the response as an `Observation`.

Nothing here decides what a response means: `spaniel/verdicts.py` does. A host that asks us to wait is not waited for
here: the observation says how long, and the run continues with other links meanwhile.
"""

from __future__ import annotations

import asyncio
import math
import os
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError, shown
from spaniel.health.hops import LinkHops, LinkOptions, follow
from spaniel.health.page_patterns import LOGIN, PageText, load_patterns, looks_missing, sibling_of
from spaniel.health.pages import (
    GLANCED,
    OTHER_PAGES,
    Body,
    CheckedPage,
    look_at,
    look_at_head,
    may_have_signs,
    needs_of,
)
from spaniel.hosts import GIVEN_UP
from spaniel.hosts.retry_after import seconds_until
from spaniel.net.deadline import Deadline
from spaniel.url.parsing import parse
from spaniel.verdicts import ANYTHING, Evidence, Observation, asserts_content, asserts_redirect

if TYPE_CHECKING:
    from spaniel.clock import Clock
    from spaniel.health.links import Link
    from spaniel.health.pages import BodyReader
    from spaniel.net.guard import Target
    from spaniel.net.http import Page, RequestOptions
    from spaniel.net.redirects import Ask
    from spaniel.pipeline.retrieve import Door
    from spaniel.url.value import Url
    from spaniel.verdicts import Fragment

LONGEST_TYPE = 100  # characters that are told
UNSAID = 10.0  # seconds, where a host says "too many requests" and not for how long
PHASES = {"headers": "head", "start": ""}  # as evidence has them; others have their own names
TLS = ("certificate", "tls")


class LinkCheck:
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
    if page.status not in (429, 503) or load_patterns().is_challenge(page.headers):
        return None  # who asks for a proof will ask for it later, too
    seconds = seconds_until(page.headers.get("retry-after"), clock.now())
    if seconds is None:
        return UNSAID if page.status == 429 else None
    return float(math.ceil(seconds))  # not a moment too early


def answered(check: LinkCheck, hops: LinkHops, method: str, page: Page, seen: CheckedPage) -> Observation:
    """There was an answer, whatever its status."""
    return Observation(
        at=check.at,
        evidence=_evidence(check, hops, method, ""),
        content_type=_essence(page.headers.get("content-type", "")),
        content=seen.content,
        page_type=seen.page_type,
        is_parked=seen.is_parked,
        soft_404=seen.soft_404,
        fragments=seen.fragments,
        certificate_ends=hops.certificate_ends,
        retry_after=asked_to_wait(page, check.clock),
    )


def failed(check: LinkCheck, hops: LinkHops | None, method: str, error: SpanielError) -> Observation:
    """There was none: a refusal, whose details are the evidence."""
    cause = "refused" if error.details.get("refused") else str(error.details.get("cause", ""))
    evidence = _evidence(check, hops, method, _phase(error, hops, cause))
    waits = error.code in (Code.HTTP_4XX, Code.HTTP_5XX)  # what a host said before, and would say again
    if waits:
        status = error.details.get("status")
        evidence = evidence._replace(status=status if isinstance(status, int) else None)
    return Observation(
        at=check.at,
        evidence=evidence,
        code=str(error.code),
        error=error.message,
        cause=cause,
        certificate_ends=hops.certificate_ends if hops is not None else None,
        retry_after=float(str(error.details["retry_after"])) if waits and cause != GIVEN_UP else None,
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


def _evidence(check: LinkCheck, hops: LinkHops | None, method: str, phase: str) -> Evidence:
    if hops is None:
        return Evidence(at=_written(int(check.at)), attempts=check.attempts)
    return Evidence(
        method=method if hops.is_asked else "",
        status=hops.status,
        chain=tuple(hops.chain),
        final_url=hops.url.href,
        phase=phase,
        attempts=check.attempts,
        address=hops.address,
        at=_written(int(check.at)),
        seconds=round(check.clock.monotonic() - check.began, 3),
    )


@lru_cache(maxsize=256)
def _essence(content_type: str) -> str:
    return shown(content_type.partition(";")[0].strip().lower(), LONGEST_TYPE)


@lru_cache(maxsize=8)
def _written(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC).isoformat()[:19]}Z"


MOST_KNOWN = 100_000  # hosts; those that are forgotten are tried again


class Trust(Enum):
    """How far a host's HEAD has been tried. One confirmation is enough: what a further GET could show, that the host
    answers any path alike, `--soft-404` looks for."""

    UNTRIED = 0  # its first good answer is confirmed by GET
    TRUSTED = 1
    DISTRUSTED = 2  # it is asked by GET


class HeadTrust:
    """Hosts by origin, for one run."""

    def __init__(self, tries: bool) -> None:
        self._start = Trust.UNTRIED if tries else Trust.TRUSTED
        self._known: dict[str, Trust] = {}

    def of(self, origin: str) -> Trust:
        return self._known.get(origin, self._start)

    def learn(self, origin: str, trust: Trust) -> None:
        """Trust grows step by step; distrust stays."""
        if self.of(origin).value < trust.value:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[origin] = trust


__all__ = ["Hints", "LinkClient", "LinkOptions", "Observation"]

FINAL = frozenset(  # with any method: nothing was, or may be, requested
    {Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST, Code.DNS_FAILED, Code.ROBOTS_DISALLOWED,
     Code.ROBOTS_UNAVAILABLE, Code.HTTP_4XX, Code.HTTP_5XX}
)  # fmt: skip


RETRY_SECONDS = 1.0  # after a reset or a 5xx, before the one retry


class Hints(NamedTuple):
    """What is known before a link is requested."""

    head_differs: bool = False  # HEAD and GET once disagreed at its host: GET at once
    attempts: int = 0  # requests that were made for it before, in this run


NO_HINTS = Hints()


class _Got(NamedTuple):
    """What one GET brought: a page, or an error."""

    hops: LinkHops
    page: Page | None
    body: Body | None
    error: SpanielError | None


def _may_be_over(got: _Got, clock: Clock) -> bool:
    """Whether a failure may be gone at the next request: a reset, a 5xx. Who asks for time gets it elsewhere."""
    if got.page is not None:
        return (
            got.page.status >= 500
            and asked_to_wait(got.page, clock) is None
            and not load_patterns().is_challenge(got.page.headers)
        )
    error = got.error
    if error is None or error.code is not Code.NETWORK or error.details.get("refused"):
        return False
    return error.details.get("cause") in (None, "connect")


def _verifiable(check: LinkCheck, hops: LinkHops, seen: CheckedPage) -> tuple[Fragment, ...]:
    """Fragments as far as this page can say anything of them."""
    if seen.page_type in OTHER_PAGES:
        return ()
    if hops.fragment:  # a redirect that names one itself overrides the link's (Fetch 4.4)
        return tuple(fragment._replace(found=True) for fragment in seen.fragments)
    if seen.page_type == "paywall":  # behind it there may be more anchors
        return tuple(fragment._replace(found=fragment.found or None) for fragment in seen.fragments)
    is_login = seen.page_type == "login" or load_patterns().why_suspect(check.url, hops.url) == LOGIN
    if hops.chain and is_login:
        return tuple(fragment._replace(found=None) for fragment in seen.fragments)
    return seen.fragments


class LinkClient:
    """Asks links through the door. One for a run: it learns at which hosts HEAD tells the truth."""

    def __init__(
        self, door: Door, clock: Clock, options: LinkOptions | None = None, reads: BodyReader | None = None
    ) -> None:
        self._door, self._clock, self._options, self._reads = door, clock, options or LinkOptions(), reads
        self._trust = HeadTrust(self._options.confirm_head)

    async def check(self, link: Link, hints: Hints = NO_HINTS) -> Observation:
        """What is there. It does not raise, whatever the link or its host does, and ends in the time that its options
        allow: for HEAD, for GET, for what is compared with it; waiting in line at a host aside."""
        check = LinkCheck(link, self._clock, hints.attempts)
        try:
            check.url = url = parse(link.url)
            if url.fragment is not None:
                check.url = url._replace(fragment=None)
        except SpanielError as error:
            return failed(check, None, "", error)
        if self._is_head_enough(check, hints):
            observed = await self._by_head(check)
            if observed is not None:
                return observed
        return await self._by_get(check)

    def _is_head_enough(self, check: LinkCheck, hints: Hints) -> bool:
        """Whether its answer would be enough."""
        link, options = check.link, self._options
        if hints.head_differs or hints.attempts or not options.use_head or options.soft_404 or link.fragments:
            return False
        if link.expected != ANYTHING and asserts_content(link.expected):
            return False
        return self._trust.of(check.url.origin) is not Trust.DISTRUSTED

    async def _by_head(self, check: LinkCheck) -> Observation | None:
        """What HEAD says, where that can be believed and is the end of it; None where GET is to be asked."""
        check.attempts += 1
        hops = LinkHops(check.url, Deadline(min(self._options.head_seconds, self._options.seconds)))
        try:
            page = await follow(hops, self._door, self._door.http.head, self._options, self._redirects(check))
        except SpanielError as error:
            check.head = False
            given_up = error.code in FINAL and not hops.chain
            return failed(check, hops, "HEAD", error) if given_up else None
        if asked_to_wait(page, self._clock) is not None:
            return answered(check, hops, "HEAD", page, CheckedPage())
        check.head = 200 <= page.status <= 299 or page.status in asserts_redirect(check.link.expected)
        check.head_end = hops.url
        if not check.head or (hops.chain and load_patterns().why_suspect(check.url, hops.url)):
            return None  # some send whoever asks by HEAD to a login or to the front page
        if self._trust.of(hops.url.origin) is not Trust.TRUSTED:
            return None
        return answered(check, hops, "HEAD", page, look_at_head(page))

    async def _by_get(self, check: LinkCheck) -> Observation:
        got = await self._get_page(check)
        if check.head is not False and _may_be_over(got, self._clock):  # after a HEAD that failed, this was the retry
            await self._clock.sleep(RETRY_SECONDS)
            got = await self._get_page(check)
        hops, page = got.hops, got.page
        if page is None:
            return failed(check, hops, "GET", got.error or SpanielError(Code.INTERNAL, error="no page and no error"))
        seen = await look_at(page, got.body, hops, self._reads, check.link.fragments)
        try:
            if (target := self._refreshes_to(check, hops, page, seen)) is not None:
                hops.move(page.status, target)
                body = got.body.anew() if got.body is not None else None
                page = await follow(hops, self._door, self._get(body), self._options, self._redirects(check))
                seen = await look_at(page, body, hops, self._reads, check.link.fragments)
        except SpanielError as error:
            return failed(check, hops, "GET", error)
        if seen.fragments:
            seen = seen._replace(fragments=_verifiable(check, hops, seen))
        if self._options.soft_404 and page.ok and (seen.text or seen.title):
            seen = seen._replace(soft_404=await self._is_soft_404(hops.url, seen))
        observed = answered(check, hops, "GET", page, seen)
        return observed._replace(head_differs=self._compare(check, hops, got.page or page, seen))

    async def _get_page(self, check: LinkCheck) -> _Got:
        check.attempts += 1
        options = self._options
        needs = needs_of(check.link.expected, reads=bool(check.link.fragments) or options.soft_404)
        body = Body(needs) if needs.read else None
        hops = LinkHops(check.url, Deadline(options.seconds))
        try:
            page = await follow(hops, self._door, self._get(body), options, self._redirects(check))
        except SpanielError as error:
            return _Got(hops, None, body, error)
        return _Got(hops, page, body, None)

    def _refreshes_to(self, check: LinkCheck, hops: LinkHops, page: Page, seen: CheckedPage) -> Url | None:
        """Where a page sends its reader by itself. Of content that is asserted, the page itself is meant."""
        if not page.ok or seen.page_type in OTHER_PAGES or not seen.refresh or not self._redirects(check):
            return None
        if check.link.expected != ANYTHING and asserts_content(check.link.expected):
            return None
        target = parse(seen.refresh, base=hops.url)._replace(fragment=None)
        return None if target == hops.url or target in hops.visited else target

    def _compare(self, check: LinkCheck, hops: LinkHops, page: Page, seen: CheckedPage) -> bool:
        """Whether GET said otherwise than HEAD did, or showed another page; what that means for the host."""
        if check.head is None or asked_to_wait(page, self._clock) is not None:
            return False
        if check.head and page.status >= 500:
            return False  # that may happen between any two requests
        is_other = bool(seen.page_type) or check.head_end != hops.url
        differs = check.head != (page.status < 400) or (check.head and is_other)
        for origin in {check.url.origin, hops.url.origin}:
            if differs or check.head:
                self._trust.learn(origin, Trust.DISTRUSTED if differs else Trust.TRUSTED)
        return differs

    async def _is_soft_404(self, url: Url, seen: CheckedPage) -> bool | None:
        """Whether a page that cannot exist looks like this one; None where that cannot be told."""
        sibling = sibling_of(url, os.urandom(16).hex())
        if sibling is None:
            return None
        body = Body(needs_of(ANYTHING, reads=True))
        hops = LinkHops(sibling, Deadline(self._options.seconds))
        try:
            page = await follow(hops, self._door, self._get(body), self._options, self._options.max_redirects)
        except SpanielError:
            return None
        if not page.ok:
            return False
        other = await look_at(page, body, hops, self._reads)
        return looks_missing(
            PageText(seen.title, seen.text, seen.has_scripts), url, PageText(other.title, other.text), sibling
        )

    def _redirects(self, check: LinkCheck) -> int:
        return 0 if asserts_redirect(check.link.expected) else self._options.max_redirects

    def _get(self, body: Body | None) -> Ask:
        """A hop by GET: a page's beginning, or all that is needed of it into `body`."""

        async def ask(url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
            options = options._replace(error_bytes=GLANCED)
            if body is None:
                return await self._door.http.get(url, target, deadline, options._replace(glance=may_have_signs))
            latest = asyncio.get_running_loop().time() + self._options.content_seconds
            if body.is_measured:
                deadline.renew(self._options.seconds, latest)

            def take(piece: bytes) -> None:
                body.take(piece)
                if body.is_measured:  # gigabytes may take an hour, as long as they come
                    deadline.renew(self._options.seconds, latest)

            options = options._replace(max_bytes=body.most, cut=True)
            return await self._door.http.stream(url, target, deadline, take, options)

        return ask
