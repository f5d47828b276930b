"""One HTTP request to a `Target`. Redirects are followed, and guarded again, in `redirects`."""

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
from spaniel.net.responses import MAX_DIGITS, BrokenBodyError, MalformedError, NoResponseError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.pool import Exchange
    from spaniel.net.proxy import Proxies
    from spaniel.url.value import Url

    Sink = Callable[[bytes], object]
    BodyReader = Callable[["Page", Exchange], Awaitable["Page"]]  # adds the body to a page
    Fields = tuple[tuple[str, str], ...]

SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})  # never recorded

WIRE_ERRORS: tuple[type[Exception], ...] = (
    *(ConnectFailedError, NoResponseError, MalformedError, BrokenBodyError, OSError),
    *BAD_DATA,
)

REDIRECTS = frozenset({301, 302, 303, 307, 308})  # FR-WF-07a
BODILESS = frozenset({204, 205, 206})  # 2xx without a complete body
ERROR_SECONDS = 3.0  # for the body of an error
SNIFFED_BYTES = 512  # of a body, which decide whether its beginning is enough
MAX_PIECES = 512  # of a body before they are joined: many small objects take far more memory than their bytes
PIECES_PER_YIELD = 16  # pieces of a body between two yields to the event loop


class CapturedExchange(NamedTuple):
    """One request and response, as they went over the wire, for an archive."""

    asked: Fields  # the request's headers as sent, without secrets
    answered: Fields  # the response's headers as received, repeated ones included
    address: str  # of the server; empty behind a proxy
    whole: bool  # whether the body was read to its end


def capture_exchange(exchange: Exchange, target: Target) -> CapturedExchange:
    """To be called after the body was read, as far as it is wanted."""
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


def to_spaniel_error(error: Exception) -> SpanielError:
    """Map an error of the connection or its libraries to an error code."""
    if isinstance(error, BAD_DATA):
        return SpanielError(Code.NETWORK, error=f"the body cannot be decoded: {error}")
    if isinstance(error, ConnectFailedError):
        return _connect_error(error.__cause__ or error)
    if isinstance(error, NoResponseError):
        return SpanielError(Code.NETWORK, error="the server closed the connection without an answer")
    if isinstance(error, BrokenBodyError):
        return SpanielError(Code.NETWORK, error="the body ended too early or is malformed")
    if isinstance(error, MalformedError):
        return SpanielError(Code.NETWORK, error=f"not HTTP as it should be: {error}")
    return SpanielError(Code.NETWORK, error=_reason(error))


def _connect_error(cause: BaseException) -> SpanielError:
    """Connecting failed, so that no other page of the host can be reached either (`cause`)."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        error, kind = f"the certificate is not trusted: {cause.verify_message}", "certificate"
    else:
        error, kind = f"cannot connect: {_reason(cause)}", "tls" if isinstance(cause, ssl.SSLError) else "connect"
    refused = isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED
    return SpanielError(Code.NETWORK, error=error, cause=kind, refused=refused or None)


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, OSError) and error.errno:  # asyncio replaces the system's text
        return os.strerror(error.errno)
    if isinstance(error, ConnectionResetError):  # asyncio's own, if the peer disconnects during a handshake
        return os.strerror(errno.ECONNRESET)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def has_body(status: int) -> bool:
    """Whether a response with this status has a page as its body."""
    return 200 <= status <= 299 and status not in BODILESS


class RequestHeaders(NamedTuple):
    """The headers that a profile sends with each request."""

    user_agent: str = USER_AGENT
    accept: str = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
    accept_encoding: str = "gzip, deflate, br"  # zstd can be decoded, but the specified header does not offer it
    accept_language: str = ""

    def fields(self) -> Mapping[str, str]:
        """Names and values; `bad_args` if one cannot be sent."""
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
    """For some bodies `size` bytes are enough (FG-26): the rest is not transferred."""

    size: int
    is_enough: Callable[[str | None, bytes], bool]  # takes the content type and the first bytes


class RequestOptions(NamedTuple):
    """Headers and limits of one request."""

    headers: RequestHeaders = RequestHeaders()
    max_bytes: int = DOWNLOAD_BYTES.default  # of the decoded body
    cut: bool = False  # truncate a body over the limit instead of refusing it
    more: Mapping[str, str] = MappingProxyType({})  # additional headers
    error_bytes: int = 0  # read of the body of a 4xx or 5xx
    beginning: Beginning | None = None
    # For requests about the status: of a page, too, only `error_bytes` are read, and those only if this returns True
    # for its content type.
    glance: Callable[[str | None], bool] | None = None
    # Seconds to wait for a response on a reused connection. Then the request is repeated on a new one with its full
    # time: some servers answer only the first request of a connection. 0: no limit.
    stalled_after: float = 0.0
    observe: Callable[[Page, CapturedExchange], object] | None = None
    # Awaited before a request is repeated because the reused connection had been closed.
    before_repeat: Callable[[], Awaitable[None]] | None = None
    content: bytes | None = None  # of a POST

    def lines(self) -> bytes:
        """The header lines as sent; `bad_args` if one cannot be sent."""
        if self.content is not None:
            length = {"Content-Length": str(len(self.content))}
            return _lines({**self.headers.fields(), **_writable(self.more), **length})
        return _lines({**self.headers.fields(), **_writable(self.more)}) if self.more else _usual_lines(self.headers)


DEFAULT_HEADERS = RequestHeaders()
DEFAULT_OPTIONS = RequestOptions()


class Page(NamedTuple):
    """A response. The body is decoded; it is read for a success, and for an error if `error_bytes` is set."""

    url: Url
    status: int
    reason: str
    headers: Mapping[str, str]  # names in lower case; repeated ones are joined with ", ", or as `SEPARATORS` says
    body: bytes
    address: str = ""  # of the peer: the server, or the proxy
    certificate_ends: float | None = None  # seconds since 1970; None without TLS

    @property
    def ok(self) -> bool:
        return has_body(self.status)

    @property
    def location(self) -> str | None:
        """The target of a redirect; None for other responses."""
        return self.headers.get("location") if self.status in REDIRECTS else None


class Http:
    """An HTTP client that does not follow redirects. Close it, or use it as a context manager."""

    def __init__(self, ca_file: str = "", proxies: Proxies | None = None) -> None:
        self._pool = Pool(ca_file, proxies)

    async def get(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        """GET `url` from one of the target's addresses."""
        return await self._ask("GET", url, target, deadline, options, partial(_page, options))

    async def head(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        """HEAD `url`: the response has no body, whatever length it announces (RFC 9110 9.3.2)."""
        return await self._ask("HEAD", url, target, deadline, options, None)

    async def post(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
        """POST `options.content`, once: it is never repeated, nor sent on a connection that was used before."""
        return await self._ask("POST", url, target, deadline, options, partial(_page, options))

    async def stream(
        self, url: Url, target: Target, deadline: Deadline, sink: Sink, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        """GET `url` and pass the decoded body to `sink` piece by piece, in constant memory."""
        return await self._ask("GET", url, target, deadline, options, partial(_streamed, options, sink))

    async def _ask(
        self,
        method: str,
        url: Url,
        target: Target,
        deadline: Deadline,
        options: RequestOptions,
        read: BodyReader | None,
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
                    page = _page_head(url, exchange)
                    if read is not None:
                        page = await read(page, exchange)
                    if options.observe is not None:
                        options.observe(page, capture_exchange(exchange, target))
                    return page
            except WIRE_ERRORS as error:
                raise to_spaniel_error(error) from None

    async def close(self) -> None:
        await self._pool.close()

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _writable(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Check that headers can be sent as they are: a line break would begin another header."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise SpanielError(Code.BAD_ARGS, field=name, reason="a header holds printable ASCII only")
    return headers


def _page_head(url: Url, exchange: Exchange) -> Page:
    """A response without its body."""
    answer, peer = exchange.answer, exchange.peer
    if answer.locations > 1:
        raise SpanielError(Code.NETWORK, error="two Location headers", status=answer.status)
    return Page(url, answer.status, answer.reason, answer.headers, b"", peer.address, peer.certificate_ends)


async def _page(options: RequestOptions, page: Page, exchange: Exchange) -> Page:
    """The response with its body in memory."""
    if not page.ok or options.glance is not None:
        return await _with_beginning(options, page, exchange)
    length = _require_allowed_length(page.headers, options)
    beginning = options.beginning
    most = min(options.max_bytes, beginning.size) if beginning else options.max_bytes
    if length is not None and length <= most and not page.headers.get("content-encoding"):
        return page._replace(body=await _read_all(exchange))  # its size is known and small enough
    body = bytearray()  # not a list: many small pieces take far more memory than their bytes
    await _read_body(exchange, page.headers, options, body.extend)
    return page._replace(body=bytes(body))


async def _read_all(exchange: Exchange) -> bytes:
    pieces = []
    while piece := await exchange.read():
        pieces.append(piece)
        if len(pieces) == MAX_PIECES:
            pieces = [b"".join(pieces)]
    return b"".join(pieces)


async def _with_beginning(options: RequestOptions, page: Page, exchange: Exchange) -> Page:
    """Add the beginning of an error's body, if it is wanted. Failures of the body are ignored."""
    wanted = options.glance is not None and options.glance(page.headers.get("content-type"))
    if not options.error_bytes or not (400 <= page.status <= 599 or (page.ok and wanted)):
        return page
    body = bytearray()
    short = options._replace(max_bytes=options.error_bytes, cut=True)
    with suppress(SpanielError, TimeoutError, *WIRE_ERRORS):
        async with asyncio.timeout(ERROR_SECONDS):
            await _read_body(exchange, page.headers, short, body.extend)
    return page._replace(body=bytes(body))


async def _streamed(options: RequestOptions, sink: Sink, page: Page, exchange: Exchange) -> Page:
    if not page.ok:
        return await _with_beginning(options, page, exchange)
    _require_allowed_length(page.headers, options)
    await _read_body(exchange, page.headers, options, sink)
    return page


def _require_allowed_length(headers: Mapping[str, str], options: RequestOptions) -> int | None:
    """The Content-Length. A body that is too large is refused before it is read."""
    if headers.get("transfer-encoding", "chunked").lower() != "chunked":
        raise SpanielError(Code.NETWORK, error="a transfer coding that was not asked for")  # RFC 9112 7.4
    length = _content_length(headers.get("content-length"))
    if length is not None and length > options.max_bytes and not _BodyLimit(options, headers).may_end_early:
        raise SpanielError(Code.RESPONSE_TOO_LARGE, size=length, max_bytes=options.max_bytes)
    return length


def _content_length(length: str | None) -> int | None:
    if length is None:
        return None
    if not (length.isascii() and length.isdigit() and len(length) <= MAX_DIGITS):
        raise SpanielError(Code.NETWORK, error=f"bad Content-Length '{length[: MAX_DIGITS + 1]}'")
    return int(length)


class _BodyLimit:
    """How many bytes of a body are read, and whether a longer one is truncated or refused."""

    def __init__(self, options: RequestOptions, headers: Mapping[str, str]) -> None:
        self._cap, self.cut = options.max_bytes, options.cut
        self._beginning = options.beginning if options.beginning and options.beginning.size <= self._cap else None
        self._type = headers.get("content-type")
        self._start = b""

    @property
    def may_end_early(self) -> bool:
        """As far as the headers show."""
        return self.cut or (self._beginning is not None and self._beginning.is_enough(self._type, b""))

    def after(self, size: int, piece: bytes) -> int:
        """The limit of the whole body, when `piece` follows `size` bytes."""
        beginning = self._beginning
        if beginning is None:
            return self._cap
        self._start += piece[: SNIFFED_BYTES - len(self._start)]
        if size + len(piece) > beginning.size:  # decided once, when the first bytes are known
            self._beginning = None
            if beginning.is_enough(self._type, self._start):
                self._cap, self.cut = beginning.size, True
        return self._cap


async def _read_body(exchange: Exchange, headers: Mapping[str, str], options: RequestOptions, sink: Sink) -> None:
    """Decode the body into `sink`, within the limits."""
    allowance = _BodyLimit(options, headers)
    chain = DecoderChain(headers.get("content-encoding", ""), options.max_bytes)
    pieces = size = 0
    while data := await exchange.read():
        for piece in chain.feed(data):
            cap = allowance.after(size, piece)
            allowed, size = cap - size, size + len(piece)
            if size > cap:
                exchange.close()  # the rest is not read, so the connection cannot be reused
                if allowance.cut:
                    sink(piece[:allowed])
                    return
                raise SpanielError(Code.RESPONSE_TOO_LARGE, size=size, max_bytes=cap)
            sink(piece)
            pieces += 1
            if pieces % PIECES_PER_YIELD == 0:
                await asyncio.sleep(0)
    chain.close()
