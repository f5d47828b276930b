"""Lists of domains in the browser: where a page goes is judged, and what it may load."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.errors import Code, SpanielError
from spaniel.testing import FakeResolver, Site, redirect
from tests.browser.harness import WORDS, chromium_path, html, script

GOES = "<p>" + WORDS * 3 + "<p id=more><script>setTimeout(() => location = '{}', 50)</script>"


def settings_with(site: Site, cache: Path, **lists: object) -> Settings:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port], **lists}
    browser = {"chromium_path": chromium_path()}
    return from_data({"tools": {"webfetch": {"cache_dir": str(cache), "security": security, "browser": browser}}}, "t")


def pages(site: Site) -> None:
    other = site.url("/other", "b.example")
    site.pages |= {
        "/moved": redirect(other),
        "/goes": html(GOES.format(other)),
        "/other": html("<p>The badger digs. " + WORDS * 3),
        "/loads": html(f"<p id=here></p><script src={site.url('/words.js', 'b.example')}></script>"),
        "/words.js": script(f"document.getElementById('here').textContent = '{WORDS}'"),
    }


@pytest.mark.req("FR-WF-11b")
@pytest.mark.parametrize("by", ["call", "settings"])
@pytest.mark.parametrize("lists", [{"allowed_domains": ["a.example"]}, {"blocked_domains": ["b.example"]}])
async def test_a_page_goes_nowhere_else(tmp_path: Path, lists: dict[str, list[str]], by: str) -> None:
    mine, theirs = (lists, {}) if by == "settings" else ({}, lists)
    async with Site({}) as site:
        pages(site)
        async with Spaniel(settings_with(site, tmp_path, **mine), FakeResolver()) as spaniel:
            with pytest.raises(SpanielError) as caught:
                await spaniel.fetch(site.url("/moved", "a.example"), force_browser=True, **theirs)  # type: ignore[arg-type]
            stayed = await spaniel.fetch(site.url("/goes", "a.example"), force_browser=True, **theirs)  # type: ignore[arg-type]
    assert caught.value.code is Code.INVALID_HOST
    assert site.requests["/other"] == 0
    assert ("otter" in stayed.markdown, "badger" in stayed.markdown) == (True, False)


@pytest.mark.req("FR-WF-11b")
async def test_the_control_goes_there(tmp_path: Path) -> None:
    async with Site({}) as site:
        pages(site)
        async with Spaniel(settings_with(site, tmp_path, allowed_domains=["example"]), FakeResolver()) as spaniel:
            for path in ("/moved", "/goes"):
                answer = await spaniel.fetch(site.url(path, "a.example"), force_browser=True)
                assert "badger" in answer.markdown


@pytest.mark.req("FR-WF-11b")
@pytest.mark.parametrize(
    ("lists", "loaded"),
    [({"allowed_domains": ["a.example"]}, True), ({"blocked_domains": ["b.example"]}, False)],
)
async def test_subresources_may_be_cross_origin_but_not_from_blocked_domains(
    tmp_path: Path, lists: dict[str, list[str]], loaded: bool
) -> None:
    async with Site({}) as site:
        pages(site)
        async with Spaniel(settings_with(site, tmp_path, **lists), FakeResolver()) as spaniel:
            answer = await spaniel.fetch(site.url("/loads", "a.example"), force_browser=True)
    assert ("otter" in answer.markdown, site.requests["/words.js"]) == (loaded, int(loaded))
