"""A real web site on loopback: pages from a table, requests counted."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from spaniel.app.client import Spaniel
from spaniel.app.settings import from_data
from spaniel.net.sockets import stop_accepting
from spaniel.pipeline.profile import DEFAULT
from spaniel.testing.fakes import FakeResolver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType
    from typing import Self

    from spaniel.app.settings import Settings
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.profile import Profile

Reply = tuple[int, dict[str, str], bytes]  # status, headers, body
Page = Reply | Callable[[], Awaitable[Reply]]

HOST = "site.example"


class Site:
    """Serves `pages` by path to GET and HEAD; other paths are a 404.

    Use it as `async with Site({"/": text("hello")}) as site:`. `requests` counts them by path and query, `seen` holds
    the headers of each, `sent` counts the bytes that went back. The table may be changed while the site is up, and a
    page may be an `async` function that returns the reply: it can wait, or raise `ConnectionError` to hang up.
    """

    def __init__(self, pages: Mapping[str, Page], address: str = "127.0.0.1") -> None:
        self.pages: dict[str, Page] = pages if isinstance(pages, dict) else dict(pages)
        self.port = 0  # known when the site is up
        self.requests: Counter[str] = Counter()
        self.seen: list[dict[str, str]] = []
        self.sent: Counter[str] = Counter()  # bytes, heads included
        self._address = address
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._address, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await stop_accepting(self._server)
            self._server.close()
        for writer in [*self._open]:
            writer.transport.abort()  # pending data is dropped
        await asyncio.sleep(0)

    def url(self, path: str = "/", host: str = HOST) -> str:
        """The address of a page. The host may have any name that the resolver sends here."""
        return f"http://{host}:{self.port}{path}"

    def reply(self, path: str) -> Reply | None:  # noqa: ARG002  for subclasses
        """Override it for dynamic replies."""
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while line := await reader.readline():
                method, path, version = line.decode("latin-1").split()
                if not version.startswith("HTTP/"):
                    raise ValueError(version)  # TLS, for example: its client would wait for a response
                await self._count(path, reader)
                page = self.reply(path) or self.pages.get(path.partition("?")[0], (404, {}, b""))
                reply = await page() if callable(page) else page
                answer = _written(reply, with_body=method != "HEAD")
                self.sent[path] += len(answer)
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, ValueError):  # disconnected, or not HTTP
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()  # unsent data keeps it open until it is aborted
            self._open.discard(writer)

    async def _count(self, path: str, reader: asyncio.StreamReader) -> None:
        headers = {}
        while (field := await reader.readline()).strip():
            name, _, value = field.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        self.requests[path] += 1
        self.seen.append(headers)


def _written(reply: Reply, *, with_body: bool) -> bytes:
    status, fields, body = reply
    head = f"HTTP/1.1 {status} Status\r\nContent-Length: {len(body)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return head.encode() + b"\r\n" + (body if with_body else b"")


def text(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """A page of plain text."""
    return status, {"Content-Type": "text/plain", **(headers or {})}, body.encode()


def html(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """A page of HTML."""
    return status, {"Content-Type": "text/html; charset=utf-8", **(headers or {})}, body.encode()


def redirect(location: str, status: int = 302) -> Reply:
    """A redirect."""
    return text("", status, {"Location": location})


def settings_for(*sites: Site, cache: str | os.PathLike[str], mode: str = "enabled", **webfetch: Any) -> Settings:
    """Settings that open loopback for these sites' ports, with the page cache in a folder of the test's.

    Further settings of `[tools.webfetch]` are given by name, its tables as dictionaries: `browser={"enabled": False}`.
    """
    security = {
        "block_loopback": False,
        "allow_insecure_overrides": True,
        "allowed_ports": [site.port for site in sites],
    }
    table = {"enabled": True, "cache_dir": os.fspath(cache), "security": security, **webfetch}
    return from_data({"tools": {"mode": mode, "webfetch": table}}, "test")


@asynccontextmanager
async def spaniel_for(
    *sites: Site,
    cache: str | os.PathLike[str] | None = None,
    resolver: Resolver | None = None,
    profile: str | os.PathLike[str] | Profile = DEFAULT,
    **webfetch: Any,
) -> AsyncIterator[Spaniel]:
    """An open Spaniel for which every name is at 127.0.0.1, where these sites are.

    Without `cache` it has one of its own, which is gone afterwards. Settings are given as to `settings_for`.
    """
    async with AsyncExitStack() as stack:
        folder = cache or stack.enter_context(tempfile.TemporaryDirectory(prefix="spaniel-test-"))
        settings = settings_for(*sites, cache=folder, **webfetch)
        yield await stack.enter_async_context(Spaniel(settings, resolver=resolver or FakeResolver(), profile=profile))
