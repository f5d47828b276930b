"""The rooms, opened for sites on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from spaniel.app.rooms import Rooms, open_rooms
from spaniel.net.guard import Security
from spaniel.net.http import HttpSettings
from spaniel.robots.gate import RobotsSettings
from spaniel.testing import FakeResolver, Site


@asynccontextmanager
async def rooms_for(
    *sites: Site,
    http: HttpSettings | None = None,
    robots: RobotsSettings | None = None,
    resolver: FakeResolver | None = None,
) -> AsyncIterator[Rooms]:
    """Rooms that may look at loopback, at these sites' ports alone."""
    ports = tuple(site.port for site in sites)
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    async with open_rooms(security, http, robots, resolver or FakeResolver()) as rooms:
        yield rooms
