"""The packaged site, on loopback, for the length of the tour."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SITE = Path(__file__).parent / "site"
PAGES = {"/otters": "otters.html", "/guide": "guide.html", "/robots.txt": "robots.txt"}
REDIRECTS = {"/old-otters": "/otters", "/inside": "http://169.254.169.254/latest/meta-data/"}


@asynccontextmanager
async def serve() -> AsyncIterator[int]:
    """Serve the site; the block gets its port."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
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
        pass  # whoever asked has gone
    finally:
        writer.close()


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
