"""Bare connections to a `Target`, for the egress proxy: straight, or by way of the system's proxy (D2-20)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from spaniel.net.heads import MalformedError
from spaniel.net.proxy import literal

if TYPE_CHECKING:
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxy

PIECE = 1 << 16
EACH_SECONDS = 4.0  # for one address, so that a dead one does not use up the time of the others


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
