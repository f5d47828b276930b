"""Hosts with names on loopback, each with one behavior. Real sockets, real TLS.

A host runs a coroutine for each request and records the requests. All hosts are in this process, each at its own
address (127.16.x.y), and share a port for http, one for https and one that breaks every handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import trustme

from spaniel.health.hops import LinkOptions
from spaniel.health.requests import LinkClient
from spaniel.hosts import Hosts
from spaniel.net.guard import Guard, Security
from spaniel.net.http import Http
from spaniel.net.resolver import failed
from spaniel.pipeline.retrieve import Door
from spaniel.robots.gate import RobotsGate
from spaniel.testing import FakeClock, FakeResolver
from tests.net.servers import MAX_HEAD, Request, Wire, answer

Play = Callable[["Visit"], Awaitable[None]]

CLOSED_ADDRESS = "127.16.255.254"  # nothing listens there


class HungUpError(Exception):
    """The host ends the connection."""


class Visit(NamedTuple):
    """One request at a host."""

    wire: Wire
    request: Request
    host: Host
    world: World

    @property
    def path(self) -> str:
        return self.request.target

    async def say(self, status: int, body: bytes = b"", *fields: str) -> None:
        """Send a valid response; for HEAD, without the body."""
        said = answer(status, body, *fields)
        await self.wire.send(said[: len(said) - len(body)] if self.request.method == "HEAD" else said)


class Host:
    """A name, its address and its behavior."""

    def __init__(self, name: str, play: Play, tls: str = "", where: str | Exception = "") -> None:
        self.name, self.play, self.tls, self.where = name, play, tls, where
        self.heard: list[Request] = []

    @property
    def asked(self) -> list[str]:
        """The requests, as `GET /path`."""
        return [f"{request.method} {request.target}" for request in self.heard]


class World:
    """Running hosts and a door that requests them."""

    def __init__(self, hosts: list[Host], clock: FakeClock) -> None:
        self.hosts = {host.name: host for host in hosts}
        self.clock, self._began = clock, clock.time()
        self.resolver = FakeResolver({}, None)
        self.http_port = self.https_port = self.broken_port = 0
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._listening: list[asyncio.Server] = []
        self.http = Http()

    @property
    def day(self) -> float:
        """Days since the start."""
        return (self.clock.time() - self._began) / 86_400

    def begin_again(self) -> None:
        """Make this day 0."""
        self._began = self.clock.time()

    def url(self, name: str, path: str = "/") -> str:
        tls = self.hosts[name].tls
        port = self.broken_port if tls == "broken" else self.https_port if tls else self.http_port
        return f"{'https' if tls else 'http'}://{name}:{port}{path}"

    def client(self, options: LinkOptions | None = None) -> LinkClient:
        return LinkClient(self.door, self.clock, options)

    async def open(self, folder: Path) -> None:
        addresses = self._place()
        self._contexts, ca_file = certificates(self.hosts.values(), folder)
        self.http_port = await self._listen(addresses["http"], self._converse)
        self.https_port = await self._listen(addresses["https"], self._converse, self._contexts[""])
        self.broken_port = await self._listen(addresses["broken"], _babble)
        ports = self.http_port, self.https_port, self.broken_port
        security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
        guard = Guard(self.resolver, security)
        self.http = Http(ca_file)
        self.robots = RobotsGate(self.http, guard)
        self.door = Door(guard, self.robots, Hosts(self.clock), self.http)

    def _place(self) -> dict[str, list[str]]:
        """Give each host an address in the resolver."""
        listening: dict[str, list[str]] = {"http": ["127.16.0.1"], "https": ["127.16.0.1"], "broken": ["127.16.0.1"]}
        for number, host in enumerate(self.hosts.values(), 2):
            address = f"127.16.{number // 250}.{number % 250 + 1}"
            self.resolver.names[_ascii(host.name)] = host.where or address
            if not host.where:
                listening["broken" if host.tls == "broken" else "https" if host.tls else "http"].append(address)
        return listening

    async def _listen(
        self,
        addresses: list[str],
        converse: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        tls: ssl.SSLContext | None = None,
    ) -> int:
        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._guarded(converse, reader, writer))
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)

        while True:
            first = await asyncio.start_server(begin, addresses[0], 0, ssl=tls, limit=MAX_HEAD)
            port: int = first.sockets[0].getsockname()[1]
            try:
                if addresses[1:]:
                    self._listening += [await asyncio.start_server(begin, addresses[1:], port, ssl=tls, limit=MAX_HEAD)]
            except OSError:  # another process has the port at one of the addresses
                first.close()
                continue
            self._listening.append(first)
            return port

    async def _guarded(
        self,
        converse: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.LimitOverrunError, ssl.SSLError, HungUpError):
                await converse(reader, writer)
        finally:
            writer.transport.abort() if writer.get_extra_info("ssl_object") else writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard: list[Request] = []
        wire = Wire(reader, writer, heard)
        while (request := await wire.request()) is not None:
            name = (request.header("host") or "").rpartition(":")[0]
            host = self._named[name]
            host.heard.append(request)
            await host.play(Visit(wire, request, host, self))

    @property
    def _named(self) -> Mapping[str, Host]:
        return {_ascii(name): host for name, host in self.hosts.items()}

    async def close(self) -> None:
        await self.robots.close()
        await self.http.close()
        for listening in self._listening:
            listening.close()
        for task in list(self._at_work):
            task.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)


@asynccontextmanager
async def open_world(hosts: list[Host], clock: FakeClock | None = None) -> AsyncIterator[World]:
    """Open the hosts, and close them at the end. The clock starts now, because certificates have dates."""
    world = World(hosts, clock or FakeClock(dt.datetime.now(dt.UTC)))
    with TemporaryDirectory() as folder:
        await world.open(Path(folder))
        try:
            yield world
        finally:
            await world.close()


def _ascii(name: str) -> str:
    return name if name.isascii() else name.encode("idna").decode()


async def _babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Fail every TLS handshake."""
    await reader.read(100)
    writer.write(b"\x15\x03\x03\x00\x02\x02\x28")  # an alert: handshake_failure
    await writer.drain()


def certificates(hosts: object, folder: Path) -> tuple[dict[str, ssl.SSLContext], str]:
    """A context for each kind of TLS error, and the file of the trusted authority."""
    now = dt.datetime.now(dt.UTC)
    ours, strangers = trustme.CA(), trustme.CA()
    ca_file = folder / "ca.pem"
    ours.cert_pem.write_to_path(str(ca_file))
    names = [_ascii(host.name) for host in hosts if host.tls]  # type: ignore[attr-defined]
    every = names or ["unused.test"]
    issued = {
        "good": ours.issue_cert(*every),
        "ending": ours.issue_cert(*every, not_after=now + dt.timedelta(days=5)),
        "expired": ours.issue_cert(*every, not_before=now - dt.timedelta(days=9), not_after=now - dt.timedelta(days=1)),
        "wrong-name": ours.issue_cert("another-name.test"),
        "unknown-ca": strangers.issue_cert(*every),
    }
    contexts = {kind: _context(leaf) for kind, leaf in issued.items()}
    contexts["self-signed"] = _self_signed(folder, every)
    kinds = {_ascii(host.name): host.tls for host in hosts if host.tls}  # type: ignore[attr-defined]

    def choose(tls: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        tls.context = contexts[kinds.get(name or "", "good")]

    contexts[""] = _context(issued["good"])
    contexts[""].sni_callback = choose
    return contexts, str(ca_file)


def _context(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


def _self_signed(folder: Path, names: list[str]) -> ssl.SSLContext:
    """A self-signed certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "self")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(now).not_valid_after(now + dt.timedelta(days=90))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
    pem = folder / "self-signed.pem"
    pem.write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


NO_ANSWER = failed("name.test", "Temporary failure in name resolution")
