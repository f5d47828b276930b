"""Batches put together: what a worker fetches with, and records for programs."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from spaniel.app.engine import Engine
from spaniel.app.settings import Setting, Settings
from spaniel.batch.records import record_of
from spaniel.net.resolver import RememberingResolver, SystemResolver
from spaniel.pipeline.request import Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from spaniel.batch.ports import Fetch, Record
    from spaniel.batch.worker import RemoteHosts
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.profile import Profile

WHERE = f"{__name__}:open_fetcher"


def wiring(settings: Settings, profile: str, *, cached: bool = False) -> dict[str, object]:
    """What a worker is told, as plain data: it reads neither files nor the environment a second time."""
    told = [(path, value, source) for path, (value, source) in settings.items()]
    return {"settings": told, "profile": profile, "cached": cached}


@asynccontextmanager
async def open_fetcher(
    told: Mapping[str, Any], hosts: RemoteHosts, resolver: Resolver | None = None
) -> AsyncIterator[Fetch]:
    """What a worker fetches with, from its wiring."""
    settings = Settings({path: Setting(_frozen(value), source) for path, value, source in told["settings"]})
    names = RememberingResolver(resolver or SystemResolver())
    async with Engine(settings, names, hosts=hosts) as engine:
        profile = engine.profile(for_batches(engine.read_profile(told["profile"]), cached=told["cached"]))

        async def fetch(url: str) -> Record:
            return record_of(await engine.fetch(Request(url), profile))

        yield fetch


def for_batches(profile: Profile, *, cached: bool) -> Profile:
    """The same without what a batch does not want: chunks, and a cache whose entries it would drive out."""
    return profile._replace(cached=profile.cached and cached, limits=profile.limits._replace(chunk_tokens=0))


def _frozen(value: Any) -> Any:
    return cast("Any", tuple(value)) if isinstance(value, list) else value
