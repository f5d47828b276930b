"""What is kept of a page and what is found again: a real cache, a clock of the test's, and no server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.engine import Engine
from spaniel.app.settings import from_data
from spaniel.net.http import Page
from spaniel.pipeline.caching import CacheLookup, keep, key_of, look_up
from spaniel.pipeline.fetch import prepare
from spaniel.pipeline.outcome import CacheInfo, FoundPage
from spaniel.pipeline.page_types import BlockedPage
from spaniel.pipeline.profile import Profile, load
from spaniel.pipeline.request import Request, Trace
from spaniel.pipeline.retrieve import FetchedPage
from spaniel.pipeline.services import Services
from spaniel.pipeline.task import FetchTask, StaleEntry
from spaniel.reading.document import Document, Metadata
from spaniel.testing import FakeClock, FakeResolver
from spaniel.url import parse

URL = "https://a.example/blog/otters"
BODY = b"<p>They swim.</p>"
DATE = "Wed, 01 Jan 2025 10:00:00 GMT"
HEAD = {"content-type": "text/html; charset=utf-8", "etag": '"v1"', "last-modified": DATE}
INGEST = load("ingest")
WEEK = timedelta(days=7)


class Desk:
    """What one fetch has around it."""

    def __init__(self, services: Services, clock: FakeClock, profile: Profile) -> None:
        self.services, self.clock, self.profile = services, clock, profile
        self.ended = ""

    def task(self, stale: StaleEntry | None = None, **fields: Any) -> FetchTask:
        request = Request(URL)._replace(**fields)
        return prepare(request, self.profile, self.services, Trace())._replace(stale=stale)

    def result(
        self, head: dict[str, str] | None = None, body: bytes = BODY, status: int = 200, **fields: Any
    ) -> FetchedPage:
        page = Page(parse(URL), status, "", HEAD if head is None else head, body)
        document = Document(body.decode(), "Otters", "en", metadata=Metadata(author="A. Writer"))
        fetched = FetchedPage(page, ("https://a.example/old",), (), document=document, fetched_at=self.clock.now())
        return fetched._replace(**fields)

    async def keep(self, best: FetchedPage, stale: StaleEntry | None = None, **fields: Any) -> FoundPage:
        trace = Trace()
        found = await keep(self.task(stale, **fields), best, self.profile, self.services, trace)
        self.ended = next(step.outcome for step in trace.steps if step.name == "write_cache")
        return found

    def look(self, **fields: Any) -> CacheLookup:
        return look_up(self.task(**fields), self.profile, self.services)

    async def stale(self, **fields: Any) -> StaleEntry:
        """A copy whose time is over."""
        await self.keep(self.result(**fields))
        self.clock.advance(WEEK.total_seconds())
        copy = self.look().stale
        assert copy is not None
        return copy


@asynccontextmanager
async def desk(cache: Path, security: dict[str, bool] | None = None, **fields: Any) -> AsyncIterator[Desk]:
    clock = FakeClock()
    webfetch = {"cache_dir": str(cache), "browser": {"enabled": False}, "security": security or {}}
    settings = from_data({"tools": {"webfetch": webfetch}}, "test")
    async with Engine(settings, FakeResolver(), clock) as engine:
        profile = engine.profile(INGEST._replace(**fields))
        yield Desk(engine.services, clock, profile)


@pytest.mark.req("FG-37", "FG-38")
async def test_a_page_is_kept_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        best = here.result(notes=("a_note",), fallback="retry", reader="text", signals={"robots": ["noai"]})
        found = await here.keep(best)
        again = here.look().found
    page = found.page
    assert found.cache_info == CacheInfo(here.clock.now(), 168.0, '"v1"', DATE, "new")
    assert (page.content_hash, page.content_length) == (sha256(BODY).hexdigest(), len(BODY))
    assert page.markdown_hash == sha256(page.markdown.encode()).hexdigest()
    assert (page.title, page.language, page.metadata["author"]) == ("Otters", "en", "A. Writer")
    assert (page.freshness, page.served_by, page.reader, page.status) == ("blog", "retry", "text", 200)
    assert (page.chain, page.notes, page.signals) == (["https://a.example/old"], ["a_note"], {"robots": ["noai"]})
    assert (page.content_type, page.page_type, page.region) == (HEAD["content-type"], "", "")
    assert here.ended == "ok"
    assert again is not None
    assert again.page == page
    assert again.cache_info == found.cache_info._replace(how="hit")


@pytest.mark.req("FG-24", "FG-25", "FG-32")
async def test_data_pages_and_the_address_of_a_snapshot_go_with_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        best = here.result({})
        best = best._replace(archive_url="https://archive.example/1", archive_date="2020-01-01")
        document = replace(best.document, data='{"a":1}', pages=(0, 5))
        page = (await here.keep(best._replace(document=document))).page
    assert (page.data, page.pages, page.content_type) == ('{"a":1}', [0, 5], "")
    assert (page.archive_url, page.archive_date) == ("https://archive.example/1", "2020-01-01")


@pytest.mark.req("FG-21")
async def test_of_what_came_instead_the_title_is_told_and_nothing_kept(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        found = await here.keep(here.result(blocked=BlockedPage("geo_block", "Not here.", ("geo_block",))))
        assert here.look() == CacheLookup()
    page = found.page
    assert (page.markdown, page.metadata, page.data, page.pages) == ("", {}, None, [])
    assert (page.title, page.page_type, page.region, page.notes) == ("Otters", "geo_block", "Not here.", ["geo_block"])
    assert (found.cache_info, here.ended) == (None, "not kept")


@pytest.mark.req("FG-32", "FG-34")
@pytest.mark.parametrize("note", ["from_archive", "from_search_cache", "from_mirror", "http_only_host"])
async def test_what_only_stands_in_is_not_kept(tmp_path: Path, note: str) -> None:
    async with desk(tmp_path) as here:
        found = await here.keep(here.result(notes=(note,)))
    assert (found.cache_info, here.ended) == (None, "not kept")


@pytest.mark.parametrize(
    ("head", "signals", "why"),
    [
        ({"cache-control": "private, No-Store"}, {}, "no-store"),
        ({"cache-control": "no-store=x"}, {}, "no-store"),
        ({}, {"robots": ["noarchive"]}, "noarchive"),
        ({"cache-control": "no-cache, private, max-age=0"}, {"robots": ["noai"]}, "ok"),
    ],
)
async def test_what_must_not_be_kept_is_dropped(
    tmp_path: Path, head: dict[str, str], signals: dict[str, object], why: str
) -> None:
    async with desk(tmp_path) as here:
        await here.keep(here.result())
        await here.keep(here.result(HEAD | head, signals=signals))
        assert here.ended == why
        assert (here.look().found is None) is (why != "ok")


@pytest.mark.req("FG-40")
async def test_304_renews_the_copy_and_keeps_its_validators(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        copy = await here.stale()
        result = here.result({"etag": 'W/"v1"'}, b"", 304, revalidated="not_modified", notes=("way",))
        found = await here.keep(result, copy)
        hit = here.look().found
    assert found.cache_info == CacheInfo(here.clock.now(), 168.0, 'W/"v1"', DATE, "not_modified")
    assert (found.page.markdown, found.page.notes, found.page.freshness) == (BODY.decode(), ["way"], "blog")
    assert hit is not None
    assert (hit.fetched_at, hit.page.notes) == (here.clock.now(), ["way"])


@pytest.mark.req("FG-41")
async def test_the_same_bytes_are_known_by_what_they_came_with_this_time(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        copy = await here.stale()
        head = {"content-type": HEAD["content-type"]}
        found = await here.keep(here.result(head, revalidated="unchanged"), copy)
    assert found.cache_info == CacheInfo(here.clock.now(), 168.0, None, None, "unchanged")


@pytest.mark.req("FG-37")
async def test_a_page_has_changed_where_its_text_has(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        copy = await here.stale()
        same, other = await here.keep(here.result(), copy), await here.keep(here.result(body=b"Pikes."), copy)
    assert same.cache_info is not None
    assert other.cache_info is not None
    assert (same.cache_info.how, other.cache_info.how) == ("new", "changed")


@pytest.mark.req("FG-39")
async def test_what_scripts_have_made_is_known_by_its_bytes_alone(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        found = await here.keep(here.result(rendering_method="browser"))
        assert here.services.cache is not None
        entry = here.services.cache.peek(key_of(here.task(), "browser", INGEST, here.services))
    assert found.cache_info is not None
    assert (found.cache_info.etag, found.cache_info.last_modified) == (None, None)
    assert entry is not None
    assert entry.content_hash == found.page.content_hash


@pytest.mark.req("FG-38")
async def test_freshness_class_comes_from_request_copy_or_rules(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        asked = await here.keep(here.result(), freshness_class="status")
        assert (asked.page.freshness, asked.cache_info and asked.cache_info.ttl_hours) == ("status", 1.0)
        copy = here.look(freshness_class="news").found  # the request's class overrides the stored time
        assert copy is not None
        assert (copy.page.freshness, copy.cache_info and copy.cache_info.ttl_hours) == ("news", 24.0)
        other = await here.keep(here.result(), freshness_class="other")  # as long as the profile says
        profiles = here.profile.ttl or (here.services.cache and here.services.cache.ttl)
        assert other.cache_info is not None
        assert timedelta(hours=other.cache_info.ttl_hours) == profiles


async def test_a_profile_without_classes_keeps_no_validators(tmp_path: Path) -> None:
    async with desk(tmp_path, freshness=False, ttl=timedelta(hours=5)) as here:
        found = await here.keep(here.result(HEAD | {"cache-control": "no-store"}))
        here.clock.advance(5 * 3600 - 1)
        assert here.look().found is not None
        here.clock.advance(1)
        assert here.look() == CacheLookup()  # and nothing to ask about
    assert (found.cache_info, found.page.freshness) == (CacheInfo(found.fetched_at, 5.0, None, None, "new"), "")


async def test_without_a_cache_nothing_is_kept_or_found(tmp_path: Path) -> None:
    async with desk(tmp_path, cached=False) as here:
        found = await here.keep(here.result())
        assert (found.cache_info, here.ended, here.look()) == (None, "no cache", CacheLookup())


@pytest.mark.req("FG-42", "FG-38")
async def test_a_copy_is_served_then_asked_about_then_neither(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        await here.keep(here.result())
        here.clock.advance(WEEK.total_seconds() - 1)
        assert here.look().found is not None
        here.clock.advance(1)
        known = here.look()
        assert (known.found, known.reason) == (None, None)
        assert known.stale is not None
        assert (known.stale.ttl, known.stale.asked) == (WEEK, None)
        here.clock.advance(WEEK.total_seconds())
        assert here.look().stale is not None
        here.clock.advance(1)
        assert here.look() == CacheLookup(reason="expired_twice")


@pytest.mark.req("FG-42")
async def test_a_copy_that_is_older_than_is_asked_for_is_asked_about(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        await here.keep(here.result())
        here.clock.advance(60)
        assert here.look(max_age=60).found is not None
        assert here.look(max_age=59).found is None
        assert here.look(max_age=59).stale is not None


@pytest.mark.req("FR-WF-05", "D2-04")
async def test_a_copy_is_not_for_those_who_may_not_go_its_way(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        await here.keep(here.result())
        assert here.look(allowed_domains=["a.example"]).found is not None
        await here.keep(here.result(chain=("https://b.example/",)))
        assert here.look(allowed_domains=["a.example"]) == CacheLookup()  # nor the way that led there


@pytest.mark.req("D2-04")
async def test_copy_belongs_to_profile_version_and_guard(tmp_path: Path) -> None:
    open_guard = {"block_loopback": False, "allow_insecure_overrides": True}
    async with desk(tmp_path, open_guard) as here:
        await here.keep(here.result())
        assert here.look().found is not None
    async with desk(tmp_path) as strict:
        assert strict.look() == CacheLookup()
    for other in ({"version": "another"}, {"name": "another"}):
        async with desk(tmp_path, open_guard, **other) as there:
            assert there.look() == CacheLookup()
