"""The rooms, put together."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spaniel.net.guard import Guard, Security
from spaniel.net.http import Http, HttpSettings
from spaniel.net.resolver import Resolver, SystemResolver
from spaniel.pipeline.retrieve import Door
from spaniel.robots.disk_cache import DiskCache
from spaniel.robots.gate import RobotsGate, RobotsSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spaniel.net.proxy import Proxies


class Rooms(NamedTuple):
    """What a fetch needs, opened and ready."""

    guard: Guard
    http: Http
    robots: RobotsGate

    @property
    def door(self) -> Door:
        return Door(self.guard, self.robots, self.http)


@asynccontextmanager
async def open_rooms(
    security: Security | None = None,
    http: HttpSettings | None = None,
    robots: RobotsSettings | None = None,
    resolver: Resolver | None = None,
    proxies: Proxies | None = None,
    cache_dir: str | None = None,
) -> AsyncIterator[Rooms]:
    """The rooms with their settings; closed, connections and all, when the block ends."""
    guard = Guard(resolver or SystemResolver(), security)
    async with Http(http, proxies) as client:
        gate = RobotsGate(client, guard, robots, _disk(robots or RobotsSettings(), cache_dir))
        try:
            yield Rooms(guard, client, gate)
        finally:
            await gate.close()


def _disk(settings: RobotsSettings, cache_dir: str | None) -> DiskCache | None:
    """robots.txt files stand beside the page cache, if there is a place for them."""
    return DiskCache(Path(cache_dir) / "robots", settings.cache_ttl_hours * 3600) if cache_dir else None
