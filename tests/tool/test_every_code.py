"""Every code of the registry comes out of the tool, from a real cause, as the SRD's JSON (T-WF-ERR-01, 02)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from spaniel.errors import TABLE, Code
from spaniel.testing import Page, Reply, redirect, text
from spaniel.tool import ToolCtx, ToolError
from tests.tool.harness import tool_at


async def late() -> Reply:
    await asyncio.sleep(300)
    return text("late")


async def gone() -> Reply:
    raise ConnectionError


PAGES: dict[str, Page] = {
    "/robots.txt": text("User-agent: *\nDisallow: /private"),
    "/loop": redirect("/loop"),
    "/late": late,
    "/gone": gone,
    "/large": text("x" * 3000),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/failing": text("no", 503),
}

# What is asked for, `{port}` being the site's; where it is text, the URL.
CAUSES: dict[Code, object] = {
    Code.BAD_ARGS: {"url": "https://a.example/", "max_chunk_tokens": 5},
    Code.INVALID_URL: "http://good.example\\@a.example/",
    Code.INVALID_SCHEME: "file:///etc/passwd",
    Code.INVALID_HOST: "http://0177.0.0.1/",
    Code.PORT_BLOCKED: "http://a.example:22/",
    Code.SSRF_BLOCKED: "http://10.0.0.5:{port}/",
    Code.DNS_FAILED: "http://nowhere.example:{port}/",
    Code.ROBOTS_DISALLOWED: "http://a.example:{port}/private/x",
    Code.REDIRECT_LIMIT: "http://a.example:{port}/loop",
    Code.TIMEOUT: "http://a.example:{port}/late",
    Code.NETWORK: "http://a.example:{port}/gone",
    Code.RESPONSE_TOO_LARGE: "http://a.example:{port}/large",
    Code.UNSUPPORTED_CONTENT_TYPE: "http://a.example:{port}/image",
    Code.HTTP_4XX: "http://a.example:{port}/nothing-here",
    Code.HTTP_5XX: "http://a.example:{port}/failing",
    Code.INTERNAL: "http://broken.example:{port}/",
}
ELSEWHERE = {
    Code.ROBOTS_UNAVAILABLE,  # below: another robots.txt
    Code.EXTRACTION_FAILED,  # below: a reader that breaks
    Code.CACHE_READ_FAILED,  # from `spaniel cache` alone (D2-22): tests/cache
    Code.BROWSER_UNAVAILABLE,  # tests/pipeline/test_registry.py
    Code.BROWSER_CRASHED,  # tests/browser/test_trouble.py
}


async def envelope_of(args: object, pages: dict[str, Page], cache: Path, seconds: int = 60) -> dict[str, object]:
    limits: dict[str, Any] = {"timeout_seconds": seconds, "max_download_bytes": 2048}
    async with tool_at(pages, cache, allow_auto_execution=True, **limits) as (tool, site):
        asked = {"url": args.format(port=site.port)} if isinstance(args, str) else args
        with pytest.raises(ToolError) as caught:
            await tool.execute(asked, ToolCtx())  # type: ignore[arg-type]
    envelope: dict[str, object] = json.loads(caught.value.message)
    assert caught.value.retryable is envelope["retryable"]
    return envelope


def well_formed(envelope: dict[str, object], code: Code) -> None:
    assert envelope["code"] == code
    assert envelope["retryable"] is TABLE[code].retryable
    assert isinstance(envelope["message"], str)
    assert envelope["message"]
    details = envelope["details"]
    assert isinstance(details, dict)
    assert set(TABLE[code].details) <= set(details)


@pytest.mark.req("T-WF-ERR-01", "T-WF-ERR-02", "FR-WF-18", "FR-WF-18a", "FR-WF-18b", "NFR-WF-REL-02")
@pytest.mark.parametrize("code", CAUSES)
async def test_each_cause_comes_out_as_its_code(code: Code, tmp_path: Path) -> None:
    seconds = 1 if code is Code.TIMEOUT else 60
    well_formed(await envelope_of(CAUSES[code], PAGES, tmp_path, seconds), code)


@pytest.mark.req("T-WF-ERR-02", "FR-WF-09a")
async def test_robots_txt_that_cannot_be_read(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/robots.txt": text("", 500), "/a": text("a")}
    well_formed(await envelope_of("http://a.example:{port}/a", pages, tmp_path), Code.ROBOTS_UNAVAILABLE)


@pytest.mark.req("T-WF-ERR-02")
async def test_a_page_that_breaks_its_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page is known that does; so the parser is broken instead."""

    def broken(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("spaniel.reading.formats.html.parse_html", broken)
    pages: dict[str, Page] = {"/a": (200, {"Content-Type": "text/html"}, b"<p>hello")}
    well_formed(await envelope_of("http://a.example:{port}/a", pages, tmp_path), Code.EXTRACTION_FAILED)


@pytest.mark.req("T-WF-ERR-02")
def test_no_code_is_forgotten() -> None:
    assert {*CAUSES, *ELSEWHERE} == set(Code)
