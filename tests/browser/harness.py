"""A site on loopback that passes for the web, a victim that does not, and Chromium between them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from spaniel.app.client import Spaniel
from spaniel.browser.renderer import Renderer
from spaniel.browser.rendering import BrowserSettings, RenderedPage, RenderRequest
from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard, Target
from spaniel.net.sockets import stop_accepting
from spaniel.pipeline.answer import Answer
from spaniel.testing import FakeResolver, Page, Reply, Site, spaniel_for
from spaniel.url import Url, parse
from tests.net.harness import guard_with_a_hole

SITE = "127.0.0.2"  # passes for a public address
VICTIM = "127.0.0.66"  # is what it is
WORDS = "The otter swims in the river and eats fish. "


def chromium_path() -> str:
    return os.environ.get("FORGE_TEST_CHROMIUM_PATH", "")


def html(body: str, status: int = 200, **headers: str) -> Reply:
    fields = {"Content-Type": "text/html; charset=utf-8"} | {k.replace("_", "-"): v for k, v in headers.items()}
    return status, fields, f"<!doctype html>{body}".encode()


def script(body: str) -> Reply:
    return 200, {"Content-Type": "text/javascript"}, body.encode()


def with_chromium(browser: dict[str, object] | None = None) -> dict[str, object]:
    """The browser's settings for these tests."""
    return {"chromium_path": chromium_path(), **(browser or {})}


@asynccontextmanager
async def spaniel_at(
    pages: dict[str, Page], cache: Path, browser: dict[str, object] | None = None, **webfetch: Any
) -> AsyncIterator[tuple[Spaniel, Site]]:
    """A whole Spaniel, which may look at one site."""
    chosen = with_chromium(browser)
    webfetch.setdefault("timeout_seconds", 120)  # a busy machine takes its time
    async with Site(pages) as site, spaniel_for(site, cache=cache, browser=chosen, **webfetch) as spaniel:
        yield spaniel, site


async def fetched(
    pages: dict[str, Page], paths: Iterable[str], cache: Path, browser: dict[str, object] | None = None
) -> dict[str, Answer | SpanielError]:
    """Each page as one Spaniel with one Chromium renders it, a few at a time: its answer, or why there is none."""
    turns = asyncio.Semaphore(4)
    async with spaniel_at(pages, cache, browser) as (spaniel, site):

        async def fetch(path: str) -> Answer | SpanielError:
            async with turns:
                try:
                    return await spaniel.fetch(site.url(path), force_browser=True)
                except SpanielError as error:
                    return error

        wanted = list(paths)
        return dict(zip(wanted, await asyncio.gather(*map(fetch, wanted)), strict=True))


async def anyone(_url: Url, _target: Target, /) -> str | None:
    return None


class Web:
    """The browser package alone, behind the real guard, for which only the site's address is public."""

    def __init__(self, guard: Guard, renderer: Renderer, resolver: FakeResolver) -> None:
        self.guard = guard
        self.renderer = renderer
        self.resolver = resolver

    async def render(
        self, url: str, seconds: float = 100, max_redirects: int = 5, *, picture: bool = False
    ) -> RenderedPage:
        parsed = parse(url)
        target = await self.guard.vet(parsed, Deadline(seconds))
        return await self.renderer.render(RenderRequest(parsed, target, anyone, seconds, max_redirects, picture))


@asynccontextmanager
async def open_web(
    *ports: int,
    names: dict[str, str] | None = None,
    public: tuple[str, ...] = (SITE,),
    ca_file: str = "",
    **browser: object,
) -> AsyncIterator[Web]:
    resolver = FakeResolver(names, None)
    guard = guard_with_a_hole(resolver, ports, public)
    settings = BrowserSettings(**{"chromium_path": chromium_path(), **browser})  # type: ignore[arg-type]
    renderer = Renderer(guard, settings, ca_file=ca_file)
    try:
        yield Web(guard, renderer, resolver)
    finally:
        await renderer.close()


class Victim(asyncio.DatagramProtocol):
    """Listens on one port by TCP and UDP, and counts clients."""

    def __init__(self) -> None:
        self.tcp = 0
        self.udp = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._datagrams: asyncio.DatagramTransport | None = None
        self._visitors: set[asyncio.StreamWriter] = set()

    @property
    def hits(self) -> int:
        return self.tcp + self.udp

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.udp += 1

    async def __aenter__(self) -> Victim:
        self._server = await asyncio.start_server(self._serve, VICTIM, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        self._datagrams, _ = await loop.create_datagram_endpoint(lambda: self, (VICTIM, self.port))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server and self._datagrams:
            await stop_accepting(self._server)
            self._server.close()
            self._datagrams.close()
        for visitor in self._visitors:
            visitor.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tcp += 1
        self._visitors.add(writer)
        body = b"VICTIM CONTENT"
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nAccess-Control-Allow-Origin: *\r\n"
        try:
            await reader.readline()
            writer.write(head.encode() + b"Content-Type: text/html\r\nConnection: close\r\n\r\n" + body)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


_sessions: dict[int, set[int]] = {}  # that Chromiums have been seen to have, by whose they were


def alive(parent: int | None = None) -> list[int]:
    """The Chromium processes of this process (or of another), but for those that only wait to be reaped.

    A Chromium's folder is named on its command line; its children are known by their session, which it leads.
    """
    owner = parent or os.getpid()
    marker = f"spaniel-chromium-{owner}-".encode()
    sessions = _sessions.setdefault(owner, set())
    running: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            command = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if fields[0] != b"Z":
            running[int(name)] = int(fields[3])
            if marker in command:
                sessions.add(int(fields[3]))
    return [pid for pid, session in running.items() if session in sessions]


async def all_gone(parent: int | None = None, seconds: float = 60.0) -> bool:
    end = asyncio.get_running_loop().time() + seconds
    while alive(parent) and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return not alive(parent)
