"""The engine: everything a fetch needs, opened once for any number of profiles. `Spaniel` is a view of it."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.proxies import system_proxies, warn_of_unused_proxies
from spaniel.app.settings import Settings, load
from spaniel.browser.renderer import Renderer
from spaniel.cache import PageCache, key_for
from spaniel.cache.freshness import load as load_freshness
from spaniel.clock import SystemClock
from spaniel.hosts import Hosts, Memory
from spaniel.hosts.scheduler import PlaceClock, PlaceResolver
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard
from spaniel.net.http import Http, RequestOptions
from spaniel.net.resolver import CachingResolver, SystemResolver
from spaniel.pipeline.fetch import fetch, prepare, stored
from spaniel.pipeline.profile import DEFAULT, Profile
from spaniel.pipeline.profile import load as load_profile
from spaniel.pipeline.readers import AMONG_OTHERS, Readers, ReadingLimits
from spaniel.pipeline.request import Trace
from spaniel.pipeline.retrieve import Door
from spaniel.pipeline.services import Flights, Services, Writer
from spaniel.queue import Queue
from spaniel.robots.disk_cache import DiskCache
from spaniel.robots.gate import RobotsGate

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.browser.rendering import RenderedPage, RenderRequest
    from spaniel.cache import CacheKey
    from spaniel.clock import Clock
    from spaniel.net.guard import Target
    from spaniel.net.http import Page
    from spaniel.net.resolver import Resolver
    from spaniel.online.canonicalizer import Reach
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import Fetcher, Renders
    from spaniel.pipeline.task import Attempts
    from spaniel.url.value import Url


_USUAL = RequestOptions()
ROBOTS = "/robots.txt"  # a redirect has led to anything else that is requested here


class WorkerOptions(NamedTuple):
    """What an engine gets if it belongs to a batch worker."""

    hosts: Hosts  # of the run: every request of the engine takes a turn first
    reading: ReadingLimits = AMONG_OTHERS  # which pages are read in this process
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
        robots = self.settings.robots  # the files are stored beside the page cache
        folder, seconds = Path(self.settings.cache.folder) / "robots", robots.cache_ttl_hours * 3600
        files = DiskCache(folder, seconds, robots.cache_entries)
        self.robots = RobotsGate(http, self.guard, robots, files)

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
            rendering=self.settings.rendering,
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
        return load_profile(name, self.settings.profile_settings)

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

    def _renderer(self) -> Renders | None:
        """Chromium is started when a page first needs it."""
        if self._given_renderer is not None:
            return self._given_renderer
        if not self.settings.uses_browser:
            return None
        renderer = Renderer(self.guard, self.settings.browser, self._proxies, self.settings.ca_file)
        self._open.push_async_callback(renderer.close)
        return renderer


class PoliteHttp:
    """For robots.txt: it is a request like any other to the server."""

    def __init__(self, http: Http, hosts: Hosts) -> None:
        self._http, self._hosts = http, hosts

    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = _USUAL) -> Page:
        turn = self._hosts.turn(url.origin, deadline, shared=True)
        async with turn:
            page = await self._http.get(url, target, deadline, options._replace(before_repeat=turn.again))
            self._hosts.answered(url.origin, page.status, page.headers, led=url.target != ROBOTS)
        return page


class PoliteRenderer:
    """For the browser: what a page loads into itself belongs to its turn."""

    def __init__(self, renderer: Renders, hosts: Hosts) -> None:
        self._renderer, self._hosts = renderer, hosts

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        async with self._hosts.turn(wanted.url.host, Deadline(wanted.timeout_seconds), shared=True):
            return await self._renderer.render(wanted)
