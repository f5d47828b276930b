"""How long a copy is fresh: by its class, by the request; and what forces a fetch in spite of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.cache import CacheSettings, PageCache, key_for
from spaniel.errors import Code
from spaniel.pipeline.caching import NEW
from spaniel.pipeline.profile import load
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, Page, Site, html, text
from tests.pipeline.revalidating import (
    OTTER,
    WEEK,
    Version,
    Versions,
    cache_info,
    hours,
    ingested,
    ingesting,
    steps,
)


@pytest.mark.req("FG-38")
async def test_the_class_says_how_long_a_page_is_fresh(tmp_path: Path, clock: FakeClock) -> None:
    """To the second: by the rules, by what the page says of itself, by the request, by the settings for the others."""
    news = OTTER.replace("<main>", '<script type="application/ld+json">{"@type":"NewsArticle"}</script><main>')
    made = OTTER.replace("<main>", '<meta name=generator content="Sphinx 8"><main>')
    pages: dict[str, Page] = {
        "/status": html(OTTER), "/says": html(news), "/made": html(made), "/a": html(OTTER), "/b": html(OTTER),
    }  # fmt: skip
    expected = {"/status": ("status", 1), "/says": ("news", 24), "/made": ("api-docs", 72), "/a": ("other", 48)}
    async with Site(pages) as site, ingesting(site, cache=tmp_path, clock=clock, cache_ttl_days=2) as spaniel:
        for path, (name, time) in expected.items():
            outcome = await ingested(spaniel, site.url(path))
            assert (outcome.require().page.freshness, cache_info(outcome).ttl_hours) == (name, time)
            clock.advance(time * 3600 - 1)
            assert cache_info(await ingested(spaniel, site.url(path))).how == "hit"
            clock.advance(1)
            assert cache_info(await ingested(spaniel, site.url(path))).how == "unchanged"
        asked = await ingested(spaniel, site.url("/b"), freshness_class="specs")
        assert (asked.require().page.freshness, cache_info(asked).ttl_hours) == ("specs", 720)


@pytest.mark.req("FG-38")
async def test_a_class_that_is_asked_for_rules_over_the_stored_one(tmp_path: Path, clock: FakeClock) -> None:
    async with Site({"/a": html(OTTER)}) as site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        url = site.url("/a")
        await ingested(spaniel, url, freshness_class="blog")
        clock.advance(5400)
        assert cache_info(await ingested(spaniel, url)).how == "hit"
        hit = await ingested(spaniel, url, freshness_class="news")
        assert (cache_info(hit).how, cache_info(hit).ttl_hours, hit.require().page.freshness) == ("hit", 24, "news")
        again = await ingested(spaniel, url, freshness_class="status")
        assert (cache_info(again).how, again.require().page.freshness) == ("unchanged", "status")
        clock.advance(3600)  # what it was renewed as, it is from then on
        assert cache_info(await ingested(spaniel, url)).how == "unchanged"


@pytest.mark.req("FG-38")
async def test_unknown_freshness_class_is_refused_before_any_request(tmp_path: Path, clock: FakeClock) -> None:
    async with Site({"/a": html(OTTER)}) as site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/a"), freshness_class="blogs"))
        plain = await spaniel.with_profile(load()).outcome(Request(site.url("/a"), freshness_class="blog"))
        assert not site.requests
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.BAD_ARGS
    assert "did you mean 'blog'?" in outcome.refusal.message
    assert plain.refusal is not None
    assert "the profile 'web_fetch' has no freshness classes" in plain.refusal.message


@pytest.mark.req("FG-42")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reason": "asked"}, "asked"),
        ({"no_cache": True}, "asked"),
        ({"reason": "contradiction"}, "contradiction"),
        ({"reason": "updated"}, "updated"),
        ({"no_cache": True, "reason": "updated"}, "updated"),
    ],
)
async def test_a_forced_fetch_takes_the_page_itself_and_says_why(
    tmp_path: Path, clock: FakeClock, fields: dict[str, object], reason: str
) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(1)
        outcome = await ingested(spaniel, site.url("/blog"), **fields)
        assert site.asked == {}
        assert (site.requests["/blog"], outcome.reason, cache_info(outcome).how) == (2, reason, NEW)
        assert steps(outcome)["check_cache"] == "bypassed"
        assert cache_info(await ingested(spaniel, site.url("/blog"))).cached_at == clock.now()


@pytest.mark.req("FG-42")
async def test_a_forced_fetch_that_fails_is_not_made_up_for_by_the_copy(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        site.versions, site.pages = {}, {"/blog": text("", 503)}
        outcome = await spaniel.outcome(Request(site.url("/blog"), reason="updated"))
    assert outcome.refusal is not None
    assert (outcome.refusal.code, outcome.reason) == (Code.HTTP_5XX, "updated")


@pytest.mark.req("FG-42")
async def test_a_reason_that_there_is_not_is_refused(tmp_path: Path, clock: FakeClock) -> None:
    async with Site({}) as site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/"), reason="update"))
    assert outcome.refusal is not None
    assert outcome.refusal.details == {"field": "reason", "reason": "unknown reason 'update'; did you mean 'updated'?"}


@pytest.mark.req("FG-42")
async def test_after_twice_its_time_a_copy_is_not_even_asked_about(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(2 * WEEK)
        at = await ingested(spaniel, site.url("/blog"))
        assert (cache_info(at).how, at.reason) == ("not_modified", None)
        clock.advance(2 * WEEK + 1)
        beyond = await ingested(spaniel, site.url("/blog"))
        assert site.asked == {}
    assert (cache_info(beyond).how, beyond.reason) == (NEW, "expired_twice")
    assert steps(beyond)["check_cache"] == "miss"


@pytest.mark.req("T-WF-CCH-03", "FR-WF-17b")
async def test_web_fetch_keeps_no_validators_and_sends_none(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER, more={"Cache-Control": "no-store"})})
    async with site, ingesting(site, cache=tmp_path, clock=clock, profile=load()) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(WEEK - 1)
        hit = await ingested(spaniel, site.url("/blog"))
        assert cache_info(hit) == (clock.now() - hours(168) + hours(1 / 3600), 168, None, None, "hit")
        clock.advance(1)
        outcome = await ingested(spaniel, site.url("/blog"))
        assert (site.asked, site.requests["/blog"]) == ({}, 2)
        assert (steps(outcome)["check_cache"], outcome.reason, cache_info(outcome).how) == ("miss", None, NEW)
        site.versions, site.pages = {}, {"/blog": text("", 503)}
        clock.advance(WEEK)
        assert (await spaniel.outcome(Request(site.url("/blog")))).found is None
    with PageCache(CacheSettings(str(tmp_path))) as cache:
        entry = cache.peek(key_for(site.url("/blog"), overrides="block_loopback"))
    assert entry is not None
    assert (entry.etag, entry.last_modified, entry.content_hash) == (None, None, None)
    assert b'"freshness"' not in bytes(entry.content)
