"""Copies that stand in for a server that is out of order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from spaniel.errors import Code
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, Page, Reply, redirect, text
from tests.pipeline.revalidating import (
    INGEST,
    MODIFIED,
    OTTER,
    WEEK,
    Version,
    Versions,
    entry_of,
    ingested,
    ingesting,
    kept,
    steps,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def hangs_up() -> Reply:
    raise ConnectionResetError


async def hangs() -> Reply:
    await asyncio.sleep(30)
    return text("")


@pytest.mark.req("FG-39")
@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (text("", 500), Code.HTTP_5XX),
        (text("", 503, {"Retry-After": "5"}), Code.HTTP_5XX),
        (hangs_up, Code.NETWORK),
        (hangs, Code.TIMEOUT),
    ],
)
async def test_a_stale_copy_stands_in_for_a_server_that_is_out_of_order(
    tmp_path: Path, clock: FakeClock, failure: Page, code: Code
) -> None:
    site = Versions({"/blog": Version(OTTER)})
    quick = INGEST._replace(limits=INGEST.limits._replace(timeout_seconds=1))
    async with site, ingesting(site, cache=tmp_path, clock=clock, profile=quick) as spaniel:
        first = await ingested(spaniel, site.url("/blog"))
        at = clock.now()
        site.versions, site.pages = {}, {"/blog": failure}
        for _ in range(2):  # never written back as fresh
            clock.advance(WEEK)
            stale = await ingested(spaniel, site.url("/blog"))
            assert stale.caveats == ("stale_copy", "cache_hit")
            assert kept(stale) == (at, 168, '"v1"', MODIFIED, "stale")
            assert (stale.require().fetched_at, stale.served_at) == (at, clock.now())
            assert stale.refusal is None
            assert code in [attempt.error.code for attempt in stale.attempts if attempt.error]
            assert stale.require().page.markdown == first.require().page.markdown
            assert steps(stale)["stale_copy"] == "ok"
        clock.advance(1)
        outcome = await spaniel.outcome(Request(site.url("/blog")))
    assert outcome.found is None
    assert outcome.refusal is not None
    assert (outcome.refusal.code, outcome.reason) == (code, "expired_twice")
    page = entry_of(tmp_path, site.url("/blog"))
    assert page is not None
    assert b"stale_copy" not in bytes(page.content)


@pytest.mark.req("FG-39")
@pytest.mark.parametrize("answer", [text("", 404), text("", 410), text("", 403), text("", 429), text("", 304)])
async def test_a_server_that_says_no_is_not_made_up_for(tmp_path: Path, clock: FakeClock, answer: Reply) -> None:
    site = Versions({"/blog": Version(OTTER, None, None)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        site.versions, site.pages = {}, {"/blog": answer}
        clock.advance(WEEK)
        outcome = await spaniel.outcome(Request(site.url("/blog")))
    assert outcome.found is None
    assert outcome.refusal is not None
    assert outcome.refusal.details["status"] == answer[0]


@pytest.mark.req("D2-04", "FR-WF-05")
async def test_a_stale_copy_is_judged_as_a_hit_is(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)}, {"/r": redirect("")})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        site.pages["/r"] = redirect(site.url("/blog", "other.example"))
        await ingested(spaniel, site.url("/r"))
        site.versions, site.pages = {}, {"/r": text("", 503)}
        clock.advance(WEEK)
        control = await spaniel.outcome(Request(site.url("/r")))
        strict = await spaniel.outcome(Request(site.url("/r"), allowed_domains=["site.example"]))
    assert control.caveats == ("stale_copy", "cache_hit")
    assert strict.found is None
    assert strict.refusal is not None
    assert strict.refusal.code is Code.HTTP_5XX
