"""Opens connections to a `Target`: directly or through the system's proxy, with or without TLS."""

from __future__ import annotations

import asyncio
import os
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.connection import Connection
from spaniel.net.proxy import tunnel
from spaniel.net.responses import MalformedError, NoResponseError
from spaniel.net.sockets import SocketLimits, connect, connect_to, descriptors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.net.addresses import Address
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxy
    from spaniel.net.sockets import CountedSocket


READ_AT_ONCE = 1 << 16  # bytes
# Whether the loop fills a buffer and reports it in one step. On Windows it does not: connections cannot share a buffer.
READS_AT_ONCE = os.name != "nt"


class ConnectFailedError(Exception):
    """Connecting failed; `__cause__` says why."""


class Connector:
    """Opens connections, each to one target."""

    def __init__(self, ca_file: str) -> None:
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._buffer = _new_buffer()
        self.sockets = SocketLimits(descriptors())

    def certificates(self, scheme: str) -> ssl.SSLContext | None:
        """Loaded at the first https request (this takes as long as two Python starts), or to check `ca_file`."""
        if scheme != "https" and not self._ca_file:
            return None
        self._tls = self._tls or tls_context(self._ca_file)
        return self._tls if scheme == "https" else None

    async def open(self, scheme: str, target: Target, proxy: Proxy | None, agent: str) -> Connection:
        """Dial and do the TLS handshake. `agent` is the User-Agent of a CONNECT request to the proxy."""
        tls = self.certificates(scheme)
        try:
            sock = await (connect_to(target, self.sockets) if proxy is None else self._dial_proxy(proxy))
            return await self._start(sock, tls, target, proxy, agent)
        # ValueError: a host name that TLS rejects, an invalid proxy URL
        except (OSError, ValueError) as error:
            raise ConnectFailedError from error

    async def _dial_proxy(self, proxy: Proxy) -> CountedSocket:
        """The proxy is configured by the user, so its address is not vetted by the guard."""
        host, port = proxy.place
        return await connect(await _addresses(host), port, self.sockets)

    async def _start(
        self, sock: CountedSocket, tls: ssl.SSLContext | None, target: Target, proxy: Proxy | None, agent: str
    ) -> Connection:
        """Connect the transport first and start TLS second, so that the transport can be closed at any point.

        asyncio does both in one call. If that is cancelled after the handshake, its transport waits up to 30 s for
        close_notify and cannot be reached; closing the socket would leave it with a descriptor that may be reused.
        """
        connection = Connection(sock, self._buffer if READS_AT_ONCE else _new_buffer())
        try:
            await asyncio.get_running_loop().create_connection(lambda: connection, sock=sock)
            if tls is not None:
                if proxy is not None:
                    await _make_tunnel(connection, target, proxy, agent)
                await connection.secure(tls, _name(target))
        except BaseException:
            connection.close()
            raise
        return connection


async def _make_tunnel(connection: Connection, target: Target, proxy: Proxy, agent: str) -> None:
    """CONNECT to a vetted address through a proxy. Bytes after its response cannot come from a TLS server: refused."""
    try:
        answer = await connection.ask(tunnel(target, proxy, agent), bodiless=True)
    except NoResponseError:
        raise ConnectionError("the system's proxy closed the connection without an answer") from None
    except MalformedError as error:
        raise ConnectionError(f"the system's proxy did not answer in HTTP: {error}") from None
    if not 200 <= answer.status <= 299 or answer.unsolicited:
        raise ConnectionError(f"the system's proxy answered {answer.status}")


def _new_buffer() -> memoryview:
    return memoryview(bytearray(READ_AT_ONCE))


def _name(target: Target) -> str:
    """The name that the certificate must be valid for: the requested host, whatever address is dialled."""
    return target.host.strip("[]").rstrip(".")


async def _addresses(host: str) -> Sequence[Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(host, None)
        return list(dict.fromkeys(ip_address(str(info[4][0]).partition("%")[0]) for info in found))


def tls_context(ca_file: str) -> ssl.SSLContext:
    """A context that trusts the system's certificates and those of a file; `bad_args` if it cannot be read."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise SpanielError(Code.BAD_ARGS, field="ca_file", reason=f"{ca_file}: {error.strerror or error}") from None
    return context
