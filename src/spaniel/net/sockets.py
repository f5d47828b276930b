"""Opens sockets, only to vetted addresses, and limits their number."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from ipaddress import ip_address
from socket import AF_INET, AF_INET6, SOCK_STREAM, socket
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.net.addresses import Address
    from spaniel.net.guard import Target

MAX_AT_ONCE = 512  # exchanges, or half of the descriptors of the process
MAX_OPEN = 1024  # open sockets above which connections are not kept idle, or three eighths of the descriptors
NEXT_SECONDS = 0.25  # after which the next address is tried in parallel (RFC 8305 5)


class SocketLimits:
    """How many sockets may be in use, and how many are open. A process has 1,024 descriptors on most systems; without
    a free one everything fails, the cache and the log included."""

    __slots__ = ("keep", "open", "slots")

    def __init__(self, descriptors: int) -> None:
        self.open = 0
        self.keep = min(MAX_OPEN, descriptors * 3 // 8)
        self.slots = Slots(max(1, min(MAX_AT_ONCE, descriptors // 2)))


def descriptors() -> int:
    """The limit of open files and sockets of this process."""
    if sys.platform == "win32":
        return 2 * MAX_AT_ONCE
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MAX_AT_ONCE if soft == resource.RLIM_INFINITY else soft


def raise_descriptors(most: int = 4096) -> None:
    """Raise the limit of open files and sockets as far as the system allows, up to `most`."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class CountedSocket(socket):
    """A socket that is counted while it is open."""

    count: SocketLimits | None = None

    def close(self) -> None:
        if self.count is not None:
            self.count.open -= 1
            self.count = None
        super().close()


async def connect_to(target: Target, count: SocketLimits) -> CountedSocket:
    """A connection to one of a target's addresses, and to nothing else (FR-WF-06a)."""
    return await connect(interleave(target.addresses), target.port, count, target)


def require_judged(address: str, target: Target) -> None:
    """Checked before and after connecting, with the address that is really dialled."""
    if ip_address(address.partition("%")[0]).packed not in target.pins:
        raise SpanielError(Code.SSRF_BLOCKED, blocked_ip=address, cidr="unvetted", toggle="none")


def interleave(addresses: Sequence[Address]) -> Sequence[Address]:
    """Alternate the two IP versions, beginning with the resolver's first choice (RFC 8305 4)."""
    if len(addresses) == 1:
        return addresses
    first = addresses[0].version
    one, other = [a for a in addresses if a.version == first], [a for a in addresses if a.version != first]
    shorter = min(len(one), len(other))
    return [address for pair in zip(one, other, strict=False) for address in pair] + one[shorter:] + other[shorter:]


async def connect(
    addresses: Sequence[Address], port: int, count: SocketLimits, target: Target | None = None
) -> CountedSocket:
    """The first connection that succeeds (RFC 8305). Without a target, the addresses are those of the user's proxy."""
    if len(addresses) == 1:
        return await _connect(addresses[0], port, count, target)
    trying: list[asyncio.Task[CountedSocket]] = []
    try:
        for address in addresses:
            trying.append(asyncio.create_task(_connect(address, port, count, target)))
            if found := await _first(trying, NEXT_SECONDS):
                return found
        while not all(task.done() for task in trying):
            if found := await _first(trying, None):
                return found
    finally:
        _close_all(trying)
    raise trying[0].exception() or OSError("no address")


async def _first(trying: list[asyncio.Task[CountedSocket]], seconds: float | None) -> CountedSocket | None:
    """A connection, if one succeeds before the time is over or the next attempt fails."""
    pending = [task for task in trying if not task.done()]
    done, _ = await asyncio.wait(pending, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if task.exception() is None:
            trying.remove(task)
            return task.result()
    return None


def _close_all(trying: list[asyncio.Task[CountedSocket]]) -> None:
    """Close the other connections, finished or not."""
    for task in trying:
        if not task.done():
            task.cancel()  # closes its socket
        elif not task.cancelled() and task.exception() is None:
            task.result().close()


async def _connect(address: Address, port: int, count: SocketLimits, target: Target | None) -> CountedSocket:
    if target is not None:
        require_judged(str(address), target)
    made = CountedSocket(AF_INET6 if address.version == 6 else AF_INET, SOCK_STREAM)
    made.count = count
    count.open += 1
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, (str(address), port))
        if target is not None:
            require_judged(made.getpeername()[0], target)
    except BaseException:
        made.close()
        raise
    return made


async def stop_accepting(server: asyncio.Server) -> None:
    """Otherwise a connection that asyncio has accepted, but not handed over when the server closes, is never closed."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows accepts differently
        for sock in server.sockets:
            loop.remove_reader(sock.fileno())
    for _ in range(3):  # create the transport, start it, call us
        await asyncio.sleep(0)
