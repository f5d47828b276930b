"""Clients that people use, unchanged, against `spaniel serve` as a process: only their base URL is set."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.api.program import Program, Reply, Web, html, program, settings, web

if TYPE_CHECKING:  # importing them takes seconds
    from mcp import Client

INSPECTOR = Path(sys.prefix, "inspector", "node_modules", ".bin", "mcp-inspector")
MODULES = Path(sys.prefix, "js_clients")
KEY = "fc-a-key-of-the-test"
DEPRECATED = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydantic, which firecrawl's v1 calls
MODERN, LEGACY = "2026-07-28", "legacy"


class Served(NamedTuple):
    """A server, and the site that it fetches from."""

    base: str
    site: Web
    program: Program

    @property
    def page(self) -> str:
        return self.site.url("/otters")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    left = threading.Event()

    def slow() -> Reply:
        left.wait(60)
        return html("late")

    folder = tmp_path_factory.mktemp("serve")
    with web({"/slow": slow}) as site:
        config = settings(folder, [site.port], webfetch="timeout_seconds = 60", serve="jobs = 64")
        with program(config) as running:
            yield Served(running.base, site, running)
        left.set()


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Some of these clients do not close their connections: they are collected here, not in a later test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def v2(served: Served) -> Any:
    from firecrawl import Firecrawl

    return Firecrawl(api_key=KEY, api_url=served.base)


# firecrawl-py


def test_firecrawl_v2_scrapes_every_format(served: Served) -> None:
    found = v2(served).scrape(served.page, formats=["markdown", "html", "rawHtml", "links", "images"])
    assert found.markdown.startswith("# Otters\n")
    assert "<h1>Otters</h1>" in found.html
    assert "<nav>" in found.raw_html
    assert found.links == [served.site.url("/second?a=1")]
    assert found.images == [served.site.url("/otter.png")]
    assert (found.metadata.title, found.metadata.status_code) == ("Otters", 200)
    assert found.metadata.source_url == served.page
    assert "skipTlsVerification" in found.warning


def test_firecrawl_v2_options_are_obeyed(served: Served) -> None:
    whole = v2(served).scrape(served.page, only_main_content=False, exclude_tags=["nav"])
    assert "Foot of the page" in whole.markdown
    assert "Menu" not in whole.markdown
    part = v2(served).scrape(served.page, include_tags=[".note"])
    assert part.markdown.startswith("A note beside")
    v2(served).scrape(served.page)
    before = served.site.requests["/otters"]
    v2(served).scrape(served.page, max_age=3_600_000)
    assert served.site.requests["/otters"] == before
    v2(served).scrape(served.page, max_age=0)
    assert served.site.requests["/otters"] == before + 1


def test_firecrawl_v2_names_what_it_cannot_have(served: Served) -> None:
    found = v2(served).scrape(
        served.page,
        headers={"X-Canary": "1"},
        actions=[{"type": "wait", "milliseconds": 10}],
        proxy="stealth",
        formats=["markdown", {"type": "json", "prompt": "the title"}],
    )
    for word in ("headers", "actions", "proxy", "'json'"):
        assert word in found.warning
    assert "x-canary" not in served.site.seen[-1]


def test_firecrawl_v2_maps(served: Served) -> None:
    found = v2(served).map(served.page)
    assert [link.url for link in found.links] == [
        served.page, served.site.url("/menu"), served.site.url("/second?a=1"),
    ]  # fmt: skip
    assert len(v2(served).map(served.page, limit=1, search="otters").links) == 1


def test_firecrawl_v2_batch_ends_with_pages_and_failures(served: Served) -> None:
    urls = [served.page, served.site.url("/gone"), served.site.url("/second")]
    app = v2(served)
    job = app.batch_scrape(urls, formats=["markdown", "links"], poll_interval=1, wait_timeout=120)
    assert (job.status, job.total, job.completed) == ("completed", 3, 3)
    assert {page.metadata.source_url for page in job.data} == {urls[0], urls[2]}
    assert all(page.markdown and page.links for page in job.data)
    started = app.start_batch_scrape(urls * 10)
    assert app.cancel_batch_scrape(started.id) is True
    for _ in range(600):
        if (state := app.get_batch_scrape_status(started.id).status) != "scraping":
            break
        time.sleep(0.1)
    assert state == "cancelled"


def test_firecrawl_v2_errors_have_the_clients_own_types(served: Served) -> None:
    from firecrawl.v2.utils import error_handler as errors

    app = v2(served)
    began = served.site.requests["/gone"]
    with pytest.raises(errors.InternalServerError, match="404 Not Found"):
        app.scrape(served.site.url("/gone"))
    assert served.site.requests["/gone"] == began + 1  # a 502 would be tried three times
    with pytest.raises(errors.WebsiteNotSupportedError, match=r"10\.0\.0\.1 is blocked"):
        app.scrape("http://10.0.0.1/")
    with pytest.raises(errors.BadRequestError):
        app.scrape("ftp://example.com/")
    with pytest.raises(errors.FirecrawlError, match="not built yet"):
        app.start_crawl(served.page)
    with pytest.raises(errors.FirecrawlError):
        app.get_batch_scrape_status("0" * 32)


def test_firecrawl_v2_timeout_ends_the_fetch(served: Served) -> None:
    from firecrawl.v2.utils.error_handler import RequestTimeoutError

    began = time.monotonic()
    with pytest.raises(RequestTimeoutError):
        v2(served).scrape(served.site.url("/slow"), timeout=1_000)
    assert time.monotonic() - began < 50  # the page takes a minute


async def test_firecrawl_v2_async(served: Served) -> None:
    from firecrawl import AsyncFirecrawl
    from firecrawl.v2.utils.error_handler import RequestTimeoutError, WebsiteNotSupportedError

    app = AsyncFirecrawl(api_key=KEY, api_url=served.base)
    one, other, found = await asyncio.gather(
        app.scrape(served.page), app.scrape(served.site.url("/second")), app.map(served.page)
    )
    assert one.markdown.startswith("# Otters\n")
    assert other.markdown.startswith("# Second\n")
    assert len(found.links) == 3
    job = await app.batch_scrape([served.page, served.site.url("/second")], poll_interval=1, wait_timeout=120)
    assert (job.status, len(job.data)) == ("completed", 2)
    with pytest.raises(WebsiteNotSupportedError):
        await app.scrape("http://10.0.0.1/")
    with pytest.raises(RequestTimeoutError):
        await app.scrape(served.site.url("/slow"), timeout=1_000)


@DEPRECATED
def test_firecrawl_v1(served: Served) -> None:
    app = v2(served).v1
    found = app.scrape_url(served.page, formats=["markdown", "links", "rawHtml"])
    assert found.success is True
    assert found.markdown.startswith("# Otters\n")
    assert found.links == [served.site.url("/second?a=1")]
    assert "<nav>" in found.rawHtml
    assert found.metadata["sourceURL"] == served.page
    assert app.map_url(served.page).links[0] == served.page
    job = app.batch_scrape_urls([served.page, served.site.url("/second")], formats=["markdown"], poll_interval=2)
    assert (job.status, len(job.data)) == ("completed", 2)
    with pytest.raises(Exception, match=r"10\.0\.0\.1 is blocked"):
        app.scrape_url("http://10.0.0.1/")
    with pytest.raises(Exception, match="ime"):
        app.scrape_url(served.site.url("/slow"), timeout=1_000)


@DEPRECATED
async def test_firecrawl_v1_async(served: Served) -> None:
    from firecrawl import AsyncFirecrawl

    app = AsyncFirecrawl(api_key=KEY, api_url=served.base).v1
    found = await app.scrape_url(served.page, formats=["markdown"])
    assert found.markdown.startswith("# Otters\n")
    assert (await app.map_url(served.page)).links[0] == served.page
    with pytest.raises(Exception, match=r"10\.0\.0\.1 is blocked"):
        await app.scrape_url("http://10.0.0.1/")


# tavily-python


def test_tavily(served: Served) -> None:
    from tavily import TavilyClient
    from tavily.errors import BadRequestError

    app = TavilyClient(api_key="tvly-test", api_base_url=served.base)
    found = app.extract([served.page, served.site.url("/gone")], include_images=True, extract_depth="advanced")
    assert [page["url"] for page in found["results"]] == [served.page]
    assert found["results"][0]["raw_content"].startswith("# Otters\n")
    assert found["results"][0]["images"] == [served.site.url("/otter.png")]
    assert [page["url"] for page in found["failed_results"]] == [served.site.url("/gone")]
    assert "404" in found["failed_results"][0]["error"]
    [page] = app.extract(served.page, format="text")["results"]
    assert page["raw_content"].startswith("Otters\n")
    body = json.dumps({"urls": served.site.url("/slow"), "timeout": 1})  # the client itself would wait no longer
    late = app.session.post(f"{served.base}/extract", data=body, timeout=60).json()
    assert [page["url"] for page in late["failed_results"]] == [served.site.url("/slow")]
    with pytest.raises(BadRequestError, match="urls"):
        app.extract([])


async def test_tavily_async(served: Served) -> None:
    from tavily import AsyncTavilyClient

    app = AsyncTavilyClient(api_key="tvly-test", api_base_url=served.base)
    found = await app.extract([served.page, "http://10.0.0.1/"])
    assert [page["url"] for page in found["results"]] == [served.page]
    assert "blocked" in found["failed_results"][0]["error"]


# The MCP SDK


@asynccontextmanager
async def mcp_client(served: Served, mode: str, **headers: str) -> AsyncIterator[Client]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(f"{served.base}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", [MODERN, LEGACY, "auto"])
async def test_mcp_lists_tools_fetches_and_reads_on(served: Served, mode: str) -> None:
    long = "".join(f"<h2>Part {n}</h2><p>{f'Sentence {n} about rivers and stones. ' * 40}</p>" for n in range(60))
    served.site.pages["/long"] = html(f"<title>Long</title><main>{long}</main>")
    async with mcp_client(served, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"web_fetch", "web_fetch_more"}
        first = await client.call_tool("web_fetch", {"url": served.site.url("/long")})
        assert first.structured_content
        more = first.structured_content["more"]
        part = await client.call_tool(
            "web_fetch_more", {"url": served.site.url("/long"), "from_chunk": more["next_chunk"]}
        )
        assert part.structured_content
        assert part.structured_content["chunks"]
        listed = (await client.list_resources()).resources
        uri = next(str(each.uri) for each in listed if "/long" in (each.description or ""))
        read = await client.read_resource(uri)
        assert "Sentence 0 about rivers" in json.dumps(read.model_dump(mode="json"))
        refused = await client.call_tool("web_fetch", {"url": "http://10.0.0.1/"})
        assert refused.is_error
        assert json.loads(refused.content[0].text)["code"] == "ssrf_blocked"  # type: ignore[union-attr]


async def test_two_mcp_sessions_do_not_see_each_others_pages(served: Served) -> None:
    from mcp import MCPError

    async with mcp_client(served, LEGACY) as one, mcp_client(served, LEGACY) as other:
        await one.call_tool("web_fetch", {"url": served.page})
        listed = [str(each.uri) for each in (await one.list_resources()).resources]
        assert len(listed) == 1
        assert not (await other.list_resources()).resources
        with pytest.raises(MCPError, match="never fetched here"):
            await other.read_resource(listed[0])
        assert (await one.read_resource(listed[0])).contents


async def test_mcp_from_a_page_of_another_site_is_refused(served: Served) -> None:
    with pytest.raises(Exception):  # noqa: B017  the SDK has no type of its own for it
        async with mcp_client(served, LEGACY, Origin="https://evil.example") as client:
            await client.list_tools()
    async with mcp_client(served, LEGACY, Origin=served.base) as client:
        assert (await client.list_tools()).tools


@pytest.mark.skipif(not INSPECTOR.exists(), reason="the MCP Inspector is not set up: `make test` does, with npm")
def test_mcp_inspector(served: Served, tmp_path: Path) -> None:
    def inspect(*question: str) -> tuple[int, Any]:
        command = [str(INSPECTOR), "--cli", f"{served.base}/mcp", "--transport", "http", *question]
        known = {**os.environ, "HOME": str(tmp_path), "MCP_CATALOG_PATH": str(tmp_path / "catalog.json")}
        done = subprocess.run(command, capture_output=True, check=False, timeout=120, env=known)
        return done.returncode, json.loads(done.stdout)

    code, answer = inspect("--method", "tools/list", "--strict")
    assert (code, [tool["name"] for tool in answer["tools"]]) == (0, ["web_fetch", "web_fetch_more"])
    call = ("--method", "tools/call", "--tool-name", "web_fetch", "--tool-arg")
    code, answer = inspect(*call, f"url={served.page}")
    assert code == 0
    assert "# Otters\n" in answer["content"][0]["text"]
    code, answer = inspect(*call, "url=http://10.0.0.1/")
    assert (code != 0, answer["isError"]) == (True, True)


# @mendable/firecrawl-js


@pytest.mark.skipif(not (MODULES / "node_modules").exists(), reason="`make test` sets the JS clients up, with npm")
def test_firecrawl_js(served: Served) -> None:
    script = Path(__file__).with_name("js") / "firecrawl.mjs"
    command = ["node", str(script), str(MODULES), served.base, served.site.url("").rstrip("/")]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["scrape"]["markdown"].startswith("# Otters\n")
    assert found["scrape"]["links"] == [served.site.url("/second?a=1")]
    assert "<nav>" in found["scrape"]["rawHtml"]
    assert "Foot of the page" in found["whole"]["markdown"]
    assert "Menu" not in found["whole"]["markdown"]
    assert found["map"]["links"][0]["url"] == served.page
    assert "10.0.0.1 is blocked" in found["blocked"]["message"]
    assert "404 Not Found" in found["gone"]["message"]
    assert (found["blocked"]["status"], found["gone"]["status"], found["slow"]["status"]) == (403, 500, 408)
    assert "not built yet" in found["crawl"]["message"]
    assert (found["batch"]["status"], len(found["batch"]["data"])) == ("completed", 2)
    assert [error["url"] for error in found["errors"]["errors"]] == [served.site.url("/gone")]
    assert found["v1"]["scrape"]["markdown"].startswith("# Otters\n")
    assert found["v1"]["map"]["links"][0] == served.page
