"""`web_fetch_more`: reading on in a page, from the cache, against a real site on loopback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.settings import ToolSettings
from spaniel.browser.rendering import DocumentHead, RenderedPage, RenderRequest
from spaniel.errors import SpanielError
from spaniel.testing import Page, Site, redirect, settings_for, text
from spaniel.tool import ToolCtx, ToolError, ToolExecutor, WebFetchMoreTool, WebFetchTool
from spaniel.tool.framework import MAX_URLS, RecentPages, ToolSession
from spaniel.tool.web_fetch import OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import OUTPUT_SCHEMA as MORE_OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import SCHEMA as MORE_SCHEMA
from spaniel.tool.web_fetch_more import read_more
from tests.tool.harness import LONG, Tools, names, tools_at

PAGES: dict[str, Page] = {"/a": text(LONG), "/moved": redirect("/a"), "/short": text("short"), "/empty": text("")}


async def refusal(tools: Tools, args: object, ctx: ToolCtx | None = None) -> dict[str, Any]:
    with pytest.raises(ToolError) as caught:
        await tools.reads_on.execute(args, ctx or ToolCtx(approve=lambda _: True))  # type: ignore[arg-type]
    assert caught.value.tool == "web_fetch_more"
    return dict(json.loads(caught.value.message))


@pytest.mark.req("D2-29", "FR-WF-03a", "D2-32")
@pytest.mark.parametrize("budget", [700, 1_000, 5_000, 12_345, 100_000])
async def test_reading_on_brings_every_chunk_once_without_a_fetch(tmp_path: Path, budget: int) -> None:
    async with tools_at(PAGES, tmp_path) as tools:
        whole = await tools.fetch("/a", 1 << 20)
        answer = await tools.fetch("/a", budget)
        jsonschema.validate(answer, OUTPUT_SCHEMA)
        pieces: list[str] = [chunk["text"] for chunk in answer["chunks"]]
        while more := answer.get("more"):
            at = {"from_chunk": more["next_chunk"], "from_offset": more.get("next_offset")}
            answer = await tools.more("/a", budget, **at)
            jsonschema.validate(answer, MORE_OUTPUT_SCHEMA)
            assert answer["total_chunks"] == more["total_chunks"] == len(whole["chunks"])
            assert answer["note"] == "cache_hit"
            pieces += [chunk["text"] for chunk in answer["chunks"]]
        assert tools.site.requests["/a"] == 1
    assert "".join(pieces) == "".join(chunk["text"] for chunk in whole["chunks"])
    assert ("more" in whole, whole["truncated"]) == (False, False)


@pytest.mark.req("D2-29")
async def test_page_is_found_by_requested_and_final_url(tmp_path: Path) -> None:
    async with tools_at(PAGES, tmp_path) as tools:
        first = await tools.fetch("/moved")
        assert first["final_url"] == tools.site.url("/a")
        for url in (
            tools.site.url("/moved"),
            tools.site.url("/a"),
            f" {tools.site.url('/a').upper()[:4]}" + tools.site.url("/a")[4:] + "#part",
        ):
            again = await tools.more(url, from_chunk=2)
            assert again["final_url"] == first["final_url"]
            assert [chunk["text"] for chunk in again["chunks"]] == [chunk["text"] for chunk in first["chunks"][1:]]
        assert tools.site.requests["/a"] == 1


@pytest.mark.req("D2-29")
async def test_another_session_reads_on_from_the_same_cache(tmp_path: Path) -> None:
    """Some hosts start a server for every call."""
    async with tools_at(PAGES, tmp_path) as tools:
        await tools.fetch("/a")
        fresh = Tools(tools.client, settings_for(tools.site, cache=tmp_path), tools.site)
        assert (await fresh.more("/a", from_chunk=12))["chunks"]
        assert tools.site.requests["/a"] == 1


@pytest.mark.req("D2-29")
async def test_chunks_keep_the_size_that_they_had(tmp_path: Path) -> None:
    async with tools_at(PAGES, tmp_path) as tools:
        small = await tools.fetch("/a", max_chunk_tokens=200)
        default = await tools.fetch("/short")
        assert default
        same = await tools.more("/a", from_chunk=3)
        assert same["chunks"] == small["chunks"][2:]
        other = await tools.more("/a", from_chunk=3, max_chunk_tokens=1000)
        assert other["total_chunks"] < same["total_chunks"]
        assert (await tools.more("/a", from_chunk=3))["total_chunks"] == other["total_chunks"]
        await tools.fetch("/a")
        assert (await tools.more("/a"))["total_chunks"] == 12


class Browser:
    """Stands for Chromium, and shows another page than HTTP brings."""

    def __init__(self) -> None:
        self.asked: list[RenderRequest] = []

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        self.asked.append(wanted)
        body = f"<main><h1>Rendered</h1><p>{'The badger digs. ' * 900}</p></main>".encode()
        return RenderedPage(wanted.url, DocumentHead(200), "text/html", body, (), ())


@pytest.mark.req("D2-29", "D2-03")
async def test_reading_on_reads_the_copy_that_was_given(tmp_path: Path) -> None:
    """A page can be cached twice, as it came and as it was rendered."""
    async with Site(PAGES) as site:
        settings = settings_for(site, cache=tmp_path)
        async with Engine(settings, names(), renderer=Browser()) as engine, Spaniel(engine=engine) as client:
            tools = Tools(client, settings, site)
            await tools.fetch("/a", no_cache=True)
            assert "otter" in (await tools.more("/a", from_chunk=2))["chunks"][0]["text"]
            await tools.fetch("/a", force_browser=True)
            rendered = await tools.more("/a", from_chunk=2)
        assert site.requests["/a"] == 1
    assert "badger" in rendered["chunks"][0]["text"]


@pytest.mark.req("D2-29", "NFR-WF-OP-02")
async def test_uncached_page_is_fetched_again_with_approval(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(answer: bool) -> ToolCtx:
        def approve(summary: str) -> bool:
            asked.append(summary)
            return answer

        return ToolCtx(approve=approve)

    async with tools_at(PAGES, tmp_path / "cache") as tools:
        await tools.fetch("/moved")
        args = {"url": tools.site.url("/a"), "from_chunk": 3}
        shutil.rmtree(tmp_path / "cache")
        denied = await refusal(tools, args, ask(False))
        nobody = await refusal(tools, args, ToolCtx())
        assert tools.site.requests["/a"] == 1
        again = json.loads(await tools.reads_on.execute(args, ask(True)))
        assert tools.site.requests["/a"] == 2
        after = await tools.more("/a", from_chunk=3)
    assert {denied["details"]["field"], nobody["details"]["field"]} == {"approval"}
    assert asked == [f"web_fetch_more {tools.site.url('/moved')} (http)"] * 2
    assert "fetched_again" in again["note"]
    assert after["chunks"] == again["chunks"]


@pytest.mark.req("D2-42")
async def test_page_that_was_never_fetched_is_refused(tmp_path: Path) -> None:
    def never(_: str) -> bool:
        raise AssertionError("asked")

    async with tools_at(PAGES, tmp_path, allow_auto_execution=True) as tools:
        await tools.fetch("/a")  # another page of the site says nothing about this one
        for args in ({}, {"from_chunk": 2}, {"find": "otter"}, {"max_chunk_tokens": 200}):
            envelope = await refusal(tools, {"url": tools.site.url("/short"), **args}, ToolCtx(approve=never))
            assert (envelope["code"], envelope["details"]["field"]) == ("bad_args", "url")
            assert "web_fetch" in envelope["hint"]
            assert "web_fetch_more" not in envelope["hint"]
        assert tools.site.requests["/short"] == 0
        await tools.fetch("/short")
        assert (await tools.more("/short"))["total_chunks"] == 1  # the control
        with pytest.raises(ToolError):
            await tools.fetch("/missing")
        assert (await refusal(tools, {"url": tools.site.url("/missing")}))["code"] == "bad_args"
        assert tools.site.requests["/missing"] == 1


@pytest.mark.req("D2-29", "D2-38")
async def test_page_rendered_for_one_call_can_be_read_on(tmp_path: Path) -> None:
    """The cache has no such copy, and another one beside it."""
    async with Site(PAGES) as site:
        settings = settings_for(site, cache=tmp_path, allow_auto_execution=True)
        browser = Browser()
        async with Engine(settings, names(), renderer=browser) as engine, Spaniel(engine=engine) as client:
            session = ToolSession(display=settings.browser.display)
            fetches = WebFetchTool(client, settings.tool, session)
            reads_on = WebFetchMoreTool(client, settings.tool, session)
            url = site.url("/a")
            await fetches.execute({"url": url}, ToolCtx())
            await fetches.execute({"url": url, "wait_for": "main", "scroll": 2}, ToolCtx())
            more = json.loads(await reads_on.execute({"url": url, "from_chunk": 2}, ToolCtx()))
            assert "badger" in more["chunks"][0]["text"]
            assert len(browser.asked) == 1
            shown = browser.asked[0].display
            assert shown is not None
            assert (shown.wait_for, shown.scrolls) == ("main", 2)
            await fetches.execute({"url": url, "screenshot": True}, ToolCtx())
            json.loads(await reads_on.execute({"url": url, "from_chunk": 2}, ToolCtx()))
            assert len(browser.asked) == 2
            again = json.loads(await reads_on.execute({"url": url, "max_chunk_tokens": 128}, ToolCtx()))
            assert "badger" in again["chunks"][0]["text"]


@pytest.mark.req("D2-29")
async def test_without_a_cache_each_part_is_fetched_and_says_so(tmp_path: Path) -> None:
    async with tools_at(PAGES, tmp_path, allow_auto_execution=True, cache_ttl_days=0) as tools:
        await tools.fetch("/a")
        part = await tools.more("/a", from_chunk=2)
        assert (part["note"], tools.site.requests["/a"]) == ("fetched_again", 2)


@pytest.mark.req("D2-29", "FR-WF-02")
@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"from_chunk": 13}, "from_chunk"),
        ({"from_chunk": 0}, "from_chunk"),
        ({"from_chunk": -1}, "from_chunk"),
        ({"from_chunk": 1.5}, "from_chunk"),
        ({"from_chunk": "three"}, "from_chunk"),
        ({"from_chunk": True}, "from_chunk"),
        ({"from_offset": -1}, "from_offset"),
        ({"from_offset": 10**8}, "from_offset"),
        ({"find": 3}, "find"),
        ({"max_chunk_tokens": 100}, "max_chunk_tokens"),
        ({"no_cache": True}, "no_cache"),
        ({"url": None}, "url"),
        ({"url": " "}, "url"),
    ],
)
async def test_what_is_wrong_is_said(tmp_path: Path, args: dict[str, object], field: str) -> None:
    async with tools_at(PAGES, tmp_path) as tools:
        await tools.fetch("/a")
        envelope = await refusal(tools, {"url": tools.site.url("/a"), **args})
    assert (envelope["code"], envelope["details"]["field"]) == ("bad_args", field)
    assert envelope["hint"]


@pytest.mark.req("D2-29")
async def test_words_are_found_best_first_each_chunk_with_its_number(tmp_path: Path) -> None:
    page = LONG.replace("## Part 7\n", "## Part 7\n\nThe badger digs a sett.\n")
    async with tools_at({"/a": text(page)}, tmp_path) as tools:
        every = (await tools.fetch("/a"))["chunks"]
        rare = await tools.more("/a", find="badger sett")
        common = await tools.more("/a", find="otter badger")
        cut = await tools.more("/a", 3_000, find="otter badger")
        behind = await tools.more("/a", find="badger", from_chunk=12)
        late = await tools.more("/a", find="otter", from_chunk=11)
        nothing = await tools.more("/a", find="unicorn")
        assert tools.site.requests["/a"] == 1
    assert sorted(chunk["number"] for chunk in late["chunks"]) == [11, 12]
    for answer in (rare, common, cut, behind, late, nothing):
        jsonschema.validate(answer, MORE_OUTPUT_SCHEMA)
        assert "more" not in answer
        for chunk in answer["chunks"]:
            assert {"number": chunk["number"], **every[chunk["number"] - 1]} == chunk
    assert (len(rare["chunks"]), rare["matches"], rare["truncated"]) == (1, 1, False)
    assert "badger" in rare["chunks"][0]["text"]
    assert (len(common["chunks"]), common["matches"], common["chunks"][0]) == (10, 12, rare["chunks"][0])
    assert (len(cut["chunks"]), cut["truncated"], cut["chunks"][0]) == (1, True, rare["chunks"][0])
    assert [(answer["chunks"], answer["matches"]) for answer in (behind, nothing)] == [([], 0)] * 2


@pytest.mark.req("D2-29")
def test_arguments_are_taken_as_models_send_them() -> None:
    plain = read_more({"url": "u", "from_chunk": 3, "max_chunk_tokens": 200, "find": "otter"})
    assert read_more({"url": "u", "from_chunk": 3.0, "max_chunk_tokens": "200", "find": " otter "}) == plain
    nothing: dict[str, object] = dict.fromkeys(("from_chunk", "from_offset", "find", "max_chunk_tokens"))
    assert read_more({"url": "u", **nothing}) == read_more({"url": "u"}) == read_more({"url": "u", "find": ""})
    with pytest.raises(SpanielError, match="did you mean 'from_chunk'"):
        read_more({"url": "u", "fromchunk": 3})


@pytest.mark.req("D2-29", "D2-33")
async def test_a_page_without_text_is_an_answer_too(tmp_path: Path) -> None:
    async with tools_at(PAGES, tmp_path) as tools:
        await tools.fetch("/empty")
        answer = await tools.more("/empty", from_chunk=1)
    assert (answer["chunks"], answer["total_chunks"], answer["note"]) == ([], 0, "no_text, cache_hit")


@pytest.mark.req("D2-29", "D2-04")
async def test_a_form_that_is_refused_is_refused_here_too(tmp_path: Path) -> None:
    def never(_: str) -> bool:
        raise AssertionError("asked")

    async with tools_at(PAGES, tmp_path) as tools:
        for url, code in (("http://10.0.0.1/", "ssrf_blocked"), ("ftp://a.example/", "invalid_scheme")):
            assert (await refusal(tools, {"url": url}, ToolCtx(approve=never)))["code"] == code


@pytest.mark.req("D2-10", "D2-29")
def test_it_is_a_tool_executor_with_a_sound_schema() -> None:
    executor: ToolExecutor = WebFetchMoreTool(None, ToolSettings(enabled=True))  # type: ignore[arg-type]
    assert (executor.name, executor.is_side_effecting(), executor.requires_approval()) == ("web_fetch_more", True, True)
    args = {"url": "https://a.example/x?secret", "from_chunk": 3}
    assert executor.approval_summary(args) == "web_fetch_more https://a.example/x (http)"
    wrong: Any
    for wrong in ({}, ["x"]):
        with pytest.raises(ToolError, match="bad_args"):
            executor.approval_summary(wrong)
    for schema in (MORE_SCHEMA, MORE_OUTPUT_SCHEMA):
        jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(args, MORE_SCHEMA)


def test_what_is_remembered_does_not_grow_without_end() -> None:
    from spaniel.pipeline.request import Request
    from tests.mcp.test_chunk_index import answer

    recent = RecentPages()
    for n in range(2 * MAX_URLS):
        recent.remember(Request(f"https://a.example/{n}"), answer("x", f"https://b.example/{n}"))
    assert recent.request_for("https://a.example/1") is None
    assert recent.request_for(f"https://b.example/{2 * MAX_URLS - 1}") == Request(
        f"https://a.example/{2 * MAX_URLS - 1}"
    )
    assert len(recent._requests) == MAX_URLS
