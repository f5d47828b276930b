"""The engine: everything a fetch needs, opened once for any number of profiles. `Spaniel` is a view of it."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.proxies import system_proxies, warn_of_unused_proxies
from spaniel.app.settings import Settings, load
from spaniel.batch.polite import PoliteHttp, PoliteRenderer
from spaniel.browser.renderer import Renderer
from spaniel.cache import PageCache, key_for
from spaniel.cache.freshness import load as load_freshness
from spaniel.clock import SystemClock
from spaniel.hosts import Hosts, Memory
from spaniel.hosts.scheduler import PlaceClock, PlaceResolver
from spaniel.net.guard import Guard
from spaniel.net.http import Http
from spaniel.net.resolver import CachingResolver, SystemResolver
from spaniel.pipeline.fetch import fetch, prepare, stored
from spaniel.pipeline.profile import DEFAULT, Overrides, Profile
from spaniel.pipeline.profile import load as load_profile
from spaniel.pipeline.readers import AMONG_OTHERS, Limits, Readers
from spaniel.pipeline.retrieve import Door
from spaniel.pipeline.services import Flights, Rendering, Services, Writer
from spaniel.pipeline.trace import Trace
from spaniel.queue import Queue
from spaniel.robots.disk_cache import DiskCache
from spaniel.robots.gate import RobotsGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.cache import CacheKey
    from spaniel.clock import Clock
    from spaniel.net.resolver import Resolver
    from spaniel.online.canonicalizer import Reach
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import Fetcher, Renders
    from spaniel.pipeline.task import Attempts


class WorkerOptions(NamedTuple):
    """What an engine gets if it belongs to a batch worker."""

    hosts: Hosts  # of the run: every request of the engine takes a turn first
    reading: Limits = AMONG_OTHERS  # which pages are read in this process
    around: Callable[[Http], Fetcher] | None = None  # the HTTP client, if raw responses are stored


class Engine:
    """Guard, connections, hosts, robots.txt files, cache and renderer, shared by all fetches: `async with Engine()`.

    A profile decides how one call behaves; many may be in use at once.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        resolver: Resolver | None = None,
        clock: Clock | None = None,
        renderer: Renders | None = None,
        worker: WorkerOptions | None = None,
    ) -> None:
        self.settings = load() if settings is None else settings
        self._clock = clock or SystemClock()
        self._given_renderer = renderer
        self._reading = worker.reading if worker else AMONG_OTHERS
        self._around = worker.around if worker else None
        self._shared_hosts = hosts = worker.hosts if worker else None
        self._open = AsyncExitStack()
        self._services: Services | None = None
        self.guard = Guard(resolver or CachingResolver(PlaceResolver(SystemResolver())), self.settings.security)
        self._proxies = system_proxies(os.environ) if self.settings.uses_system_proxy else None
        self.http = Http(self.settings.ca_file, self._proxies)
        http = self.http if hosts is None else PoliteHttp(self.http, hosts)
        self.robots = RobotsGate(http, self.guard, self.settings.robots, self._robots_files())

    async def __aenter__(self) -> Engine:
        if self._proxies is None:
            warn_of_unused_proxies(os.environ)
        self._open.push_async_callback(self.http.close)
        self._open.push_async_callback(self.robots.close)
        memory, queue = Memory(self.settings.hosts_folder), Queue(self.settings.queue)
        self._open.callback(memory.close)
        self._open.callback(queue.close)
        writer = self._open.enter_context(Writer())
        readers = await self._open.enter_async_context(Readers(limits=self._reading))
        hosts, renderer = self._shared_hosts, self._renderer()
        if hosts is not None and renderer is not None:
            renderer = PoliteRenderer(renderer, hosts)
        flights: Flights[Attempts] = Flights()
        self._open.push_async_callback(flights.close)  # before what it works in
        http = self._around(self.http) if self._around else self.http
        door = Door(self.guard, self.robots, hosts or Hosts(self._clock, memory), http)
        self._services = Services(
            *(door, PlaceClock(self._clock), flights, readers, writer),
            renderer=renderer,
            rendering=self._rendering(),
            copies=self.settings.copies,
            queue=queue,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._services = None
        await self._open.aclose()

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def services(self) -> Services:
        if self._services is None:
            raise RuntimeError("this Spaniel is not open: use it as 'async with Spaniel() as spaniel'")
        return self._services

    def profile(self, profile: str | os.PathLike[str] | Profile = DEFAULT) -> Profile:
        """A profile by name or file, completed from the settings; and what it needs, opened."""
        if not isinstance(profile, Profile):
            profile = self.read_profile(profile)
        services = self.services
        if profile.cached and services.cache is None:
            cache = PageCache(self.settings.cache, lambda: self._clock.now().timestamp())
            services = services._replace(cache=self._open.enter_context(cache))
        if profile.freshness and services.freshness is None:
            services = services._replace(freshness=load_freshness(self.settings.freshness_file))
        self._services = services
        return profile

    def read_profile(self, name: str | os.PathLike[str]) -> Profile:
        """The same, without opening anything."""
        return load_profile(name, self._given())

    async def fetch(self, request: Request, profile: Profile, trace: Trace | None = None) -> Outcome:
        return await fetch(request, profile, self.services, trace)

    def check(self, request: Request, profile: Profile, trace: Trace | None = None) -> None:
        """Raise what is refused for its form."""
        prepare(request, profile, self.services, trace or Trace())

    def stored(self, request: Request, profile: Profile, trace: Trace | None = None) -> Outcome | None:
        """The outcome of a fetch that the cache can answer; None if it cannot."""
        return stored(request, profile, self.services, trace)

    def cached_at(self, outcome: Outcome, profile: Profile) -> tuple[CacheKey, str] | None:
        """The key and the file of the stored copy that an outcome was served from; None without a cache."""
        cache, found = self.services.cache, outcome.found
        if cache is None or found is None or outcome.canonical_url is None:
            return None
        how = found.rendering_method, profile.name, profile.version, self.guard.overrides
        key = key_for(outcome.canonical_url, *how)
        return key, cache.path(key)

    def reach(self, profile: Profile) -> Reach:
        """What canonicalizing online needs: this engine's clients, and a profile's fetch options."""
        from spaniel.online.canonicalizer import Reach

        return Reach(self.services.door, self.http, profile.way, profile.limits.timeout_seconds)

    def _given(self) -> Overrides:
        settings = self.settings
        paths = {name: f"tools.webfetch.{name}" for name in (*settings.limits._fields, "user_agent")}
        return Overrides(
            settings.headers,
            settings.limits._asdict(),
            frozenset(name for name, path in paths.items() if settings.given(path)),
            frozenset(name for name, path in paths.items() if settings.asked_for(path)),
        )

    def _robots_files(self) -> DiskCache:
        """robots.txt files are stored beside the page cache."""
        robots = self.settings.robots
        folder = Path(self.settings.cache.folder) / "robots"
        return DiskCache(folder, robots.cache_ttl_hours * 3600, robots.cache_entries)

    def _renderer(self) -> Renders | None:
        """Chromium is started when a page first needs it."""
        if self._given_renderer is not None:
            return self._given_renderer
        if not self.settings.rendering.browser_enabled:
            return None
        renderer = Renderer(self.guard, self.settings.browser, self._proxies, self.settings.ca_file)
        self._open.push_async_callback(renderer.close)
        return renderer

    def _rendering(self) -> Rendering:
        own = self.settings.rendering
        return Rendering(own.js_heavy, own.spa_fallback, own.min_extracted_chars, own.empty_fallback)
