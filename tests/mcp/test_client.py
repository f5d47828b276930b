"""The SDK's client and `spaniel mcp`, over stdio, against sites on loopback."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from spaniel.errors import TABLE, Code
from spaniel.pipeline.request import SCHEMA
from spaniel.testing import Page, Reply, Site, redirect, text
from spaniel.tool.web_fetch_more import SCHEMA as MORE_SCHEMA
from tests.mcp.harness import LEGACY, MODERN, Dripping, at, client_of, configured, served
from tests.tool.harness import LONG

if TYPE_CHECKING:  # it takes most of a second to import, in each process of pytest
    from mcp import Client, types

# A server that asks no name server, so that none outside is.
NAMELESS = """
import sys
from spaniel.cli.main import run
from spaniel.net.resolver import SystemResolver
async def resolve(self, host):
    return []
SystemResolver.resolve = resolve
run(sys.argv[1:])
"""


async def gone() -> Reply:
    raise ConnectionError


HOSTILE: dict[str, Page] = {
    "/robots.txt": text("User-agent: *\nDisallow: /private"),
    "/loop": redirect("/loop"),
    "/inside": redirect("http://169.254.169.254/latest/meta-data/"),
    "/large": text("x" * 3000),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/failing": text("no", 503),
    "/gone": gone,
    "/good": text("good"),
}
REFUSALS = {
    "": "bad_args",
    "http://good.example\\@127.0.0.1/": "invalid_url",
    "ftp://127.0.0.1/": "invalid_scheme",
    "http://2130706433/": "invalid_host",
    "http://127.0.0.1:22/": "port_blocked",
    "http://10.0.0.5/": "ssrf_blocked",
    "/inside": "ssrf_blocked",
    "/private/a": "robots_disallowed",
    "/loop": "redirect_limit",
    "/large": "response_too_large",
    "/image": "unsupported_content_type",
    "/nothing": "http_4xx",
    "/failing": "http_5xx",
    "/gone": "network",
    "http://nowhere.example/": "dns_failed",
}


def said(result: types.CallToolResult) -> Any:
    """A refusal's JSON."""
    return json.loads(words(result))


def words(result: types.CallToolResult) -> str:
    """The text block, which is the only one."""
    from mcp.types import TextContent

    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.req("D2-10", "FR-WF-01", "FR-WF-02", "FR-WF-03", "D2-26")
@pytest.mark.parametrize(("mode", "revision"), [(LEGACY, "2025-11-25"), (MODERN, MODERN), ("auto", MODERN)])
async def test_it_is_listed_and_called(tmp_path: Path, mode: str, revision: str) -> None:
    async with served({"/a": text("hello")}, tmp_path, mode) as (client, site):
        assert client.protocol_version == revision
        tool, more = (await client.list_tools()).tools
        fresh = await client.call_tool("web_fetch", {"url": at(site, "/a")})
        hit = await client.call_tool("web_fetch", {"url": at(site, "/a")})
        assert site.requests["/a"] == 1
    assert [tool.name, more.name] == ["web_fetch", "web_fetch_more"]
    assert [tool.input_schema, more.input_schema] == [SCHEMA, MORE_SCHEMA]
    for listed in (tool, more):
        assert listed.annotations
        assert (listed.annotations.read_only_hint, listed.annotations.open_world_hint) == (False, True)
    assert words(fresh) == f"URL: {at(site, '/a')}\n---\nhello"
    assert words(hit) == f"URL: {at(site, '/a')}\nNote: cache_hit\n---\nhello"
    for result in (fresh, hit):
        assert not result.is_error
        jsonschema.validate(result.structured_content, tool.output_schema)
    assert fresh.structured_content["chunks"] == [{"heading": "", "text": "hello", "token_count": 1}]
    assert hit.structured_content["note"] == "cache_hit"


@pytest.mark.req("D2-26", "NFR-WF-OP-02")
async def test_hosts_need_not_ask_where_the_user_allowed_it(tmp_path: Path) -> None:
    async with served({}, tmp_path, webfetch="allow_auto_execution = true") as (client, _):
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.annotations
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, True)


@pytest.mark.req("FR-WF-18", "NFR-WF-REL-02", "D2-10")
async def test_every_refusal_is_a_tool_error_with_the_srds_json(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NAMELESS, "mcp", "-q"]
    async with Site(HOSTILE) as site, Site({"/robots.txt": text("", 500)}) as silent:
        config = configured(tmp_path, site.port, silent.port, webfetch="max_download_bytes = 2048")
        async with client_of(config, command=command) as client:
            await refuses_and_serves(client, site, {**REFUSALS, at(silent, "/a"): "robots_unavailable"})


async def refuses_and_serves(client: Client, site: Site, refusals: dict[str, str]) -> None:
    for url, code in refusals.items():
        result = await client.call_tool("web_fetch", {"url": at(site, url) if url.startswith("/") else url})
        envelope = said(result)
        assert (result.is_error, envelope["code"], result.structured_content) == (True, code, None), url
        assert {"message", "retryable"} <= set(envelope)
        assert envelope["hint"] == TABLE[Code(code)].model_hint
    for arguments in ({}, {"url": 1}, {"url": at(site, "/good"), "more": 1}, {"url": "x", "no_cache": "yes"}):
        assert said(await client.call_tool("web_fetch", arguments))["code"] == "bad_args"
    assert not (await client.call_tool("web_fetch", {"url": at(site, "/good")})).is_error


@pytest.mark.req("FR-WF-18", "FR-WF-10a")
async def test_a_page_that_never_ends_is_a_timeout(tmp_path: Path) -> None:
    async with Dripping() as site:
        config = configured(tmp_path, site.port, webfetch="timeout_seconds = 1")
        async with client_of(config) as client:
            result = await client.call_tool("web_fetch", {"url": f"http://127.0.0.1:{site.port}/"})
            assert (result.is_error, said(result)["code"]) == (True, "timeout")
            await asyncio.wait_for(site.left.wait(), 60)


@pytest.mark.req("FR-WF-01")
async def test_no_other_name_is_the_tools(tmp_path: Path) -> None:
    from mcp import MCPError

    async with served({}, tmp_path) as (client, _):
        for name in ("Web_Fetch", "webfetch", "x" * 10_000):
            with pytest.raises(MCPError, match="Unknown tool") as caught:
                await client.call_tool(name, {})
            assert len(caught.value.message) < 300


@pytest.mark.req("D2-10")
async def test_progress_tells_the_steps_in_order(tmp_path: Path) -> None:
    heard: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    async with served({"/a": text("hello")}, tmp_path) as (client, site):
        await client.call_tool("web_fetch", {"url": at(site, "/a")}, progress_callback=hear)
        await client.list_tools(cache_mode="bypass")
        told = len(heard)
        await client.call_tool("web_fetch", {"url": "http://10.0.0.1/"}, progress_callback=hear)
        await client.list_tools(cache_mode="bypass")
    assert [message for _, message in sorted(heard[told:])] == ["parse: ok", "normalize: ssrf_blocked"]
    del heard[told:]
    assert [number for number, _ in sorted(heard)] == list(range(1, len(heard) + 1))
    names = [message.partition(":")[0] for _, message in sorted(heard)]
    assert names[:6] == ["parse", "normalize", "check_cache", "guard", "robots", "fetch"]
    assert "fetch: 200" in [message for _, message in heard]


@pytest.mark.req("D2-10", "FR-WF-19")
@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_cancelling_in_the_middle_of_a_page_closes_its_connection(tmp_path: Path, mode: str) -> None:
    patient = "timeout_seconds = 300"
    async with Dripping() as site, client_of(configured(tmp_path, site.port, webfetch=patient), mode) as client:
        call = asyncio.ensure_future(client.call_tool("web_fetch", {"url": f"http://127.0.0.1:{site.port}/"}))
        await asyncio.wait_for(site.begun.wait(), 60)
        assert not site.left.is_set()
        call.cancel()
        await asyncio.wait_for(site.left.wait(), 60)  # long before the fetch's own deadline
        assert (await client.list_tools(cache_mode="bypass")).tools


async def test_a_hundred_megabytes_are_refused_and_not_held(tmp_path: Path) -> None:
    async with served({"/a": text("hello")}, tmp_path) as (client, site):
        result = await client.call_tool("web_fetch", {"url": "https://a.example/" + "a" * 100_000_000})
        assert (result.is_error, said(result)["code"]) == (True, "bad_args")
        assert not (await client.call_tool("web_fetch", {"url": at(site, "/a")})).is_error


async def test_a_thousand_calls_at_once_are_all_answered(tmp_path: Path) -> None:
    at_once = most = 0

    async def page() -> tuple[int, dict[str, str], bytes]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1
        return text("hello")

    async with served({"/a": page}, tmp_path) as (client, site):
        calls = (client.call_tool("web_fetch", {"url": at(site, f"/a?n={n}")}) for n in range(1000))
        results = await asyncio.gather(*calls)
        assert [r.structured_content["requested_url"] for r in results] == [at(site, f"/a?n={n}") for n in range(1000)]
        assert sum(site.requests.values()) == 1001  # robots.txt once
        assert 1 < most <= 64
        assert (await client.list_tools(cache_mode="bypass")).tools


LINKS = "resource_links = true\nmax_output_bytes = "


@pytest.mark.req("D2-28", "D2-29", "FR-WF-03a")
async def test_chunks_can_be_read_again_by_their_ids(tmp_path: Path) -> None:
    from mcp import MCPError
    from mcp.types import ResourceLink

    async with served({"/long": text(LONG)}, tmp_path, mcp=f"{LINKS} 5000") as (client, site):
        assert (await client.list_resources(cache_mode="bypass")).resources == []
        result = await client.call_tool("web_fetch", {"url": at(site, "/long")})
        given = result.structured_content["chunks"]
        listed = (await client.list_resources(cache_mode="bypass")).resources
        texts = [await read(client, resource.uri) for resource in listed]
        links = [block.uri for block in result.content if isinstance(block, ResourceLink)]
        [template] = (await client.list_resource_templates()).resource_templates
        assert site.requests["/long"] == 1
        shutil.rmtree(tmp_path / "cache")
        with pytest.raises(MCPError, match="no longer cached"):
            await client.read_resource(links[0], cache_mode="bypass")
    assert texts[: len(given)] == [chunk["text"] for chunk in given]
    assert " ".join(texts).split() == LONG.split()
    assert links == [resource.uri for resource in listed[len(given) :]]
    assert all(uri.startswith(template.uri_template.removesuffix("{id}")) for uri in links)


@pytest.mark.req("D2-29", "D2-32")
async def test_cut_answer_is_one_text_block_by_default(tmp_path: Path) -> None:
    async with served({"/long": text(LONG)}, tmp_path, mcp="max_output_bytes = 5000") as (client, site):
        result = await client.call_tool("web_fetch", {"url": at(site, "/long"), "max_chunk_tokens": 500})
        whole = await client.call_tool("web_fetch", {"url": at(site, "/long")})
        head, _, body = words(result).partition("\n---\n")
        told = json.loads(re.findall(r"call web_fetch_more with (\{.*?\})", head)[0])
        part = await client.call_tool("web_fetch_more", told)
        assert site.requests["/long"] == 1
    more = result.structured_content["more"]
    assert told == {"url": at(site, "/long"), "from_chunk": more["next_chunk"], "max_chunk_tokens": 500}
    assert f"chunks 1 to {more['next_chunk'] - 1} of {more['total_chunks']}" in head
    both = [*body.split(), *words(part).partition("\n---\n")[2].split()]
    assert both == LONG.split()[: len(both)]
    assert max(len(words(r).encode()) for r in (result, whole, part)) <= 5000


@pytest.mark.req("FR-WF-03a")
async def test_a_chunk_that_was_cut_is_linked_whole_and_names_stay_short(tmp_path: Path) -> None:
    from mcp.types import ResourceLink

    page = f"# {'Heading ' * 500}\n\n" + "words " * 400
    async with served({"/a": text(page)}, tmp_path, mcp=f"{LINKS} 6000") as (client, site):
        result = await client.call_tool("web_fetch", {"url": at(site, "/a"), "max_chunk_tokens": 2048})
        [cut] = result.structured_content["chunks"]
        [link] = [block for block in result.content if isinstance(block, ResourceLink)]
        whole = await read(client, link.uri)
        [listed] = (await client.list_resources(cache_mode="bypass")).resources
    assert len(cut["text"]) < len(whole)
    assert whole.startswith(cut["text"])
    assert max(len(link.name), len(listed.name)) < 300


async def read(client: Client, uri: str) -> str:
    from mcp.types import TextResourceContents

    [contents] = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.mime_type == "text/markdown"
    return contents.text


async def test_chunk_list_is_paged_and_unknown_chunks_are_refused(tmp_path: Path) -> None:
    from mcp import MCPError

    pages: dict[str, Page] = {f"/{n}": text(LONG.replace("Part", f"Page {n}, part")) for n in range(10)}
    async with served(pages, tmp_path) as (client, site):
        for path in pages:
            await client.call_tool("web_fetch", {"url": at(site, path)})
        first = await client.list_resources(cache_mode="bypass")
        rest = await client.list_resources(cursor=first.next_cursor, cache_mode="bypass")
        uris = {resource.uri for resource in [*first.resources, *rest.resources]}
        assert (len(first.resources), rest.next_cursor, len(uris)) == (100, None, 120)
        for cursor in ("x", "-1", "9" * 50):
            with pytest.raises(MCPError, match="cursor"):
                await client.list_resources(cursor=cursor, cache_mode="bypass")
        for uri in ("spaniel://chunk/0:0-1", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="Unknown resource"):
                await client.read_resource(uri)


@pytest.mark.req("FR-WF-CFG-PREC-01", "FR-WF-CFG-PREC-03", "D2-26")
@pytest.mark.parametrize(
    ("file", "listed", "field"),
    [
        ({"tools": 'mode = "parse_only"'}, 2, "tools.mode"),
        ({"tools": 'mode = "disabled"'}, 0, "tools.mode"),
        ({"webfetch": "enabled = false"}, 0, "tools.webfetch.enabled"),
    ],
)
async def test_what_a_file_switches_off_stays_off(
    tmp_path: Path, file: dict[str, str], listed: int, field: str
) -> None:
    async with served({"/a": text("hello")}, tmp_path, **file) as (client, site):
        assert len((await client.list_tools()).tools) == listed
        for name in ("web_fetch", "web_fetch_more"):
            result = await client.call_tool(name, {"url": at(site, "/a")})
            assert (result.is_error, said(result)["details"]["field"]) == (True, field)
        assert not site.requests
