"""The browser's way out: a forward proxy on loopback, one for each browser context, behind the same guard.

Chromium names a host; the proxy resolves it once, judges every address, and dials one that passed (FR-WF-06, 11b).
Whoever does not know the context's secret is not served, so that the port is of no use to other local processes.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from base64 import b64encode
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.dialling import PIECE, StreamPair, dial, dial_proxy
from spaniel.net.heads import MalformedError, RequestHead, read_request, read_response
from spaniel.net.proxy import literal
from spaniel.net.sockets import stop_accepting
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxies
    from spaniel.url.value import Url

log = logging.getLogger("spaniel.net")

USER = "spaniel"
MOST_BYTES = 64 << 20  # that one context may bring in, all its requests together
MOST_HOSTS = 256  # that one context may ask for
AUTHENTICATION_SECONDS = 10.0
MOST_CONNECTIONS = 128  # at once; Chromium itself stops at 32 for one proxy, WebSockets aside
DIAL_SECONDS = 10.0
FLUSH_SECONDS = 2.0  # for the last bytes of a connection that has ended
ASKED = b'HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm="spaniel"\r\nContent-Length: 0\r\n\r\n'
TUNNEL = b"HTTP/1.1 200 Connected\r\n\r\n"
_PLAIN = re.compile(r"(http://[^/?#\\]+)([^#]*)")
FAILURES = (OSError, MalformedError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class Vets(Protocol):
    """The guard, as far as it is needed here."""

    async def vet(self, url: Url, deadline: Deadline) -> Target: ...


class EgressProxy:
    """One context's way out. A host is looked up once in 30 s: what was judged is what is dialled, every time."""

    def __init__(self, guard: Vets, proxies: Proxies | None = None, most_bytes: int = MOST_BYTES) -> None:
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
        """Shut the port, and every connection with it; also where whoever waits for that is stopped meanwhile."""
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
            client.transport.abort()  # here: a task that is ended before it began closes nothing
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for the last of them to be closed

    def passed(self, url: Url) -> bool:
        """Whether this host and port have been judged already, and passed."""
        judged = self._targets.get((url.host, url.effective_port))
        return judged is not None and judged.done() and not judged.cancelled() and judged.exception() is None

    def know(self, target: Target) -> None:
        """Take over a verdict that a guard has given before."""
        judged = self._targets[target.host, target.port] = asyncio.get_running_loop().create_future()
        judged.set_result(target)

    async def vet(self, url: Url) -> Target:
        """The target of a URL, judged when its host is first met, and again when that is too long ago (D2-39).

        A refusal stays one.
        """
        key = url.host, url.effective_port
        judged = self._targets.get(key)
        if judged is None or (self.passed(url) and judged.result().stale):
            if judged is None and len(self._targets) >= MOST_HOSTS:
                raise SpanielError(Code.DNS_FAILED, host=url.host, error="too many hosts for one page")
            judged = self._targets[key] = asyncio.create_task(self._guard.vet(url, Deadline(DIAL_SECONDS)))
        return await asyncio.shield(judged)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing is not None:  # accepted while the port was being shut
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(StreamPair(reader, writer)))
        self._serving[task] = writer
        task.add_done_callback(self._serving.pop)

    async def _serve(self, client: StreamPair) -> None:
        try:
            if len(self._serving) <= MOST_CONNECTIONS:
                await self._converse(client)
        except (*FAILURES, SpanielError) as error:
            log.debug("egress: %s: %s", type(error).__name__, error)
        finally:
            await self._shut(client)

    async def _converse(self, client: StreamPair) -> None:
        async with asyncio.timeout(AUTHENTICATION_SECONDS):
            head = await self._admitted(client)
        connect = head.method == "CONNECT"
        url, path = _asked_for(head)
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
        """Wait until it is closed: a socket that is only about to be is one that leaks when the loop ends."""
        if self._closing is not None:
            ends.writer.transport.abort()  # nobody is there to read what is left
        ends.writer.close()
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await ends.writer.wait_closed()
        finally:
            ends.writer.transport.abort()  # also where we are cancelled while its last bytes wait to be taken

    async def _admitted(self, client: StreamPair) -> RequestHead:
        """One request that knows the secret; those that do not are asked for it, and what they send is thrown away."""
        while True:
            head = await read_request(client.reader)
            left = head.body_length
            if hmac.compare_digest(head.fields.get(b"proxy-authorization", b""), self._expected):
                return head
            while left and (piece := await client.reader.read(min(left, PIECE))):
                left -= len(piece)
            client.writer.write(ASKED)

    async def _dial(self, url: Url, path: str, target: Target, head: RequestHead) -> tuple[StreamPair, bytes]:
        """A connection to the target or, for its judged address, to the system's proxy; and what to ask for there."""
        authority = url.host if url.port is None else f"{url.host}:{url.port}"
        proxy = self._proxies.choose(url) if self._proxies else None
        if proxy is None:
            return await dial(target), head.rewritten(path, authority)
        where = f"http://{literal(target)}:{target.port}{path}"
        ends = await dial_proxy(proxy, target, tunnel=head.method == "CONNECT")
        return ends, head.rewritten(where, authority, proxy.credentials)

    async def _tunnel(self, client: StreamPair, server: StreamPair) -> None:
        client.writer.write(TUNNEL)
        await _first_of(_copy(client.reader, server.writer), self._bring(server.reader, client.writer))

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
        await _first_of(self._answer(client, server), _gone(client.reader))

    async def _answer(self, client: StreamPair, server: StreamPair) -> None:
        client.writer.write(await read_response(server.reader))
        await self._bring(server.reader, client.writer)

    async def _bring(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Copy what comes in, until it ends or is too much for one page."""
        while piece := await source.read(PIECE):
            self.bytes_in += len(piece)
            if self.bytes_in > self._most_bytes:
                raise MalformedError(f"more than {self._most_bytes} bytes for one page")
            sink.write(piece)
            await sink.drain()


def _asked_for(head: RequestHead) -> tuple[Url, str]:
    """The host to be judged, as strictly as any; and the path as it came, which is between the page and its server."""
    if head.method == "CONNECT":
        return parse(f"https://{head.target}/"), ""
    found = _PLAIN.fullmatch(head.target)
    if found is None:
        raise MalformedError("no http URL where a proxy wants one")
    return parse(f"{found[1]}/"), found[2] if found[2].startswith("/") else f"/{found[2]}"


async def _first_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Until one of them ends; the others end with it."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _gone(client: asyncio.StreamReader) -> None:
    """Until whoever asked has left; what it says meanwhile is for nobody, for there is one request to a connection."""
    while await client.read(PIECE):
        pass


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(PIECE):
        sink.write(piece)
        await sink.drain()
