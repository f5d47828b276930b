"""Chromium's DevTools protocol over a pair of pipes: JSON messages, each terminated by a NUL.

A pipe, because a debugging port is open to every process of the machine.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

Params = dict[str, Any]

LARGEST = 256 << 20  # bytes of one message: a browser that sends more has been compromised


class CdpError(Exception):
    """Chromium refused a command, or has exited."""


class BrowserGoneError(CdpError):
    """The pipe is closed: no response will come."""


class CdpConnection:
    """The two pipes of one Chromium. `hear` gets the events of the browser itself, each session those of its own."""

    def __init__(self) -> None:
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Params]] = {}
        self._sessions: dict[str, CdpSession] = {}
        self._out: asyncio.WriteTransport | None = None
        self._in: asyncio.ReadTransport | None = None
        self.hear: Callable[[str, Params], None] = lambda _method, _params: None
        self.gone = asyncio.Event()
        self.user_agent = ""  # Chromium's own

    async def open(self, read: int, write: int) -> None:
        """Take over two file descriptors."""
        loop = asyncio.get_running_loop()
        self._in, _ = await loop.connect_read_pipe(lambda: _Reader(self), os.fdopen(read, "rb", 0))
        self._out, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(write, "wb", 0))

    def session(self, ident: str) -> CdpSession:
        found = self._sessions.get(ident)
        if found is None:
            found = self._sessions[ident] = CdpSession(self, ident)
        return found

    def forget(self, ident: str) -> None:
        session = self._sessions.pop(ident, None)
        if session is not None:
            session.detached()

    def post(self, method: str, params: Params, session: str | None = None) -> int:
        """Send a command and ignore its response."""
        if self._out is None or self.gone.is_set():
            return 0
        self._number += 1
        message: Params = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._out.write(msgspec.json.encode(message) + b"\0")
        return self._number

    def ask(self, method: str, params: Params, session: str | None = None) -> asyncio.Future[Params]:
        """Send a command; the future gets its result, or `CdpError`."""
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        number = self.post(method, params, session)
        if number:
            self._waiting[number] = future
        else:
            future.set_exception(BrowserGoneError("Chromium has gone"))
        return future

    def call(self, method: str, **params: object) -> asyncio.Future[Params]:
        return self.ask(method, params)

    def close(self) -> None:
        if self._in is not None:
            self._in.close()
        if self._out is not None and not self._out.is_closing():
            self._out.abort()
        self.lost()

    def lost(self) -> None:
        """The pipe was closed: fail all pending commands."""
        self.gone.set()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            _fail(future, BrowserGoneError("Chromium has gone"))
        for session in list(self._sessions.values()):
            session.detached()

    def take(self, message: bytes) -> None:
        """One whole message."""
        data = _decode(message)
        number = data.get("id")
        if number is None:
            self._event(data)
            return
        future = self._waiting.pop(number, None)
        if future is None or future.done():
            return
        if error := data.get("error"):
            _fail(future, CdpError(str(error.get("message"))))
        else:
            future.set_result(data.get("result", {}))

    def _event(self, data: Params) -> None:
        ident = data.get("sessionId")
        if ident is None:
            self.hear(data["method"], data["params"])
            return
        session = self._sessions.get(ident)
        if session is not None:
            session.hear(data["method"], data["params"])


class CdpSession:
    """One target (a page, a frame, a worker)."""

    def __init__(self, cdp: CdpConnection, ident: str) -> None:
        self._cdp = cdp
        self.ident = ident
        self.hear: Callable[[str, Params], None] = lambda _method, _params: None
        self.detached: Callable[[], None] = lambda: None

    def call(self, method: str, **params: object) -> asyncio.Future[Params]:
        return self._cdp.ask(method, params, self.ident)

    def post(self, method: str, **params: object) -> None:
        self._cdp.post(method, params, self.ident)


class _Reader(asyncio.Protocol):
    """Splits the stream into messages."""

    def __init__(self, cdp: CdpConnection) -> None:
        self._cdp = cdp
        self._parts: list[bytes] = []
        self._size = 0

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\0")
        for message in whole:
            if self._parts:
                message = b"".join((*self._parts, message))  # noqa: PLW2901
                self._parts, self._size = [], 0
            self._cdp.take(message)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > LARGEST:
                self._cdp.close()

    def eof_received(self) -> None:
        self._cdp.lost()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._cdp.lost()


def _decode(message: bytes) -> Params:
    try:
        data: Params = msgspec.json.decode(message)
    except msgspec.DecodeError:  # a page may contain a lone surrogate, which the standard library accepts
        import json

        data = json.loads(message)
    return data


def _fail(future: asyncio.Future[Params], error: CdpError) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # marks it as retrieved
