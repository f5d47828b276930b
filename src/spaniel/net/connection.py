"""One HTTP connection: sends a request, reads its response, and detects unsolicited data."""

from __future__ import annotations

import asyncio
import ssl
from socket import MSG_PEEK
from typing import TYPE_CHECKING, NamedTuple, cast

from spaniel.net.responses import BrokenBodyError, MalformedError, NoResponseError, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.net.sockets import CountedSocket

MAX_BUFFERED = 1 << 17  # unread bytes of a body; above this the transport stops reading


class Peer(NamedTuple):
    """The other end of a connection."""

    address: str
    certificate_ends: float | None  # seconds since 1970; None without TLS


class Connection(asyncio.BufferedProtocol):
    """Carries one exchange at a time."""

    __slots__ = (
        "_abort",
        "_answer",
        "_buffer",
        "_error",
        "_loop",
        "_paused",
        "_peer",
        "_socket",
        "_transport",
        "_waiter",
        "closed",
        "idle_since",
        "stalled",
    )  # fmt: skip

    _transport: asyncio.Transport
    idle_since: float  # loop time at which the pool took it back

    def __init__(self, sock: CountedSocket, buffer: memoryview) -> None:
        self._buffer = buffer  # shared by all connections; holds nothing between two calls
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._abort: Callable[[], None] = sock.close  # replaced by the transport's once there is one
        self._answer: Response | None = None  # the current response, or the last one
        self._waiter: asyncio.Future[None] | None = None  # set while a caller waits for more data
        self._error: Exception | None = None
        self._paused = False
        self._peer: Peer | None = None
        self.closed = False
        self.stalled = False  # no response within the time that a reused connection has

    @property
    def usable(self) -> bool:
        """Whether it can carry another request: it is open and no data has arrived since the last response.

        The socket is checked too: unread data on it would be taken for the next response.
        """
        if self.closed:
            return False
        try:
            self._socket.recv(1, MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            pass
        return False

    @property
    def peer(self) -> Peer:
        """Looked up once, after the first response."""
        if self._peer is None:
            found, certificate = self._transport.get_extra_info("peername"), self._transport.get_extra_info("peercert")
            ends = float(ssl.cert_time_to_seconds(certificate["notAfter"])) if certificate else None
            self._peer = Peer(str(found[0]) if found else "", ends)
        return self._peer

    async def ask(self, request: bytes, *, bodiless: bool) -> Response:
        """Send a request and return the response once its head is complete."""
        answer = self._answer = Response(bodiless=bodiless)
        if self.closed:
            raise NoResponseError
        try:
            self._transport.write(request)
            while not answer.headed:
                await self._more()
        except BaseException:
            self.close()
            raise
        return answer

    @property
    def answered(self) -> bool:
        """Whether any byte of a response has arrived."""
        return self._answer is not None and self._answer.begun

    def stall(self) -> None:
        """End the wait for a response's head with a timeout."""
        if self._answer is not None and not self._answer.headed:
            self.stalled = True
            self._fail(TimeoutError())

    async def read(self, answer: Response) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not answer.size:
            if answer.complete and self._error is None:
                return b""
            await self._more()
        data = b"".join(answer.pieces)
        answer.pieces, answer.size = [], 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    def _more(self) -> asyncio.Future[None]:
        """A future that resolves when more data arrives."""
        if self._error is not None:
            raise self._error
        self._waiter = waiter = self._loop.create_future()
        return waiter

    async def secure(self, tls: ssl.SSLContext, name: str) -> None:
        """Do the TLS handshake. Data that arrives before a request is not a response."""
        self._answer = None
        if self.closed:
            raise ConnectionResetError
        secured = await self._loop.start_tls(self._transport, self, tls, server_hostname=name)
        self.connection_made(cast("asyncio.Transport", secured))

    def finish(self) -> bool:
        """End the exchange; return whether the connection can be reused. If not, it is closed."""
        answer, self._answer = self._answer, None
        fit = answer is not None and answer.complete and answer.persistent and not answer.unsolicited
        if not fit or self.closed or self._paused:
            self.close()
            return False
        return True

    def close(self) -> None:
        """Close at once, without waiting for pending data or for TLS close_notify."""
        self.closed = True
        self._error = self._error or NoResponseError()  # a body cut by us must not look complete to a waiting reader
        self._abort()  # wakes a waiting reader through `connection_lost`

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._abort = self._transport.abort

    def get_buffer(self, _: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, size: int) -> None:
        answer = self._answer
        if answer is None:  # data without a request
            self.close()
            return
        try:
            answer.feed(self._buffer[:size])
        except (MalformedError, BrokenBodyError) as error:
            self._fail(error)
            return
        if answer.size > MAX_BUFFERED:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if self._answer is not None:
            self._error = self._error or self._answer.end(error)
        self._wake()

    def _fail(self, error: Exception) -> None:
        self._error = error
        self.close()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
