"""Copies whose time is over: asked about by what they are known by, then renewed or replaced."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from spaniel.browser.rendering import DocumentHead
from spaniel.cache.folder import CacheFolder
from spaniel.hosts import Politeness
from spaniel.pipeline.caching import CHANGED, NEW
from spaniel.pipeline.outcome import from_cache
from spaniel.pipeline.profile import load
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, Site, html, redirect, text
from tests.pipeline.revalidating import (
    INGEST,
    MODIFIED,
    OTTER,
    PIKE,
    WEEK,
    Version,
    Versions,
    cache_info,
    entry_of,
    hours,
    ingested,
    ingesting,
    steps,
)
from tests.pipeline.test_fallback_kinds import PAINTED, SHELL, Stage


@pytest.mark.req("FG-37")
async def test_an_entry_holds_all_that_the_document_asks_for(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog/a": Version(OTTER)}, {"/r": redirect("/blog/a")})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        outcome = await ingested(spaniel, site.url("/r?utm_source=x"))
    entry = entry_of(tmp_path, site.url("/r"))  # the cache key is the normalized URL
    assert entry is not None
    assert entry.fetched_at == clock.now()
    assert (entry.etag, entry.last_modified, entry.ttl_hours) == ('"v1"', MODIFIED, 168)
    assert entry.content_hash == sha256(OTTER.encode()).hexdigest() == outcome.content_hash
    page = from_cache(entry.content)
    assert page is not None
    assert (page.freshness, page.content_length) == ("blog", len(OTTER.encode()))
    assert page.markdown_hash == sha256(page.markdown.encode()).hexdigest()
    assert cache_info(outcome) == (clock.now(), 168, '"v1"', MODIFIED, "new")


@pytest.mark.req("FG-39", "FG-40")
async def test_stale_copy_is_revalidated_with_both_validators(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER, 'W/"v1"')})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        first = await ingested(spaniel, site.url("/blog"))
        assert site.asked == {}
        clock.advance(WEEK)
        second = await ingested(spaniel, site.url("/blog"))
        assert site.asked == {"if-none-match": 'W/"v1"', "if-modified-since": MODIFIED}
        renewed_at = clock.now()
        clock.advance(WEEK - 1)
        third = await ingested(spaniel, site.url("/blog"))
        assert site.requests["/blog"] == 2
    assert cache_info(second) == (renewed_at, 168, 'W/"v1"', MODIFIED, "not_modified")
    assert second.require().fetched_at == renewed_at
    assert (second.cache_hit, second.caveats, second.reason) == (False, (), None)
    assert second.require().page == first.require().page == third.require().page
    assert steps(second)["check_cache"] == "stale"
    assert steps(second)["fetch"] == "304"
    assert "extract" not in steps(second)
    assert second.status == 200  # the page's, not the answer's that vouched for it
    assert [(attempt.outcome, attempt.status) for attempt in second.attempts] == [("ok", 304)]
    assert cache_info(third)[:1] == (renewed_at,)
    assert (cache_info(third).how, third.cache_hit) == ("hit", True)


@pytest.mark.req("FG-41")
async def test_the_same_bytes_are_not_read_again_and_other_bytes_are(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        url = site.url("/blog")
        first = await ingested(spaniel, url)
        site.versions["/blog"] = Version(OTTER, '"v2"', None)
        clock.advance(WEEK)
        same = await ingested(spaniel, url)
        assert cache_info(same) == (clock.now(), 168, '"v2"', None, "unchanged")
        assert same.require().page == first.require().page
        assert "extract" not in steps(same)
        assert steps(same)["fetch"] == "200"
        site.versions["/blog"] = Version(PIKE, '"v3"')
        clock.advance(WEEK)
        other = await ingested(spaniel, url)
        assert site.asked == {"if-none-match": '"v2"'}
        assert cache_info(other) == (clock.now(), 168, '"v3"', MODIFIED, CHANGED)
        assert "pike" in other.require().page.markdown
        assert steps(other)["extract"] == "ok"
        assert cache_info(await ingested(spaniel, url)).how == "hit"
    entry = entry_of(tmp_path, url)
    assert entry is not None
    assert entry.content_hash == sha256(PIKE.encode()).hexdigest()


@pytest.mark.req("FG-41")
async def test_an_advert_changes_the_bytes_and_not_the_markdown(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER + "<!-- 1 -->", None, None)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        first = (await ingested(spaniel, site.url("/blog"))).require().page
        site.versions["/blog"] = Version(OTTER + "<!-- 2 -->", None, None)
        clock.advance(WEEK)
        second = (await ingested(spaniel, site.url("/blog"))).require().page
    assert first.content_hash != second.content_hash
    assert first.markdown_hash == second.markdown_hash != ""


@pytest.mark.req("FG-41")
async def test_the_same_bytes_of_another_type_are_read_again(tmp_path: Path, clock: FakeClock) -> None:
    async with Site({"/blog": html(OTTER)}) as site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        site.pages["/blog"] = text(OTTER)
        clock.advance(WEEK)
        again = await ingested(spaniel, site.url("/blog"))
    assert cache_info(again).how == CHANGED
    assert "<main>" in again.require().page.markdown


@pytest.mark.req("FG-39", "FG-40", "FG-41")
async def test_requests_of_repeated_ingestion(tmp_path: Path, clock: FakeClock) -> None:
    """The server counts its bytes: of a fresh copy none, of a 304 a head, of a page without validators all of it."""
    known, unknown = Version(OTTER * 20), Version(OTTER * 20, None, None)
    site = Versions({"/blog/known": known, "/blog/unknown": unknown})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        sent: dict[str, list[int]] = {}
        for path in site.versions:
            for _ in range(3):
                before = site.sent[path]
                await ingested(spaniel, site.url(path))
                sent.setdefault(path, []).append(site.sent[path] - before)
                clock.advance(WEEK)
            before = site.sent[path]
            await ingested(spaniel, site.url(path))
            await ingested(spaniel, site.url(path))  # fresh: no request
            sent[path].append(site.sent[path] - before)
    whole, head, again, fresh = sent["/blog/known"]
    assert whole > len(known.body)
    assert head == again == fresh < 300
    assert set(sent["/blog/unknown"]) == {sent["/blog/unknown"][0]}
    assert sent["/blog/unknown"][0] > len(unknown.body)


@pytest.mark.req("FG-39")
async def test_max_age_asks_about_a_copy_that_is_fresh(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(60)
        assert cache_info(await ingested(spaniel, site.url("/blog"), max_age=60)).how == "hit"
        assert cache_info(await ingested(spaniel, site.url("/blog"), max_age=59.5)).how == "not_modified"
        clock.advance(1)
        assert cache_info(await ingested(spaniel, site.url("/blog"), max_age=0)).how == "not_modified"
        view = spaniel.with_profile(load())  # a profile without freshness fetches what is too old for the caller
        await ingested(view, site.url("/blog"))
        clock.advance(10)
        assert (await ingested(view, site.url("/blog"), max_age=10)).cache_hit
        assert not (await ingested(view, site.url("/blog"), max_age=9)).cache_hit
        assert site.asked == {}


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "60", True])
async def test_a_max_age_that_is_none_is_refused(tmp_path: Path, clock: FakeClock, wrong: object) -> None:
    async with Site({}) as site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/"))._replace(max_age=wrong))  # type: ignore[arg-type]
    assert outcome.refusal is not None
    assert outcome.refusal.details["field"] == "max_age"


@pytest.mark.req("FG-37")
@pytest.mark.parametrize("expected", ["no-store", "private, No-Store", 'no-cache="a", no-store=""'])
async def test_what_is_not_to_be_stored_is_not(tmp_path: Path, clock: FakeClock, expected: str) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        assert entry_of(tmp_path, site.url("/blog")) is not None  # the control
        site.versions["/blog"] = Version(OTTER, more={"Cache-Control": expected})
        clock.advance(WEEK)
        outcome = await ingested(spaniel, site.url("/blog"))
        assert outcome.require().cache_info is None
        assert "otter" in outcome.require().page.markdown
        assert steps(outcome)["write_cache"] == "no-store"
        assert entry_of(tmp_path, site.url("/blog")) is None  # and what was stored before is gone
        await ingested(spaniel, site.url("/blog"))
        assert site.asked == {}


@pytest.mark.req("FG-37")
@pytest.mark.parametrize("expected", ["private", "no-cache", "max-age=0", "x-no-store", ""])
async def test_what_is_only_for_one_reader_or_for_a_moment_is_kept(
    tmp_path: Path, clock: FakeClock, expected: str
) -> None:
    site = Versions({"/blog": Version(OTTER, more={"Cache-Control": expected})})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        assert cache_info(await ingested(spaniel, site.url("/blog"))).how == NEW


async def test_what_cannot_be_renewed_is_served_with_a_note(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise OSError(5, "Input/output error")

    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(WEEK)
        monkeypatch.setattr(CacheFolder, "overwrite_head", fail)
        anew = await ingested(spaniel, site.url("/blog"))
        assert (anew.caveats, cache_info(anew).cached_at) == ((), clock.now())  # it was written whole
        clock.advance(WEEK)
        monkeypatch.setattr(CacheFolder, "create", fail)
        outcome = await ingested(spaniel, site.url("/blog"))
    assert (outcome.caveats, outcome.require().cache_info) == (("cache_write_failed",), None)


@pytest.mark.req("FG-39", "FG-31")
async def test_what_scripts_have_made_is_not_asked_about_over_http(tmp_path: Path, clock: FakeClock) -> None:
    shell = (200, {**SHELL[1], "ETag": '"shell"'}, SHELL[2])
    stage = Stage(PAINTED._replace(head=DocumentHead(200, "OK", {"etag": '"shell"'})))
    async with (
        Site({"/blog": shell}) as site,
        ingesting(site, cache=tmp_path, clock=clock, stage=stage) as spaniel,
    ):
        url = site.url("/blog")
        first = await ingested(spaniel, url)
        assert (first.require().rendering_method, cache_info(first).etag) == ("browser", None)
        clock.advance(WEEK)
        same = await ingested(spaniel, url)
        assert not [name for seen in site.seen for name in seen if name.startswith("if-")]
        assert (cache_info(same).how, len(stage.asked)) == ("unchanged", 2)  # it was rendered, and came out the same
        stage._shows = PAINTED._replace(body=b"<p>painted anew</p>")
        clock.advance(WEEK)
        assert (await ingested(spaniel, url)).require().page.markdown == "painted anew\n"
        site.pages["/blog"] = text("", 503)
        clock.advance(WEEK)
        stale = await ingested(spaniel, url)
    assert stale.caveats == ("stale_copy", "cache_hit")
    assert stale.require().rendering_method == "browser"


@pytest.mark.req("FG-41", "D2-03")
async def test_http_bytes_do_not_revalidate_a_rendered_copy(tmp_path: Path, clock: FakeClock) -> None:
    page = html(OTTER)
    stage = Stage(PAINTED._replace(body=page[2], content_type=page[1]["Content-Type"]))
    async with Site({"/blog": page}) as site, ingesting(site, cache=tmp_path, clock=clock, stage=stage) as spaniel:
        rendered = await ingested(spaniel, site.url("/blog"), force_browser=True)
        clock.advance(WEEK)
        plain = await ingested(spaniel, site.url("/blog"))
    assert rendered.content_hash == plain.content_hash
    assert (plain.require().rendering_method, cache_info(plain).how) == ("http", NEW)


@pytest.mark.req("FG-40", "D2-05")
async def test_what_is_noted_of_the_way_is_of_the_last_one(tmp_path: Path, clock: FakeClock) -> None:
    """The reader's notes stay with the copy; those on robots.txt come and go."""
    site = Versions({"/blog": Version(OTTER)})
    fields = []
    async with site:
        for status in (503, 404, 503):
            site.pages["/robots.txt"] = text("", status)
            for folder in (tmp_path / "robots").glob("*"):
                folder.unlink()
            async with ingesting(site, cache=tmp_path, clock=clock, robots={"fail_open": True}) as spaniel:
                outcome = await ingested(spaniel, site.url("/blog"))
                fields.append(
                    (cache_info(outcome).how, outcome.caveats, (await ingested(spaniel, site.url("/blog"))).caveats)
                )
            clock.advance(WEEK)
    note = "robots_unavailable_fail_open"
    assert fields == [
        (NEW, (note,), (note, "cache_hit")),
        ("not_modified", (), ("cache_hit",)),
        ("not_modified", (note,), (note, "cache_hit")),
    ]


@pytest.mark.req("FR-WF-16e")
async def test_a_copy_that_was_served_or_renewed_is_the_last_to_go(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({f"/blog/{name}": Version(OTTER) for name in "abcd"})
    async with site, ingesting(site, cache=tmp_path, clock=clock, max_cache_entries=2) as spaniel:
        for name, how in (("a", NEW), ("b", NEW), ("a", "hit"), ("c", NEW), ("a", "hit"), ("b", NEW)):
            assert cache_info(await ingested(spaniel, site.url(f"/blog/{name}"))).how == how
        clock.advance(WEEK)
        for name, how in (("a", "not_modified"), ("d", NEW), ("a", "hit"), ("b", NEW)):
            assert cache_info(await ingested(spaniel, site.url(f"/blog/{name}"))).how == how


async def test_a_copy_from_the_future_is_as_good_as_none(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.set(clock.now() - hours(1))
        again = await ingested(spaniel, site.url("/blog"))
        assert (site.asked, cache_info(again).how, cache_info(again).cached_at) == ({}, NEW, clock.now())


@pytest.mark.req("NFR-WF-REL-02")
async def test_bypassing_fetch_does_not_join_a_revalidating_flight(tmp_path: Path, clock: FakeClock) -> None:
    go = asyncio.Event()

    class Waiting(Versions):
        async def _count(self, path: str, reader: asyncio.StreamReader) -> None:
            await super()._count(path, reader)
            if path == "/blog":
                await go.wait()

    site = Waiting({"/blog": Version(OTTER)})
    together = INGEST._replace(way=INGEST.way._replace(politeness=Politeness(at_once=9)))
    async with site, ingesting(site, cache=tmp_path, clock=clock, profile=together) as spaniel, asyncio.timeout(20):
        go.set()
        await ingested(spaniel, site.url("/blog"))
        go.clear()
        clock.advance(WEEK)
        asked: list[dict[str, object]] = [
            {},
            {},
            {"reason": "updated"},
            {"no_cache": True},
            {"freshness_class": "news"},
        ]
        fetches = [asyncio.create_task(ingested(spaniel, site.url("/blog"), **fields)) for fields in asked]
        while site.requests["/blog"] < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        go.set()
        outcomes = await asyncio.gather(*fetches)
        assert site.requests["/blog"] == 4
        assert sorted("if-none-match" in seen for seen in site.seen[-3:]) == [False, False, True]
    assert [cache_info(outcome).how for outcome in outcomes[2:]] == [NEW] * 3
    assert cache_info(outcomes[0]) == cache_info(outcomes[1])
    assert [outcome.reason for outcome in outcomes] == [None, None, "updated", "asked", "expired_twice"]
    assert outcomes[4].require().page.freshness == "news"


async def test_nobody_is_asked_by_whoever_looks_only_at_what_is_stored(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        assert await spaniel.stored(Request(site.url("/blog"))) is not None
        clock.advance(WEEK)
        assert await spaniel.stored(Request(site.url("/blog"))) is None
        assert site.requests["/blog"] == 1
