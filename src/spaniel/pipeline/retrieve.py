"""From URL to response: what each hop of the redirect loop does for a page (SRD Appendix B)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import MAX_REDIRECTS
from spaniel.errors import Code, SpanielError
from spaniel.hosts import Politeness, led_by_another
from spaniel.net import redirects
from spaniel.net.http import RequestOptions
from spaniel.net.redirects import Hops
from spaniel.pipeline.request import Step, Trace
from spaniel.reading.document import Document
from spaniel.url.allowlist import ANYWHERE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.browser.rendering import RenderedPage, RenderRequest
    from spaniel.hosts import Hosts
    from spaniel.hosts.hosts import HostTurn
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Guard, Target
    from spaniel.net.http import Page, RequestHeaders
    from spaniel.net.redirects import Ask, Wait
    from spaniel.pipeline.page_types import BlockedPage
    from spaniel.robots.gate import RobotsPermission
    from spaniel.url.allowlist import DomainRules
    from spaniel.url.value import Url


class RobotsCheck(Protocol):
    async def require(
        self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders = ...
    ) -> RobotsPermission: ...


class Fetcher(Protocol):
    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = ...) -> Page: ...

    async def head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = ...) -> Page: ...

    async def stream(
        self,
        url: Url,
        target: Target,
        deadline: Deadline,
        sink: Callable[[bytes], object],
        options: RequestOptions = ...,
    ) -> Page: ...


class Renders(Protocol):
    async def render(self, wanted: RenderRequest) -> RenderedPage: ...


class Door(NamedTuple):
    """What every hop needs."""

    guard: Guard
    robots: RobotsCheck
    hosts: Hosts
    http: Fetcher


NOT_MODIFIED = 304

# An entity tag (RFC 9110 8.8.3), or one without its quotes. Never `*`, which matches every page,
# and never a list, which would come from two headers.
_TAG = re.compile(r'(?:W/)?"[^"]*"|[^",*\s]+')
_CODING = re.compile(r'[-;:]{1,2}(?:gzip|br|deflate|zstd)(?="?$)')  # added by servers that compress


class Conditional(NamedTuple):
    """The validators of a stored copy. They are sent only to the URL it came from."""

    url: str  # the copy's own; no other hop gets the headers
    etag: str | None
    fields: Mapping[str, str]  # the request headers

    def options_for(self, url: Url, options: RequestOptions) -> RequestOptions:
        return options._replace(more={**options.more, **self.fields}) if url.href == self.url else options

    def answered_by(self, page: Page) -> bool:
        """Whether this 304 answers our conditional request; any other 304 is meaningless."""
        return page.status == NOT_MODIFIED and page.url.href == self.url

    def agrees_with(self, page: Page) -> bool:
        """A 304 with another ETag than the copy's says nothing about the copy (RFC 9111 4.3.4)."""
        named = page.headers.get("etag")
        return named is None or self.etag is None or _opaque(named) == _opaque(self.etag)


def conditional_for(url: str, etag: str | None, last_modified: str | None) -> Conditional | None:
    """Both validators, as the server sent them. Invalid header values are left out; None if none is left."""
    asked = {"If-None-Match": _tag(etag), "If-Modified-Since": _line(last_modified)}
    sent = {name: value for name, value in asked.items() if value}
    return Conditional(url, etag, sent) if sent else None


def _tag(etag: str | None) -> str | None:
    return etag if etag and _line(etag) and _TAG.fullmatch(etag) else None


def _line(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isprintable() else None


def _opaque(etag: str) -> str:
    """For weak comparison (RFC 9110 8.8.3.2), ignoring content coding."""
    return _CODING.sub("", etag.removeprefix("W/"))


class FetchOptions(NamedTuple):
    """How hops are made (from the profile) and where they may lead (from the request)."""

    options: RequestOptions = RequestOptions()
    max_redirects: int = MAX_REDIRECTS.default
    politeness: Politeness = Politeness()
    domains: DomainRules = ANYWHERE
    conditional: Conditional | None = None  # sent only to the URL that the stored copy came from


DEFAULT_OPTIONS = FetchOptions()


NO_SIGNALS: Mapping[str, object] = MappingProxyType({})
NOT_READ = Document("")
NOT_YET = datetime.fromtimestamp(0, UTC)


class FetchedPage(NamedTuple):
    """A page on its way through a fetch: as it was fetched, then read, then recognized."""

    page: Page
    chain: tuple[str, ...]  # the URLs before the final one
    notes: tuple[str, ...]
    picture: bytes | None = None  # of a rendered page, if requested
    archive_url: str = ""  # for a copy: its address
    archive_date: str = ""  # and when it was taken
    content_signal: str | None = None  # the usage signals of robots.txt
    # From here on: known once the page has been read
    document: Document = NOT_READ
    fetched_at: datetime = NOT_YET
    rendering_method: str = "http"
    fallback: str = "http"  # that fetched it
    reader: str = "html"  # the kind of content it was read as
    signals: Mapping[str, object] = NO_SIGNALS  # the site's usage signals
    blocked: BlockedPage | None = None  # set if it is not the requested page
    # `not_modified` (304) or `unchanged` (200, the same bytes) if the stale copy is still valid
    revalidated: str | None = None


class PageHops(Hops):
    """The hops of one attempt, each recorded in its trace."""

    __slots__ = ("_shown", "_step", "_trace", "answer", "attempt")

    def __init__(self, url: Url, trace: Trace | None = None, attempt: int = 1) -> None:
        super().__init__(url)
        self._shown = url.redacted
        self.answer: Page | None = None  # the last response, whatever its status
        self.attempt = attempt
        self._trace = trace or Trace()
        self._step: Step | None = None  # of the current hop

    @property
    def is_led(self) -> bool:
        """Whether a redirect from another site led to the current URL."""
        return bool(self.chain) and led_by_another(self.urls, self.url)

    def step(self, name: str) -> Step:
        return self._trace.step(name, self._shown, self.attempt, len(self.chain))

    def begin(self, step: str) -> None:
        self.end()
        self._step = self.step(step)
        self._step.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """End the current step, if there is one, with the error if any."""
        if self._step is not None:
            self._step.__exit__(None, error, None)
            self._step = None

    def start(self, url: Url) -> None:
        if url is not self.url:
            self._shown = url.redacted
        super().start(url)

    def arrived(self, page: Page) -> None:
        super().arrived(page)
        self.answer = page
        if self._step is not None:
            self._step.text = str(page.status)
        self.end()

    def move(self, status: int, url: Url) -> None:
        super().move(status, url)
        self._shown = url.redacted


async def retrieve(
    url: Url, door: Door, deadline: Deadline, way: FetchOptions = DEFAULT_OPTIONS, hops: PageHops | None = None
) -> FetchedPage:
    """The page at a URL, a requested 304, or the refusal that its status means."""
    hops = hops or PageHops(url)
    found = await follow(url, door, door.http.get, deadline, way, hops)
    if way.conditional is None or not way.conditional.answered_by(found.page):
        return found._replace(page=successful(found.page))
    if way.conditional.agrees_with(found.page):
        return found
    again = await follow(found.page.url, door, door.http.get, deadline, way._replace(conditional=None), hops)
    return again._replace(page=successful(again.page), notes=tuple(dict.fromkeys((*found.notes, *again.notes))))


async def follow(
    url: Url, door: Door, ask: Ask, deadline: Deadline, way: FetchOptions, hops: PageHops | None = None
) -> FetchedPage:
    """Follow redirects to a response, whatever its status. `ask` makes one request."""
    hops = hops or PageHops(url)
    hops.start(url)
    visitor = _PageVisitor(door, ask, deadline, way)
    try:
        page = await redirects.follow(hops, door.guard, visitor, way.domains, way.max_redirects)
    except BaseException as error:
        hops.end(error)
        raise
    return FetchedPage(page, hops.urls, hops.notes, content_signal=visitor.content_signal)


class _PageVisitor:
    """At each hop: wait as the host requested, check robots.txt, take a turn, make the request."""

    __slots__ = ("_ask", "_door", "_led", "_turn", "_way", "content_signal", "deadline", "wait")
    _turn: HostTurn
    _led: bool

    def __init__(self, door: Door, ask: Ask, deadline: Deadline, way: FetchOptions) -> None:
        self._door, self._ask, self.deadline, self._way = door, ask, deadline, way
        self.content_signal: str | None = None  # of the last hop
        self.wait: Wait | None = self._wait if way.politeness.respect_delays else None

    async def _wait(self, url: Url) -> None:
        await self._door.hosts.wait(url.origin, self.deadline, self._way.politeness)

    async def admit(self, hops: PageHops, target: Target) -> HostTurn:
        url, door, way = hops.url, self._door, self._way
        permission = await door.robots.require(url, target, self.deadline, way.options.headers)
        hops.note(permission.note)
        if permission.crawl_delay:
            door.hosts.set_crawl_delay(url.host, permission.crawl_delay)
        self.content_signal = permission.content_signal
        self._led = hops.is_led
        self._turn = door.hosts.turn(url.origin, self.deadline, way.politeness, led=self._led)
        return self._turn

    def request(self, hops: PageHops, target: Target) -> Awaitable[Page]:
        url, way = hops.url, self._way
        options = way.options if way.conditional is None else way.conditional.options_for(url, way.options)
        return self._ask(url, target, self.deadline, options._replace(before_repeat=self._turn.again))

    def answered(self, hops: PageHops, page: Page) -> None:
        self._door.hosts.answered(hops.url.origin, page.status, page.headers, led=self._led)


def successful(page: Page) -> Page:
    """A status without a code of its own is `network` (D2-27)."""
    if page.ok:
        return page
    details = {"status": page.status, "status_text": page.reason}
    if 400 <= page.status <= 499:
        price = page.headers.get("crawler-price") if page.status == 402 else None
        raise SpanielError(
            Code.HTTP_4XX, **details, retry_after=page.headers.get("retry-after"), crawler_price=price or None
        )
    if 500 <= page.status <= 599:
        raise SpanielError(Code.HTTP_5XX, **details, retry_after=page.headers.get("retry-after"))
    raise SpanielError(Code.NETWORK, **details, error=f"status {page.status} is not a page")


ANY_SIZE = 1 << 40  # bytes: effectively unlimited; the deadline bounds the download


class Measured(NamedTuple):
    """The content of a page after redirects (DB-07). The page itself has no body."""

    length: int
    sha256: str  # lower-case hex
    page: Page
    chain: tuple[str, ...]  # the URLs before the final one

    @property
    def content_type(self) -> str:
        """Without its parameters."""
        return self.page.headers.get("content-type", "").partition(";")[0].strip().lower()


async def measure(url: Url, door: Door, deadline: Deadline, way: FetchOptions) -> Measured:
    """Guard, robots.txt and politeness apply at every hop; an unsuccessful status is a refusal."""
    digest = sha256()
    length = 0

    def take(piece: bytes) -> None:
        nonlocal length
        length += len(piece)
        digest.update(piece)

    async def ask(url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
        return await door.http.stream(url, target, deadline, take, options)

    found = await follow(url, door, ask, deadline, way)
    page = successful(found.page)
    return Measured(length, digest.hexdigest(), page, found.chain)
