"""One link asked: HEAD where that is enough, GET where it is not; what came back, as an `Observation`.

Nothing here says what an answer means: that is `judging`. A host that asks to be left alone is not waited for here: the
observation says how long, and whoever asks for many links goes on with others meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

from spaniel.errors import Code, SpanielError
from spaniel.health.bodies import GLANCED, Body, asserts_content, asserts_redirect, needs_of
from spaniel.health.following import Trip, Ways, follow
from spaniel.health.head_trust import HeadTrust, Trust
from spaniel.health.observation import NO_HINTS, Hints, Observation
from spaniel.health.pages import Seen, look_at, look_at_head, tells_something
from spaniel.health.reporting import Errand, answered, asked_to_wait, failed
from spaniel.health.signs import signs
from spaniel.health.soft404 import looks_missing, sibling_of
from spaniel.health.verdict import ANYTHING
from spaniel.net.deadline import Deadline
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.clock import Clock
    from spaniel.health.following import Ask
    from spaniel.health.pages import Reads
    from spaniel.health.verdict import Link
    from spaniel.net.guard import Target
    from spaniel.net.http import Options, Page
    from spaniel.pipeline.ports import Door
    from spaniel.url.value import Url

__all__ = ["Asker", "Hints", "Observation", "Ways"]

GIVEN_UP = frozenset(  # whatever the method: nothing was, or may be, asked
    {Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST, Code.DNS_FAILED, Code.ROBOTS_DISALLOWED,
     Code.ROBOTS_UNAVAILABLE, Code.HTTP_4XX, Code.HTTP_5XX}
)  # fmt: skip


class Asker:
    """Asks links through the door. One for a run: it learns at which hosts HEAD tells the truth."""

    def __init__(self, door: Door, clock: Clock, ways: Ways | None = None, reads: Reads | None = None) -> None:
        self._door, self._clock, self._ways, self._reads = door, clock, ways or Ways(), reads
        self._trust = HeadTrust(self._ways.confirm_head)

    async def ask(self, link: Link, hints: Hints = NO_HINTS) -> Observation:
        """What is there. It does not raise, whatever the link or its host does, and ends in the time that its ways
        allow: for HEAD, for GET, for what is compared with it; waiting in line at a host aside."""
        errand = Errand(link, self._clock, hints.attempts)
        try:
            errand.url = url = parse(link.url)
            if url.fragment is not None:
                errand.url = url._replace(fragment=None)
        except SpanielError as error:
            return failed(errand, None, "", error)
        if self._may_ask_by_head(errand, hints):
            observed = await self._by_head(errand)
            if observed is not None:
                return observed
        return await self._by_get(errand)

    def _may_ask_by_head(self, errand: Errand, hints: Hints) -> bool:
        """Whether its answer would be enough."""
        link, ways = errand.link, self._ways
        if hints.head_differs or hints.attempts or not ways.use_head or ways.soft_404 or link.fragments:
            return False
        if link.expected != ANYTHING and asserts_content(link.expected):
            return False
        return self._trust.of(errand.url.origin) is not Trust.DISTRUSTED

    async def _by_head(self, errand: Errand) -> Observation | None:
        """What HEAD says, where that can be believed and is the end of it; None where GET is to be asked."""
        errand.attempts += 1
        trip = Trip(errand.url, Deadline(min(self._ways.head_seconds, self._ways.seconds)))
        try:
            page = await follow(trip, self._door, self._door.http.head, self._ways, self._redirects(errand))
        except SpanielError as error:
            errand.head = False
            given_up = error.code in GIVEN_UP and not trip.chain
            return failed(errand, trip, "HEAD", error) if given_up else None
        if asked_to_wait(page, self._clock) is not None:
            return answered(errand, trip, "HEAD", page, Seen())
        errand.head = 200 <= page.status <= 299 or page.status in asserts_redirect(errand.link.expected)
        errand.head_end = trip.url
        if not errand.head or (trip.chain and signs().why_suspect(errand.url, trip.url)):
            return None  # some send whoever asks by HEAD to a login or to the front page
        trust = self._trust.of(trip.url.origin)
        if trust is Trust.CONFIRMED:
            trust = await self._probe(trip.url)
            self._trust.learn(trip.url.origin, trust)
        return answered(errand, trip, "HEAD", page, look_at_head(page)) if trust is Trust.TRUSTED else None

    async def _probe(self, url: Url) -> Trust:
        """Whether HEAD tells a page that is not there from one that is. Where that is not plain, GET is asked: a host
        that has a good answer to anything is not believed."""
        name = uuid4().hex
        nowhere = sibling_of(url, name) or url._replace(path=f"/{name}", query=None)
        try:
            trip = Trip(nowhere, Deadline(self._ways.head_seconds))
            page = await follow(trip, self._door, self._door.http.head, self._ways, 0)
        except SpanielError:
            return Trust.DISTRUSTED
        return Trust.TRUSTED if page.status in (404, 410) else Trust.DISTRUSTED

    async def _by_get(self, errand: Errand) -> Observation:
        errand.attempts += 1
        expected, ways = errand.link.expected, self._ways
        needs = needs_of(expected, reads=bool(errand.link.fragments) or ways.soft_404)
        body = Body(needs) if needs.read else None
        trip = Trip(errand.url, Deadline(ways.seconds))
        try:
            page = await follow(trip, self._door, self._get(body), ways, self._redirects(errand))
        except SpanielError as error:
            return failed(errand, trip, "GET", error)
        seen = await look_at(page, body, trip, self._reads, errand.link.fragments)
        if ways.soft_404 and seen.text and page.ok:
            seen = seen._replace(soft_404=await self._is_soft_404(trip.url, seen.text))
        observed = answered(errand, trip, "GET", page, seen)
        return observed._replace(head_differs=self._compare(errand, trip, page))

    def _compare(self, errand: Errand, trip: Trip, page: Page) -> bool:
        """Whether GET said otherwise than HEAD did; what that means for the host."""
        if errand.head is None or asked_to_wait(page, self._clock) is not None:
            return False
        if errand.head and page.status >= 500:
            return False  # that may happen between any two requests
        differs = errand.head != (page.status < 400) or (errand.head and errand.head_end != trip.url)
        for origin in {errand.url.origin, trip.url.origin}:
            if differs or errand.head:
                self._trust.learn(origin, Trust.DISTRUSTED if differs else Trust.CONFIRMED)
        return differs

    async def _is_soft_404(self, url: Url, text: str) -> bool | None:
        """Whether a page that cannot exist looks like this one; None where that cannot be told."""
        sibling = sibling_of(url, uuid4().hex)
        if sibling is None:
            return None
        body = Body(needs_of(ANYTHING, reads=True))
        trip = Trip(sibling, Deadline(self._ways.seconds))
        try:
            page = await follow(trip, self._door, self._get(body), self._ways, self._ways.max_redirects)
        except SpanielError:
            return None
        if not page.ok:
            return False
        seen = await look_at(page, body, trip, self._reads)
        return looks_missing(text, url, seen.text, sibling)

    def _redirects(self, errand: Errand) -> int:
        return 0 if asserts_redirect(errand.link.expected) else self._ways.max_redirects

    def _get(self, body: Body | None) -> Ask:
        """A hop by GET: a page's beginning, or all that is needed of it into `body`."""

        async def ask(url: Url, target: Target, deadline: Deadline, options: Options) -> Page:
            options = options._replace(error_bytes=GLANCED)
            if body is None:
                return await self._door.http.get(url, target, deadline, options._replace(glance=tells_something))
            latest = asyncio.get_running_loop().time() + self._ways.content_seconds
            if body.is_measured:
                deadline.renew(self._ways.seconds, latest)

            def take(piece: bytes) -> None:
                body.take(piece)
                if body.is_measured:  # gigabytes may take an hour, as long as they come
                    deadline.renew(self._ways.seconds, latest)

            options = options._replace(max_bytes=body.most, cut=True)
            return await self._door.http.stream(url, target, deadline, take, options)

        return ask
