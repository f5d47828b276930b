"""Checks robots.txt before each request: fetched through the same guard, cached in memory and on disk."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import MAX_ROBOTS_REDIRECTS, ROBOTS_CACHE_ENTRIES, ROBOTS_CACHE_TTL_HOURS
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import DEFAULT_HEADERS, RequestOptions
from spaniel.net.redirects import Hops, follow
from spaniel.robots.disk_cache import DiskCache, StoredFile
from spaniel.robots.rules import LIMIT, RobotsDecision, RobotsFile, parse
from spaniel.url.value import Url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from spaniel.net.guard import Guard, Target
    from spaniel.net.http import Page, RequestHeaders

FAIL_OPEN_NOTE = "robots_unavailable_fail_open"
SECONDS = 5.0  # of a fetch's time (D2-13), and at most this share of it (D2-45)
SHARE = 0.5
FAILURE_SECONDS = 5.0  # for which a failure is cached, so that waiting fetches do not all try again
MAX_BYTES = 128 << 20  # of memory for all robots.txt files
BYTES_PER_OCTET, BYTES_PER_LINE = 6, 420  # the maximum memory of a parsed file (measured)
LONG_FILE = 1 << 16  # octets above which a file is parsed in a thread: the longest take a tenth of a second
_NO_TURN: AbstractAsyncContextManager[None] = nullcontext()
LONG_MATCH = 1 << 27  # octets of file × path above which a decision is made in a thread, too


class HttpGetter(Protocol):
    """Makes one request."""

    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = ...) -> Page: ...


class _FileVisitor:
    """Requests robots.txt at each hop: no robots check and no turn are needed for it."""

    wait = None

    def __init__(self, http: HttpGetter, deadline: Deadline, options: RequestOptions) -> None:
        self._http, self.deadline, self._options = http, deadline, options

    async def admit(self, hops: Hops, target: Target) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        return _NO_TURN

    def request(self, hops: Hops, target: Target) -> Awaitable[Page]:
        return self._http.get(hops.url, target, self.deadline, self._options)

    def answered(self, hops: Hops, page: Page) -> None:
        """Not used."""


class RobotsSettings(NamedTuple):
    """The settings `[tools.webfetch.robots]`."""

    fail_open: bool = False
    cache_entries: int = ROBOTS_CACHE_ENTRIES.default
    cache_ttl_hours: float = ROBOTS_CACHE_TTL_HOURS.default


class _CachedFile(NamedTuple):
    found: RobotsFile | SpanielError  # the file, or why there is none
    expires: float
    size: int = 0  # of the file
    weight: int = 0  # bytes of memory


class RobotsPermission(NamedTuple):
    """A page may be requested, with further facts from robots.txt."""

    note: str | None = None  # for the result
    crawl_delay: float | None = None  # seconds between requests
    content_signal: str | None = None  # the Content-Signal of the file


class RobotsVerdict(NamedTuple):
    """The decision about a URL; `note` says if robots.txt could not be fetched."""

    decision: RobotsDecision | None
    note: str | None


class RobotsGate:
    """Checks robots.txt before a request; concurrent requests of an origin share one fetch of it (FR-WF-08)."""

    def __init__(
        self,
        http: HttpGetter,
        guard: Guard,
        settings: RobotsSettings | None = None,
        disk: DiskCache | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = http
        self._guard = guard
        self._settings = settings or RobotsSettings()
        self._disk = disk
        self._clock = clock
        self._kept: OrderedDict[str, _CachedFile] = OrderedDict()
        self._bytes = 0
        self._flights: dict[str, asyncio.Task[_CachedFile]] = {}

    async def require(
        self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders = DEFAULT_HEADERS
    ) -> RobotsPermission:
        """Raises `robots_disallowed` or `robots_unavailable`."""
        verdict = await self.ask(url, target, deadline, headers)
        if verdict.decision is None:
            return RobotsPermission(verdict.note)
        if verdict.decision.allowed:
            return RobotsPermission(None, verdict.decision.crawl_delay, verdict.decision.content_signal)
        rule = verdict.decision.rule
        raise SpanielError(
            Code.ROBOTS_DISALLOWED,
            path=url.path,
            origin=url.origin,
            rule=rule and rule.text,
            line=rule and rule.line,
            group=verdict.decision.group,
        )

    async def ask(
        self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders = DEFAULT_HEADERS
    ) -> RobotsVerdict:
        """The decision about a URL, for the user agent of the headers.

        `target` is the hop's, so that its name is not resolved again. The file is fetched once, with the headers of
        the first request.
        """
        kept = self._fresh(url.origin)
        if kept is None:
            kept = await self._wait(url, target, deadline, headers)
        found = kept.found
        if isinstance(found, SpanielError):
            if self._settings.fail_open:
                return RobotsVerdict(None, FAIL_OPEN_NOTE)
            raise SpanielError(found.code, **found.details) from found.__cause__  # a new one for each caller
        decide, agent = found.decide, headers.user_agent
        if kept.size * len(url.target) > LONG_MATCH:
            return RobotsVerdict(await asyncio.to_thread(decide, agent, url.target), None)
        return RobotsVerdict(decide(agent, url.target), None)

    def _fresh(self, origin: str) -> _CachedFile | None:
        kept = self._kept.get(origin)
        if kept is None or kept.expires <= self._clock():
            return None
        self._kept.move_to_end(origin)
        return kept

    async def _wait(self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders) -> _CachedFile:
        """Join the fetch for this origin, or start it. It continues if a caller times out."""
        flight = self._flights.get(url.origin)
        if flight is None:
            flight = self._flights[url.origin] = asyncio.create_task(self._fly(url, target, headers))
            flight.add_done_callback(lambda _: self._flights.pop(url.origin))
        with deadline.guarding("robots"):
            part = deadline.within(min(SECONDS, SHARE * deadline.left()))
            try:
                with part.guarding("robots"):
                    return await asyncio.shield(flight)
            except SpanielError as error:  # the task returns failures, it does not raise
                return _CachedFile(_refusal(error, url), 0)

    async def _fly(self, url: Url, target: Target, headers: RequestHeaders) -> _CachedFile:
        """The file: from disk if another process has stored it there, else from the site."""
        began, now = self._clock(), time.time()
        stored = self._disk.read(url.origin, now) if self._disk is not None else None
        place = Url(url.scheme, url.host, url.port, "/robots.txt", None, None)
        try:
            body = stored.body if stored is not None else await self._fetch(place, target, headers)
        except SpanielError as error:
            kept = _CachedFile(_refusal(error, url), began + FAILURE_SECONDS)
            self._keep(url.origin, kept)
            return kept
        age = now - stored.fetched if stored is not None else 0.0
        aside = len(body) > LONG_FILE
        robots = await asyncio.to_thread(_ready, body, headers.user_agent) if aside else parse(body)
        expires = began + self._settings.cache_ttl_hours * 3600 - age
        kept = _CachedFile(robots, expires, len(body), _weight(body))
        self._keep(url.origin, kept)
        if self._disk is not None and stored is None:
            self._disk.write(url.origin, StoredFile(body, now))
        return kept

    async def _fetch(self, url: Url, target: Target, headers: RequestHeaders) -> bytes:
        """Fetch the file, through guarded redirects (D2-06), without a robots check."""
        hops = Hops(url)
        visitor = _FileVisitor(self._http, Deadline(SECONDS), RequestOptions(headers, LIMIT + 1, cut=True))
        try:
            page = await follow(hops, self._guard, visitor, None, MAX_ROBOTS_REDIRECTS, target)
        except SpanielError as error:
            raise error if hops.url.host == url.host else _elsewhere(error) from None
        return _body(page)

    def _keep(self, origin: str, kept: _CachedFile) -> None:
        """Cache a file or failure; the least recently used are dropped."""
        old = self._kept.pop(origin, None)
        self._kept[origin] = kept
        self._bytes += kept.weight - (old.weight if old else 0)
        while len(self._kept) > 1 and (
            (many := len(self._kept) > self._settings.cache_entries) or self._bytes > MAX_BYTES
        ):
            forgotten, known = self._kept.popitem(last=False)
            self._bytes -= known.weight
            if many and self._disk is not None:
                self._disk.remove(forgotten)

    async def close(self) -> None:
        """Cancel the fetches."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)


def _ready(body: bytes, agent: str) -> RobotsFile:
    """A parsed file, with the rules of an agent indexed, as the first decision would do."""
    robots = parse(body)
    robots.decide(agent, "/")
    return robots


def _weight(body: bytes) -> int:
    """The memory of a parsed file: many short lines take thirty times their octets."""
    return BYTES_PER_OCTET * len(body) + BYTES_PER_LINE * (1 + body.count(b"\n") + body.count(b"\r"))


def _refusal(failure: SpanielError, url: Url) -> SpanielError:
    """A host that cannot be reached is reported as that, not as a failure of its robots.txt."""
    if "cause" in failure.details:
        return SpanielError(failure.code, **failure.details)
    refusal = SpanielError(Code.ROBOTS_UNAVAILABLE, origin=url.origin, error=f"{failure.code}: {failure.message}")
    refusal.__cause__ = failure.with_traceback(None)  # for retries; its traceback would keep objects alive
    return refusal


def _elsewhere(error: SpanielError) -> SpanielError:
    """A failure at another host, to which robots.txt has redirected: it says nothing about the page's host."""
    return SpanielError(error.code, **{name: fact for name, fact in error.details.items() if name != "cause"})


def _body(page: Page) -> bytes:
    """What a status means for robots.txt: a 2xx with a complete body is the file, any 4xx allows all (D2-06).

    Everything else is a failure: a part of a file may lack the line that disallows a page (D2-45).
    """
    if page.ok:
        return page.body
    if 400 <= page.status <= 499:
        return b""
    code = Code.HTTP_5XX if 500 <= page.status <= 599 else Code.NETWORK
    raise SpanielError(code, status=page.status, status_text=page.reason, error=f"status {page.status}")
