"""The connection pool, keyed by target.

A connection is reused only for the same scheme, name, port and vetted addresses, so another name on the same address,
or a new DNS answer for the same name, never gets an old connection.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

from spaniel.errors import Code, SpanielError
from spaniel.net.connector import Connector
from spaniel.net.deadline import Alarm
from spaniel.net.proxy import proxied, request
from spaniel.net.responses import NoResponseError, Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spaniel.net.connection import Connection, Peer
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxies, Proxy
    from spaniel.url.value import Url

MAX_HOSTS = 1024  # with idle connections
KEEP_ALIVE_SECONDS = 15.0

Key = tuple[object, ...]
T = TypeVar("T")


class Exchange:
    """One request and its response, a context manager (as a class, since `asynccontextmanager` takes three times as
    long).
    """

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
            "_connection",
        ),
        *("answer", "before_repeat", "stalled_after"),
    )

    _connection: Connection
    answer: Response

    def __init__(self, pool: Pool, method: str, target: Target, deadline: Deadline, sent: _Sent) -> None:
        self._pool, self._method, self._target, self._deadline = pool, method, target, deadline
        self._key, self._proxy, self._request, self._agent = sent
        self._is_repeatable = True
        self.stalled_after = 0.0  # seconds for a response on a reused connection; 0: until the deadline
        self._stalled_at = 0.0  # when a reused connection stalled
        self.before_repeat: Callable[[], Awaitable[None]] | None = None

    def add_content(self, content: bytes) -> None:
        """What must not be repeated goes over a new connection: a kept one may have been closed."""
        self._request += content
        self._is_repeatable = False

    async def __aenter__(self) -> Exchange:
        answer = await self._with_slot(self._ask_kept if self._is_repeatable else self._ask_anew)
        if answer is None:
            if self.before_repeat is not None:
                await self.before_repeat()  # for the server it is another request, which needs the delay before it
            answer = await self._with_slot(self._ask_anew)
        self.answer = answer
        return self

    async def _with_slot(self, ask: Callable[[], Awaitable[T]]) -> T:
        """A response; the exchange keeps its socket slot until its block is left."""
        slots = self._pool.connector.sockets.slots
        if not slots.take():
            self._deadline.phase = "queue"  # waiting for a slot counts
            await slots.wait()
        try:
            answer = await ask()
        except BaseException:
            slots.release()
            raise
        if answer is None:
            slots.release()
        return answer

    async def _ask_kept(self) -> Response | None:
        """Use an idle connection, or open one. None if the idle one stalled or had been closed."""
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
            self._pool.add_stalling(self._key)  # the new connection was fast, so the old one was the problem
        return answer

    def _by(self, connection: Connection) -> Connection:
        self._connection = connection
        self._deadline.phase = "headers"  # the request is out
        return connection

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._pool.connector.sockets.slots.release()
        if kind is not None:
            self._connection.close()
        elif self._connection.finish():
            self._pool.keep(self._key, self._connection)

    @property
    def peer(self) -> Peer:
        return self._connection.peer

    @property
    def request(self) -> bytes:
        """The request head as sent."""
        return self._request

    async def read(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        return await self._connection.read(self.answer)

    def close(self) -> None:
        """Skip the rest of the body; the connection is not reused."""
        self._connection.close()


_Sent = tuple[Key, "Proxy | None", bytes, str]


class Pool:
    """Idle connections of all targets; the least recently used ones are closed."""

    def __init__(self, ca_file: str, proxies: Proxies | None) -> None:
        self._proxies = proxies
        self._idle: OrderedDict[Key, list[Connection]] = OrderedDict()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False
        self._stalling: set[Key] = set()  # targets that do not respond to a second request on a connection
        self.connector = Connector(ca_file)

    def request(self, method: str, url: Url, target: Target, deadline: Deadline, lines: bytes, agent: str) -> Exchange:
        """An exchange, to be entered for the response; leaving it by an error closes the connection."""
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
        """The most recently used connection that is still usable."""
        connections = self._idle.get(key)
        if not connections:
            return None
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE_SECONDS
        found = None
        while connections and found is None:
            connection = connections.pop()
            if connection.idle_since > oldest and connection.usable:
                found = connection
            else:
                connection.close()
        if not connections:
            del self._idle[key]
        return found

    def add_stalling(self, key: Key) -> None:
        """Do not reuse connections to this target from now on."""
        if len(self._stalling) >= MAX_HOSTS:
            self._stalling.clear()
        self._stalling.add(key)
        for connection in self._idle.pop(key, ()):
            connection.close()

    def keep(self, key: Key, connection: Connection) -> None:
        if self._closed or key in self._stalling or self.connector.sockets.open > self.connector.sockets.keep:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.setdefault(key, []).append(connection)
        self._idle.move_to_end(key)
        if len(self._idle) > MAX_HOSTS:
            for other in self._idle.popitem(last=False)[1]:
                other.close()
        if self._sweeper is None:
            self._sweeper = loop.call_later(KEEP_ALIVE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close connections that were idle for too long; one timer serves all."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - KEEP_ALIVE_SECONDS
        for key, connections in list(self._idle.items()):
            young = [connection for connection in connections if connection.idle_since > oldest]
            for connection in set(connections) - set(young):
                connection.close()
            if young:
                self._idle[key] = young
            else:
                del self._idle[key]
        self._sweeper = loop.call_later(KEEP_ALIVE_SECONDS, self._sweep) if self._idle else None

    async def close(self) -> None:
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()
        for _ in range(2):  # lets the last transports close
            await asyncio.sleep(0)
