"""Lists of domains hold at every hop, for cached pages, and for callers that join another's fetch."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Request
from spaniel.testing import FakeResolver, Page, Reply, Site, redirect, text

Lists = dict[str, Any]

INSIDE: list[Lists] = [
    {"allowed_domains": ["b.example", "a.example"]},
    {"blocked_domains": ["c.example", "x.a.example"]},
    {"allowed_domains": ["*.example"], "blocked_domains": ["c.example"]},
    {},
]
OUTSIDE: list[Lists] = [
    {"allowed_domains": ["a.example"]},
    {"allowed_domains": ["a.example", "x.b.example"]},
    {"blocked_domains": ["b.example"]},
    {"allowed_domains": ["a.example", "b.example"], "blocked_domains": ["b.example"]},
]


def settings_with(site: Site, cache: Path, **lists: object) -> Settings:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port], **lists}
    return from_data({"tools": {"webfetch": {"cache_dir": str(cache), "security": security}}}, "test")


def pages(site: Site) -> None:
    """/far leads from a.example by way of b.example to a.example again, /near stays where it is."""
    site.pages |= {
        "/far": redirect(site.url("/hop", "b.example")),
        "/hop": redirect(site.url("/end", "a.example")),
        "/near": redirect("/end"),
        "/end": text("hello"),
    }


async def refused(spaniel: Spaniel, url: str, **lists: Any) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        await spaniel.fetch(url, **lists)
    return caught.value


@pytest.mark.parametrize("lists", INSIDE)
async def test_pages_of_the_domains_come(tmp_path: Path, lists: Lists) -> None:
    async with Site({}) as site, Spaniel(settings_with(site, tmp_path), FakeResolver()) as spaniel:
        pages(site)
        for path in ("/far", "/near"):
            assert (await spaniel.fetch(site.url(path, "a.example"), **lists)).markdown.strip() == "hello"


@pytest.mark.parametrize("lists", OUTSIDE)
@pytest.mark.parametrize("by", ["call", "settings"])
async def test_a_hop_outside_is_refused_before_anything_is_sent_there(tmp_path: Path, lists: Lists, by: str) -> None:
    mine, theirs = (lists, {}) if by == "settings" else ({}, lists)
    async with Site({}) as site:
        pages(site)
        async with Spaniel(settings_with(site, tmp_path, **mine), names := FakeResolver()) as spaniel:
            error = await refused(spaniel, site.url("/far", "a.example"), **theirs)
            first = await refused(spaniel, site.url("/end", "b.example"), **theirs)
            assert (await spaniel.fetch(site.url("/near", "a.example"), **theirs)).markdown.strip() == "hello"
        assert site.requests["/hop"] == 0
        assert "b.example" not in names.asked  # not even looked up
    for found in (error, first):
        assert (found.code, found.details["host"]) == (Code.INVALID_HOST, "b.example")
        assert found.details["list"] in lists
        assert f"{found.details['list']}" in found.message


async def test_a_call_cannot_open_what_the_settings_close(tmp_path: Path) -> None:
    async with Site({"/a": text("hello")}) as site:
        settings = settings_with(site, tmp_path, allowed_domains=["a.example"], blocked_domains=["x.a.example"])
        async with Spaniel(settings, FakeResolver()) as spaniel:
            for host in ("b.example", "x.a.example"):
                error = await refused(spaniel, site.url("/a", host), allowed_domains=[host, "a.example"])
                assert error.code is Code.INVALID_HOST
            assert await spaniel.fetch(site.url("/a", "a.example"), allowed_domains=["b.example", "a.example"])
            await refused(spaniel, site.url("/a", "a.example"), allowed_domains=["b.example"])


async def test_what_is_cached_is_judged_again_with_the_way_to_it(tmp_path: Path) -> None:
    async with Site({}) as site, Spaniel(settings_with(site, tmp_path), FakeResolver()) as spaniel:
        pages(site)
        url = site.url("/far", "a.example")
        await spaniel.fetch(url)
        assert (await spaniel.fetch(url)).note == "cache_hit"  # the control
        for lists in OUTSIDE:
            assert (await refused(spaniel, url, **lists)).code is Code.INVALID_HOST
            assert await spaniel.stored(Request(url, **lists)) is None
        for lists in INSIDE:
            assert (await spaniel.fetch(url, **lists)).note == "cache_hit"


async def test_what_other_settings_let_in_is_judged_by_these(tmp_path: Path) -> None:
    async with Site({}) as site:
        pages(site)
        url = site.url("/far", "a.example")
        async with Spaniel(settings_with(site, tmp_path), FakeResolver()) as spaniel:
            await spaniel.fetch(url)
        async with Spaniel(settings_with(site, tmp_path, blocked_domains=["b.example"]), FakeResolver()) as spaniel:
            assert (await refused(spaniel, url)).code is Code.INVALID_HOST


async def test_nobody_joins_a_fetch_that_other_lists_rule(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> Reply:
        begun.set()
        await go_on.wait()
        return text("hello")

    async with Site({}) as site, Spaniel(settings_with(site, tmp_path), FakeResolver()) as spaniel:
        pages(site)
        site.pages["/end"] = slow
        url = site.url("/far", "a.example")
        free = asyncio.ensure_future(spaniel.fetch(url))
        await begun.wait()
        error = await refused(spaniel, url, blocked_domains=["b.example"])
        go_on.set()
        assert (await free).markdown.strip() == "hello"
    assert error.code is Code.INVALID_HOST


async def test_robots_txt_is_not_asked_for_at_a_blocked_domain(tmp_path: Path) -> None:
    """What the settings block is not connected to for anything; what they allow are pages."""
    away: dict[str, Page] = {"/a": text("hello")}
    async with Site(away) as site:
        site.pages["/robots.txt"] = redirect(site.url("/rules", "b.example"))
        site.pages["/rules"] = text("User-agent: *\nAllow: /")
        async with Spaniel(settings_with(site, tmp_path, allowed_domains=["a.example"]), FakeResolver()) as spaniel:
            assert (await spaniel.fetch(site.url("/a", "a.example"))).markdown.strip() == "hello"
        assert site.requests["/rules"] == 1
        blocking = settings_with(site, tmp_path / "other", blocked_domains=["b.example"])
        async with Spaniel(blocking, FakeResolver()) as spaniel:
            with pytest.raises(SpanielError):
                await spaniel.fetch(site.url("/a", "a.example"))
        assert site.requests["/rules"] == 1


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"allowed_domains": []}, "allowed_domains: is empty"),
        ({"allowed_domains": "a.example"}, "allowed_domains: must be a list"),
        ({"blocked_domains": "b.example"}, "blocked_domains: must be a list"),
        ({"blocked_domains": ["https://b.example/"]}, "blocked_domains: 'https://b.example/' is not a domain"),
    ],
)
async def test_lists_that_do_not_mean_what_they_seem_to_are_refused(
    tmp_path: Path, lists: Lists, expected: str
) -> None:
    async with Site({"/a": text("hello")}) as site, Spaniel(settings_with(site, tmp_path), FakeResolver()) as spaniel:
        error = await refused(spaniel, site.url("/a", "a.example"), **lists)
        assert (error.code, site.requests["/a"]) == (Code.BAD_ARGS, 0)
        assert expected in error.message


@pytest.mark.req("FR-WF-CFG-01", "D2-31")
def test_a_wrong_list_in_a_file_is_an_error_that_names_the_key() -> None:
    data = {"tools": {"webfetch": {"security": {"blocked_domains": ["*"]}}}}
    with pytest.raises(SpanielError, match=r"my\.toml: tools\.webfetch\.security\.blocked_domains: '\*' is not"):
        from_data(data, "my.toml")
