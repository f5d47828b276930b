"""What can be seen of the settings of the service: scenarios for tests/pipeline/test_every_setting.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from spaniel.testing import html
from tests.api.harness import Served, running
from tests.pipeline.settings_scenarios import Place

TOKENS = '[a]\ntoken = "a-token-that-is-long-enough"\n'
Look = Callable[[Place], Awaitable[object]]


@asynccontextmanager
async def at(place: Place) -> AsyncIterator[Served]:
    """The service; what no setting places is below the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place.folder / "state"))
        async with running(place.settings, place.site) as served:
            yield served


def looking(look: Callable[[Served], Awaitable[object]]) -> Look:
    async def looked(place: Place) -> object:
        place.site.pages["/page"] = html("<article><h1>Page</h1><p>Some words about otters, on a page.</p></article>")
        async with at(place) as served:
            return await look(served)

    return looked


def tokens(folder: Path) -> str:
    path = folder / "tokens.toml"
    path.write_text(TOKENS)
    path.chmod(0o600)
    return str(path)


async def _statuses(served: Served, *calls: Awaitable[tuple[int, object]]) -> list[int]:
    return sorted([status for status, _ in await asyncio.gather(*calls)])


def _slow(served: Served) -> list[Awaitable[tuple[int, object]]]:
    """Two calls at the same time that take a while."""
    return [served.post("/api/fetch", {"url": served.site.url("/late"), "no_cache": True}) for _ in range(2)]


@looking
async def usual_profile(served: Served) -> object:
    _, answer = await served.get("/api/capabilities")
    return [name for name, profile in answer["profiles"].items() if profile["default"]]


@looking
async def profile_of_a_call(served: Served) -> object:
    return (await served.post("/api/fetch", {"url": served.site.url("/page"), "profile": "web_fetch"}))[0]


@looking
async def second_request(served: Served) -> object:
    await served.get("/api/capabilities")
    return (await served.get("/api/capabilities"))[0]


@looking
async def two_at_once(served: Served) -> object:
    return await _statuses(served, *_slow(served))


@looking
async def stream(served: Served) -> object:
    return (await served.get(f"/api/fetch/stream?url={served.site.url('/page')}"))[0]


@looking
async def job(served: Served) -> object:
    return (await served.post("/api/jobs", {"urls": ["http://127.0.0.1:9/"]}))[0]


@looking
async def body_of_two_kilobytes(served: Served) -> object:
    return (await served.post("/api/extract", {"html": f"<p>{'otter ' * 340}</p>"}))[0]


@looking
async def list_of_two_kilobytes(served: Served) -> object:
    lines = "http://127.0.0.1:9/a-page-that-is-not-there\n" * 50
    headers = {"Content-Type": "text/plain"}
    async with served.http.post(f"{served.base}/api/jobs", data=lines, headers=headers) as answer:
        return answer.status


@looking
async def other_host(served: Served) -> object:
    return (await served.get("/healthz", Host="spaniel.example"))[0]


@looking
async def other_origin(served: Served) -> object:
    return (await served.get("/api/capabilities", Origin="https://a.example"))[0]


@looking
async def two_forwarded(served: Served) -> object:
    await served.get("/api/capabilities", **{"X-Forwarded-For": "203.0.113.1"})
    return (await served.get("/api/capabilities", **{"X-Forwarded-For": "203.0.113.2"}))[0]


@looking
async def without_token(served: Served) -> object:
    return (await served.get("/api/capabilities"))[0]


async def where_jobs_are(place: Place) -> object:
    async with at(place):
        return _is_file(place.folder / "named" / "jobs.sqlite3")


def _is_file(path: Path) -> bool:
    return path.is_file()
