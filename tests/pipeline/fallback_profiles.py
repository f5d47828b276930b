"""A client whose profile has the test's fallbacks, on a clock that waits for nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.settings import from_data
from spaniel.net.resolver import Resolver
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.profile import Profile
from spaniel.pipeline.profile import from_data as profile_from
from spaniel.testing import FakeClock, FakeResolver, Site, settings_for

RETRIES = [{"name": "retry", "after_seconds": seconds} for seconds in (5, 15, 45)]
WHOLE: list[object] = [
    "http", "plain_http", *RETRIES, "browser", "archive", "search_cache", "mirrors", "queue",
]  # fmt: skip


def profile_with(fallbacks: Sequence[object], respect: bool = True, **limits: int) -> Profile:
    limits = {"timeout_seconds": 20, "total_seconds": 300, **limits}
    hosts = {"max_concurrent": 2, "respect_delays": respect}
    data = {"name": "profile_with", "version": "1", "policy": "ingest", "fallbacks": list(fallbacks), "limits": limits}
    return profile_from({**data, "hosts": hosts}, "test")


@asynccontextmanager
async def client_with(
    *sites: Site,
    cache: Path,
    profile: Profile,
    clock: FakeClock | None = None,
    resolver: Resolver | None = None,
    chance: float = 0.0,
    own: dict[str, Any] | None = None,
    **webfetch: Any,
) -> AsyncIterator[Spaniel]:
    """`own` are settings under `[spaniel.…]`; `chance` is what the dice show each time."""
    opened = settings_for(*sites, cache=cache, browser={"enabled": False}, **webfetch)
    given = {path: setting for path, setting in opened.items() if setting.source != "default"}
    settings = type(opened)(given | dict(from_data({"spaniel": own or {}}, "own").items()) | given)
    async with Engine(settings, resolver or FakeResolver(), clock or FakeClock(datetime.now(UTC))) as engine:
        engine._services = engine.services._replace(chance=lambda: chance)
        async with Spaniel(engine=engine, profile=profile) as spaniel:
            yield spaniel


def tried(outcome: Outcome) -> list[tuple[str, str]]:
    return [(attempt.fallback, attempt.outcome) for attempt in outcome.attempts]


def left_out(outcome: Outcome) -> dict[str, str]:
    return {fallback: why for fallback, why, _ in outcome.left_out}
