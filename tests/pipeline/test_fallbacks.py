"""How fallbacks run: deadlines, attempts, threads; what is cached and shared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.cache import CacheSettings, PageCache, key_for
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.fallbacks import FALLBACKS, FallbackKind
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.profile import Fallback, Profile, load
from spaniel.pipeline.request import Request, Trace
from spaniel.pipeline.retrieve import FetchedPage, PageHops
from spaniel.pipeline.services import Services
from spaniel.pipeline.task import Attempts
from spaniel.testing import FakeClock, FakeResolver, Page, Reply, Site, html, redirect, settings_for, text
from tests.pipeline.test_fallback_kinds import PAINTED, Stage, opened


def profile_of(*names: str, **fields: Any) -> Profile:
    return load()._replace(name="own", fallbacks=tuple(Fallback(name, {}) for name in names), **fields)


class Steps:
    """A kind of fallback that fails, and records its arguments."""

    def __init__(self, patch: pytest.MonkeyPatch, *, why: str = "", takes: tuple[FakeClock, int] | None = None) -> None:
        self.deadlines: list[Deadline] = []
        self._takes = takes
        patch.setitem(FALLBACKS, "steps", FallbackKind(lambda _, __: why, self._fetch, lambda _, __: False))

    async def _fetch(
        self, state: Attempts, services: Services, deadline: Deadline, hops: PageHops, _: Mapping[str, object]
    ) -> FetchedPage:
        self.deadlines.append(deadline)
        deadline.phase = f"step {len(self.deadlines)}"
        if self._takes is not None:
            self._takes[0].advance(self._takes[1])
        raise SpanielError(Code.NETWORK, error="not today")


@pytest.mark.req("FR-WF-10a", "D2-25")
async def test_without_a_total_all_fallbacks_share_one_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, profile = Steps(monkeypatch), profile_of("steps", "steps")
    async with Site({}) as site:
        async with opened(site, tmp_path, None, profile) as spaniel:
            outcome = await spaniel.outcome(Request(site.url("/")))
        each = profile._replace(limits=profile.limits._replace(total_seconds=30))
        async with opened(site, tmp_path, None, each) as spaniel:
            await spaniel.outcome(Request(site.url("/")))
    first, second, third, fourth = steps.deadlines
    assert first is second
    assert third is not fourth
    assert [attempt.phase for attempt in outcome.attempts] == ["step 1", "step 2"]


@pytest.mark.req("FR-WF-10a", "FG-36")
async def test_what_has_no_time_left_is_left_out_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    steps, profile = Steps(monkeypatch, takes=(clock, 16)), profile_of("steps", "steps", "steps")
    profile = profile._replace(limits=profile.limits._replace(timeout_seconds=20, total_seconds=30))
    async with (
        Site({}) as site,
        Engine(settings_for(site, cache=tmp_path), FakeResolver(), clock) as engine,
        Spaniel(engine=engine, profile=profile) as spaniel,
    ):
        outcome = await spaniel.outcome(Request(site.url("/")))
    assert [deadline.seconds for deadline in steps.deadlines] == [20, 14]
    assert outcome.left_out == (("steps", "the 30 s of the whole fetch have passed", 2),)


async def test_profile_of_which_no_fallback_applies_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Steps(monkeypatch, why="not today")
    async with Site({}) as site, opened(site, tmp_path, None, profile_of("steps")) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/")))
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.BAD_ARGS
    expected = {"field": "fallbacks", "reason": "no fallback of the profile applies to this page"}
    assert outcome.refusal.details == expected


async def test_fallback_without_failure_note_keeps_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Steps(monkeypatch)
    async with Site({"/": text("x")}) as site, opened(site, tmp_path, None, profile_of("http", "steps")) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/")))
    assert [attempt.outcome for attempt in outcome.attempts] == ["ok", "network"]
    assert (outcome.require().page.markdown, outcome.caveats) == ("x\n", ())


@pytest.mark.req("FR-WF-10f", "FR-WF-10g", "FR-WF-18b")
@pytest.mark.parametrize(
    ("headers", "expected"), [({"Content-Type": "Text/Plain; a=b"}, "text/plain"), ({}, "none (text)")]
)
async def test_a_kind_that_the_profile_does_not_read_is_named(
    tmp_path: Path, headers: dict[str, str], expected: str
) -> None:
    profile = load()._replace(name="own", content=("html",))
    async with Site({"/": (200, headers, b"words")}) as site, opened(site, tmp_path, None, profile) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/")))
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.UNSUPPORTED_CONTENT_TYPE
    assert outcome.refusal.details == {"content_type": expected, "kind": "text"}


@pytest.mark.req("D2-02", "D2-24", "FR-WF-16")
async def test_what_is_kept_of_a_page_is_all_that_was_learnt_of_it(tmp_path: Path) -> None:
    body = "<html lang=da><title>Odder</title><meta name=author content=Ib><main><h1>A</h1><p>b</main>"
    pages: dict[str, Page] = {"/r": redirect("/a"), "/a": html(body, 203), "/robots.txt": text("", 503)}
    settings: dict[str, Any] = {"default_max_chunk_tokens": 128, "robots": {"fail_open": True}}
    began = datetime.now(UTC).replace(microsecond=0)
    clock = FakeClock(began)
    async with (
        Site(pages) as site,
        Engine(settings_for(site, cache=tmp_path, **settings), FakeResolver(), clock) as engine,
        Spaniel(engine=engine) as spaniel,
    ):
        fresh = await spaniel.outcome(Request(site.url("/r")))
        clock.advance(1)
        hit = await spaniel.outcome(Request(site.url("/r")))
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            entry = cache.peek(key_for(site.url("/r"), overrides="block_loopback"))
    assert entry is not None
    cache_info = json.loads(bytes(entry.content))
    assert cache_info.pop("chunks")["rows"]
    assert cache_info.pop("metadata")["author"] == "Ib"
    assert cache_info == {
        "final_url": site.url("/a"),
        "markdown": "# A\n\nb\n",
        "chunk_tokens": 128,
        "title": "Odder",
        "language": "da",
        "notes": ["robots_unavailable_fail_open"],
        "content_type": "text/html; charset=utf-8",
        "status": 203,
        "chain": [site.url("/r")],
        "content_hash": sha256(body.encode()).hexdigest(),
        "content_length": len(body),
        "markdown_hash": sha256(b"# A\n\nb\n").hexdigest(),
    }
    for outcome in (fresh, hit):
        found = outcome.require()
        assert msgspec.to_builtins(found.page) == msgspec.to_builtins(fresh.require().page)
        assert (found.fetched_at, found.rendering_method) == (began, "http")
        assert (outcome.requested_url, outcome.canonical_url) == (site.url("/r"), site.url("/r"))
    assert (hit.attempts, hit.refusal, fresh.refusal) == ((), None, None)
    assert (fresh.served_at, hit.served_at) == (None, clock.now())


def cache_info(outcome: Outcome) -> str:
    return next(step.outcome for step in outcome.steps if step.name == "write_cache")


async def test_the_trace_says_what_became_of_a_page_in_the_cache(tmp_path: Path) -> None:
    uncached = load()._replace(name="own", cached=False)
    partial = Stage(PAINTED._replace(notes=("browser_timeout_dom_partial",)))
    async with Site({"/": text("x")}) as site, opened(site, tmp_path, partial) as spaniel:
        request = Request(site.url("/"))
        other = spaniel.with_profile(uncached)
        fields = [cache_info(await spaniel.outcome(request, Trace())) for spaniel in (spaniel, other)]
        fields.append(cache_info(await spaniel.outcome(request._replace(force_browser=True))))
        assert (await other.outcome(request)).cache_hit is False
    assert fields == ["ok", "no cache", "not kept"]


@pytest.mark.req("NFR-WF-REL-02")
async def test_only_those_who_want_the_same_share_a_flight(tmp_path: Path) -> None:
    """The same page at the same time: by two profiles, by two versions of one, over HTTP and rendered."""
    go = asyncio.Event()

    async def waits() -> Reply:
        await go.wait()
        return text("x")

    usual = load()
    profiles = [usual, usual, *(usual._replace(name="own", version=version) for version in ("1", "1", "2"))]
    stage = Stage()
    async with Site({"/": waits, "/other": waits}) as site, opened(site, tmp_path, stage) as spaniel:
        url = site.url("/")
        views = [spaniel.with_profile(profile) for profile in profiles]
        fetches = [asyncio.create_task(view.outcome(Request(url))) for view in views]
        fetches += [asyncio.create_task(spaniel.outcome(Request(url, force_browser=True))) for _ in range(2)]
        fetches += [asyncio.create_task(spaniel.outcome(Request(url, picture=True))) for _ in range(2)]
        fetches += [asyncio.create_task(spaniel.outcome(Request(site.url("/other"))))]
        while site.requests["/"] < 3 or site.requests["/other"] < 1 or len(stage.asked) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        go.set()
        await asyncio.gather(*fetches)
    assert (site.requests["/"], site.requests["/other"], len(stage.asked)) == (3, 1, 2)
