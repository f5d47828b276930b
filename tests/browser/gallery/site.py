"""What the gallery's pages ask for: slow answers, streams, events, a WebSocket, scripts."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from spaniel.testing import Reply, Site
from tests.browser.gallery.applications import APPLICATIONS, SERVED
from tests.browser.gallery.waiting import ARRIVED, WAITING

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPTS = {
    "/fetching.js": "fetch('/slow?ms=120').then(() => postMessage(1))",
    "/shared.js": "onconnect = (e) => fetch('/json').then(() => e.ports[0].postMessage(1))",
    "/late.js": "fetch('/json').then(show)",
    "/jsonp.js": "arrived()",
    "/module.js": "await new Promise((done) => setTimeout(done, 50)); export default 1",
    "/service.js": "oninstall = () => skipWaiting()",
}
TEXTS = {
    "/json": ("application/json", f'{{"text": "{ARRIVED}"}}'),
    "/list.xml": ("text/xml", "<list><item/></list>"),
    "/list.xsl": ("text/xml", "<x/>"),
}
SET_UP = Path(sys.prefix, "gallery")
FOLDERS = {"npm": "node_modules", "built": "built"}
PIECES, PIECE_SECONDS = 6, 0.1
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


class Gallery(Site):
    """Serves `/bare/NAME` and `/text/NAME`, what those pages ask for, and `more` by path."""

    def __init__(self, address: str = "127.0.0.1", more: Mapping[str, Reply] | None = None) -> None:
        super().__init__({**dict(_scripts()), **(more or {})}, address)

    def reply(self, path: str) -> Reply | None:
        form, _, name = unquote(path.partition("?")[0]).removeprefix("/").partition("/")
        if form in ("bare", "text") and name in WAITING:
            return 200, {"Content-Type": "text/html"}, WAITING[name].page(bare=form == "bare").encode()
        if form == "app" and name in APPLICATIONS:
            return 200, {"Content-Type": "text/html; charset=utf-8"}, APPLICATIONS[name].encode()
        if form in FOLDERS and ".." not in name:
            file = SET_UP / FOLDERS[form] / name
            return (
                (200, {"Content-Type": "text/javascript; charset=utf-8"}, file.read_bytes()) if file.is_file() else None
            )
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n")).decode("latin-1")
        path = head.split()[1] if head.count(" ") == 2 else ""
        special = {"/slow": _slow, "/stream": _stream, "/events": _events, "/socket": _socket}.get(
            path.partition("?")[0]
        )
        if special is None:
            again = asyncio.StreamReader()
            again.feed_data(head.encode("latin-1"))
            pump = asyncio.create_task(_pump(reader, again))
            try:
                await super()._serve(again, writer)
            finally:
                pump.cancel()
            return
        self._open.add(writer)
        try:
            fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests[path] += 1
            await special(path, fields, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


def _scripts() -> list[tuple[str, Reply]]:
    scripts = [(path, (200, {"Content-Type": "text/javascript"}, text.encode())) for path, text in SCRIPTS.items()]
    texts = {**TEXTS, **SERVED}
    return [*scripts, *((path, (200, {"Content-Type": kind}, text.encode())) for path, (kind, text) in texts.items())]


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamReader) -> None:
    while piece := await source.read(65_536):
        sink.feed_data(piece)
    sink.feed_eof()


async def _slow(path: str, _fields: str, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(int(path.partition("ms=")[2]) / 1000)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\nslow")
    await writer.drain()


async def _stream(_path: str, _fields: str, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(PIECES):
        writer.write(b"6\r\npiece \r\n")
        await writer.drain()
        await asyncio.sleep(PIECE_SECONDS)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _events(path: str, _fields: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    for pause in (0.3, 0.4, 0.4) if path.endswith("several") else (0.1,):
        await asyncio.sleep(pause)
        writer.write(b"data: x\n\n")
        await writer.drain()
    await reader.read()  # it stays open


async def _socket(path: str, fields: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    named = dict(
        line.lower().split(": ", 1)[:1] + [line.split(": ", 1)[1]] for line in fields.split("\r\n") if ": " in line
    )
    accept = b64encode(hashlib.sha1((named["sec-websocket-key"] + MAGIC).encode()).digest()).decode()  # noqa: S324
    writer.write(
        "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
    )
    if path.endswith("echo"):
        await reader.readexactly(7)
    await asyncio.sleep(0.1)
    writer.write(b"\x81\x01x")
    await writer.drain()
    await reader.read()
