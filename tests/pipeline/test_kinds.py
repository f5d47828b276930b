"""Kinds of content in a whole fetch: a profile says what it reads, and how much of a text it takes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.profile import FetchLimits, Profile, from_data, load
from spaniel.testing import Page, Site, html, spaniel_for

KINDS = ["html", "text", "json", "markdown", "feed", "xml", "csv"]
PAGES: dict[str, Page] = {
    "/json": (200, {"Content-Type": "application/json"}, b'{"n": 12345678901234567890.10, "x": [1, 2]}'),
    "/broken.json": (200, {"Content-Type": "application/json"}, b'{"n": '),
    "/markdown": (200, {"Content-Type": "text/markdown"}, b"# Title\n\n[x](y) <script>z</script>\n"),
    "/feed": (
        200,
        {"Content-Type": "application/xml"},
        b"<rss version='2.0'><channel><title>F</title></channel></rss>",
    ),
    "/xml": (200, {"Content-Type": "text/xml"}, b"<x>1</x>"),
    "/csv": (200, {"Content-Type": "text/csv"}, b"a,b\n1,2\n"),
    "/none": (200, {}, b'{"a": [1]}'),
    "/picture": (200, {"Content-Type": "image/svg+xml"}, b"<svg/>"),
}


def profile(**limits: int) -> Profile:
    data = {"name": "kinds", "version": "1", "content": KINDS, "fallbacks": ["http"], "limits": limits}
    return from_data(data, "kinds.toml")


async def outcomes(pages: dict[str, Page], chosen: Profile, cache: Path, times: int = 1) -> dict[str, Outcome]:
    async with Site(pages) as site, spaniel_for(site, cache=cache, profile=chosen) as spaniel:
        for _ in range(times):
            found = {path: await spaniel.outcome(site.url(path)) for path in pages}
        return found


@pytest.mark.req("FG-25", "FG-15")
async def test_each_kind_is_read_and_served_from_the_cache(tmp_path: Path) -> None:
    for times in (1, 2):
        found = await outcomes(PAGES, profile(), tmp_path, times)
        pages = {path: one.found.page for path, one in found.items() if one.found}
        assert all(one.cache_hit is (times == 2) for one in found.values() if one.found)
        assert pages["/json"].data == '{"n": 12345678901234567890.10, "x": [1, 2]}'
        assert '"n": 12345678901234567890.10' in pages["/json"].markdown
        assert pages["/broken.json"].data is None
        assert pages["/broken.json"].notes == ["invalid_json"]
        assert pages["/markdown"].markdown.startswith("# Title\n\n[x](http://site.example")
        assert "script" not in pages["/markdown"].markdown
        assert pages["/feed"].title == "F"
        assert pages["/xml"].markdown == "```xml\n<x>1</x>\n```\n"
        assert pages["/csv"].markdown == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
        assert json.loads(pages["/none"].data or "") == {"a": [1]}
        assert "/picture" not in pages


@pytest.mark.req("FR-WF-10g", "FR-WF-10h")
async def test_web_fetch_reads_html_and_text_as_ever(tmp_path: Path) -> None:
    found = await outcomes(PAGES, load("web_fetch"), tmp_path)
    assert {path for path, one in found.items() if one.found} == {"/none"}
    none = found["/none"].require().page
    assert (none.markdown, none.data) == ('{"a": [1]}\n', None)
    refusal = found["/json"].refusal
    assert refusal is not None
    assert refusal.details == {"content_type": "application/json", "kind": "json"}


@pytest.mark.req("D2-32", "FR-WF-10g")
async def test_refused_kind_names_a_profile_to_people_only(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        **PAGES,
        "/pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7 x"),
        "/pdf-as-html": (200, {"Content-Type": "text/html"}, b"%PDF-1.7 \0 x"),
        "/pdf-without-type": (200, {}, b"%PDF-1.7 x"),
        "/video": (200, {"Content-Type": "video/mp4"}, b"\0\0\0 ftyp"),
    }
    refused = {path: one.refusal for path, one in (await outcomes(pages, load("web_fetch"), tmp_path)).items()}
    assert refused["/video"] is not None
    assert "reader" not in refused["/video"].hint
    assert "does not allow" not in refused["/video"].model_hint
    named = [path for path in pages if path not in ("/none", "/picture", "/video")]
    assert named
    for path in named:
        error = refused[path]
        assert error is not None, path
        assert "--profile reader" in error.hint, path
        assert "this host does not allow" in error.model_hint.lower(), path
        assert "reader" not in error.model_hint


def test_a_profile_that_names_no_kinds_reads_what_web_fetch_reads() -> None:
    assert from_data({"name": "x", "version": "1"}, "x").content == load("web_fetch").content


LONG = "<p>" + "wörd " * 300_000
CUT: dict[str, Page] = {
    "/long": html(LONG),
    "/zipped": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, gzip.compress(LONG.encode())),
    "/text": (200, {"Content-Type": "text/plain"}, ("é" * 600_000).encode()),
    "/whole": (200, {"Content-Type": "text/plain"}, b"x" * 1_000_000),
    "/json": (200, {"Content-Type": "application/json"}, json.dumps(["x" * 1_200_000]).encode()),
    "/huge.json": (200, {"Content-Type": "application/json"}, json.dumps(["x" * 2_100_000]).encode()),
}


@pytest.mark.req("FG-26")
async def test_long_texts_are_cut_and_data_is_not(tmp_path: Path) -> None:
    found = await outcomes(CUT, profile(max_text_bytes=1_000_000, max_download_bytes=2_000_000), tmp_path)
    for path in ("/long", "/zipped"):
        page = found[path].require().page
        assert "text_cut" in found[path].caveats
        assert 900_000 < len(page.markdown.encode()) <= 1_000_000
        assert "\ufffd" not in page.markdown
    assert found["/text"].require().page.markdown == "é" * 500_000 + "\n"
    assert found["/text"].caveats == ("text_cut",)
    assert found["/whole"].caveats == ()
    assert found["/json"].require().page.data == json.dumps(["x" * 1_200_000])
    assert found["/json"].caveats == ()
    assert isinstance(found["/huge.json"].refusal, SpanielError)
    assert found["/huge.json"].refusal.code == "response_too_large"


@pytest.mark.req("FG-26")
async def test_without_the_limit_a_long_text_is_taken_or_refused(tmp_path: Path) -> None:
    assert profile().limits == FetchLimits()
    assert profile().way.options.beginning is None
    assert load("web_fetch").way.options.beginning is None
    found = await outcomes({"/long": CUT["/long"]}, profile(max_download_bytes=1_000_000), tmp_path)
    assert found["/long"].refusal is not None
    assert found["/long"].refusal.code == "response_too_large"
