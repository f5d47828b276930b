"""How a page is shown for one call: what is waited for, and how long; the window, scrolling, a picture."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest

import spaniel
from spaniel.browser import page_reader
from spaniel.errors import SpanielError
from spaniel.pipeline.profile import from_data
from spaniel.testing import Page, Site, redirect, spaniel_for
from tests.browser.harness import WORDS, html, script, spaniel_at, with_chromium

LATE = html(
    f"<h1>Late</h1><p>{WORDS * 12}</p><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend',"
    "'<p id=late>It came late.</p>'), 1500)</script>"
)
FEED = html(
    f"<h1>Feed</h1><p>{WORDS * 12}</p><script>let n = 0;"
    "const add = () => document.body.insertAdjacentHTML('beforeend',"
    "`<p style='height: 9000px'>part ${++n} of the feed</p>`); add(); addEventListener('scroll', add)</script>"
)
TALL = html(f"<h1>Tall</h1><p>{WORDS}</p><div style='height: 200000px'></div>")


async def test_a_selector_is_waited_for_and_one_that_never_matches_is_told(tmp_path: Path) -> None:
    async with spaniel_at({"/": LATE}, tmp_path) as (spaniel, site):
        url = site.url("/")
        assert "came late" not in (await spaniel.fetch(url, force_browser=True)).markdown  # the control
        assert "came late" in (await spaniel.fetch(url, wait_for="#late")).markdown
        missing = await spaniel.fetch(url, wait_for="#never", idle_ms=2_500)
        assert (missing.note, "Late" in missing.markdown) == ("wait_for_missing", True)
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(url, wait_for="p[")
        assert (str(caught.value.code), "no CSS selector" in caught.value.message) == ("bad_args", True)


async def test_a_selector_is_looked_for_in_open_shadow_roots(tmp_path: Path) -> None:
    page = html(
        f"<h1>Shadow</h1><p>{WORDS * 12}</p><x-outer></x-outer><script>setTimeout(() => {{"
        "const outer = document.querySelector('x-outer').attachShadow({mode: 'open'});"
        "outer.innerHTML = '<section><div id=host></div></section>';"
        "const inner = outer.getElementById('host').attachShadow({mode: 'open'});"
        "inner.innerHTML = '<p class=price>It came late.</p>'; }, 1500)</script>"
    )
    async with spaniel_at({"/": page}, tmp_path) as (spaniel, site):
        url = site.url("/")
        assert "came late" not in (await spaniel.fetch(url, force_browser=True)).markdown  # the control
        found = await spaniel.fetch(url, wait_for="p.price", idle_ms=15_000)
        assert ("came late" in found.markdown, found.note) == (True, None)
        missing = await spaniel.fetch(url, wait_for="p.prize", idle_ms=2_500)
        assert missing.note == "wait_for_missing"
        with pytest.raises(SpanielError, match="no CSS selector"):
            await spaniel.fetch(url, wait_for="p[")


async def test_what_is_shown_otherwise_is_not_what_the_cache_has(tmp_path: Path) -> None:
    async with spaniel_at({"/": LATE}, tmp_path) as (spaniel, site):
        await spaniel.fetch(site.url("/"), wait_for="#late")
        assert "came late" not in (await spaniel.fetch(site.url("/"), force_browser=True)).markdown


async def test_scrolling_ends_where_it_is_told_to(tmp_path: Path) -> None:
    async with spaniel_at({"/": FEED}, tmp_path) as (spaniel, site):
        assert "part 2 of" not in (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
        markdown = (await spaniel.fetch(site.url("/"), scrolls=2)).markdown
    assert "part 3 of" in markdown
    assert "part 9 of" not in markdown


@pytest.mark.parametrize(
    "wrong", [{"viewport": (5, 5)}, {"viewport": (1280, 99_999)}, {"idle_ms": -1}, {"scrolls": 101}]
)
async def test_what_is_out_of_bounds_is_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    async with spaniel_at({"/": LATE}, tmp_path) as (spaniel, site):
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(site.url("/"), **wrong)  # type: ignore[arg-type]
    assert str(caught.value.code) == "bad_args"


async def test_a_picture_comes_with_the_answer_clipped_where_it_must_be(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/": html(f"<h1>Short</h1><p>{WORDS}</p>"), "/tall": TALL}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        short = await spaniel.fetch(site.url("/"), screenshot=True)
        tall = await spaniel.fetch(site.url("/tall"), screenshot=True)
    assert short.picture is not None
    assert tall.picture is not None
    assert size_of(short.picture) == (1280, 900)
    assert size_of(tall.picture) == (1280, 16_384)
    assert (short.note, tall.note) == (None, "picture_clipped")
    assert "The otter" in tall.markdown


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.req("FR-WF-11")
@pytest.mark.parametrize(
    ("languages", "first"),
    [
        ("en-US,en;q=0.9", "en-US,en"),
        ("de-AT, de;q=0.8, *;q=0.1", "de-AT,de"),
        ("fr", "fr"),
        ("en;q=0.3,ca;q=0.9", "ca,en"),
    ],
)
async def test_the_browser_sends_the_languages_that_http_sends(languages: str, first: str, tmp_path: Path) -> None:
    profile = from_data({"name": "mine", "version": "1", "headers": {"accept_language": languages}}, "mine")
    page = html(
        "<h1>Sprache</h1><p id=p></p><iframe src=/frame></iframe><script>p.textContent = navigator.languages;"
        "fetch('/x'); new Worker('/worker.js')</script>"
    )
    pages: dict[str, Page] = {
        "/": redirect("/page"),
        "/page": page,
        "/plain": html(f"<p>{WORDS * 20}</p>"),
        "/frame": html("<img src=/y><script>fetch('/y')</script>"),
        "/worker.js": script("fetch('/z')"),
    }
    async with Site(pages) as site:
        async with spaniel_for(site, cache=tmp_path, browser=with_chromium(), profile=profile) as spaniel:
            await spaniel.fetch(site.url("/plain"))
            over_http = {seen.get("accept-language") for seen in site.seen}
            answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert over_http == {languages}
        assert first in answer.markdown
        assert {path for path in ("/frame", "/x", "/y", "/worker.js", "/z") if not site.requests[path]} == set()
        assert {seen.get("accept-language") for seen in site.seen} == {languages}


async def test_page_sees_the_configured_window_size(tmp_path: Path) -> None:
    result = (
        "[innerWidth, innerHeight, devicePixelRatio, visualViewport.scale, visualViewport.height,"
        "matchMedia('(min-width: 1280px) and (max-resolution: 1dppx)').matches, box.getBoundingClientRect().width]"
    )
    page = html(
        f"<h1>Size</h1><div id=box style='width: 777px'></div><p id=p><script>p.append({result}.join(' '))</script>"
    )
    async with spaniel_at({"/": page}, tmp_path) as (spaniel, site):
        assert "1280 8000 1 1 8000 true 777" in (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
        other = await spaniel.fetch(site.url("/"), viewport=(800, 600))
    assert "800 600 1 1 600 false 777" in other.markdown


async def test_the_calls_for_one_page_take_what_a_client_takes(tmp_path: Path) -> None:
    browser = with_chromium()
    async with Site({"/": LATE}) as site:
        settings = {
            "cache_dir": str(tmp_path), "timeout_seconds": 60, "security_block_loopback": False,
            "security_allow_insecure_overrides": True, "security_allowed_ports": [site.port],
            "browser_chromium_path": browser["chromium_path"],
        }  # fmt: skip
        url, shown = f"http://127.0.0.1:{site.port}/", {"wait_for": "#late", "viewport": (640, 480), "screenshot": True}
        answers = [
            await spaniel.afetch(url, settings=settings, **shown),  # type: ignore[arg-type]
            await asyncio.to_thread(spaniel.fetch, url, settings=settings, **shown),  # type: ignore[arg-type]
        ]
        missing = await spaniel.afetch(url, settings=settings, wait_for="#never", idle_ms=500)
    for answer in answers:
        assert answer.picture is not None
        assert ("came late" in answer.markdown, size_of(answer.picture)[0]) == (True, 640)
    assert missing.note == "wait_for_missing"


async def test_a_picture_that_cannot_be_had_costs_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "PICTURE_SECONDS", 0.0)
    async with spaniel_at({"/": html(f"<h1>Page</h1><p>{WORDS}</p>")}, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), screenshot=True)
    assert (answer.picture, answer.note, "The otter" in answer.markdown) == (None, "picture_failed", True)
