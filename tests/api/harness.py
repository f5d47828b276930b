"""A real server on loopback in the test's event loop, and a client for it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp

from spaniel.api.app import build
from spaniel.api.server import listen, server_for
from spaniel.app.serving import serve_settings
from spaniel.app.settings import Settings, from_data
from spaniel.testing import FakeResolver, Page, Site, html

PAGE = (
    "<html lang=en><head><title>Otters - a site</title><meta name=description content='About otters'></head><body>"
    "<nav><a href=/menu>Menu</a></nav><article><h1>Otters</h1><p>Otters are back at the weir, on their own. "
    "<a href='/second?a=1'>Second page</a> <img src=/otter.png alt=Otter></p><p class=note>A note beside the text, "
    "which says a little more about the weir and its otters.</p></article>"
    "<footer>Foot of the page</footer></body></html>"
)


class Served(NamedTuple):
    """A server that runs, and a session for it."""

    base: str
    http: aiohttp.ClientSession
    site: Site

    @property
    def page(self) -> str:
        return self.site.url("/otters")

    async def post(self, path: str, body: object, **headers: str) -> tuple[int, Any]:
        async with self.http.post(f"{self.base}{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.http.get(f"{self.base}{path}", headers=headers) as answer:
            kind = answer.content_type
            return answer.status, await (answer.json() if kind == "application/json" else answer.text())


def pages() -> dict[str, Page]:
    return {"/otters": html(PAGE), "/second": html(PAGE.replace("Otters", "Second")), "/other": html(PAGE)}


@asynccontextmanager
async def serving(
    own_site: Site | None = None, *, host: str = "127.0.0.1", webfetch: dict[str, Any] | None = None, **serve: Any
) -> AsyncIterator[Served]:
    """The service for a site on loopback. Settings of `[spaniel.serve]` are given by name."""
    async with contextlib.AsyncExitStack() as stack:
        site = own_site if own_site is not None else await stack.enter_async_context(Site(pages()))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="spaniel-test-"))
        security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port]}
        writable = serve.pop("writable", False)
        registry = serve.pop("registry", "urls")
        data = {
            "tools": {"webfetch": {"cache_dir": f"{folder}/cache", "security": security, **(webfetch or {})}},
            "spaniel": {"serve": {"jobs_folder": f"{folder}/jobs", **serve}, "registry": {"folder": registry}},
        }
        settings = from_data(data, "test")
        served = running(settings, site, host=host, writable=writable)
        yield await stack.enter_async_context(served)


@asynccontextmanager
async def running(
    settings: Settings, site: Site, *, host: str = "127.0.0.1", writable: bool = False
) -> AsyncIterator[Served]:
    """The service with these settings."""
    async with contextlib.AsyncExitStack() as stack:
        sock = listen("127.0.0.1", 0)
        own = serve_settings(settings, host, sock.getsockname()[1], writable=writable)
        server = server_for(build(settings, own, resolver=FakeResolver()))
        task = asyncio.create_task(server.serve(sockets=[sock]))
        stack.push_async_callback(_stop, server, task)
        while not server.started and not task.done():  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.01)
        if task.done():
            task.result()
            raise AssertionError("the server did not start")
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield Served(f"http://127.0.0.1:{own.port}", session, site)


async def _stop(server: Any, task: asyncio.Task[None]) -> None:
    server.should_exit = True
    await task
