"""The packages that a hop passes, and an engine, for sites on loopback."""

from __future__ import annotations

import tempfile
from typing import Any

from spaniel.app.engine import Engine
from spaniel.clock import SystemClock
from spaniel.hosts import Hosts
from spaniel.net.guard import Guard, Security
from spaniel.net.http import Http
from spaniel.net.proxy import Proxies
from spaniel.net.resolver import Resolver
from spaniel.pipeline.retrieve import Door
from spaniel.robots.gate import RobotsGate, RobotsSettings
from spaniel.testing import FakeResolver, Site, settings_for


class Services:
    """The packages that a hop passes, real ones."""

    def __init__(self, guard: Guard, http: Http, robots: RobotsSettings | None = None) -> None:
        self.guard = guard
        self.http = http
        self.robots = RobotsGate(http, guard, robots)
        self.door = Door(guard, self.robots, Hosts(SystemClock()), http)

    async def __aenter__(self) -> Services:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.robots.close()
        await self.http.close()


def open_rooms(
    security: Security | None = None,
    resolver: Resolver | None = None,
    ca_file: str = "",
    robots: RobotsSettings | None = None,
    proxies: Proxies | None = None,
) -> Services:
    return Services(Guard(resolver or FakeResolver(), security), Http(ca_file, proxies), robots)


def rooms_for(*sites: Site, robots: RobotsSettings | None = None, resolver: Resolver | None = None) -> Services:
    """Packages that may look at loopback, at these sites' ports alone."""
    ports = tuple(site.port for site in sites)
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    return open_rooms(security, resolver, robots=robots)


def engine_for(*sites: Site, **webfetch: Any) -> Engine:
    """An engine that may look at them, with a cache of its own unless one is named."""
    cache = webfetch.pop("cache", None) or tempfile.mkdtemp()
    return Engine(settings_for(*sites, cache=cache, **webfetch), FakeResolver())
