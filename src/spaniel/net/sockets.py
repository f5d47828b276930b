"""The sockets themselves: only to judged addresses, counted, and never more than the system has for us."""

from __future__ import annotations

import asyncio
import sys
from ipaddress import ip_address
from socket import socket
from typing import TYPE_CHECKING, Any

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from spaniel.net.guard import Target

MOST_AT_ONCE = 512  # exchanges, or half of what the system lets the process open
MOST_OPEN = 1024  # sockets above which a connection is not kept for later, or three eighths


class Sockets:
    """How many sockets may be in use, and how many are open: a process has 1,024 descriptors on most systems, and
    whoever opens the last one makes everything fail, the cache and the log included."""

    __slots__ = ("keep", "open", "places")

    def __init__(self, descriptors: int) -> None:
        self.open = 0
        self.keep = min(MOST_OPEN, descriptors * 3 // 8)
        self.places = asyncio.Semaphore(max(1, min(MOST_AT_ONCE, descriptors // 2)))


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


class _Counted(socket):
    """A socket that is counted as long as it is open."""

    count: Sockets | None = None

    def close(self) -> None:
        if self.count is not None:
            self.count.open -= 1
            self.count = None
        super().close()


def socket_for(target: Target | None, count: Sockets) -> Any:
    """Sockets to the target's addresses alone: the last look at what is really dialled (FR-WF-06a).

    Without a target it is the user's own proxy that is dialled.
    """

    def make(info: tuple[Any, ...]) -> socket:
        family, kind, protocol, _, address = info
        if target is not None and ip_address(str(address[0]).partition("%")[0]).packed not in target.pins:
            raise SpanielError(Code.SSRF_BLOCKED, blocked_ip=str(address[0]), cidr="unvetted", toggle="none")
        made = _Counted(family, kind, protocol)
        made.count = count
        count.open += 1
        return made

    return make
