"""Connections to a `Target`, ready to be asked: straight or through the system's proxy, with TLS or without."""

from __future__ import annotations

import asyncio
import os
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.connection import Connection
from spaniel.net.heads import MalformedError
from spaniel.net.requests import tunnel
from spaniel.net.responses import NoResponseError
from spaniel.net.sockets import SocketLimits, connect, connect_to, descriptors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.net.addresses import Address
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxy
    from spaniel.net.sockets import CountedSocket


READ_AT_ONCE = 1 << 16  # bytes
# Whether a loop fills a buffer and tells so in one go. Windows fills them meanwhile: there no two may share one.
READS_AT_ONCE = os.name != "nt"


class ConnectFailedError(Exception):
    """No connection came about, for the reason that it was raised from."""


class Connector:
    """Opens connections, each for one target, and knows whose certificates to trust."""

    def __init__(self, ca_file: str) -> None:
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._room = _new_room()
        self.sockets = SocketLimits(descriptors())

    def certificates(self, scheme: str) -> ssl.SSLContext | None:
        """Read when the first https page is asked for (it takes two bare Python starts), or to check a file of them."""
        if scheme != "https" and not self._ca_file:
            return None
        self._tls = self._tls or tls_context(self._ca_file)
        return self._tls if scheme == "https" else None

    async def open(self, scheme: str, target: Target, proxy: Proxy | None, agent: str) -> Connection:
        """Dial, and shake hands. `agent` is the user agent that a proxy is asked for a tunnel with."""
        tls = self.certificates(scheme)
        try:
            sock = await (connect_to(target, self.sockets) if proxy is None else self._dial_proxy(proxy))
            return await self._start(sock, tls, target, proxy, agent)
        # ValueError: a name that does not fit into TLS, a proxy's URL that is none
        except (OSError, ValueError) as error:
            raise ConnectFailedError from error

    async def _dial_proxy(self, proxy: Proxy) -> CountedSocket:
        """The user's own: wherever it is, it need not pass the guard."""
        host, port = proxy.place
        return await connect(await _addresses(host), port, self.sockets)

    async def _start(
        self, sock: CountedSocket, tls: ssl.SSLContext | None, target: Target, proxy: Proxy | None, agent: str
    ) -> Connection:
        """A connection in two steps, TLS second: from the first one on, its transport is known, and can be closed.

        asyncio does both in one call. If that is cancelled when the handshake is done, its transport says goodbye for
        up to 30 s, and is out of reach; closing the socket would leave it with a number that another socket gets next.
        """
        wire = Connection(sock, self._room if READS_AT_ONCE else _new_room())
        try:
            await asyncio.get_running_loop().create_connection(lambda: wire, sock=sock)
            if tls is not None:
                if proxy is not None:
                    await _make_tunnel(wire, target, proxy, agent)
                await wire.secure(tls, _name(target))
        except BaseException:
            wire.close()
            raise
        return wire


async def _make_tunnel(wire: Connection, target: Target, proxy: Proxy, agent: str) -> None:
    """Have a proxy connect us with a judged address. Bytes behind its answer cannot be from a TLS server."""
    try:
        answer = await wire.ask(tunnel(target, proxy, agent), bodiless=True)
    except NoResponseError:
        raise ConnectionError("the system's proxy closed the connection without an answer") from None
    except MalformedError as error:
        raise ConnectionError(f"the system's proxy did not answer in HTTP: {error}") from None
    if not 200 <= answer.status <= 299 or answer.unasked:
        raise ConnectionError(f"the system's proxy answered {answer.status}")


def _new_room() -> memoryview:
    return memoryview(bytearray(READ_AT_ONCE))


def _name(target: Target) -> str:
    """What the certificate must be for: whatever address is dialled, the host that was asked for."""
    return target.host.strip("[]").rstrip(".")


async def _addresses(host: str) -> Sequence[Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(host, None)
        return list(dict.fromkeys(ip_address(str(info[4][0]).partition("%")[0]) for info in found))


def tls_context(ca_file: str) -> ssl.SSLContext:
    """What trusts the system's certificates and those of a file; `bad_args` where it cannot be read."""
    context = ssl.create_default_context()
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise SpanielError(Code.BAD_ARGS, field="ca_file", reason=f"{ca_file}: {error.strerror or error}") from None
    return context
