"""`spaniel mcp` as a real process, its client, and sites on loopback, good and hostile."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from spaniel.testing import Page, Site
from tests import programs

if TYPE_CHECKING:
    from mcp import Client

MODERN = "2026-07-28"
LEGACY = "legacy"  # the SDK's word for a client that shakes hands: revision 2025-11-25 and before
SPANIEL = [sys.executable, "-m", "spaniel", "mcp", "-q"]

# What a client of the current revision says with each request.
ENVELOPE: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def configured(folder: Path, *ports: int, tools: str = "", webfetch: str = "", mcp: str = "") -> str:
    """A settings file that lets the server in to these ports of loopback."""
    file = folder / "spaniel.toml"
    file.write_text(
        f'[tools]\n{tools}\n[tools.webfetch]\ncache_dir = "{folder}/cache"\n{webfetch}\n[tools.webfetch.security]\n'
        f"block_loopback = false\nallow_insecure_overrides = true\nallowed_ports = {[80, *ports]}\n"
        f"[spaniel.mcp]\n{mcp}\n",
        encoding="utf-8",
    )
    return str(file)


@asynccontextmanager
async def client_of(config: str, mode: str = MODERN, command: list[str] = SPANIEL) -> AsyncIterator[Client]:
    """The SDK's own client, with a server process of its own."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    known = programs.read_at_the_start(os.environ)
    server = StdioServerParameters(command=command[0], args=[*command[1:], "--config", config], env=known)
    with programs.forked_in_asyncio():
        async with Client(stdio_client(server), mode=mode) as client:
            yield client


@asynccontextmanager
async def served(
    pages: dict[str, Page], folder: Path, mode: str = MODERN, **file: str
) -> AsyncIterator[tuple[Client, Site]]:
    async with Site(pages) as site, client_of(configured(folder, site.port, **file), mode) as client:
        yield client, site


def at(site: Site, path: str) -> str:
    return site.url(path, "127.0.0.1")


class Raw:
    """The server's two pipes, byte by byte."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.input: IO[bytes] = process.stdin  # type: ignore[assignment]
        self.output: IO[bytes] = process.stdout  # type: ignore[assignment]
        self._number = 0

    def complaints(self) -> bytes:
        """All of its standard error, once it has ended."""
        return self.process.stderr.read()  # type: ignore[union-attr]

    def send(self, method: str, params: dict[str, Any] | None = None, *, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.write(json.dumps(message if number is None else {**message, "id": number}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        self.input.write(data)
        self.input.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a request, whatever else comes before it."""
        self._number += 1
        self.send(method, params, number=self._number)
        while True:
            message: dict[str, Any] = json.loads(self.output.readline())
            if message.get("id") == self._number:
                return message

    def modern(self, method: str, **params: Any) -> dict[str, Any]:
        return self.ask(method, {**params, "_meta": ENVELOPE})

    def shake_hands(self, version: str = "2025-06-18") -> dict[str, Any]:
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.ask("initialize", hello)
        self.send("notifications/initialized")
        return answer


@contextmanager
def raw(*options: str, command: list[str] | None = None) -> Iterator[Raw]:
    process = programs.Popen(
        [*(command or SPANIEL), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield Raw(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]


class Dripping:
    """A server that begins a page and never ends it; it knows when its visitors leave."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.left = asyncio.Event()

    async def __aenter__(self) -> Dripping:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
            if path == b"/robots.txt":
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\nslow")
            self.begun.set()
            await reader.read()  # until the other end is closed
            self.left.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()
