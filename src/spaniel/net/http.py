"""One HTTP hop, to a `Target` and nowhere else. Redirects are the caller's to follow, guarded again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.net.encodings import Chain
from spaniel.net.pool import Pool, Response
from spaniel.net.translation import LIBRARY_ERRORS, translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multidict import CIMultiDictProxy

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxies
    from spaniel.url.value import Url

REDIRECTS = frozenset({301, 302, 303, 307, 308})  # FR-WF-07a
BODILESS = frozenset({204, 205, 206})  # 2xx without a body that could be the page
BREATH = 16  # pieces of a body after which others get their turn, and the deadline its chance


def has_body(status: int) -> bool:
    """Whether an answer with this status brings a page."""
    return 200 <= status <= 299 and status not in BODILESS


class HttpSettings(NamedTuple):
    """How requests look and what they may bring."""

    user_agent: str = "forge-webfetch/1.0"
    accept: str = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
    accept_encoding: str = "gzip, deflate, br"  # zstd is understood, but the SRD's header does not ask for it
    accept_language: str = ""
    max_download_bytes: int = 5 * 1024 * 1024
    ca_file: str = ""  # trusted besides the system's own

    def headers(self) -> dict[str, str]:
        sent = {"User-Agent": self.user_agent, "Accept": self.accept, "Accept-Encoding": self.accept_encoding}
        return sent | ({"Accept-Language": self.accept_language} if self.accept_language else {})


class Page(NamedTuple):
    """What came over the wire; the body is decoded, and there only for a success."""

    url: Url
    status: int
    reason: str
    headers: Mapping[str, str]  # names in lower case; a repeated one is joined with ", "
    body: bytes

    @property
    def ok(self) -> bool:
        return has_body(self.status)

    @property
    def location(self) -> str | None:
        """Where a redirect leads; None for every other answer."""
        return self.headers.get("location") if self.status in REDIRECTS else None


class Http:
    """A client that makes one hop at a time. Close it, or use it as a context manager."""

    def __init__(self, settings: HttpSettings | None = None, proxies: Proxies | None = None) -> None:
        self.settings = settings or HttpSettings()
        self._pool = Pool(_writable(self.settings.headers()), self.settings.ca_file, proxies)

    async def get(
        self,
        url: Url,
        target: Target,
        deadline: Deadline,
        cap: int | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> Page:
        """GET `url` from one of the target's addresses. With `cut`, a body over the cap is cut instead of refused."""
        cap = self.settings.max_download_bytes if cap is None else cap
        async with deadline.guarding("connect"):
            try:
                async with self._pool.request(url, target, deadline, _writable(headers) if headers else {}) as response:
                    deadline.phase = "body"
                    return await _page(url, response, cap, cut)
            except LIBRARY_ERRORS as error:
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


async def _page(url: Url, response: Response, cap: int, cut: bool) -> Page:
    headers = _joined(response.headers)
    status, reason = response.status, response.reason or ""
    if "location" in headers and len(response.headers.getall("Location")) > 1:
        raise SpanielError(Code.NETWORK, error="two Location headers", status=status)
    if not has_body(status):
        return Page(url, status, reason, headers, b"")
    if headers.get("transfer-encoding", "chunked").lower() != "chunked":
        raise SpanielError(Code.NETWORK, error="a transfer coding that was not asked for")  # RFC 9112 7.4
    length = _announced(headers.get("content-length"))
    if not cut and length is not None and length > cap:
        raise SpanielError(Code.RESPONSE_TOO_LARGE, size=length, max_bytes=cap)
    encoding = headers.get("content-encoding", "")
    if length is not None and length <= cap and not encoding:
        body = await response.read()  # its size is known, and no more than that is taken
    else:
        body = await _body(response, encoding, cap, cut)
    return Page(url, status, reason, headers, body)


def _joined(received: CIMultiDictProxy[str]) -> dict[str, str]:
    headers = {name.lower(): value for name, value in received.items()}
    if len(headers) < len(received):
        headers = {name: ", ".join(received.getall(name)) for name in headers}
    return headers


def _announced(length: str | None) -> int | None:
    """How large a body says it is: one that is too large is not even begun."""
    if length is None:
        return None
    if not (length.isascii() and length.isdigit()):
        raise SpanielError(Code.NETWORK, error=f"bad Content-Length '{length}'")
    return int(length)


async def _body(response: Response, encoding: str, cap: int, cut: bool) -> bytes:
    """The decoded body, counted as it comes."""
    chain = Chain(encoding, cap)
    body = bytearray()  # not a list of pieces: small ones weigh many times what they hold
    pieces = 0
    async for data in response.content.iter_any():
        for piece in chain.feed(data):
            body += piece
            if len(body) > cap:
                response.close()  # not to be drained, not to be used again
                if cut:
                    return bytes(body[:cap])
                raise SpanielError(Code.RESPONSE_TOO_LARGE, size=len(body), max_bytes=cap)
            pieces += 1
            if pieces % BREATH == 0:
                await asyncio.sleep(0)
    response.require_whole()
    chain.close()
    return bytes(body)
