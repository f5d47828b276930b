"""Profiles: data that decides how a fetch behaves, and how they get on with the settings."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.keys import KEYS
from spaniel.app.settings import Settings, from_data
from spaniel.cache import CacheSettings, PageCache, key_for
from spaniel.errors import Code, SpanielError
from spaniel.net.http import RequestHeaders, RequestOptions
from spaniel.pipeline.profile import NUMBERS, FetchLimits, Profile, load, shipped
from spaniel.pipeline.retrieve import FetchOptions
from spaniel.testing import FakeResolver, Page, Site, html, settings_for, spaniel_for, text
from tests.pipeline.test_fetch import code_of

MINE = """
name = "mine"
version = "7"
policy = "ingest"
content = ["html"]
[headers]
user_agent = "Mine/2.0 (hello)"
accept_language = "da"
[limits]
timeout_seconds = 3
max_redirects = 0
[cache]
ttl_days = 1
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(MINE, encoding="utf-8")
    return file


def profile_of(tmp_path: Path, toml: str) -> Profile:
    file = tmp_path / "some.toml"
    file.write_text(toml, encoding="utf-8")
    return load(file)


async def profile_under(settings: Settings, profile: str | Path = "web_fetch") -> Profile:
    """A profile as an engine with these settings completes it."""
    async with Engine(settings, FakeResolver()) as engine:
        return engine.profile(profile)


@pytest.mark.req("FR-WF-10a", "FR-WF-10b", "FR-WF-10e", "FR-WF-07")
async def test_web_fetch_is_the_srd_and_says_the_same_as_the_settings(tmp_path: Path) -> None:
    settings = from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path)}}}, "test")
    profile = await profile_under(settings)
    assert "web_fetch" in shipped()
    assert (profile.policy.name, profile.content, profile.cached) == ("exact", ("html", "text"), True)
    assert profile.fallback_names == ("http", "browser")
    assert profile.limits == FetchLimits(20, 0, 600)
    assert profile.way == FetchOptions(RequestOptions(RequestHeaders(), 5_242_880), 5)
    assert profile.ttl == timedelta(days=7)
    assert profile._replace(ttl=None) == load("web_fetch")  # its limits are the settings' defaults
    spans = {key.name: (key.low, key.high) for key in KEYS if key.table == "tools.webfetch"}
    assert all(spans.get(name, number.bounds) == number.bounds for name, number in NUMBERS.items())


@pytest.mark.req("FR-WF-CFG-01")
async def test_settings_override_web_fetch_but_not_own_profiles(tmp_path: Path, mine: Path) -> None:
    webfetch = {
        "timeout_seconds": 9,
        "default_max_chunk_tokens": 300,
        "cache_ttl_days": 2,
        "max_download_bytes": 2048,
        "cache_dir": str(tmp_path / "cache"),
    }
    settings = from_data({"tools": {"webfetch": webfetch}}, "test")
    web_fetch, own = await profile_under(settings), await profile_under(settings, mine)
    assert web_fetch.limits == FetchLimits(9, 0, 300)
    assert web_fetch.way == FetchOptions(RequestOptions(RequestHeaders(), 2048), 5)
    assert web_fetch.ttl == timedelta(days=2)
    headers = RequestHeaders("Mine/2.0 (hello)", accept_language="da")
    assert own.limits == FetchLimits(3, 0, 300)  # what it leaves open is the settings'
    assert own.way == FetchOptions(RequestOptions(headers, 2048), 0)
    assert own.ttl == timedelta(days=1)


@pytest.mark.req("D2-24", "FR-WF-10f", "FR-WF-10g")
async def test_a_fetch_behaves_as_its_profile_says(tmp_path: Path, mine: Path) -> None:
    pages: dict[str, Page] = {
        "/robots.txt": text("User-agent: mine\nDisallow: /closed\n"),
        "/page": html("<h1>Hello</h1><p>there</p>"),
        "/plain": text("x"),
        "/closed": html("<p>x</p>"),
        "/there": (302, {"Location": "/page"}, b""),
    }
    async with Site(pages) as site:
        settings = settings_for(site, cache=tmp_path / "cache")
        async with Spaniel(settings, FakeResolver(), mine) as own, Spaniel(settings, FakeResolver()) as web_fetch:
            url = site.url("/page/?utm_source=x").removeprefix("http://")
            assert await code_of(web_fetch, url) == "invalid_url"  # 'exact' repairs nothing; 'ingest' does
            pages["/page/"] = pages["/page"]
            first = await web_fetch.fetch(site.url("/page"))
            other = await own.fetch(site.url("/page/?utm_source=x"))
            assert other.final_url == site.url("/page")  # policy 'ingest'
            assert (first.note, other.note) == (None, None)  # another profile has other keys
            assert (await own.fetch(site.url("/page"))).note == "cache_hit"
            assert (site.seen[-1]["user-agent"], site.seen[-1]["accept-language"]) == ("Mine/2.0 (hello)", "da")
            assert await code_of(own, site.url("/plain")) == "unsupported_content_type"
            assert await code_of(own, site.url("/closed")) == "robots_disallowed"  # of its own user agent
            assert await code_of(own, site.url("/there")) == "redirect_limit"
            assert (await web_fetch.fetch(site.url("/plain"))).markdown == "x\n"
            assert (await web_fetch.fetch(site.url("/closed"))).markdown == "x\n"
            assert (await web_fetch.fetch(site.url("/there"))).final_url == site.url("/page")


async def test_a_profile_without_a_cache_neither_reads_nor_writes_it(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, 'name = "fresh"\nversion = "1"\n[cache]\nenabled = false\n')
    async with (
        Site({"/a": text("x")}) as site,
        spaniel_for(site, cache=tmp_path / "c", profile=profile) as spaniel,
    ):
        for times in (1, 2):
            assert (await spaniel.fetch(site.url("/a"))).note is None
            assert site.requests["/a"] == times
    assert os.listdir(tmp_path / "c") == ["robots"]


@pytest.mark.req("D2-24")
@pytest.mark.parametrize(("own", "settings", "requests"), [(0, 7, 2), (1, 0, 1)])
async def test_how_long_a_page_is_served_is_the_profiles_to_say(
    tmp_path: Path, own: int, settings: int, requests: int
) -> None:
    profile = profile_of(tmp_path, f'name = "own"\nversion = "1"\n[cache]\nttl_days = {own}\n')
    async with (
        Site({"/a": text("x")}) as site,
        spaniel_for(site, cache=tmp_path / "c", profile=profile, cache_ttl_days=settings) as spaniel,
    ):
        for _ in range(2):
            await spaniel.fetch(site.url("/a"))
        assert site.requests["/a"] == requests
    with PageCache(CacheSettings(str(tmp_path / "c"))) as cache:
        entry = cache.peek(key_for(site.url("/a"), "http", "own", "1", "block_loopback"))
        assert entry is not None
        assert entry.expires_at - entry.fetched_at == timedelta(days=own)


@pytest.mark.req("D2-24")
async def test_profile_version_is_part_of_the_cache_key(tmp_path: Path) -> None:
    first, second = (profile_of(tmp_path, f'name = "own"\nversion = "{number}"\n') for number in (1, 2))
    async with Site({"/a": text("x")}) as site:
        settings = settings_for(site, cache=tmp_path / "c")
        for profile, note in ((first, None), (second, None), (first, "cache_hit"), (second, "cache_hit")):
            async with Spaniel(settings, FakeResolver(), profile) as spaniel:
                assert (await spaniel.fetch(site.url("/a"))).note == note
    assert site.requests["/a"] == 2


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('polcy = "exact"', "some.toml.polcy: unknown key; did you mean 'policy'?"),
        ("[limits]\nmax_redirect = 3", "some.toml.limits.max_redirect: unknown key; did you mean 'max_redirects'?"),
        ("[limits]\ntimeout_seconds = '3'", "some.toml.limits.timeout_seconds: must be a whole number"),
        ("[headers]\nCookie = 'a=b'", "some.toml.headers.Cookie: unknown key; known: accept, accept_encoding"),
        ("[cache]\nttl_day = 3", "some.toml.cache.ttl_day: unknown key; did you mean 'ttl_days'?"),
        ('content = ["htm"]', "some.toml.content: unknown value 'htm'; did you mean 'html'?"),
        ('fallbacks = ["htttp"]', "some.toml.fallbacks: unknown value 'htttp'; did you mean 'http'?"),
        ("fallbacks = [{ rung = 'http' }]", "some.toml.fallbacks: each fallback is a name, or a table with 'name'"),
        ("fallbacks = []", "some.toml.fallbacks: is empty: nothing would be fetched"),
        ("fallbacks = 'http'", "some.toml.fallbacks: must be a list"),
        ('[headers]\nuser_agent = "a\\nb"', "User-Agent: a header holds printable ASCII only"),
        ('policy = "exakt"', "policy: no policy 'exakt'; did you mean 'exact'?"),
        ("[", "not TOML"),
        ('name = "x"', "not TOML"),  # twice the same key
    ],
)
def test_a_wrong_profile_is_refused_with_the_nearest_name(tmp_path: Path, toml: str, expected: str) -> None:
    with pytest.raises(SpanielError) as caught:
        profile_of(tmp_path, f'name = "some"\nversion = "1"\n{toml}\n')
    assert caught.value.code is Code.BAD_ARGS
    assert expected in caught.value.message


def test_a_profile_is_found_or_the_nearest_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpanielError, match="unknown profile 'web_fetsch'; did you mean 'web_fetch'"):
        load("web_fetsch")
    with pytest.raises(SpanielError, match="cannot be read"):
        load(tmp_path / "none.toml")
    with pytest.raises(SpanielError, match="'web_fetch' is a built-in profile; choose another name"):
        profile_of(tmp_path, 'name = "web_fetch"\nversion = "2"\n')
    with pytest.raises(SpanielError, match="version: must be text in one line"):
        profile_of(tmp_path, 'name = "a"\nversion = "1\\n2"\n')
    with pytest.raises(SpanielError, match="must be letters, digits"):
        profile_of(tmp_path, 'name = "a@b"\nversion = "2"\n')
    with pytest.raises(SpanielError, match=r"limits\.timeout_seconds: 301 is not between 1 and 300"):
        profile_of(tmp_path, 'name = "a"\nversion = "2"\n[limits]\ntimeout_seconds = 301\n')


def test_a_policy_file_stands_beside_its_profile(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('name = "own"\nversion = "1"\n[[apply]]\nrule = "parse"\n', encoding="utf-8")
    assert profile_of(tmp_path, 'name = "a"\nversion = "1"\npolicy = "own.toml"\n').policy.name == "own"
