"""Spaniel's own HTTP API."""

from __future__ import annotations

import asyncio
import json

import pytest

from spaniel.testing import Reply, html, text
from tests.api.harness import serving


@pytest.mark.req("FR-WF-02", "FR-WF-03")
async def test_fetch_returns_what_the_tool_returns() -> None:
    async with serving() as served:
        status, answer = await served.post("/api/fetch", {"url": served.page})
        assert status == 200
        assert answer["requested_url"] == answer["final_url"] == served.page
        assert answer["title"] == "Otters - a site"
        assert [chunk["heading"] for chunk in answer["chunks"]] == ["Otters"]
        assert set(answer["chunks"][0]) == {"heading", "text", "token_count"}
        assert answer["truncated"] is False
        status, again = await served.post("/api/fetch", {"url": served.page})
        assert status == 200
        assert again["note"] == "cache_hit"


@pytest.mark.req("FR-WF-02a")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": 5}, "url"),
        ({"url": "https://example.com/", "bogus": 1}, "bogus"),
        ({"url": "https://example.com/", "max_chunk_tokens": 5}, "max_chunk_tokens"),
        ({"url": "https://example.com/", "profile": "../secret.toml"}, "profile"),
        ({"url": "https://example.com/", "format": "exe"}, "format"),
        ([], "body"),
    ],
)
async def test_bad_arguments_are_named(body: object, field: str) -> None:
    async with serving() as served:
        status, answer = await served.post("/api/fetch", body)
        assert status == 400
        assert answer["error"]["code"] == "bad_args"
        assert answer["error"]["details"]["field"] == field


async def test_refusal_has_code_status_and_hint() -> None:
    async with serving() as served:
        status, answer = await served.post("/api/fetch", {"url": "http://10.1.2.3/"})
        assert status == 403
        assert answer["error"]["code"] == "ssrf_blocked"
        assert answer["error"]["hint"]
        status, answer = await served.post("/api/fetch", {"url": served.site.url("/gone")})
        assert (status, answer["error"]["code"]) == (502, "http_4xx")


async def test_fetch_returns_markdown_or_a_record_on_request() -> None:
    async with serving() as served:
        body = {"url": served.page, "format": "markdown"}
        async with served.http.post(f"{served.base}/api/fetch", json=body) as answer:
            assert answer.content_type == "text/markdown"
            assert (await answer.text()).startswith("# Otters\n")
        status, record = await served.post("/api/fetch", {"url": served.page, "format": "record", "profile": "ingest"})
        assert status == 200
        assert record["requested_url"] == served.page
        assert record["chunks"]


async def test_stream_reports_each_step_before_the_result() -> None:
    async with serving() as served:
        status, stream = await served.get(f"/api/fetch/stream?url={served.page}")
        assert status == 200
        events = [block.split("\n") for block in stream.strip().split("\n\n")]
        names = [lines[0].removeprefix("event: ") for lines in events]
        assert names[-1] == "result"
        steps = [json.loads(lines[1].removeprefix("data: "))["name"] for lines in events[:-1]]
        assert steps[:3] == ["parse", "normalize", "check_cache"]
        assert {"guard", "robots", "fetch", "extract", "chunk"} <= set(steps)
        assert json.loads(events[-1][1].removeprefix("data: "))["final_url"] == served.page


async def test_stream_ends_with_the_error_of_a_refused_fetch() -> None:
    async with serving() as served:
        _, stream = await served.get("/api/fetch/stream?url=http://10.0.0.1/")
        last = stream.strip().split("\n\n")[-1].split("\n")
        assert last[0] == "event: error"
        assert json.loads(last[1].removeprefix("data: "))["code"] == "ssrf_blocked"


async def test_client_that_leaves_cancels_its_fetch() -> None:
    """Otherwise a slow site would hold places of callers that are gone."""
    async with serving(webfetch={"timeout_seconds": 60}) as served:
        started = asyncio.Event()

        async def slow() -> Reply:
            started.set()
            await asyncio.sleep(30)
            return html("late")

        served.site.pages["/slow"] = slow
        call = asyncio.create_task(served.post("/api/fetch", {"url": served.site.url("/slow")}))
        await asyncio.wait_for(started.wait(), 20)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        for _ in range(200):
            if 'status="499"' in (await served.get("/metrics"))[1]:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the fetch goes on without its client")


@pytest.mark.req("D2-29", "D2-42")
async def test_more_reads_on_in_the_callers_own_pages() -> None:
    async with serving() as served:
        status, answer = await served.post("/api/more", {"url": served.page})
        assert (status, answer["error"]["code"]) == (400, "bad_args")
        await served.post("/api/fetch", {"url": served.page})
        status, answer = await served.post("/api/more", {"url": served.page, "find": "weir"})
        assert status == 200
        assert answer["matches"] == 1


@pytest.mark.req("CP-16")
async def test_canonicalize_explains_each_step() -> None:
    async with serving() as served:
        body = {"url": "HTTPS://boe.es/a?utm_source=x#f", "policy": "clara", "explain": True}
        status, answer = await served.post("/api/canonicalize", body)
        assert status == 200
        assert answer["url"] == "https://www.boe.es/a"
        assert answer["steps"]
        assert answer["steps"][0].keys() >= {"before", "after"}
        status, answer = await served.post("/api/canonicalize", {"url": "https://a.example/", "policy": "/etc/passwd"})
        assert (status, answer["error"]["details"]["field"]) == (400, "policy")


async def test_extract_and_chunk_work_on_what_the_caller_sends() -> None:
    async with serving() as served:
        status, answer = await served.post("/api/extract", {"html": "<h1>Köln</h1><p>Hello there, reader.</p>"})
        assert status == 200
        assert answer["markdown"] == "# Köln\n\nHello there, reader.\n"
        status, answer = await served.post("/api/chunk", {"markdown": "# A\n\ntext", "max_tokens": 128})
        assert [chunk["text"] for chunk in answer["chunks"]] == ["# A\n\ntext"]
        status, answer = await served.post("/api/chunk", {"markdown": "x", "max_tokens": 5})
        assert (status, answer["error"]["details"]["field"]) == (400, "max_tokens")


async def test_may_i_names_the_line_that_decides() -> None:
    async with serving() as served:
        served.site.pages["/robots.txt"] = text("User-agent: *\nDisallow: /private\n")
        status, answer = await served.get(f"/api/may-i?url={served.site.url('/private/a')}")
        assert status == 200
        assert (answer["allowed"], answer["line"]) == (False, 2)


async def test_check_returns_a_verdict_for_each_link() -> None:
    async with serving() as served:
        links = [served.page, served.site.url("/gone"), "http://10.0.0.1/"]
        status, answer = await served.post("/api/check", {"urls": links})
        assert status == 200
        verdicts = {found["url"]: found["verdict"] for found in answer["results"]}
        assert verdicts[served.page] == "ok"
        assert verdicts[links[1]] == "failing"
        assert verdicts[links[2]] != "ok"


async def test_openapi_describes_every_path() -> None:
    async with serving() as served:
        _, document = await served.get("/openapi.json")
        assert document["openapi"].startswith("3.1")
        assert {"/api/fetch", "/api/jobs", "/v2/scrape", "/extract", "/load"} <= set(document["paths"])
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                assert operation["summary"], (path, method)
                assert "400" in operation["responses"], (path, method)


async def test_health_ready_metrics_and_capabilities() -> None:
    async with serving() as served:
        assert await served.get("/healthz") == (200, {"status": "ok"})
        assert await served.get("/readyz") == (200, {"status": "ready"})
        await served.post("/api/fetch", {"url": served.page})
        _, counters = await served.get("/metrics")
        assert 'spaniel_fetches_total{cached="no",outcome="ok"} 1.0' in counters
        assert 'route="/api/fetch"' in counters
        _, answer = await served.get("/api/capabilities")
        assert answer["profiles"]["reader"]["default"] is True


async def test_cached_answer_is_the_same_but_for_its_moment_and_follows_the_cache() -> None:
    """The third answer comes from memory; a copy that is renewed or removed is noticed."""
    async with serving() as served:
        body = {"url": served.page}
        answers = [(await served.post("/api/fetch", body))[1] for _ in range(4)]
        for answer in answers[2:]:
            assert {**answer, "served_at": ""} == {**answers[1], "served_at": ""}
        assert served.site.requests["/otters"] == 1
        served.site.pages["/otters"] = html("<article><h1>New</h1><p>Another text stands here now.</p></article>")
        assert (await served.post("/api/fetch", {**body, "no_cache": True}))[0] == 200
        for _ in range(3):
            _, answer = await served.post("/api/fetch", body)
            assert answer["chunks"][0]["heading"] == "New"
        assert (await served.post("/api/more", {"url": served.page, "find": "another"}))[1]["matches"] == 1
