"""One HTTP hop, to a `Target` and nowhere else. Redirects are followed by `redirects`, guarded again."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from contextlib import suppress
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import DOWNLOAD_BYTES, USER_AGENT
from spaniel.errors import Code, SpanielError
from spaniel.net.connector import ConnectFailedError
from spaniel.net.encodings import BAD_DATA, DecoderChain
from spaniel.net.pool import Exchange, Pool
from spaniel.net.responses import MOST_DIGITS, BrokenBodyError, MalformedError, NoResponseError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.pool import Exchange
    from spaniel.net.proxy import Proxies
    from spaniel.url.value import Url

    Sink = Callable[[bytes], object]
    Taker = Callable[["Page", Exchange], Awaitable["Page"]]  # what of an answer's body is taken
    Fields = tuple[tuple[str, str], ...]

SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})  # never kept

WIRE_ERRORS: tuple[type[Exception], ...] = (
    *(ConnectFailedError, NoResponseError, MalformedError, BrokenBodyError, OSError),
    *BAD_DATA,
)

REDIRECTS = frozenset({301, 302, 303, 307, 308})  # FR-WF-07a
BODILESS = frozenset({204, 205, 206})  # 2xx without a body that could be the page
ERROR_SECONDS = 3.0  # for what an error says besides its status
LOOKED_AT = 512  # bytes that tell whether the beginning of a body is enough
MOST_PIECES = 512  # of a body that are held before they are put together: small ones weigh many times what they hold
BREATH = 16  # pieces of a body after which others get their turn, and the deadline its chance


class CapturedExchange(NamedTuple):
    """One hop."""

    asked: Fields  # the request's headers, as they were sent, but for what is secret
    answered: Fields  # the answer's, as they came: one that came twice is there twice
    address: str  # of the server; empty where a proxy stood between
    whole: bool  # whether all of the body was taken


def capture_exchange(exchange: Exchange, target: Target) -> CapturedExchange:
    """When the body was taken, as far as it was wanted."""
    asked = (line.split(b": ", 1) for line in exchange.request.split(b"\r\n")[1:] if line)
    address = exchange.peer.address
    known = address in map(str, target.addresses)
    whole = exchange.answer.complete and not exchange.answer.pieces
    kept = tuple(field for field in _texts(asked) if field[0].lower() not in SECRET)
    return CapturedExchange(kept, _texts(exchange.answer.fields), address if known else "", whole)


def _texts(fields: Iterable[Iterable[bytes]]) -> Fields:
    return tuple((_text(name), _text(value)) for name, value in fields)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


def translated(error: Exception) -> SpanielError:
    """What a failed hop is called in the registry."""
    if isinstance(error, BAD_DATA):
        return SpanielError(Code.NETWORK, error=f"the body cannot be decoded: {error}")
    if isinstance(error, ConnectFailedError):
        return _unreached(error.__cause__ or error)
    if isinstance(error, NoResponseError):
        return SpanielError(Code.NETWORK, error="the server closed the connection without an answer")
    if isinstance(error, BrokenBodyError):
        return SpanielError(Code.NETWORK, error="the body ended too early or is malformed")
    if isinstance(error, MalformedError):
        return SpanielError(Code.NETWORK, error=f"not HTTP as it should be: {error}")
    return SpanielError(Code.NETWORK, error=_reason(error))


def _unreached(cause: BaseException) -> SpanielError:
    """No connection came about, so that no other page of the host can be reached either."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        error, kind = f"the certificate is not trusted: {cause.verify_message}", "certificate"
    else:
        error, kind = f"cannot connect: {_reason(cause)}", "tls" if isinstance(cause, ssl.SSLError) else "connect"
    refused = isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED
    return SpanielError(Code.NETWORK, error=error, cause=kind, refused=refused or None)


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, OSError) and error.errno:  # asyncio writes over the system's own words
        return os.strerror(error.errno)
    if isinstance(error, ConnectionResetError):  # asyncio's own, where the other end hangs up during a handshake
        return os.strerror(errno.ECONNRESET)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def has_body(status: int) -> bool:
    """Whether an answer with this status brings a page."""
    return 200 <= status <= 299 and status not in BODILESS


class RequestHeaders(NamedTuple):
    """Who asks, and for what: a profile's, sent with each of its requests."""

    user_agent: str = USER_AGENT
    accept: str = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
    accept_encoding: str = "gzip, deflate, br"  # zstd is understood, but the SRD's header does not ask for it
    accept_language: str = ""

    def fields(self) -> Mapping[str, str]:
        """As they go over the wire; `bad_args` where one cannot."""
        return _fields(self)


@lru_cache(maxsize=64)
def _fields(headers: RequestHeaders) -> Mapping[str, str]:
    sent = {"User-Agent": headers.user_agent, "Accept": headers.accept, "Accept-Encoding": headers.accept_encoding}
    return _writable(sent | ({"Accept-Language": headers.accept_language} if headers.accept_language else {}))


@lru_cache(maxsize=64)
def _usual_lines(headers: RequestHeaders) -> bytes:
    return _lines(headers.fields())


def _lines(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()


class Beginning(NamedTuple):
    """How many bytes of some bodies are enough (FG-26): the rest is not transferred."""

    size: int
    is_enough: Callable[[str | None, bytes], bool]  # of a body with this content type, which begins so


class RequestOptions(NamedTuple):
    """How one request looks, and what it may bring: whoever asks says so each time."""

    headers: RequestHeaders = RequestHeaders()
    max_bytes: int = DOWNLOAD_BYTES.default  # of the decoded body
    cut: bool = False  # a body over the cap is cut instead of refused
    more: Mapping[str, str] = MappingProxyType({})  # headers of this request alone
    error_bytes: int = 0  # of the body that comes with a 4xx or 5xx; it is cut there
    beginning: Beginning | None = None
    # Where its status is what is wanted: of a page, too, only so much is taken, whatever becomes of the rest, and that
    # only if its type is one of which the beginning tells something.
    glance: Callable[[str | None], bool] | None = None
    # Seconds for an answer on a connection that was used before. Then the request is repeated on a fresh one with all
    # of its time: some servers answer the first request of a connection and never a second. 0: it is waited for.
    stalled_after: float = 0.0
    observe: Callable[[Page, CapturedExchange], object] | None = (
        None  # is told what went over the wire besides the page
    )
    # Awaited before a request is sent once more, since the connection that was kept for it had been closed.
    before_repeat: Callable[[], Awaitable[None]] | None = None

    content: bytes | None = None  # of a POST

    def lines(self) -> bytes:
        """As they go over the wire; `bad_args` where one cannot."""
        if self.content is not None:
            length = {"Content-Length": str(len(self.content))}
            return _lines({**self.headers.fields(), **_writable(self.more), **length})
        return _lines({**self.headers.fields(), **_writable(self.more)}) if self.more else _usual_lines(self.headers)


DEFAULT_HEADERS = RequestHeaders()
DEFAULT_OPTIONS = RequestOptions()


class Page(NamedTuple):
    """What came over the wire; the body is decoded, and there only for a success, or for an error if asked for."""

    url: Url
    status: int
    reason: str
    headers: Mapping[str, str]  # names in lower case; a repeated one is joined with ", ", or as `answers.APART` says
    body: bytes
    address: str = ""  # that answered; a proxy's, where there is one
    certificate_ends: float | None = None  # seconds since 1970; None without TLS

    @property
    def ok(self) -> bool:
        return has_body(self.status)

    @property
    def location(self) -> str | None:
        """Where a redirect leads; None for every other answer."""
        return self.headers.get("location") if self.status in REDIRECTS else None


class Http:
    """A client that makes one hop at a time. Close it, or use it as a context manager."""

    def __init__(self, ca_file: str = "", proxies: Proxies | None = None) -> None:
        self._pool = Pool(ca_file, proxies)  # certificates are trusted besides the system's own

    async def get(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        """GET `url` from one of the target's addresses."""
        return await self._ask("GET", url, target, deadline, options, partial(_page, options))

    async def head(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        """The head of an answer alone. It ends where the head does, whatever length it announces (RFC 9110 9.3.2)."""
        return await self._ask("HEAD", url, target, deadline, options, None)

    async def post(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
        """POST `options.content`, once: it is never sent again by itself, nor on a connection that was used before."""
        return await self._ask("POST", url, target, deadline, options, partial(_page, options))

    async def stream(
        self, url: Url, target: Target, deadline: Deadline, sink: Sink, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        """GET `url`, its decoded body piece by piece into `sink`: any size in the memory of a few pieces."""
        return await self._ask("GET", url, target, deadline, options, partial(_poured, options, sink))

    async def _ask(
        self, method: str, url: Url, target: Target, deadline: Deadline, options: RequestOptions, take: Taker | None
    ) -> Page:
        with deadline.guarding("connect"):
            try:
                agent = options.headers.user_agent
                asked = self._pool.request(method, url, target, deadline, options.lines(), agent)
                if options.content is not None:
                    asked.add_content(options.content)
                asked.stalled_after, asked.before_repeat = options.stalled_after, options.before_repeat
                async with asked as exchange:
                    deadline.phase = "body"
                    page = _bare(url, exchange)
                    if take is not None:
                        page = await take(page, exchange)
                    if options.observe is not None:
                        options.observe(page, capture_exchange(exchange, target))
                    return page
            except WIRE_ERRORS as error:
                raise translated(error) from None

    async def close(self) -> None:
        await self._pool.close()

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _writable(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Headers of our own that can be sent as they are: a line break in one would begin another."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise SpanielError(Code.BAD_ARGS, field=name, reason="a header holds printable ASCII only")
    return headers


def _bare(url: Url, exchange: Exchange) -> Page:
    """An answer without its body."""
    answer, peer = exchange.answer, exchange.peer
    if answer.locations > 1:
        raise SpanielError(Code.NETWORK, error="two Location headers", status=answer.status)
    return Page(url, answer.status, answer.reason, answer.headers, b"", peer.address, peer.certificate_ends)


async def _page(options: RequestOptions, page: Page, exchange: Exchange) -> Page:
    """The answer with its body in memory."""
    if not page.ok or options.glance is not None:
        return await _with_beginning(options, page, exchange)
    length = _require_fit(page.headers, options)
    beginning = options.beginning
    most = min(options.max_bytes, beginning.size) if beginning else options.max_bytes
    if length is not None and length <= most and not page.headers.get("content-encoding"):
        return page._replace(body=await _whole(exchange))  # its size is known, and no more than that is taken
    body = bytearray()  # not a list of pieces: small ones weigh many times what they hold
    await _pour(exchange, page.headers, options, body.extend)
    return page._replace(body=bytes(body))


async def _whole(exchange: Exchange) -> bytes:
    pieces = []
    while piece := await exchange.read():
        pieces.append(piece)
        if len(pieces) == MOST_PIECES:
            pieces = [b"".join(pieces)]
    return b"".join(pieces)


async def _with_beginning(options: RequestOptions, page: Page, exchange: Exchange) -> Page:
    """The beginning of what an error says, where somebody wants to know. The status counts, whatever the body does."""
    wanted = options.glance is not None and options.glance(page.headers.get("content-type"))
    if not options.error_bytes or not (400 <= page.status <= 599 or (page.ok and wanted)):
        return page
    body = bytearray()
    short = options._replace(max_bytes=options.error_bytes, cut=True)
    with suppress(SpanielError, TimeoutError, *WIRE_ERRORS):
        async with asyncio.timeout(ERROR_SECONDS):
            await _pour(exchange, page.headers, short, body.extend)
    return page._replace(body=bytes(body))


async def _poured(options: RequestOptions, sink: Sink, page: Page, exchange: Exchange) -> Page:
    if not page.ok:
        return await _with_beginning(options, page, exchange)
    _require_fit(page.headers, options)
    await _pour(exchange, page.headers, options, sink)
    return page


def _require_fit(headers: Mapping[str, str], options: RequestOptions) -> int | None:
    """The announced length of a body; one that is too large is not even begun."""
    if headers.get("transfer-encoding", "chunked").lower() != "chunked":
        raise SpanielError(Code.NETWORK, error="a transfer coding that was not asked for")  # RFC 9112 7.4
    length = _announced(headers.get("content-length"))
    if length is not None and length > options.max_bytes and not _Allowance(options, headers).may_end_early:
        raise SpanielError(Code.RESPONSE_TOO_LARGE, size=length, max_bytes=options.max_bytes)
    return length


def _announced(length: str | None) -> int | None:
    """How large a body says it is: one that is too large is not even begun."""
    if length is None:
        return None
    if not (length.isascii() and length.isdigit() and len(length) <= MOST_DIGITS):
        raise SpanielError(Code.NETWORK, error=f"bad Content-Length '{length[: MOST_DIGITS + 1]}'")
    return int(length)


class _Allowance:
    """How many bytes of a body are taken, and whether one that has more is cut or refused."""

    def __init__(self, options: RequestOptions, headers: Mapping[str, str]) -> None:
        self._cap, self.cut = options.max_bytes, options.cut
        self._beginning = options.beginning if options.beginning and options.beginning.size <= self._cap else None
        self._type = headers.get("content-type")
        self._start = b""

    @property
    def may_end_early(self) -> bool:
        """As far as the headers tell."""
        return self.cut or (self._beginning is not None and self._beginning.is_enough(self._type, b""))

    def after(self, size: int, piece: bytes) -> int:
        """What is allowed in all, when this piece comes behind so many bytes."""
        beginning = self._beginning
        if beginning is None:
            return self._cap
        self._start += piece[: LOOKED_AT - len(self._start)]
        if size + len(piece) > beginning.size:  # now it matters, and its first bytes are there
            self._beginning = None
            if beginning.is_enough(self._type, self._start):
                self._cap, self.cut = beginning.size, True
        return self._cap


async def _pour(exchange: Exchange, headers: Mapping[str, str], options: RequestOptions, sink: Sink) -> None:
    """The decoded body, counted as it comes."""
    allowance = _Allowance(options, headers)
    chain = DecoderChain(headers.get("content-encoding", ""), options.max_bytes)
    pieces = size = 0
    while data := await exchange.read():
        for piece in chain.feed(data):
            cap = allowance.after(size, piece)
            room, size = cap - size, size + len(piece)
            if size > cap:
                exchange.close()  # not to be drained, not to be used again
                if allowance.cut:
                    sink(piece[:room])
                    return
                raise SpanielError(Code.RESPONSE_TOO_LARGE, size=size, max_bytes=cap)
            sink(piece)
            pieces += 1
            if pieces % BREATH == 0:
                await asyncio.sleep(0)
    chain.close()
