"""The Python surface: `Spaniel`, a client that is opened once and used for many fetches."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from spaniel.app.paths import default_cache_dir
from spaniel.app.proxies import system_proxies
from spaniel.app.rooms import open_rooms
from spaniel.app.settings import Settings, load
from spaniel.browser.pool import Renderer
from spaniel.cache import CacheSettings, PageCache
from spaniel.pipeline.fetch import Fresh, Kit, Limits, fetch
from spaniel.pipeline.flights import Flights
from spaniel.pipeline.rendering import Browser, domains
from spaniel.pipeline.request import Request
from spaniel.url import load as load_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.net.guard import Guard
    from spaniel.net.proxy import Proxies
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.trace import Trace


class Spaniel:
    """Fetches pages. Use it as `async with Spaniel() as spaniel:`; it may be used by many tasks at once."""

    def __init__(self, settings: Settings | None = None, resolver: Resolver | None = None) -> None:
        self._settings = load() if settings is None else settings
        self._resolver = resolver
        self._open = AsyncExitStack()
        self._kit: Kit | None = None

    async def __aenter__(self) -> Spaniel:
        settings = self._settings
        cache = self._open.enter_context(PageCache(cache_settings(settings)))
        proxies = system_proxies(os.environ) if settings["tools.webfetch.http.use_system_proxy"] else None
        rooms = await self._open.enter_async_context(
            open_rooms(settings.security, settings.http, settings.robots, self._resolver, proxies, cache_dir(settings))
        )
        limits = Limits(
            settings.number("tools.webfetch.timeout_seconds"),
            settings.number("tools.webfetch.max_redirects"),
            settings.number("tools.webfetch.default_max_chunk_tokens"),
        )
        flights: Flights[Fresh] = Flights()
        self._kit = Kit(
            rooms.door, load_policy("exact"), limits, flights, cache, browser=self._browser(rooms.guard, proxies)
        )
        return self

    def _browser(self, guard: Guard, proxies: Proxies | None) -> Browser:
        """Chromium itself is started when a page first needs it."""
        settings = self._settings
        renderer = None
        if settings["tools.webfetch.browser.enabled"]:
            renderer = Renderer(guard, settings.browser, proxies)
            self._open.push_async_callback(renderer.close)
        return Browser(
            renderer,
            domains(settings["tools.webfetch.rendering.js_heavy_domains"]),  # type: ignore[arg-type]
            bool(settings["tools.webfetch.rendering.spa_fallback_enabled"]),
            settings.number("tools.webfetch.rendering.min_extracted_chars"),
        )

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._kit = None
        await self._open.aclose()

    async def fetch(
        self,
        url: str,
        max_chunk_tokens: int | None = None,
        *,
        no_cache: bool = False,
        force_browser: bool = False,
        trace: Trace | None = None,
    ) -> Answer:
        """The page behind a URL, or a `SpanielError` that says why not."""
        return await self.answer(Request(url, max_chunk_tokens, no_cache, force_browser), trace)

    async def answer(
        self, request: Request, trace: Trace | None = None, picture: Callable[[bytes], None] | None = None
    ) -> Answer:
        """The answer to a request. `picture` gets the page as a PNG, for which it is rendered afresh."""
        kit = self._kit
        if kit is None:
            raise RuntimeError("this Spaniel is not open: use it as 'async with Spaniel() as spaniel'")
        if picture is not None:
            request = request._replace(no_cache=True, force_browser=True)
            kit = kit._replace(browser=kit.browser._replace(picture=picture))
        return await fetch(request, kit, trace)


def cache_dir(settings: Settings) -> str:
    return str(settings["tools.webfetch.cache_dir"]) or default_cache_dir()


def cache_settings(settings: Settings) -> CacheSettings:
    return CacheSettings(
        cache_dir(settings),
        settings.number("tools.webfetch.cache_ttl_days"),
        settings.number("tools.webfetch.max_cache_entries"),
        settings.number("tools.webfetch.max_cache_bytes") or None,
    )


async def afetch(
    url: str, max_chunk_tokens: int | None = None, *, no_cache: bool = False, force_browser: bool = False
) -> Answer:
    """Fetch one page; for many, open a `Spaniel`."""
    async with Spaniel() as spaniel:
        return await spaniel.fetch(url, max_chunk_tokens, no_cache=no_cache, force_browser=force_browser)


def fetch_now(
    url: str, max_chunk_tokens: int | None = None, *, no_cache: bool = False, force_browser: bool = False
) -> Answer:
    """Fetch one page and wait for it: `spaniel.fetch`."""
    return asyncio.run(afetch(url, max_chunk_tokens, no_cache=no_cache, force_browser=force_browser))
