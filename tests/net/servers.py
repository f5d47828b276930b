"""Real servers on loopback, most of them ill-mannered: a behaviour is a coroutine over one connection."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from ipaddress import ip_address
from typing import NamedTuple

import trustme

MAX_HEAD = 1 << 20


class Request(NamedTuple):
    """A request as it came over the wire."""

    line: str
    fields: tuple[tuple[str, str], ...]  # names in lower case, in the order in which they came

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    def header(self, name: str) -> str | None:
        found = [value for field, value in self.fields if field == name]
        assert len(found) <= 1, f"{name} was sent {len(found)} times"
        return found[0] if found else None


class Wire:
    """One connection, from the server's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: list[Request]) -> None:
        self.reader = reader
        self.writer = writer
        self._heard = heard

    async def request(self) -> Request | None:
        """The next request; None where the client has gone."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        line, *rest = head[:-4].split("\r\n")
        fields = tuple((name.lower(), value.strip()) for name, _, value in (field.partition(":") for field in rest))
        request = Request(line, fields)
        self._heard.append(request)
        return request

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def pour(self, data: bytes) -> None:
        """The same bytes, for ever, as fast as the client takes them."""
        while True:
            await self.send(data)

    async def drip(self, data: bytes, seconds: float = 0.2) -> None:
        """A byte at a time, for ever."""
        while True:
            for byte in data:
                await self.send(bytes([byte]))
                await asyncio.sleep(seconds)

    def reset(self) -> None:
        """Ends the connection by RST, not by FIN."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Behaviour = Callable[[Wire], Awaitable[None]]


class Server:
    """What a server has seen."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = 0
        self.scheme = "http"
        self.connections = 0
        self.open = 0
        self.heard: list[Request] = []

    def url(self, path: str = "/", host: str | None = None) -> str:
        host = host or (f"[{self.address}]" if ":" in self.address else self.address)
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def sees(self, true: Callable[[], bool], seconds: float = 30.0) -> bool:
        """Whether something comes true before long: what a client does reaches a server a little later."""
        end = asyncio.get_running_loop().time() + seconds
        while not true() and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return true()

    async def all_closed(self) -> bool:
        """Whether, before long, no client holds a connection any more."""
        return await self.sees(lambda: not self.open)


def unused_port() -> int:
    """A port that is free on every loopback address, so that a second server can use it at another one. It lies below
    the ports that the system gives to clients and to servers that ask for any port."""
    while True:
        port = random.randrange(15_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("0.0.0.0", port))  # noqa: S104  refused if any address has the port; nothing listens
            return port


@asynccontextmanager
async def serve(
    behaviour: Behaviour, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[Server]:
    """A server on a port of its own, gone with all its connections when the block ends."""
    server = Server(address)
    server.scheme = "https" if tls else "http"
    at_work: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open += 1
        try:
            await behaviour(Wire(reader, writer, server.heard))
        except (ConnectionError, asyncio.LimitOverrunError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort() if tls else writer.close()
            server.open -= 1

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(converse(reader, writer))
        at_work.add(task)
        task.add_done_callback(at_work.discard)

    listening = await asyncio.start_server(begin, address, port or unused_port(), ssl=tls, limit=MAX_HEAD)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in list(at_work):
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(listening.wait_closed(), 1)


def answering(*answers: bytes, close: bool = True) -> Behaviour:
    """Reads a request, sends an answer, and so on; then closes, or waits for the client to."""

    async def behave(wire: Wire) -> None:
        for answer in answers:
            if await wire.request() is None:
                return
            await wire.send(answer)
        if not close:
            await wire.reader.read()

    return behave


def answer(status: int | str, body: bytes = b"", *fields: str, length: bool = True) -> bytes:
    """A well-formed answer."""
    lines = [f"HTTP/1.1 {status} Status" if isinstance(status, int) else f"HTTP/1.1 {status}"]
    lines += [*fields, f"Content-Length: {len(body)}"] if length else list(fields)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


Pages = Mapping[str, tuple[int, list[str], bytes]]


def site(pages: Pages) -> Behaviour:
    """Keep-alive and good politeness; a path that is not in the table is a 404, `robots.txt` too."""

    async def behave(wire: Wire) -> None:
        while (request := await wire.request()) is not None:
            status, fields, body = pages.get(request.target, (404, [], b""))
            await wire.send(answer(status, body, *fields))

    return behave


async def silence(wire: Wire) -> None:
    """Accepts, reads, and never says a word: a victim needs no more."""
    while await wire.reader.read(1 << 16):
        pass


def proxying_with(said: bytes) -> Behaviour:
    """A forward proxy: CONNECT, answered so, and absolute-form GET. Nothing but loopback can be asked of it here."""

    async def behave(wire: Wire) -> None:
        while (request := await wire.request()) is not None:
            connect = request.method == "CONNECT"
            authority = request.target if connect else request.target.split("/")[2]
            host, _, port = authority.rpartition(":")
            assert ip_address(host.strip("[]")).is_loopback, f"the proxy was asked for {authority}"
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                if connect:
                    await wire.send(said)
                await (_tunnel if connect else _forward)(wire, request, reader, writer)
            finally:
                writer.close()

    return behave


proxying = proxying_with(b"HTTP/1.1 200 Connected\r\n\r\n")


async def _tunnel(wire: Wire, _: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    ways = [asyncio.create_task(_copy(wire.reader, writer)), asyncio.create_task(_copy(reader, wire.writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _forward(wire: Wire, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    fields = "".join(f"{name}: {value}\r\n" for name, value in request.fields)
    writer.write(f"{request.method} /{request.target.split('/', 3)[3]} HTTP/1.1\r\n{fields}\r\n".encode("latin-1"))
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    await wire.send(head + await reader.readexactly(length))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()


@cache
def authority() -> trustme.CA:
    """Who signs for the servers here."""
    return trustme.CA()


def tls_for(*names: str, seen: list[str | None] | None = None) -> ssl.SSLContext:
    """A server's TLS, with a certificate for these names; `seen` gets the name that each client asks for (SNI)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(*names).configure_cert(context)
    if seen is not None:
        context.sni_callback = lambda _socket, name, _context: seen.append(name)
    return context


@contextmanager
def black_hole(address: str) -> Iterator[int]:
    """A port whose accept queue is full: connecting to it hangs."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind((address, unused_port()))
        listening.listen(0)
        port = listening.getsockname()[1]
        for _ in range(4):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                caller.connect((address, port))
        yield port
