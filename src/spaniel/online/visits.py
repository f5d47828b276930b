"""Visits to pages: where a URL leads, by HEAD, and what a page tells, by a bounded GET. Each hop is guarded.

A visit never raises for what a server does: how it ended is its answer.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.retrieve import PageHops, follow
from spaniel.reading.kinds import parse_type
from spaniel.reading.metadata.page_facts import PageFacts, page_facts
from spaniel.url.parsing import parse
from spaniel.url.questions import PAGES, RedirectHop, RedirectWalk
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page, RequestOptions
    from spaniel.net.redirects import Ask
    from spaniel.pipeline.retrieve import Door, FetchOptions
    from spaniel.url.value import Url

    class Asks(Protocol):
        """What makes one hop."""

        async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page: ...

        async def head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page: ...


MAX_BYTES = 1 << 20  # of a page: its head, its links and enough text to know its language
LONG_PAGE = 1 << 16  # bytes from which on a page is read beside the event loop
MAX_KEPT = 64  # pages whose facts are kept for the next question about them
GUARDED = frozenset({Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST})
ANSWERS_HEAD = frozenset({*range(200, 400), 401, 407, 429, 451})  # what a HEAD is believed; else a GET decides
IN_A_CIRCLE, OFF_LIST = "the redirects go in a circle", "it leaves the allowlist"
RESET = ("reset by peer", "closed the connection without an answer")


class Visit(NamedTuple):
    """A page that was read: its facts, and where it stood in the end."""

    facts: PageFacts
    url: Url


class Unread(NamedTuple):
    """A page that was not read, and why."""

    reason: str


class _Circle(Exception):  # noqa: N818  no error: how a walk ended
    """A redirect leads to where we have been."""


class _OffList(Exception):  # noqa: N818
    """A redirect leads off the allowlist: nobody goes there, and the rule says why."""


class _JudgedHops(PageHops):
    """Hops whose targets are recorded, and may not leave the allowlist or go in a circle."""

    __slots__ = ("_passes", "_recorded", "_seen")

    def __init__(self, url: Url, recorded: list[RedirectHop], passes: Callable[[str], bool]) -> None:
        super().__init__(url)
        self._recorded, self._passes, self._seen = recorded, passes, {url.href}

    def resolve(self, page: Page) -> Url:
        url = super().resolve(page)
        if len(url.href) > LONGEST:
            raise SpanielError(Code.INVALID_URL, url=url.redacted[:LONGEST], reason="it is too long")
        self._recorded.append(RedirectHop(page.status, url.href))
        if url.href in self._seen:
            raise _Circle
        self._seen.add(url.href)
        if not self._passes(url.host):
            raise _OffList
        return url


class Visits:
    """Goes by a way, and follows redirects only to hosts that `passes` lets through."""

    def __init__(self, door: Door, http: Asks, way: FetchOptions, passes: Callable[[str], bool]) -> None:
        self._door = door
        self._http = http
        self._passes = passes
        self._way = way._replace(options=way.options._replace(max_bytes=MAX_BYTES, cut=True))
        self._kept: OrderedDict[str, Visit | Unread] = OrderedDict()

    async def walk(self, url: str, deadline: Deadline) -> RedirectWalk:
        """Every hop with its status, and the end."""
        hops: list[RedirectHop] = []
        try:
            page = await self._go(url, self._head, deadline, hops)
        except SpanielError as error:
            return _ended(hops, error)
        except _Circle:
            return RedirectWalk(tuple(hops), trouble=IN_A_CIRCLE, endless=True)
        except _OffList:
            return RedirectWalk(tuple(hops), trouble=OFF_LIST)
        return RedirectWalk(tuple(hops), page.status, parse_type(page.headers.get("content-type", ""))[0])

    async def _go(self, url: str, ask: Ask, deadline: Deadline, hops: list[RedirectHop]) -> Page:
        """The answer at the end. Each redirect is recorded, and judged, before it is followed."""
        start = parse(url)
        return (await follow(start, self._door, ask, deadline, self._way, _JudgedHops(start, hops, self._passes))).page

    async def _head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
        """The head of an answer. Many a server refuses HEAD, or hangs up on it: then GET, of which nothing is read."""
        try:
            page = await self._http.head(url, target, deadline, options)
        except SpanielError as error:
            if error.code is not Code.NETWORK or "cause" in error.details:
                raise
            page = None
        if page is not None and page.status in ANSWERS_HEAD:
            return page
        return await self._http.get(url, target, deadline, options._replace(max_bytes=0))

    async def read(self, url: str, deadline: Deadline) -> Visit | None:
        """What the page at a URL tells; None where there is no page, or it is no HTML."""
        found = await self.look(url, deadline)
        return found if isinstance(found, Visit) else None

    async def look(self, url: str, deadline: Deadline) -> Visit | Unread:
        """The same, with the reason where there is none."""
        if url in self._kept:
            self._kept.move_to_end(url)
            return self._kept[url]
        visit = await self._read(url, deadline)
        self._kept[url] = visit
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return visit

    async def _read(self, url: str, deadline: Deadline) -> Visit | Unread:
        try:
            page = await self._go(url, self._http.get, deadline, [])
        except _Circle:
            return Unread(IN_A_CIRCLE)
        except _OffList:
            return Unread(OFF_LIST)
        except SpanielError as error:
            if error.code is Code.TIMEOUT:
                raise
            return Unread(error.message)
        kind, charset = parse_type(page.headers.get("content-type", ""))
        if not page.ok:
            return Unread(f"it answers {page.status}")
        if kind not in PAGES:
            return Unread(f"it is no HTML but {kind}" if kind else "it does not say that it is HTML")
        given = (page.body, page.url, charset, page.headers.get("link", ""), page.headers.get("content-language", ""))
        if len(page.body) > LONG_PAGE:
            return Visit(await asyncio.to_thread(page_facts, *given), page.url)
        return Visit(page_facts(*given), page.url)


def _ended(hops: list[RedirectHop], error: SpanielError) -> RedirectWalk:
    """How a walk ended that found no answer."""
    if error.code is Code.TIMEOUT:
        raise error  # whose time is up decides what that means
    if error.code is Code.REDIRECT_LIMIT:
        return RedirectWalk(tuple(hops), endless=True)
    if error.code in GUARDED:
        where = {} if not hops else {"redirect": len(hops), "hop": hops[-1].url.partition("?")[0]}
        return RedirectWalk(tuple(hops), refused=SpanielError(error.code, **{**error.details, **where}))
    return RedirectWalk(tuple(hops), trouble=error.message, unreached=not hops and _is_unreached(error))


def _is_unreached(error: SpanielError) -> bool:
    """Refused, reset, no TLS, or a certificate for another name. One that has expired is a fault of a site that has
    HTTPS. What the robots gate was told comes in words only."""
    said, cause = error.message, error.details.get("cause")
    if cause == "certificate":
        return "mismatch" in said
    return cause in ("connect", "tls") or any(word in said for word in RESET)
