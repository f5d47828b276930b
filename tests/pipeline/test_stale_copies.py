"""Copies that stand in for a server that is out of order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from spaniel.cache import Validators, key_for
from spaniel.cache.entry import compose
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.outcome import StoredPage, bounds
from spaniel.pipeline.request import Request
from spaniel.pipeline.task import StaleEntry
from spaniel.testing import FakeClock, Page, Reply, redirect, text
from tests.pipeline.revalidating import (
    INGEST,
    MODIFIED,
    OTTER,
    WEEK,
    Version,
    Versions,
    cache_info,
    entry_of,
    ingested,
    ingesting,
    steps,
)
from tests.pipeline.test_fallback_kinds import Stage


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
        for weeks in (WEEK, WEEK - 300):  # never written back as fresh; what is waited for between tries is time, too
            clock.advance(weeks)
            stale = await ingested(spaniel, site.url("/blog"))
            assert stale.caveats == ("stale_copy", "cache_hit")
            assert cache_info(stale) == (at, 168, '"v1"', MODIFIED, "stale")
            assert (stale.require().fetched_at, stale.served_at) == (at, clock.now())
            assert stale.refusal is None
            assert code in [attempt.error.code for attempt in stale.attempts if attempt.error]
            assert stale.require().page.markdown == first.require().page.markdown
            assert steps(stale)["stale_copy"] == "ok"
        clock.advance(300)
        outcome = await spaniel.outcome(Request(site.url("/blog")))
    assert outcome.found is None
    assert outcome.refusal is not None
    assert (outcome.refusal.code, outcome.reason) == (code, "expired_twice")
    page = entry_of(tmp_path, site.url("/blog"))
    assert page is not None
    assert b"stale_copy" not in bytes(page.content)


@pytest.mark.req("FG-39", "FG-30")
async def test_a_page_that_is_gone_at_the_second_try_is_not_made_up_for(tmp_path: Path, clock: FakeClock) -> None:
    answers = [text("", 500), text("", 410)]

    async def answer() -> Reply:
        return answers.pop(0)

    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        site.versions, site.pages = {}, {"/blog": answer}
        clock.advance(WEEK)
        outcome = await spaniel.outcome(Request(site.url("/blog")))
    assert outcome.found is None
    assert outcome.refusal is not None
    assert outcome.refusal.details["status"] == 410


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


@pytest.mark.req("D2-03")
async def test_of_two_stale_copies_the_newer_one_stands_in(tmp_path: Path, clock: FakeClock) -> None:
    site, stage = Versions({"/blog": Version(OTTER)}), Stage()
    async with site, ingesting(site, cache=tmp_path, clock=clock, stage=stage) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(60)
        await ingested(spaniel, site.url("/blog"), force_browser=True)
        site.versions, site.pages = {}, {"/blog": text("", 503)}
        clock.advance(WEEK)
        stale = await ingested(spaniel, site.url("/blog"))
    assert (stale.require().rendering_method, cache_info(stale).how) == ("browser", "stale")


@pytest.mark.req("FG-42")
async def test_copy_that_expires_during_fallbacks_is_not_used(tmp_path: Path, clock: FakeClock) -> None:
    async def slowly() -> Reply:
        clock.advance(1)
        return text("", 503)

    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        site.versions, site.pages = {}, {"/blog": slowly}
        clock.advance(2 * WEEK)
        outcome = await spaniel.outcome(Request(site.url("/blog")))
    assert outcome.found is None


@pytest.mark.parametrize(
    ("error", "stands_in"),
    [
        (SpanielError(Code.NETWORK, error="reset"), True),
        (SpanielError(Code.NETWORK, error="refused", cause="connect"), True),
        (SpanielError(Code.DNS_FAILED, host="a", error="none"), True),
        (SpanielError(Code.ROBOTS_UNAVAILABLE, origin="a", error="503"), True),
        (SpanielError(Code.NETWORK, error="not trusted", cause="certificate"), False),
        (SpanielError(Code.NETWORK, error="TLS", cause="tls"), False),
        (SpanielError(Code.NETWORK, error="nonsense", status=304), False),
        (SpanielError(Code.SSRF_BLOCKED, blocked_ip="10.0.0.1", cidr="10.0.0.0/8", toggle="x"), False),
        (SpanielError(Code.ROBOTS_DISALLOWED, path="/", origin="a", rule="x"), False),
        (SpanielError(Code.RESPONSE_TOO_LARGE, size=9, max_bytes=1), False),
        (None, False),
    ],
)
def test_only_who_cannot_be_reached_is_made_up_for(
    clock: FakeClock, error: SpanielError | None, stands_in: bool
) -> None:
    key = key_for("https://a.example/", "http", "ingest", "1")
    entry = compose(key, {}, clock.now(), timedelta(hours=1), Validators())
    page = StoredPage("https://a.example/", "words", 600, bounds("words", 600))
    stale = StaleEntry(key, entry, page, timedelta(hours=1))
    assert stale.replaces(error, clock.now() + timedelta(hours=2)) is stands_in
    assert not stale.replaces(error, clock.now() + timedelta(hours=2, seconds=1))


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
