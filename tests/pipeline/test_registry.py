"""Every code of the SRD's registry, produced by a real path; and after each of them the same client serves."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.settings import from_data
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.errors import TABLE, Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.request import Trace, TraceStep, read_request
from spaniel.testing import FakeResolver, Page, Reply, Site, html, redirect, text
from spaniel.url import parse
from tests.loopback import rooms_for
from tests.net.servers import Wire, serve, site
from tests.pipeline.test_fetch import ARTICLE

WITH_CHROMIUM = {Code.BROWSER_CRASHED}  # tests/browser/test_trouble.py kills a real one

ROBOTS = text("User-agent: *\nDisallow: /closed\n")


async def _never() -> Reply:
    await asyncio.sleep(300)
    return text("")


PAGES: dict[str, Page] = {
    "/robots.txt": ROBOTS,
    "/good": html(ARTICLE),
    "/closed": text("x"),
    "/loop": redirect("/loop"),
    "/never": _never,
    "/large": text("x" * 9001),
    "/pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7"),
    "/gone": text("", 410),
    "/broken": text("", 503),
    "/inside": redirect("http://169.254.169.254/latest/meta-data/"),
}


async def _reset(wire: Wire) -> None:
    request = await wire.request()
    if request and request.target == "/robots.txt":
        await wire.send(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
        await wire.request()
    wire.reset()


class Scenario:
    """A client, one without patience, a site that behaves in many ways, and two that are out of order."""

    def __init__(self, spaniel: Spaniel, hasty: Spaniel, site: Site, resetting: str, unwell: str, folder: Path) -> None:
        self.spaniel, self.hasty, self.site = spaniel, hasty, site
        self.resetting, self.unwell, self.folder = resetting, unwell, folder

    def fetching(self, path: str) -> Awaitable[object]:
        return self.spaniel.fetch(self.site.url(path) if path.startswith("/") else path)


@asynccontextmanager
async def open_scenario(folder: Path) -> AsyncIterator[Scenario]:
    async with (
        Site(PAGES) as pages,
        serve(_reset) as resetting,
        serve(site({"/robots.txt": (503, [], b"")})) as unwell,
    ):
        ports = [pages.port, resetting.port, unwell.port]
        security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": ports}
        data = {
            "cache_dir": str(folder / "cache"),
            "security": security,
            "max_download_bytes": 9000,
            "browser": {"chromium_path": "/nowhere/chromium"},
        }
        patient, hasty = ({"tools": {"webfetch": {**data, "timeout_seconds": seconds}}} for seconds in (60, 1))
        names = FakeResolver({"nobody.example": []})
        async with Spaniel(from_data(patient, "test"), names) as spaniel, Spaniel(from_data(hasty, "test")) as other:
            urls = (resetting.url("/", "reset.example"), unwell.url("/", "unwell.example"))
            yield Scenario(spaniel, other, pages, *urls, folder)


async def _bad_args(_: Scenario) -> None:
    read_request({"url": "https://a.example/", "max_chunk_tokens": 3})


def _settable(limit: int) -> bool:
    try:
        sys.setrecursionlimit(limit)
    except RecursionError:  # so deep we are already
        return False
    return True


async def _too_deep(scenario: Scenario) -> None:
    """A page that needs more stack than is left when it is read; how much that is depends on what else is running."""
    limit = sys.getrecursionlimit()
    await scenario.spaniel.fetch(scenario.site.url("/good"), no_cache=True)  # loads what is imported on first use

    def watch(spare: int, step: TraceStep) -> None:
        if step.name == "content_type":
            least = next(number for number in range(20, limit) if _settable(number))
            sys.setrecursionlimit(least + spare)
        elif step.name == "extract":
            sys.setrecursionlimit(limit)

    for frames in range(1, 60):
        trace = Trace(partial(watch, frames))
        try:
            await scenario.spaniel.fetch(scenario.site.url("/good"), no_cache=True, trace=trace)
        except RecursionError:  # not even enough to build the error
            continue
        finally:
            sys.setrecursionlimit(limit)


async def _cache_read_failed(scenario: Scenario) -> None:
    """During a fetch it is a miss (D2-22); `spaniel cache` says so."""
    (scenario.folder / "file").write_bytes(b"")
    with CacheMaintenance(str(scenario.folder / "file")) as upkeep:
        upkeep.stats()


async def _internal(scenario: Scenario) -> None:
    """A mistake of ours, caught by the door: another host's target."""
    async with rooms_for(scenario.site) as services:
        deadline = Deadline(5)
        target = await services.guard.vet(parse(scenario.site.url("/", "one.example")), deadline)
        await services.http.get(parse(scenario.site.url("/", "two.example")), target, deadline)


PATHS: dict[Code, Callable[[Scenario], Awaitable[object]]] = {
    Code.BAD_ARGS: _bad_args,
    Code.INVALID_URL: lambda w: w.fetching("http://a..b/"),
    Code.INVALID_SCHEME: lambda w: w.fetching("ftp://a.example/"),
    Code.INVALID_HOST: lambda w: w.fetching("http://0x7f000001/"),
    Code.PORT_BLOCKED: lambda w: w.fetching("http://a.example:22/"),
    Code.SSRF_BLOCKED: lambda w: w.fetching("/inside"),
    Code.DNS_FAILED: lambda w: w.fetching(w.site.url("/", "nobody.example")),
    Code.ROBOTS_DISALLOWED: lambda w: w.fetching("/closed"),
    Code.ROBOTS_UNAVAILABLE: lambda w: w.fetching(w.unwell),
    Code.REDIRECT_LIMIT: lambda w: w.fetching("/loop"),
    Code.TIMEOUT: lambda w: w.hasty.fetch(w.site.url("/never", "127.0.0.1")),
    Code.NETWORK: lambda w: w.fetching(w.resetting),
    Code.RESPONSE_TOO_LARGE: lambda w: w.fetching("/large"),
    Code.UNSUPPORTED_CONTENT_TYPE: lambda w: w.fetching("/pdf"),
    Code.HTTP_4XX: lambda w: w.fetching("/gone"),
    Code.HTTP_5XX: lambda w: w.fetching("/broken"),
    Code.BROWSER_UNAVAILABLE: lambda w: w.spaniel.fetch(w.site.url("/good"), force_browser=True),
    Code.EXTRACTION_FAILED: _too_deep,
    Code.CACHE_READ_FAILED: _cache_read_failed,
    Code.INTERNAL: _internal,
}


@pytest.mark.req("T-WF-ERR-02", "FR-WF-18", "FR-WF-18a")
def test_no_code_of_the_registry_is_forgotten() -> None:
    assert set(PATHS) | WITH_CHROMIUM == set(Code)
    assert not set(PATHS) & WITH_CHROMIUM


@pytest.mark.req("T-WF-ERR-02", "FR-WF-18", "FR-WF-18a", "FR-WF-18b", "NFR-WF-REL-02")
@pytest.mark.parametrize("code", PATHS, ids=str)
async def test_a_code_comes_from_a_real_path_and_the_next_fetch_works(code: Code, tmp_path: Path) -> None:
    async with open_scenario(tmp_path) as scenario:
        with pytest.raises(SpanielError) as caught:
            await PATHS[code](scenario)
        envelope = json.loads(caught.value.as_json())
        assert envelope["code"] == str(code), envelope
        assert envelope["retryable"] is TABLE[code].retryable
        assert envelope["message"]
        assert set(TABLE[code].details) <= set(envelope["details"])
        answer = await scenario.spaniel.fetch(scenario.site.url("/good"))
        assert answer.markdown.startswith("# The Otter")


@pytest.mark.req("NFR-WF-REL-02", "NFR-WF-REL-03", "FR-WF-19")
async def test_all_of_them_at_once_and_again_leave_the_client_serving(tmp_path: Path) -> None:
    apart = {Code.EXTRACTION_FAILED}  # it takes the stack away from everybody
    codes = [code for code in PATHS if code not in apart] * 3
    async with open_scenario(tmp_path) as scenario:
        good = [scenario.fetching("/good") for _ in range(5)]
        ends = await asyncio.gather(*(PATHS[code](scenario) for code in codes), *good, return_exceptions=True)
        for code, end in zip(codes, ends, strict=False):
            assert isinstance(end, SpanielError), end
            assert end.code is code
        assert not any(isinstance(end, BaseException) for end in ends[len(codes) :])
        assert (await scenario.spaniel.fetch(scenario.site.url("/good"))).note == "cache_hit"
