"""Connections, kept apart: each pinned target has its own.

A connection is reused only for the same scheme, name, port and judged addresses; so neither another name on the same
address nor a new answer for the same name ever meets an old connection.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

from spaniel.errors import Code, SpanielError
from spaniel.net.connector import Connector
from spaniel.net.deadline import Alarm
from spaniel.net.requests import proxied, request
from spaniel.net.responses import NoResponseError, Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spaniel.net.connection import Connection, Peer
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxies, Proxy
    from spaniel.url.value import Url

MOST_HOSTS = 1024  # that connections are kept of
KEEP_ALIVE_SECONDS = 15.0

Key = tuple[object, ...]
T = TypeVar("T")


class Exchange:
    """One request and its answer. A class: a generator made into a context manager takes three times as long."""

    __slots__ = (
        *(
            "_agent",
            "_deadline",
            "_is_repeatable",
            "_key",
            "_method",
            "_pool",
            "_proxy",
            "_request",
            "_stalled_at",
            "_target",
            "_wire",
        ),
        *("answer", "before_repeat", "stalled_after"),
    )

    _wire: Connection
    answer: Response

    def __init__(self, pool: Pool, method: str, target: Target, deadline: Deadline, sent: _Sent) -> None:
        self._pool, self._method, self._target, self._deadline = pool, method, target, deadline
        self._key, self._proxy, self._request, self._agent = sent
        self._is_repeatable = True
        self.stalled_after = 0.0  # seconds for an answer on a kept connection; 0: as long as the deadline
        self._stalled_at = 0.0  # when the fresh connection was asked for because the kept one stalled
        self.before_repeat: Callable[[], Awaitable[None]] | None = None

    def add_content(self, content: bytes) -> None:
        """What is not safe to repeat goes over a fresh connection: a kept one may have been closed."""
        self._request += content
        self._is_repeatable = False

    async def __aenter__(self) -> Exchange:
        answer = await self._with_place(self._ask_kept if self._is_repeatable else self._ask_anew)
        if answer is None:
            if self.before_repeat is not None:
                await self.before_repeat()  # to the server it is one more request, with the pause before it
            answer = await self._with_place(self._ask_anew)
        self.answer = answer
        return self

    async def _with_place(self, ask: Callable[[], Awaitable[T]]) -> T:
        """An answer with a place among all sockets, which is kept until the block is left."""
        places = self._pool.connector.sockets.places
        if not places.take():
            self._deadline.phase = "queue"  # waiting for a place among all sockets is on the clock
            await places.wait()
        try:
            answer = await ask()
        except BaseException:
            places.release()
            raise
        if answer is None:
            places.release()
        return answer

    async def _ask_kept(self) -> Response | None:
        """None where the kept connection stalled or was closed while it was idle; without one, a new one is opened."""
        kept = self._pool.take(self._key)
        if kept is None:
            return await self._ask_anew()
        alarm = Alarm(min(self.stalled_after, self._deadline.left() / 2), kept.stall) if self.stalled_after else None
        try:
            return await self._by(kept).ask(self._request, bodiless=self._method == "HEAD")
        except (NoResponseError, OSError):  # of which `TimeoutError` is one
            if kept.stalled:
                self._stalled_at = asyncio.get_running_loop().time()
                self._deadline.renew(self._deadline.seconds, self._stalled_at + self._deadline.seconds)
            elif kept.answered:
                raise
            return None  # GET and HEAD may be repeated (RFC 9112 9.3.1)
        finally:
            if alarm is not None:
                alarm.cancel()

    async def _ask_anew(self) -> Response:
        self._deadline.phase = "connect"
        scheme = str(self._key[0])
        new = await self._pool.connector.open(scheme, self._target, self._proxy, self._agent)
        answer = await self._by(new).ask(self._request, bodiless=self._method == "HEAD")
        if self._stalled_at and asyncio.get_running_loop().time() - self._stalled_at < self.stalled_after:
            self._pool.stalling(self._key)  # not a slow host: it was the old connection
        return answer

    def _by(self, wire: Connection) -> Connection:
        self._wire = wire
        self._deadline.phase = "headers"  # the request is out
        return wire

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._pool.connector.sockets.places.release()
        if kind is not None:
            self._wire.close()
        elif self._wire.finish():
            self._pool.keep(self._key, self._wire)

    @property
    def peer(self) -> Peer:
        return self._wire.peer

    @property
    def request(self) -> bytes:
        """As it was sent."""
        return self._request

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        return await self._wire.read(self.answer)

    def close(self) -> None:
        """The rest is not wanted, and the connection not used again."""
        self._wire.close()


_Sent = tuple[Key, "Proxy | None", bytes, str]


class Pool:
    """The connections of all targets that nobody uses just now, the least recently used ones closed."""

    def __init__(self, ca_file: str, proxies: Proxies | None) -> None:
        self._proxies = proxies
        self._idle: OrderedDict[Key, list[Connection]] = OrderedDict()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False
        self._stalling: set[Key] = set()  # targets that do not answer a second request of a connection
        self.connector = Connector(ca_file)

    def request(self, method: str, url: Url, target: Target, deadline: Deadline, lines: bytes, agent: str) -> Exchange:
        """The block that it is used in gets the answer, and leaving it by an error closes the connection."""
        if (target.host, target.port) != (url.host, url.effective_port):
            raise SpanielError(Code.INTERNAL, error=f"{target!r} is not the target of {url.redacted}")
        proxy = self._proxies.choose(url) if self._proxies else None
        if proxy is not None and url.scheme == "http":
            written = proxied(method, url, target, proxy, lines)
        else:
            written = request(method, url, lines)
        key: Key = (url.scheme, target.host, target.port, target.pins, proxy)
        return Exchange(self, method, target, deadline, (key, proxy, written, agent))

    def take(self, key: Key) -> Connection | None:
        """The connection that was used last, if one is left that can be used."""
        wires = self._idle.get(key)
        if not wires:
            return None
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE_SECONDS
        found = None
        while wires and found is None:
            wire = wires.pop()
            if wire.idle_since > oldest and wire.usable:
                found = wire
            else:
                wire.close()
        if not wires:
            del self._idle[key]
        return found

    def stalling(self, key: Key) -> None:
        """No connection to this target is kept from now on."""
        if len(self._stalling) >= MOST_HOSTS:
            self._stalling.clear()
        self._stalling.add(key)
        for wire in self._idle.pop(key, ()):
            wire.close()

    def keep(self, key: Key, wire: Connection) -> None:
        if self._closed or key in self._stalling or self.connector.sockets.open > self.connector.sockets.keep:
            wire.close()
            return
        loop = asyncio.get_running_loop()
        wire.idle_since = loop.time()
        self._idle.setdefault(key, []).append(wire)
        self._idle.move_to_end(key)
        if len(self._idle) > MOST_HOSTS:
            for other in self._idle.popitem(last=False)[1]:
                other.close()
        if self._sweeper is None:
            self._sweeper = loop.call_later(KEEP_ALIVE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close what nobody has used for a while; one timer for all costs less than one for each."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - KEEP_ALIVE_SECONDS
        for key, wires in list(self._idle.items()):
            young = [wire for wire in wires if wire.idle_since > oldest]
            for wire in set(wires) - set(young):
                wire.close()
            if young:
                self._idle[key] = young
            else:
                del self._idle[key]
        self._sweeper = loop.call_later(KEEP_ALIVE_SECONDS, self._sweep) if self._idle else None

    async def close(self) -> None:
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for wires in self._idle.values():
            for wire in wires:
                wire.close()
        self._idle.clear()
        for _ in range(2):  # for the last of them to be closed
            await asyncio.sleep(0)
