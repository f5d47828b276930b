"""Serves the packaged site on loopback: during the tour, or until Ctrl-C."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SITE = Path(__file__).parent / "site"
PAGES = {
    "/": "index.html",
    "/otters": "otters.html",
    "/guide": "guide.html",
    "/empty": "empty.html",
    "/robots.txt": "robots.txt",
}
REDIRECTS = {"/old-otters": "/otters", "/inside": "http://169.254.169.254/latest/meta-data/"}


@asynccontextmanager
async def serve(port: int = 0) -> AsyncIterator[int]:
    """Serve the site; the block gets its port. 0: any that is free."""
    server = await asyncio.start_server(_answer, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        words = (await reader.readuntil(b"\r\n\r\n")).split()
        writer.write(_reply(words[1].decode("latin-1")))
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError):
        pass  # the client has disconnected
    finally:
        writer.close()


def serve_forever(port: int) -> None:
    """Serve until Ctrl-C, and print how to fetch it."""
    asyncio.run(_serve_forever(port))


async def _serve_forever(port: int) -> None:
    try:
        async with serve(port) as at:
            url = f"http://127.0.0.1:{at}/"
            refusal = SpanielError(Code.SSRF_BLOCKED, toggle="block_loopback").about(url)
            print(f"A small site is at {url} until you press Ctrl-C.\n\n{refusal.hint}\n")
            print(f"Then, in another terminal: spaniel fetch --config local.toml {url}otters", flush=True)
            await asyncio.Event().wait()
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field="--port", reason=error.strerror or str(error)) from None


def _reply(path: str) -> bytes:
    if path in REDIRECTS:
        return _message("301 Moved Permanently", f"Location: {REDIRECTS[path]}\r\n", b"")
    if path in PAGES:
        kind = "text/plain" if path.endswith(".txt") else "text/html; charset=utf-8"
        return _message("200 OK", f"Content-Type: {kind}\r\n", (SITE / PAGES[path]).read_bytes())
    return _message("404 Not Found", "", b"")


def _message(status: str, headers: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode("latin-1") + body
