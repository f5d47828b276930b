"""Runs the application with uvicorn: bounded heads, a graceful stop, several workers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from spaniel.api.metrics import SHARED
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.api.gate import Application

log = logging.getLogger("spaniel.api")
MOST_HEAD_BYTES = 64 << 10  # of a request line and its headers
MOST_HELD_BYTES = 16 << 10  # of one write, until the next turn of the loop
HEAD_SECONDS = 10.0  # from the first byte of a request to the end of its headers
CLOSE_SECONDS = 30.0  # for a client to take what is left of a response when its connection is closed
IDLE_SECONDS = 65  # of a kept connection; longer than the 60 s of common proxies, which then close it themselves
STOP_SECONDS = 20  # for requests that are being served when the server stops
MOST_CONNECTIONS = 4_096
RESTART_SECONDS = 1.0
BACKLOG = 2_048


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits for the head of a request, which uvicorn does not have."""

    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_OneWrite(transport, self.loop))
        if len(self.connections) > MOST_CONNECTIONS:
            self._end(503, "Too many connections")
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            if self._head_timer is None:
                self._expect_head()
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self._has_head(data):
                self._end(431, "The headers of the request are too large")
                return
        super().data_received(data)

    def _has_head(self, data: bytes) -> bool:
        """Whether the head ends in the first bytes of this piece: a body may follow it in the same one."""
        end = data.find(b"\r\n\r\n")
        return end >= 0 and self._head_bytes - len(data) + end <= MOST_HEAD_BYTES

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._cancel_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body, self._head_bytes = False, 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._end, 408, "The headers did not arrive in time")

    def _cancel_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end(self, status: int, reason: str) -> None:
        self._cancel_timer()
        if self.transport.is_closing():
            return
        body = reason.encode()
        self.transport.write(
            b"HTTP/1.1 %d \r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (status, len(body), body)
        )
        self.transport.close()


class _OneWrite(asyncio.Transport):
    """Puts what is written in one turn of the loop into one packet: a response comes as its head and its body."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._to, self._loop = transport, loop
        self._held: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(bytes(data))
        if len(data) > MOST_HELD_BYTES:  # at once: a slow reader then stops the writer
            self._flush()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held and not self._to.is_closing():
            self._to.write(held[0] if len(held) == 1 else b"".join(held))

    def close(self) -> None:
        """What is written is still sent, but a client that does not read it cannot hold the connection."""
        self._flush()
        self._to.close()
        self._loop.call_later(CLOSE_SECONDS, self._to.abort)

    def abort(self) -> None:
        self._held.clear()
        self._to.abort()

    def is_closing(self) -> bool:
        return self._to.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._to.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._to.pause_reading()

    def resume_reading(self) -> None:
        self._to.resume_reading()


class _Server(uvicorn.Server):
    """Signals are handled by us: uvicorn raises the one it got again after a clean stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; `bad_args` with the reason if there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.getaddrinfo(host, port, family if ":" in host else 0, socket.SOCK_STREAM)[0]
        sock = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)  # with it, asyncio sets TCP_NODELAY
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(found[4])
    except OSError as error:
        reason = f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port"
        raise SpanielError(Code.BAD_ARGS, field="--host" if isinstance(error, socket.gaierror) else "--port",
                           reason=reason) from None  # fmt: skip
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


def server_for(app: Application) -> uvicorn.Server:
    """A server for the running event loop."""
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return _Server(config)


def serve(app: Application, sock: socket.socket, started: Callable[[], None] = lambda: None) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    server = server_for(app)
    received: list[int] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def stop(number: int) -> None:
            if received:
                server.force_exit = True
            received.append(number)
            server.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, stop, number)
        serving = asyncio.ensure_future(server.serve(sockets=[sock]))
        while not server.started and not serving.done():  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.01)
        if server.started:
            started()
        await serving

    asyncio.run(run())
    if not received and not server.started:
        return 1  # the application could not start; its log entry says why
    return 128 + signal.SIGINT if received and received[0] == signal.SIGINT else 0


def serve_workers(
    command: Sequence[str], variable: str, sock: socket.socket, count: int, started: Callable[[], None]
) -> int:
    """Several processes that accept from one socket, whose number `variable` has. One that dies is replaced."""
    folder = tempfile.mkdtemp(prefix="spaniel-metrics-")
    sock.set_inheritable(True)
    environ = {**os.environ, SHARED: folder, variable: str(sock.fileno())}
    stopping: list[int] = []

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603  this very program
            [sys.executable, *command], pass_fds=[sock.fileno()], env=environ
        )

    def stop(number: int, _: object = None) -> None:
        stopping.append(number)
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM if len(stopping) == 1 else signal.SIGKILL)

    processes = [start() for _ in range(count)]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    started()
    try:
        while not stopping:
            _wait_for_child(processes)
            for place, process in enumerate(processes):
                if process.poll() is not None and not stopping:
                    log.warning("a worker ended with code %s; another is started", process.returncode)
                    signal.sigtimedwait([], RESTART_SECONDS)
                    processes[place] = start()
    finally:
        for process in processes:
            try:
                process.wait(STOP_SECONDS + 5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return 128 + signal.SIGINT if stopping and stopping[0] == signal.SIGINT else 0


def _wait_for_child(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Until one of them ends, or a signal arrives."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        processes[0].wait(0.5)
