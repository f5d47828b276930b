"""Resolves host names, within a time limit."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import OrderedDict
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.net.addresses import Address

SECONDS = 5.0
MAX_ADDRESSES = 64  # no honest name has more
AT_ONCE = 64
KEPT_SECONDS = 30.0
MAX_KEPT = 4096  # names
NXDOMAIN = "nxdomain"  # the `cause` of a failure if the name does not exist; other failures may be temporary
NO_ADDRESS = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))  # no such name; none of its own


class Resolver(Protocol):
    """Returns every address of a name, or raises `dns_failed`."""

    async def resolve(self, host: str) -> Sequence[Address]: ...


class CachingResolver:
    """Caches the answers of another resolver for a short time.

    It keeps addresses, not verdicts: the guard judges them each time, and only judged addresses are dialled. Failures
    are not cached.
    """

    def __init__(
        self, resolver: Resolver, seconds: float = KEPT_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._resolver, self._seconds, self._clock = resolver, seconds, clock
        self._kept: OrderedDict[str, tuple[float, Sequence[Address]]] = OrderedDict()

    async def resolve(self, host: str) -> Sequence[Address]:
        kept = self._kept.get(host)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        found = tuple(await self._resolver.resolve(host))
        self._kept[host] = self._clock() + self._seconds, found
        self._kept.move_to_end(host)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return found


class SystemResolver:
    """The system's resolver, including its hosts file.

    Each lookup has its own daemon thread, so that a name server that never responds delays neither other lookups nor,
    as threads of an executor would, the exit of the process.
    """

    def __init__(self, seconds: float = SECONDS, at_once: int = AT_ONCE) -> None:
        self._seconds = seconds
        self._slots = asyncio.Semaphore(at_once)

    async def resolve(self, host: str) -> Sequence[Address]:
        try:
            async with asyncio.timeout(self._seconds), self._slots:
                return await _look_up(host)
        except TimeoutError:
            raise failed(host, f"no answer within {self._seconds:g} s") from None


async def _look_up(host: str) -> Sequence[Address]:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Sequence[Address]] = loop.create_future()

    def look_up() -> None:
        try:
            found = _addresses(host)
        except SpanielError as error:
            outcome: Sequence[Address] | SpanielError = error
        else:
            outcome = found
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    def settle(outcome: Sequence[Address] | SpanielError) -> None:
        if answer.done():  # cancelled
            return
        if isinstance(outcome, SpanielError):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    threading.Thread(target=look_up, name=f"resolve {host}", daemon=True).start()
    return await answer


def _addresses(host: str) -> Sequence[Address]:
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        unknown = isinstance(error, socket.gaierror) and error.errno in NO_ADDRESS
        raise failed(host, getattr(error, "strerror", None) or str(error), NXDOMAIN if unknown else None) from None
    # An IPv6 address may have a scope ("fe80::1%eth0"); it is link-local then, and judged as such.
    found = dict.fromkeys(ip_address(str(info[4][0]).partition("%")[0]) for info in infos)
    return tuple(found)


def failed(host: str, error: str, cause: str | None = None) -> SpanielError:
    return SpanielError(Code.DNS_FAILED, host=host, error=error, cause=cause)
