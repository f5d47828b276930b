"""The browser's egress proxy: a forward proxy on loopback, one for each browser context, behind the same guard.

Chromium names a host; the proxy resolves it once, judges every address, and dials one that passed (FR-WF-06, 11b).
Clients must know the context's secret, so that other local processes cannot use the port.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from base64 import b64encode
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.proxy import literal
from spaniel.net.responses import MAX_DIGITS, MalformedError
from spaniel.net.sockets import stop_accepting
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxies, Proxy
    from spaniel.url.value import Url

PIECE = 1 << 16
EACH_SECONDS = 4.0  # for one address, so that a dead one does not use up the time of the others

# Hop-by-hop fields (RFC 9110 7.6.1), besides `proxy-*`.
HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade"})
MAX_INTERIM = 8  # 1xx responses before the final one

log = logging.getLogger("spaniel.net")

USER = "spaniel"
MAX_BYTES = 64 << 20  # received by one context, all its requests together
MAX_HOSTS = 256  # requested by one context
AUTHENTICATION_SECONDS = 10.0
MAX_CONNECTIONS = 128  # at once; Chromium itself stops at 32 for one proxy, WebSockets aside
DIAL_SECONDS = 10.0
FLUSH_SECONDS = 2.0  # for the last bytes of a connection that is closed
AUTH_REQUIRED = b'HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm="spaniel"\r\nContent-Length: 0\r\n\r\n'
TUNNEL = b"HTTP/1.1 200 Connected\r\n\r\n"
_HTTP_URL = re.compile(r"(http://[^/?#\\]+)([^#]*)")
FAILURES = (OSError, MalformedError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class StreamPair(NamedTuple):
    """The two ends of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def dial(target: Target) -> StreamPair:
    """A connection to one of a target's addresses, and to nothing else."""
    failure: Exception = OSError("no address")
    for address in target.addresses:
        try:
            async with asyncio.timeout(EACH_SECONDS):
                return StreamPair(*await asyncio.open_connection(str(address), target.port, limit=PIECE))
        except (OSError, TimeoutError) as error:
            failure = error
    raise failure


async def dial_proxy(proxy: Proxy, target: Target, *, tunnel: bool) -> StreamPair:
    """A connection to the system's proxy; with `tunnel`, through it to a judged address."""
    ends = StreamPair(*await asyncio.open_connection(*proxy.place, limit=PIECE))
    if not tunnel:
        return ends
    try:
        await _ask_for_tunnel(ends, proxy, target)
    except BaseException:  # it has no other owner yet, and may never answer
        ends.writer.transport.abort()
        raise
    return ends


async def _ask_for_tunnel(ends: StreamPair, proxy: Proxy, target: Target) -> None:
    authority = f"{literal(target)}:{target.port}"
    ends.writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{proxy.credentials}\r\n".encode())
    status = (await ends.reader.readuntil(b"\r\n\r\n")).partition(b" ")[2][:3]
    if not status.startswith(b"2"):
        raise MalformedError(f"the system's proxy answered {status.decode('latin-1')}")


class RequestHead(NamedTuple):
    """The head of a request."""

    method: str
    target: str
    lines: list[bytes]  # the fields as they came
    fields: dict[bytes, bytes]

    @property
    def body_length(self) -> int:
        length = self.fields.get(b"content-length", b"0")
        if b"transfer-encoding" in self.fields or not length.isdigit() or len(length) > MAX_DIGITS:
            raise MalformedError("a body without a length")
        return int(length)

    def rewritten(self, target: str, host: str, more: str = "") -> bytes:
        """The head as the server gets it: nothing that was for us, one request to a connection."""
        line = f"{self.method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}".encode("latin-1")
        return line + b"".join(b"%s\r\n" % field for field in _end_to_end(self.lines, b"host")) + b"\r\n"


async def read_request(reader: asyncio.StreamReader) -> RequestHead:
    first, lines = await _read(reader)
    parts = first.decode("latin-1").split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise MalformedError("no request line")
    return RequestHead(parts[0], parts[1], lines, dict(map(_field, lines)))


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """The head of a response as the client gets it: `Connection: close`, and no 407."""
    for _ in range(MAX_INTERIM):
        first, lines = await _read(reader)
        version, _, status = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not status[:3].isdigit() or status[3:4] not in (b"", b" "):
            raise MalformedError("no status line")
        if status.startswith(b"407"):
            raise MalformedError("a server that takes itself for a proxy")
        if not status.startswith(b"1"):
            kept = b"".join(b"%s\r\n" % field for field in _end_to_end(lines))
            return b"HTTP/1.1 " + status + b"\r\n" + kept + b"Connection: close\r\n\r\n"
    raise MalformedError("too many interim answers")


async def _read(reader: asyncio.StreamReader) -> tuple[bytes, list[bytes]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    if any(b"\n" in line or b"\r" in line for line in (first, *lines)):
        raise MalformedError("a line end inside a line")  # other parsers might see two lines
    return first, lines


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip()


def _end_to_end(lines: list[bytes], *besides: bytes) -> list[bytes]:
    """The end-to-end fields."""
    kept = []
    for line in lines:
        name = line.partition(b":")[0].strip().lower()
        if name not in HOP_BY_HOP and name not in besides and not name.startswith(b"proxy-"):
            kept.append(line)
    return kept


class TargetVetter(Protocol):
    """The part of the guard that is used here; tests replace it."""

    async def vet(self, url: Url, deadline: Deadline) -> Target: ...


class EgressProxy:
    """One browser context's proxy. A host is resolved once in 30 s; only vetted addresses are dialled."""

    def __init__(self, guard: TargetVetter, proxies: Proxies | None = None, most_bytes: int = MAX_BYTES) -> None:
        self._guard = guard
        self._proxies = proxies
        self._most_bytes = most_bytes
        self._targets: dict[tuple[str, int], asyncio.Future[Target]] = {}
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._closing: asyncio.Task[None] | None = None
        self.secret = token_hex(16)
        self._expected = b"Basic " + b64encode(f"{USER}:{self.secret}".encode())
        self.failures: dict[str, str] = {}  # by host, for a caller whom Chromium tells only that it failed
        self.bytes_in = 0

    async def open(self) -> None:
        """Listen. In two steps: who is stopped while asyncio lets a new server begin would never get hold of it."""
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, limit=PIECE, start_serving=False)
        await self._server.start_serving()

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("this exit is not open")
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Close the port and all its connections, even if the awaiting task is cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
            if (server := self._server) is not None:  # a task that is cancelled before its first step closes nothing
                self._closing.add_done_callback(lambda _: server.close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._server is not None:
            try:
                await stop_accepting(self._server)
            finally:
                self._server.close()
        tasks: list[asyncio.Future[Any]] = [*self._serving, *self._targets.values()]
        for client in self._serving.values():
            client.transport.abort()  # here, since a task that is cancelled before its first step closes nothing
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # lets the last transport close

    def has_passed(self, url: Url) -> bool:
        """Whether this host and port were vetted already and passed."""
        judged = self._targets.get((url.host, url.effective_port))
        return judged is not None and judged.done() and not judged.cancelled() and judged.exception() is None

    def adopt(self, target: Target) -> None:
        """Add a target that a guard has vetted before."""
        judged = self._targets[target.host, target.port] = asyncio.get_running_loop().create_future()
        judged.set_result(target)

    async def vet(self, url: Url) -> Target:
        """The target of a URL, vetted at its first request and again when it is stale (D2-39). A refusal is final."""
        key = url.host, url.effective_port
        judged = self._targets.get(key)
        if judged is None or (self.has_passed(url) and judged.result().stale):
            if judged is None and len(self._targets) >= MAX_HOSTS:
                raise SpanielError(Code.DNS_FAILED, host=url.host, error="too many hosts for one page")
            judged = self._targets[key] = asyncio.create_task(self._guard.vet(url, Deadline(DIAL_SECONDS)))
        return await asyncio.shield(judged)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing is not None:  # accepted while the port was being closed
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(StreamPair(reader, writer)))
        self._serving[task] = writer
        task.add_done_callback(self._serving.pop)

    async def _serve(self, client: StreamPair) -> None:
        try:
            if len(self._serving) <= MAX_CONNECTIONS:
                await self._handle(client)
        except (*FAILURES, SpanielError) as error:
            log.debug("egress: %s: %s", type(error).__name__, error)
        finally:
            await self._shut(client)

    async def _handle(self, client: StreamPair) -> None:
        async with asyncio.timeout(AUTHENTICATION_SECONDS):
            head = await self._read_authenticated(client)
        connect = head.method == "CONNECT"
        url, path = _requested_url(head)
        target = await self.vet(url)
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                server, asked = await self._dial(url, path, target, head)
        except FAILURES as error:
            self.failures[url.host] = str(error) or "no answer"
            raise
        try:
            await (self._tunnel(client, server) if connect else self._forward(client, server, head, asked))
        finally:
            await self._shut(server)

    async def _shut(self, ends: StreamPair) -> None:
        """Close and wait for it: a socket that is still closing when the loop ends leaks."""
        if self._closing is not None:
            ends.writer.transport.abort()  # pending data has no reader any more
        ends.writer.close()
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await ends.writer.wait_closed()
        finally:
            ends.writer.transport.abort()  # also if cancelled while its last bytes are pending

    async def _read_authenticated(self, client: StreamPair) -> RequestHead:
        """The first authenticated request; others get a 407, and their bodies are discarded."""
        while True:
            head = await read_request(client.reader)
            left = head.body_length
            if hmac.compare_digest(head.fields.get(b"proxy-authorization", b""), self._expected):
                return head
            while left and (piece := await client.reader.read(min(left, PIECE))):
                left -= len(piece)
            client.writer.write(AUTH_REQUIRED)

    async def _dial(self, url: Url, path: str, target: Target, head: RequestHead) -> tuple[StreamPair, bytes]:
        """A connection to the target, or to the system's proxy with its vetted address; and the request head for it."""
        authority = url.host if url.port is None else f"{url.host}:{url.port}"
        proxy = self._proxies.choose(url) if self._proxies else None
        if proxy is None:
            return await dial(target), head.rewritten(path, authority)
        where = f"http://{literal(target)}:{target.port}{path}"
        ends = await dial_proxy(proxy, target, tunnel=head.method == "CONNECT")
        return ends, head.rewritten(where, authority, proxy.credentials)

    async def _tunnel(self, client: StreamPair, server: StreamPair) -> None:
        client.writer.write(TUNNEL)
        await _first_of(_copy(client.reader, server.writer), self._copy_counted(server.reader, client.writer))

    async def _forward(self, client: StreamPair, server: StreamPair, head: RequestHead, asked: bytes) -> None:
        server.writer.write(asked)
        left = head.body_length
        while left:
            piece = await client.reader.read(min(left, PIECE))
            if not piece:
                return
            left -= len(piece)
            server.writer.write(piece)
            await server.writer.drain()
        await _first_of(self._answer(client, server), _disconnected(client.reader))

    async def _answer(self, client: StreamPair, server: StreamPair) -> None:
        client.writer.write(await read_response(server.reader))
        await self._copy_counted(server.reader, client.writer)

    async def _copy_counted(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Copy until the end of the stream, or fail when the context has received too much."""
        while piece := await source.read(PIECE):
            self.bytes_in += len(piece)
            if self.bytes_in > self._most_bytes:
                raise MalformedError(f"more than {self._most_bytes} bytes for one page")
            sink.write(piece)
            await sink.drain()


def _requested_url(head: RequestHead) -> tuple[Url, str]:
    """The origin, parsed strictly, which is vetted; and the path, which is passed on as it came."""
    if head.method == "CONNECT":
        return parse(f"https://{head.target}/"), ""
    found = _HTTP_URL.fullmatch(head.target)
    if found is None:
        raise MalformedError("no http URL where a proxy wants one")
    return parse(f"{found[1]}/"), found[2] if found[2].startswith("/") else f"/{found[2]}"


async def _first_of(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run until one of them ends; cancel the others."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _disconnected(client: asyncio.StreamReader) -> None:
    """Read until the client disconnects. Its data is discarded: there is one request to a connection."""
    while await client.read(PIECE):
        pass


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(PIECE):
        sink.write(piece)
        await sink.drain()
