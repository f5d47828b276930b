"""The sockets themselves: only to judged addresses, counted, and never more than the system has for us."""

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

MOST_AT_ONCE = 512  # exchanges, or half of what the system lets the process open
MOST_OPEN = 1024  # sockets above which a connection is not kept for later, or three eighths
NEXT_SECONDS = 0.25  # after which the next address is tried beside one that is silent (RFC 8305 5)


class SocketLimits:
    """How many sockets may be in use, and how many are open: a process has 1,024 descriptors on most systems, and
    whoever opens the last one makes everything fail, the cache and the log included."""

    __slots__ = ("keep", "open", "places")

    def __init__(self, descriptors: int) -> None:
        self.open = 0
        self.keep = min(MOST_OPEN, descriptors * 3 // 8)
        self.places = Slots(max(1, min(MOST_AT_ONCE, descriptors // 2)))


def descriptors() -> int:
    """How many files and sockets the system lets this process have open."""
    if sys.platform == "win32":
        return 2 * MOST_AT_ONCE
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MOST_AT_ONCE if soft == resource.RLIM_INFINITY else soft


def raise_descriptors(most: int = 4096) -> None:
    """Let this process open as many files and sockets as the system allows it, up to a number that is enough."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class CountedSocket(socket):
    """A socket that is counted as long as it is open."""

    count: SocketLimits | None = None

    def close(self) -> None:
        if self.count is not None:
            self.count.open -= 1
            self.count = None
        super().close()


async def connect_to(target: Target, count: SocketLimits) -> CountedSocket:
    """A connection to one of a target's addresses, and to nothing else (FR-WF-06a)."""
    return await connect(in_turn(target.addresses), target.port, count, target)


def require_judged(address: str, target: Target) -> None:
    """The first and the last look at what is really dialled."""
    if ip_address(address.partition("%")[0]).packed not in target.pins:
        raise SpanielError(Code.SSRF_BLOCKED, blocked_ip=address, cidr="unvetted", toggle="none")


def in_turn(addresses: Sequence[Address]) -> Sequence[Address]:
    """The two versions of IP by turns, beginning with the resolver's first choice (RFC 8305 4)."""
    if len(addresses) == 1:
        return addresses
    first = addresses[0].version
    ways = [[a for a in addresses if a.version == first], [a for a in addresses if a.version != first]]
    pairs = zip(*ways, strict=False)
    shorter = min(map(len, ways))
    return [address for pair in pairs for address in pair] + ways[0][shorter:] + ways[1][shorter:]


async def connect(
    addresses: Sequence[Address], port: int, count: SocketLimits, target: Target | None = None
) -> CountedSocket:
    """The first of these that answers. Where one is silent, the next is tried beside it.

    Without a target it is the user's own proxy that is dialled.
    """
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
        _give_up(trying)
    raise trying[0].exception() or OSError("no address")


async def _first(trying: list[asyncio.Task[CountedSocket]], seconds: float | None) -> CountedSocket | None:
    """A connection, if one of these comes about before the time is over or the next of them fails."""
    pending = [task for task in trying if not task.done()]
    done, _ = await asyncio.wait(pending, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if task.exception() is None:
            trying.remove(task)
            return task.result()
    return None


def _give_up(trying: list[asyncio.Task[CountedSocket]]) -> None:
    """Whoever came second is closed, whether it has arrived or not."""
    for task in trying:
        if not task.done():
            task.cancel()  # it closes its socket by itself
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
    """A connection that asyncio has accepted, and not yet handed over when its server closes, is never closed."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows accepts in another way
        for sock in server.sockets:
            loop.remove_reader(sock.fileno())
    for _ in range(3):  # to make its transport, to begin it, to let us know
        await asyncio.sleep(0)
