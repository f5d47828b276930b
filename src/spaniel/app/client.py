"""The Python surface: `Spaniel`, a client that is opened once and used for many fetches."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

from spaniel.app.behaviour import http_for, limits_for, robots_for, ttl_days_for
from spaniel.app.paths import cache_dir
from spaniel.app.proxies import system_proxies
from spaniel.app.rooms import open_rooms
from spaniel.app.settings import Settings, load
from spaniel.browser.pool import Renderer
from spaniel.cache import CacheSettings, PageCache
from spaniel.pipeline.fetch import Fresh, Kit, fetch
from spaniel.pipeline.flights import Flights
from spaniel.pipeline.profile import DEFAULT, Profile
from spaniel.pipeline.profile import load as load_profile
from spaniel.pipeline.rendering import Browser
from spaniel.pipeline.request import Request
from spaniel.pipeline.threads import Threads
from spaniel.url.hostlists import domains

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.net.guard import Guard
    from spaniel.net.proxy import Proxies
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.trace import Trace


class Spaniel:
    """Fetches pages. Use it as `async with Spaniel() as spaniel:`; it may be used by many tasks at once."""

    def __init__(
        self,
        settings: Settings | None = None,
        resolver: Resolver | None = None,
        profile: str | os.PathLike[str] | Profile = DEFAULT,
    ) -> None:
        self._settings = load() if settings is None else settings
        self._profile = profile if isinstance(profile, Profile) else load_profile(profile)
        self._resolver = resolver
        self._open = AsyncExitStack()
        self._kit: Kit | None = None

    async def __aenter__(self) -> Spaniel:
        settings, profile = self._settings, self._profile
        limits = limits_for(profile, settings)
        cache = self._open.enter_context(PageCache(cache_settings(settings))) if profile.cached else None
        proxies = system_proxies(os.environ) if settings["tools.webfetch.http.use_system_proxy"] else None
        http, robots = http_for(profile, settings), robots_for(profile, settings)
        rooms = await self._open.enter_async_context(
            open_rooms(settings.security, http, robots, self._resolver, proxies, cache_dir(settings))
        )
        ttl = timedelta(days=ttl_days_for(profile, settings))
        threads = self._open.enter_context(Threads())
        browser = self._browser(rooms.guard, http.user_agent, proxies)
        flights: Flights[Fresh] = Flights()
        self._open.push_async_callback(flights.close)  # before the rooms that it works in
        self._kit = Kit(rooms.door, profile, limits, flights, threads, cache, ttl, browser=browser)
        return self

    def _browser(self, guard: Guard, user_agent: str, proxies: Proxies | None) -> Browser:
        """Chromium itself is started when a page first needs it."""
        settings = self._settings
        renderer = None
        if settings["tools.webfetch.browser.enabled"]:
            renderer = Renderer(guard, settings.browser._replace(user_agent=user_agent), proxies)
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
        self,
        request: Request,
        trace: Trace | None = None,
        max_bytes: int | None = None,
        picture: Callable[[bytes], None] | None = None,
    ) -> Answer:
        """The same for a `Request`; with `max_bytes`, `Answer.as_dict()` fits into them (FR-WF-03a).

        `picture` gets the page as a PNG, for which it is rendered afresh.
        """
        kit = self._kit
        if kit is None:
            raise RuntimeError("this Spaniel is not open: use it as 'async with Spaniel() as spaniel'")
        if picture is not None:
            request = request._replace(no_cache=True, force_browser=True)
            kit = kit._replace(browser=kit.browser._replace(picture=picture))
        return await fetch(request, kit, trace, max_bytes)


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
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # as it should be: nobody waits in an event loop here
    else:
        raise RuntimeError("an event loop is running here: write 'await spaniel.afetch(url)'")
    return asyncio.run(afetch(url, max_chunk_tokens, no_cache=no_cache, force_browser=force_browser))
