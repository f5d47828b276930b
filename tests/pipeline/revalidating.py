"""A site that answers conditional requests, and a client on a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.cache import CacheEntry, CacheSettings, PageCache, key_for
from spaniel.pipeline.outcome import CacheInfo, Outcome
from spaniel.pipeline.profile import Profile, load
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, FakeResolver, Page, Reply, Site, html, settings_for
from tests.pipeline.test_fallback_kinds import Stage

DAY = 24 * 3600.0
WEEK = 7 * DAY
MODIFIED = "Wed, 01 Jan 2025 10:00:00 GMT"
OTTER = "<title>Otter</title><main><h1>Otter</h1><p>" + "The otter swims in the river and eats fish. " * 60 + "</main>"
PIKE = OTTER.replace("otter", "pike")
INGEST = load("ingest")._replace(freshness=True)


class Version(NamedTuple):
    """A page with what it is known by."""

    body: str
    etag: str | None = '"v1"'
    last_modified: str | None = MODIFIED
    more: Mapping[str, str] = MappingProxyType({})

    @property
    def validators(self) -> dict[str, str]:
        fields = {"ETag": self.etag, "Last-Modified": self.last_modified}
        return {name: value for name, value in fields.items() if value is not None} | dict(self.more)


class Versions(Site):
    """Answers 304 where a request names the version that there is; `versions` may be changed meanwhile."""

    def __init__(self, versions: dict[str, Version], pages: dict[str, Page] | None = None) -> None:
        super().__init__(pages or {})
        self.versions = versions

    def reply(self, path: str) -> Reply | None:
        version = self.versions.get(path)
        if version is None:
            return None
        asked = self.seen[-1]
        known = asked.get("if-none-match"), asked.get("if-modified-since")
        if (known[0] and known[0] == version.etag) or (not known[0] and known[1] and known[1] == version.last_modified):
            return 304, version.validators, b""
        return html(version.body, headers=version.validators)

    @property
    def asked(self) -> dict[str, str]:
        """The conditions of the last request."""
        return {name: value for name, value in self.seen[-1].items() if name.startswith("if-")}


@asynccontextmanager
async def ingesting(
    *sites: Site, cache: Path, clock: FakeClock, profile: Profile = INGEST, stage: Stage | None = None, **webfetch: Any
) -> AsyncIterator[Spaniel]:
    if stage is None:
        webfetch["browser"] = {"enabled": False}
    async with (
        Engine(settings_for(*sites, cache=cache, **webfetch), FakeResolver(), clock, stage) as engine,
        Spaniel(engine=engine, profile=profile) as spaniel,
    ):
        yield spaniel


async def ingested(spaniel: Spaniel, url: str, **fields: Any) -> Outcome:
    outcome = await spaniel.outcome(Request(url)._replace(**fields))
    outcome.require()
    return outcome


def cache_info(outcome: Outcome) -> CacheInfo:
    found = outcome.require().cache_info
    assert found is not None
    return found


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


def entry_of(folder: Path, url: str, method: str = "http") -> CacheEntry | None:
    with PageCache(CacheSettings(str(folder))) as cache:
        return cache.peek(key_for(url, method, INGEST.name, INGEST.version, "block_loopback"))


def steps(outcome: Outcome) -> dict[str, str]:
    return {step.name: step.outcome for step in outcome.steps}
