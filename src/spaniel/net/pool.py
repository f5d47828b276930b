"""Connections, kept apart: each pinned target has a pool that can dial nothing else.

A connection is reused only for the same scheme, name, port and judged addresses; so neither another name on the same
address nor a new answer for the same name ever meets an old connection.
"""

from __future__ import annotations

import ssl
from collections import OrderedDict
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from spaniel.errors import Code, SpanielError
from spaniel.net.sockets import Sockets, descriptors, socket_for

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxies
    from spaniel.url.value import Url

MOST_POOLS = 1024
MOST_HEADERS = 128
LONGEST_LINE = 1 << 15  # so that all headers together stay below the usual cap of a body
KEEP_ALIVE_SECONDS = 15.0

Key = tuple[object, ...]
_USED = "spaniel_has_used"  # a mark on aiohttp's protocol; a weak set of them would cost more than `connect` does
_deadline: ContextVar[Deadline] = ContextVar("deadline")  # of the request that this task has under way


class _Pinned(AbstractResolver):
    """A resolver that knows one name."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:  # noqa: ARG002
        if host != self._target.host:
            raise OSError(f"{host} is not the host that was vetted")
        return [
            ResolveResult(hostname=host, host=str(ip), port=port, family=10 if ip.version == 6 else 2, proto=0, flags=0)
            for ip in self._target.addresses
        ]

    async def close(self) -> None:
        pass


class _Connector(aiohttp.TCPConnector):
    """Leaves alone a kept connection on which something has come unasked: it would pass for the next answer."""

    def __init__(self, sockets: Sockets, **options: Any) -> None:
        super().__init__(use_dns_cache=False, keepalive_timeout=KEEP_ALIVE_SECONDS, **options)
        self._sockets = sockets

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> Connection:
        while True:  # as often as there are kept ones: a new connection has no mark
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol is None or not hasattr(protocol, _USED) or not protocol.should_close:
                break
            connection.close()
        if protocol is not None:
            setattr(protocol, _USED, True)
            if self._sockets.open > self._sockets.keep:
                protocol.force_close()  # after this exchange
        return connection


class Response(aiohttp.ClientResponse):
    """A response that knows how its connection ended."""

    _wire: ResponseHandler | None = None
    _transport: asyncio.Transport | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        _deadline.get().phase = "headers"  # the request is out
        self._wire, self._transport = connection.protocol, connection.transport
        return await super().start(connection)

    @property
    def peer(self) -> str:
        """The address that it comes from."""
        told = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(told[0]) if told else ""

    def require_whole(self) -> None:
        """Where nothing but the connection's end marks the body's, a broken connection is not an end (RFC 9112 8)."""
        delimited = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        error = self._wire.exception() if self._wire is not None and not delimited else None
        if isinstance(error, OSError):
            raise error


class _Entry:
    __slots__ = ("busy", "session")

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.busy = 0


class _Exchange:
    """One request and its answer. A class: a generator made into a context manager takes three times as long."""

    __slots__ = ("_deadline", "_entry", "_method", "_options", "_pool", "_response", "_where")

    def __init__(
        self, pool: Pool, entry: _Entry, deadline: Deadline, method: str, where: URL, options: dict[str, Any]
    ) -> None:
        self._pool, self._entry, self._deadline = pool, entry, deadline
        self._method, self._where, self._options = method, where, options
        self._response: Response | None = None

    async def __aenter__(self) -> Response:
        deadline, entry = self._deadline, self._entry
        entry.busy += 1  # before the others are looked at: whoever is busy is not evicted
        try:
            await self._queue()
        except BaseException:
            entry.busy -= 1
            raise
        try:
            if self._pool.crowded:
                await self._pool.evict()
            _deadline.set(deadline)
            response = await entry.session.request(self._method, self._where, allow_redirects=False, **self._options)
        except BaseException:
            self._leave()
            raise
        self._response = cast(Response, response)
        return self._response

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._leave()
        if self._response is not None:
            if kind is not None:
                self._response.close()
            self._response.release()

    async def _queue(self) -> None:
        """Wait for a place among all sockets; whoever waits is on the clock."""
        places = self._pool.sockets.places
        if places.locked():
            self._deadline.phase = "queue"
        await places.acquire()
        self._deadline.phase = "connect"

    def _leave(self) -> None:
        self._entry.busy -= 1
        self._pool.sockets.places.release()


class Pool:
    """The sessions of all targets, the least recently used idle ones closed."""

    def __init__(self, ca_file: str, proxies: Proxies | None) -> None:
        self._ca_file = ca_file
        self._proxies = proxies
        self._tls: ssl.SSLContext | None = None
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self.sockets = Sockets(descriptors())

    def request(
        self, method: str, url: Url, target: Target, deadline: Deadline, headers: Mapping[str, str]
    ) -> _Exchange:
        """The block that it is used in gets the answer, and leaving it by an error closes the connection."""
        if (target.host, target.port) != (url.host, url.effective_port):
            raise SpanielError(Code.INTERNAL, error=f"{target!r} is not the target of {url.redacted}")
        proxy = self._proxies.choose(url) if self._proxies else None
        entry = self._entry(url.scheme, target, proxy)
        where, options = proxy.ask(url, target) if proxy else (URL(url.href.partition("#")[0], encoded=True), {})
        if proxy:
            options["proxy_headers"] = {"User-Agent": headers["User-Agent"]}  # CONNECT is a request of ours too
        options["headers"] = {**options["headers"], **headers} if "headers" in options else headers
        return _Exchange(self, entry, deadline, method, where, options)

    def _entry(self, scheme: str, target: Target, proxy: object) -> _Entry:
        key: Key = (scheme, target.host, target.port, target.pins, proxy)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(self._session(scheme, target, pinned=proxy is None))
        else:
            self._entries.move_to_end(key)
        return entry

    def _session(self, scheme: str, target: Target, *, pinned: bool) -> aiohttp.ClientSession:
        only: dict[str, Any] = {"socket_factory": socket_for(target if pinned else None, self.sockets)}
        if pinned:
            only["resolver"] = _Pinned(target)
        return aiohttp.ClientSession(
            connector=_Connector(self.sockets, ssl=self._certificates(scheme), **only),
            cookie_jar=aiohttp.DummyCookieJar(),  # FR-WF-07d
            auto_decompress=False,
            response_class=Response,
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
            max_headers=MOST_HEADERS,
        )

    def _certificates(self, scheme: str) -> ssl.SSLContext | bool:
        """Read when the first https page is asked for (it takes two bare Python starts), or to check a file of them."""
        if scheme != "https" and not self._ca_file:
            return True
        self._tls = self._tls or tls_context(self._ca_file)
        return self._tls

    @property
    def crowded(self) -> bool:
        return len(self._entries) > MOST_POOLS

    async def evict(self) -> None:
        idle = [key for key, entry in self._entries.items() if not entry.busy]
        closing = [self._entries.pop(key) for key in idle[: len(self._entries) - MOST_POOLS]]
        for entry in closing:
            await entry.session.close()

    async def close(self) -> None:
        entries, self._entries = self._entries, OrderedDict()
        for entry in entries.values():
            await entry.session.close()


def tls_context(ca_file: str) -> ssl.SSLContext:
    """What trusts the system's certificates and those of a file; `bad_args` where it cannot be read."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise SpanielError(Code.BAD_ARGS, field="ca_file", reason=f"{ca_file}: {error.strerror or error}") from None
    return context
