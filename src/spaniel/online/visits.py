"""Answers the questions of rules by requests: HEAD for redirects, a bounded GET for pages. Each hop is guarded.

Failures of a server are results, not exceptions.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError, shown
from spaniel.pipeline.retrieve import PageHops, follow
from spaniel.reading.kinds import parse_type
from spaniel.reading.metadata.page_facts import PageFacts, page_facts, total_pages
from spaniel.url.hostlists import same_owner
from spaniel.url.parsing import parse
from spaniel.url.questions import IF_LINKED, PAGES, RedirectHop, RedirectWalk, WebAnswer
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
        """Makes one request."""

        async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page: ...

        async def head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page: ...

    from collections.abc import Awaitable

    from spaniel.url.allowlist import Allowlist
    from spaniel.url.questions import Question

    Look = Callable[[Question, Deadline], Awaitable[WebAnswer]]

MAX_BYTES = 1 << 20  # of a page: its head, its links and enough text to know its language
LONG_PAGE = 1 << 16  # bytes above which a page is parsed in a thread
MAX_KEPT = 64  # pages whose facts are cached for further questions
GUARDED = frozenset({Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST})
ANSWERS_HEAD = frozenset({*range(200, 400), 401, 407, 429, 451})  # statuses of HEAD that are trusted; else GET
IN_A_CIRCLE, OFF_LIST = "the redirects go in a circle", "it leaves the allowlist"
RESET = ("reset by peer", "closed the connection without an answer")


class Visit(NamedTuple):
    """A page that was read: its facts, and its final URL."""

    facts: PageFacts
    url: Url


class UnreadPage(NamedTuple):
    """A page that was not read, and why."""

    reason: str


class _Circle(Exception):  # noqa: N818  not an error
    """A redirect loop."""


class _OffList(Exception):  # noqa: N818
    """A redirect leads off the allowlist: it is not followed, and the rule reports it."""


class _JudgedHops(PageHops):
    """Hops that are recorded, and must not leave the allowlist or loop."""

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
    """Makes requests with `FetchOptions`, and follows redirects only to hosts that `passes` allows."""

    def __init__(self, door: Door, http: Asks, way: FetchOptions, passes: Callable[[str], bool]) -> None:
        self._door = door
        self._http = http
        self._passes = passes
        self._way = way._replace(options=way.options._replace(max_bytes=MAX_BYTES, cut=True))
        self._kept: OrderedDict[str, Visit | UnreadPage] = OrderedDict()

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
        """The final response. Each redirect is recorded and judged before it is followed."""
        start = parse(url)
        return (await follow(start, self._door, ask, deadline, self._way, _JudgedHops(start, hops, self._passes))).page

    async def _head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
        """The head of a response. Servers that refuse HEAD, or close the connection, get a GET without reading it."""
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
        """The facts of the page at a URL; None if there is none, or it is not HTML."""
        found = await self.look(url, deadline)
        return found if isinstance(found, Visit) else None

    async def look(self, url: str, deadline: Deadline) -> Visit | UnreadPage:
        """Like `read`, with the reason if there is no page."""
        if url in self._kept:
            self._kept.move_to_end(url)
            return self._kept[url]
        visit = await self._read(url, deadline)
        self._kept[url] = visit
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return visit

    async def _read(self, url: str, deadline: Deadline) -> Visit | UnreadPage:
        try:
            page = await self._go(url, self._http.get, deadline, [])
        except _Circle:
            return UnreadPage(IN_A_CIRCLE)
        except _OffList:
            return UnreadPage(OFF_LIST)
        except SpanielError as error:
            if error.code is Code.TIMEOUT:
                raise
            return UnreadPage(error.message)
        kind, charset = parse_type(page.headers.get("content-type", ""))
        if not page.ok:
            return UnreadPage(f"it answers {page.status}")
        if kind not in PAGES:
            return UnreadPage(f"it is no HTML but {kind}" if kind else "it does not say that it is HTML")
        given = (page.body, page.url, charset, page.headers.get("link", ""), page.headers.get("content-language", ""))
        if len(page.body) > LONG_PAGE:
            return Visit(await asyncio.to_thread(page_facts, *given), page.url)
        return Visit(page_facts(*given), page.url)


def _ended(hops: list[RedirectHop], error: SpanielError) -> RedirectWalk:
    """The end of a walk without a response."""
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
    HTTPS. A failure of robots.txt has its cause only as text."""
    said, cause = error.message, error.details.get("cause")
    if cause == "certificate":
        return "mismatch" in said
    return cause in ("connect", "tls") or any(word in said for word in RESET)


MAX_SHOWN = 160


class Answers:
    """Answers questions by requests. What cannot be found out is an empty answer."""

    def __init__(self, visits: Visits, allowlist: Allowlist) -> None:
        self._visits = visits
        self._allowlist = allowlist
        self._by_kind: dict[str, Look] = {
            "https": self._https,
            "slash": self._slash,
            "redirects": self._redirects,
            "shortener": self._shortener,
            "host": self._host,
            "languages": self._languages,
            "pages": self._pages,
            "title": self._title,
        }

    async def answer(self, question: Question, deadline: Deadline) -> WebAnswer:
        """Raises only `timeout`."""
        return await self._by_kind[question.kind](question, deadline)

    async def _https(self, question: Question, deadline: Deadline) -> WebAnswer:
        """HTTPS is lacking where it was refused, reset or has another name's certificate, and HTTP answers (CP-22)."""
        host = question.subject
        try:
            secure = await self._visits.walk(f"https://{host}/", deadline.within(deadline.left() / 2))
        except SpanielError as error:  # silence proves nothing
            return WebAnswer(None, shown(error.message))
        if not _proves_no_https(secure, host):
            return WebAnswer(False if secure.status or secure.hops else None, _told(secure))
        plain = await self._visits.walk(f"http://{host}/", deadline)
        if plain.status is None and not plain.hops:
            return WebAnswer(None, f"neither HTTPS nor HTTP answers: {_told(plain)}")
        return WebAnswer(True, f"no: {_told(secure)}; HTTP answers {plain.status or plain.hops[0].status}")

    async def _slash(self, question: Question, deadline: Deadline) -> WebAnswer:
        """It matters where the URL without it fails or leads elsewhere, and the one with it answers (CP-23)."""
        kept = question.subject
        start, mark, query = kept.partition("?")
        bare = await self._visits.walk(start.rstrip("/") + mark + query, deadline)
        whole = await self._visits.walk(kept, deadline)
        said = f"without it: {_told(bare)}; with it: {_told(whole)}"
        if not _is_page(whole):
            return WebAnswer(None, said)
        return WebAnswer(not _is_page(bare) or _end(bare, kept) != _end(whole, kept), said)

    async def _redirects(self, question: Question, deadline: Deadline) -> WebAnswer:
        walk = await self._visits.walk(question.subject, deadline)
        return WebAnswer(walk, _told(walk))

    async def _shortener(self, question: Question, deadline: Deadline) -> WebAnswer:
        host = question.subject
        walk = await self._visits.walk(f"https://{host}/", deadline)
        if walk.status is None and not walk.hops:
            return WebAnswer(None, _told(walk))
        away = bool(walk.hops) and not same_owner(parse(walk.hops[-1].url).host, host)
        return WebAnswer(away, _told(walk))

    async def _host(self, question: Question, deadline: Deadline) -> WebAnswer:
        """HEAD on the bare domain over HTTP; the host at the end is the preferred one (CP-24)."""
        walk = await self._visits.walk(f"http://{question.subject}/", deadline)
        if not walk.arrived:
            return WebAnswer(None, _told(walk))
        end = parse(walk.hops[-1].url) if walk.hops else None
        if end is not None and end.port is not None:
            return WebAnswer(None, f"a port of its own: {_told(walk)}")
        host = question.subject if end is None else end.host
        if host not in self._allowlist:
            return WebAnswer(None, f"{host}, which is not on the allowlist")
        return WebAnswer(host, host)

    async def _languages(self, question: Question, deadline: Deadline) -> WebAnswer:
        """What the site names, and the page itself; what must be proved is visited (CP-25)."""
        here = await self._visits.read(question.subject, deadline)
        if here is None:
            return WebAnswer(None, "no page that could be read")
        page = parse(question.subject)
        known = {} if here.facts.language is None else {here.facts.language: question.subject}
        self._add_versions(known, here, page)
        for lang, proposed in question.more:
            if lang.endswith(IF_LINKED):
                continue
            candidates = [known.pop(lang)] if lang in known else proposed
            for candidate in candidates:
                if await self._is_in(lang, candidate, here, page, deadline):
                    known[lang] = candidate
                    there = await self._visits.read(candidate, deadline)
                    if there is not None:  # the version that is taken may name more than the one that was asked for
                        self._add_versions(known, there, page)
                    break
        linked = {link.url for link in here.facts.links}
        for lang, proposed in question.more:
            offered = next((url for url in proposed if url in linked), None) if lang.endswith(IF_LINKED) else None
            if offered is not None and self._is_neighbour(parse(offered), page):
                known.setdefault(lang.removesuffix(IF_LINKED), offered)
        return WebAnswer(
            known, ", ".join(f"{lang} {shown(url, MAX_SHOWN)}" for lang, url in sorted(known.items())) or "none"
        )

    def _add_versions(self, known: dict[str, str], visit: Visit, page: Url) -> None:
        """The versions that a page names, each language once: `es` before `es-mx`."""
        for tag, url in sorted(visit.facts.versions, key=lambda version: len(version[0])):
            lang = tag.partition("-")[0]
            if lang.isalpha() and lang != "x" and self._is_neighbour(parse(url), page):
                known.setdefault(lang, url)

    def _is_neighbour(self, other: Url, page: Url) -> bool:
        """A site may speak for itself; for others only where the allowlist has them."""
        return other.host in self._allowlist if self._allowlist else same_owner(other.host, page.host)

    async def _is_in(self, lang: str, candidate: str, here: Visit, page: Url, deadline: Deadline) -> bool:
        """Whether a candidate is there, is that page and no way to another, and is written in that language."""
        if candidate == page.href:
            return here.facts.language == lang
        if not self._is_neighbour(parse(candidate), page):
            return False
        there = await self._visits.read(candidate, deadline)
        return there is not None and there.facts.language == lang and _same_place(there.url, parse(candidate))

    async def _pages(self, question: Question, deadline: Deadline) -> WebAnswer:
        [(param, _)] = question.more
        visit = await self._visits.read(question.subject, deadline)
        if visit is None:
            return WebAnswer(None, "no page that could be read")
        total = total_pages(visit.facts, visit.url, param)
        return WebAnswer(total, "the page does not tell" if total is None else str(total))

    async def _title(self, question: Question, deadline: Deadline) -> WebAnswer:
        visit = await self._visits.read(question.subject, deadline)
        title = None if visit is None else visit.facts.title
        return WebAnswer(title, "none" if title is None else shown(title))


def _proves_no_https(walk: RedirectWalk, host: str) -> bool:
    """Not that it is slow, nor that a certificate has expired: that is a fault of a site that has HTTPS."""
    if walk.hops:
        first = parse(walk.hops[0].url)
        return first.scheme == "http" and first.host == host  # it answers, to send everybody back
    return walk.status is None and walk.refused is None and walk.unreached


def _is_page(walk: RedirectWalk) -> bool:
    return walk.arrived and walk.status is not None and walk.status < 400


def _end(walk: RedirectWalk, start: str) -> tuple[str, str, str | None]:
    """Where a walk ended, but for what makes no other page: scheme, www, a last slash."""
    end = parse(walk.hops[-1].url if walk.hops else start)
    return end.host.removeprefix("www."), end.path.rstrip("/"), end.query


def _same_place(one: Url, other: Url) -> bool:
    return one.host.removeprefix("www.") == other.host.removeprefix("www.") and one.path.rstrip(
        "/"
    ) == other.path.rstrip("/")


def _told(walk: RedirectWalk) -> str:
    hops = [f"{hop.status} {shown(hop.url, MAX_SHOWN)}" for hop in walk.hops]
    if walk.refused is not None:
        return " -> ".join([*hops, f"refused: {shown(walk.refused.message)}"])
    end = shown(walk.trouble) or ("and on" if walk.endless else str(walk.status))
    return " -> ".join([*hops, end])
