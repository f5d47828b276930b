"""What the cache serves equals a fresh fetch, in any chunk size, whichever process stored it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.cache import CacheSettings, PageCache, Validators, key_for
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.answer import Answer
from spaniel.pipeline.request import Request
from spaniel.testing import FakeResolver, Page, Reply, Site, html, settings_for, spaniel_for, text
from tests.pipeline.test_fetch import ARTICLE, RELAXED, spaniel_at
from tests.stopwatch import Stopwatch

CODE = "<h1>Code</h1><p>Words before.</p><pre><code class=language-python>" + "x = [i ** 2 for i in range(9)]\n" * 200
PAGES: dict[str, Page] = {
    "/article": html(ARTICLE),
    "/sections": html(
        "<main>" + "".join(f"<h2>Part {i}</h2><p>{f'Word {i} and more. ' * i}</p>" for i in range(1, 60)) + "</main>"
    ),
    "/code": html(f"<main>{CODE}</code></pre><p>And words after it, to end with.</p></main>"),
    "/list": html("<main><h1>List</h1><ul>" + "<li>item of a long list</li>" * 400 + "</ul></main>"),
    "/scripts": text("漢字かな交じり文。🙂👩‍👩‍👧 и кириллица. " * 300),
    "/unbroken": text("x" * 9000),
    "/short": text("short\n"),
    "/empty": text(""),
}
SIZES = (None, 128, 129, 200, 333, 600, 1024, 2048)
BUDGETS = (None, 420, 500, 777, 1500, 4_000, 15_000, 60_000)


def as_hit(fresh: Answer, fetched_at: datetime, served_at: datetime | None) -> Answer:
    """The fresh answer as the cache must give it: the time of the stored fetch, and one note more."""
    return fresh._replace(fetched_at=fetched_at, notes=(*fresh.notes, "cache_hit"), served_at=served_at)


def entries_in(folder: Path) -> list[Path]:
    return [file for file in folder.glob("*/*") if file.suffix == ".json"]


def aged(folder: Path, url: str, fetched_at: datetime) -> None:
    """As if an entry had been fetched then."""
    key = key_for(url, overrides=RELAXED)
    with PageCache(CacheSettings(str(folder))) as cache:
        entry = cache.peek(key)
        assert entry is not None
        assert cache.renew(key, entry, fetched_at, timedelta(days=7), Validators()) is None


@pytest.mark.req("D2-02", "FR-WF-03a", "FR-WF-15e", "FR-WF-15f", "T-WF-CHK-05", "T-WF-DET-03")
async def test_a_hit_equals_a_fresh_fetch_at_every_size_and_budget(tmp_path: Path) -> None:
    """Eight pages × eight chunk sizes × eight budgets, by a client of other defaults than the one that fetched."""
    async with Site(PAGES) as site:
        writing = settings_for(site, cache=tmp_path, default_max_chunk_tokens=300)
        reading = settings_for(site, cache=tmp_path)
        async with Spaniel(writing, FakeResolver()) as first, Spaniel(reading, FakeResolver()) as second:
            began = datetime.now(UTC)
            then = {path: began.replace(microsecond=0) - timedelta(hours=age) for age, path in enumerate(PAGES, 1)}
            for path in PAGES:
                await first.fetch(site.url(path))
                aged(tmp_path, site.url(path), then[path])
            hits = {case: await second.answer(Request(site.url(case[0]), case[1])) for case in product(PAGES, SIZES)}
            asked = site.requests.total()
            assert all(hit.served_at is not None and hit.served_at >= began for hit in hits.values())
            for (path, size), hit in hits.items():
                fresh = await second.answer(Request(site.url(path), size, no_cache=True))
                assert "cache_hit" not in fresh.notes
                assert list(hit.chunks) == list(fresh.chunks)
                for budget in BUDGETS:
                    fields = hit.as_dict(budget)
                    assert fields == as_hit(fresh, then[path], hit.served_at).as_dict(budget), (path, size, budget)
                    assert budget is None or len(json.dumps(fields, ensure_ascii=False).encode()) <= budget
            assert site.requests.total() == asked + len(hits)


@pytest.mark.req("FR-WF-03", "FR-WF-17a", "T-WF-CCH-01")
@pytest.mark.parametrize("days", [0.5, 3, 6.9])
async def test_fetched_at_of_a_hit_is_when_it_was_fetched(tmp_path: Path, days: float) -> None:
    """In the answer itself, as a model gets it: not the time at which the cache served it."""
    at = (datetime.now(UTC) - timedelta(days=days)).replace(microsecond=0)
    async with spaniel_at({"/a": text("one")}, tmp_path) as (spaniel, site):
        fresh = (await spaniel.fetch(site.url("/a"))).as_dict()
        assert datetime.fromisoformat(str(fresh["fetched_at"])) > at
        aged(tmp_path, site.url("/a"), at)
        hit = (await spaniel.fetch(site.url("/a"))).as_dict()
    assert hit["fetched_at"] == at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert datetime.fromisoformat(str(hit["served_at"])) > at + timedelta(hours=1)


@pytest.mark.req("FR-WF-16c", "FR-WF-16d")
@pytest.mark.parametrize("days", [1, 3, 7, 30])
async def test_cache_entry_has_the_ttl_of_the_settings(tmp_path: Path, days: int) -> None:
    async with spaniel_at({"/a": html("<title>T</title><p>one</p>")}, tmp_path, cache_ttl_days=days) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/a#part"))
        [file] = entries_in(tmp_path)
    stored = json.loads(file.read_bytes())
    assert (stored["version"], stored["canonical_url"]) == (1, site.url("/a"))
    assert stored["rendering_method"] == "http"
    at = answer.fetched_at.replace(microsecond=0)
    assert stored["fetched_at"] == at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert stored["expires_at"] == (at + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (stored["content"]["title"], stored["content"]["markdown"]) == ("T", "one\n")


@pytest.mark.req("T-WF-CCH-03", "FR-WF-16d")
@pytest.mark.parametrize("days", [1, 7])
@pytest.mark.parametrize(("seconds", "hit"), [(-60, True), (0, False), (60, False)])
async def test_an_entry_is_a_hit_until_it_expires(tmp_path: Path, days: int, seconds: int, hit: bool) -> None:
    async with spaniel_at({"/a": text("one")}, tmp_path, cache_ttl_days=days) as (spaniel, site):
        await spaniel.fetch(site.url("/a"))
        key = key_for(site.url("/a"), overrides=RELAXED)
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            entry = cache.peek(key)
            assert entry is not None
            ttl = entry.expires_at - entry.fetched_at
            cache.renew(key, entry, datetime.now(UTC) - ttl - timedelta(seconds=seconds), ttl, Validators())
        site.pages["/a"] = text("two")
        assert (await spaniel.fetch(site.url("/a"))).markdown == ("one\n" if hit else "two\n")


@pytest.mark.req("T-WF-DET-01", "FR-WF-16")
async def test_every_spelling_of_a_url_has_one_entry(tmp_path: Path) -> None:
    async with spaniel_at({"/b": text("one")}, tmp_path) as (spaniel, site):
        for spelling in ("/b", "/a/../b#x", "/./b", "/%62"):
            await spaniel.fetch(site.url(spelling, "SITE.example"))
        assert site.requests["/b"] == 1
        [file] = entries_in(tmp_path)
        assert file.stem == key_for(site.url("/b"), overrides=RELAXED).hex


@pytest.mark.req("FR-WF-16b", "T-WF-CCH-05")
async def test_nothing_of_a_url_is_in_the_names_of_files(tmp_path: Path) -> None:
    paths = ("/secret-name", "/a.json", "/%2F%2E%2E%2Fescape", "/" + "x" * 300)
    async with spaniel_at({}, tmp_path) as (spaniel, site):
        site.reply = text  # type: ignore[method-assign, assignment]
        for path in paths:
            await spaniel.fetch(site.url(f"{path}?token=1"))
        files = entries_in(tmp_path)
    assert len(files) == len(paths)
    for file in files:
        assert re.fullmatch("[0-9a-f]{64}", file.stem)
        assert file.parent == tmp_path / file.stem[:2]


@pytest.mark.req("D2-02", "D2-23")
async def test_a_budget_too_small_is_the_same_error_from_the_cache(tmp_path: Path) -> None:
    async with spaniel_at(PAGES, tmp_path) as (spaniel, site):
        for _ in range(2):
            with pytest.raises(SpanielError) as caught:
                (await spaniel.answer(Request(site.url("/article")))).as_dict(100)
            assert (caught.value.code, caught.value.details["field"]) == (Code.BAD_ARGS, "max_output_bytes")


def cache_info(site: Site, markdown: str) -> dict[str, object]:
    return {
        "final_url": site.url("/app"),
        "markdown": markdown,
        "chunk_tokens": 600,
        "chunks": {"document": "d", "headings": [[]], "rows": [[0, len(markdown), 1, 0]]},
        "title": "Rendered",
        "notes": ["browser_timeout_dom_partial"],
    }


@pytest.mark.req("D2-03", "FR-WF-16", "T-WF-CCH-04")
async def test_rendered_copy_is_served_after_an_http_copy(tmp_path: Path) -> None:
    async with spaniel_at({"/app": text("thin")}, tmp_path) as (spaniel, site):
        url, at = site.url("/app"), datetime.now(UTC)
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            assert cache.put(key_for(url, "browser", overrides=RELAXED), cache_info(site, "by the browser"), at) is None
            hit = await spaniel.fetch(url + "#part")
            assert (hit.markdown, hit.rendering_method, hit.title) == ("by the browser", "browser", "Rendered")
            assert hit.note == "browser_timeout_dom_partial, cache_hit"
            assert hit.as_dict()["rendering_method"] == "browser"
            assert not site.requests
            cache.put(key_for(url, "http", overrides=RELAXED), cache_info(site, "over http"), at)
        again = await spaniel.fetch(url)
        assert (again.markdown, again.rendering_method) == ("over http", "http")
        fresh = await spaniel.fetch(url, no_cache=True)  # and a bypass asks neither
        assert (fresh.markdown, fresh.rendering_method) == ("thin\n", "http")


@pytest.mark.req("D2-25", "FR-WF-10a", "FR-WF-19", "NFR-WF-REL-03")
async def test_http_deadline_returns_and_caches_nothing_partial(tmp_path: Path) -> None:
    """`network_idle_ms` belongs to the browser: over HTTP nothing is added to `timeout_seconds`."""

    async def slowly() -> Reply:
        await asyncio.sleep(0.6)
        return 302, {"Location": "/hop"}, b""

    settings: dict[str, object] = {"timeout_seconds": 1, "browser": {"network_idle_ms": 60_000}}
    async with spaniel_at({"/hop": slowly, "/good": text("x")}, tmp_path, **settings) as (spaniel, site):
        watch = Stopwatch()
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/hop"))
        assert watch.seconds < 2
        assert caught.value.code is Code.TIMEOUT
        assert caught.value.details["timeout_ms"] == 1000
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            assert cache.peek(key_for(site.url("/hop"), overrides=RELAXED)) is None
        assert (await spaniel.fetch(site.url("/good"))).markdown == "x\n"


@pytest.mark.req("D2-04", "FR-WF-05")
async def test_what_a_relaxed_run_cached_is_not_served_to_a_strict_one(tmp_path: Path) -> None:
    """Not under the same key, and not if somebody put it there: the final URL is judged again."""
    relaxed = {"block_loopback": False, "allow_insecure_overrides": True}
    url = "http://inside.example/"

    def settings(security: Mapping[str, object]) -> Settings:
        return from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path), "security": security}}}, "test")

    at, page = datetime.now(UTC), {"final_url": url, "markdown": "secret\n", "chunk_tokens": 600}
    page["chunks"] = {"document": "d", "headings": [[]], "rows": [[0, 7, 1, 0]]}
    with PageCache(CacheSettings(str(tmp_path))) as cache:
        cache.put(key_for(url, "http", overrides=RELAXED), page, at)
    async with Spaniel(settings(relaxed), FakeResolver()) as spaniel:
        assert (await spaniel.fetch(url)).note == "cache_hit"  # the control
    async with Spaniel(settings({}), FakeResolver()) as spaniel:
        with pytest.raises(SpanielError) as refused:
            await spaniel.fetch(url)
        assert refused.value.code is Code.SSRF_BLOCKED
    for inside in ("http://127.0.0.1/", "http://inside.example:22/", "file:///etc/passwd"):
        with PageCache(CacheSettings(str(tmp_path))) as cache:
            cache.put(key_for(url, "http"), page | {"final_url": inside}, at)
        async with Spaniel(settings({}), FakeResolver()) as spaniel:
            with pytest.raises(SpanielError) as refused:
                await spaniel.fetch(url)
            assert refused.value.code is Code.SSRF_BLOCKED


@pytest.mark.req("D2-33", "D2-05")
async def test_a_page_without_text_says_so_fresh_and_from_the_cache(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/": html("<title>Empty</title><p> </p>"), "/full": html("<p>Otters.</p>")}
    async with Site(pages) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        answers = [await spaniel.fetch(site.url("/")) for _ in range(2)]
        full = await spaniel.fetch(site.url("/full"))
    assert [answer.note for answer in answers] == ["no_text", "no_text, cache_hit"]
    assert [list(answer.chunks) for answer in answers] == [[], []]
    assert full.note is None
