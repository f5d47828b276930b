"""One connection: a request goes out, its answer comes in, and nothing else does without being noticed."""

from __future__ import annotations

import asyncio
import ssl
from socket import MSG_PEEK
from typing import TYPE_CHECKING, NamedTuple, cast

from spaniel.net.heads import MalformedError
from spaniel.net.responses import BrokenBodyError, NoResponseError, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.net.sockets import CountedSocket

MOST_HELD = 1 << 17  # bytes of a body that wait to be taken; more are left to the network until they are


class Peer(NamedTuple):
    """Who is at the other end."""

    address: str
    certificate_ends: float | None  # seconds since 1970; None without TLS


class Connection(asyncio.BufferedProtocol):
    """One exchange after another, never two at a time."""

    __slots__ = (
        "_abort", "_answer", "_error", "_loop", "_paused", "_peer", "_room", "_socket", "_transport", "_waiter",
        "closed", "idle_since", "stalled",
    )  # fmt: skip

    _transport: asyncio.Transport
    idle_since: float  # by the loop's clock, since a pool keeps it

    def __init__(self, sock: CountedSocket, room: memoryview) -> None:
        self._room = room  # where all connections read, one after another: nothing stays there between two calls
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._abort: Callable[[], None] = sock.close  # until a transport holds the socket: then that one's
        self._answer: Response | None = None  # the one that is awaited, or was the last
        self._waiter: asyncio.Future[None] | None = None  # of whoever waits for more of it
        self._error: Exception | None = None  # what has gone wrong with it
        self._paused = False
        self._peer: Peer | None = None
        self.closed = False
        self.stalled = False  # no answer came in the time that a kept connection has

    @property
    def usable(self) -> bool:
        """Whether it may be asked again: it is open, and nobody has said a word since.

        The socket is looked at too: what has arrived, and was not yet read, would pass for the next answer.
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
        """Looked up once for a connection, after its first answer."""
        if self._peer is None:
            found, certificate = self._transport.get_extra_info("peername"), self._transport.get_extra_info("peercert")
            ends = float(ssl.cert_time_to_seconds(certificate["notAfter"])) if certificate else None
            self._peer = Peer(str(found[0]) if found else "", ends)
        return self._peer

    async def ask(self, request: bytes, *, bodiless: bool) -> Response:
        """The head of the answer, and as much of its body as has come with it."""
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
        """Whether anything at all has come back."""
        return self._answer is not None and self._answer.begun

    def stall(self) -> None:
        """End the wait for the head of an answer, as a timeout."""
        if self._answer is not None and not self._answer.headed:
            self.stalled = True
            self._fail(TimeoutError())

    async def read(self, answer: Response) -> bytes:
        """The next bytes of the body; none at its end."""
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
        """To be awaited until something has come."""
        if self._error is not None:
            raise self._error
        self._waiter = waiter = self._loop.create_future()
        return waiter

    async def secure(self, tls: ssl.SSLContext, name: str) -> None:
        """Shake hands. Whatever came before, or comes before a request, is not an answer."""
        self._answer = None
        if self.closed:
            raise ConnectionResetError
        secured = await self._loop.start_tls(self._transport, self, tls, server_hostname=name)
        self.connection_made(cast("asyncio.Transport", secured))

    def finish(self) -> bool:
        """The exchange is over. Whether the connection may serve another; if not, it is closed."""
        answer, self._answer = self._answer, None
        fit = answer is not None and answer.complete and answer.persistent and not answer.unasked
        if not fit or self.closed or self._paused:
            self.close()
            return False
        return True

    def close(self) -> None:
        """At once: nobody waits for what is left, and a TLS peer that does not say goodbye holds nothing up."""
        self.closed = True
        self._error = self._error or NoResponseError()  # to whoever still waits: what we end is no end of a body
        self._abort()  # which wakes whoever waits, by `connection_lost`

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._abort = self._transport.abort

    def get_buffer(self, _: int) -> memoryview:
        return self._room

    def buffer_updated(self, size: int) -> None:
        answer = self._answer
        if answer is None:  # nobody has asked
            self.close()
            return
        try:
            answer.feed(self._room[:size])
        except (MalformedError, BrokenBodyError) as error:
            self._fail(error)
            return
        if answer.size > MOST_HELD:
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
