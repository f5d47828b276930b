"""The wire forms of the APIs that clients already use. `test_clients.py` runs the clients themselves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from yarl import URL

from spaniel.testing import Reply, html
from tests.api.harness import Served, serving


async def test_firecrawl_scrape_has_the_formats_and_metadata() -> None:
    async with serving() as served:
        body = {"url": served.page, "formats": ["markdown", "html", "rawHtml", "links", "images"], "origin": "x"}
        status, answer = await served.post("/v2/scrape", body)
        assert status == 200
        assert answer["success"] is True
        data = answer["data"]
        assert data["markdown"].startswith("# Otters\n")
        assert "<h1>Otters</h1>" in data["html"]
        assert "<nav>" in data["rawHtml"]
        assert data["links"] == [served.site.url("/second?a=1")]
        assert data["images"] == [served.site.url("/otter.png")]
        assert data["metadata"]["statusCode"] == 200
        assert data["metadata"]["sourceURL"] == served.page
        assert data["metadata"]["title"] == "Otters"


@pytest.mark.parametrize(
    ("options", "holds", "lacks"),
    [
        ({}, "back at the weir", "Foot of the page"),
        ({"onlyMainContent": False}, "Foot of the page", "<"),
        ({"includeTags": [".note"]}, "A note beside", "back at the weir"),
        ({"excludeTags": [".note"]}, "back at the weir", "A note beside"),
        ({"onlyMainContent": False, "excludeTags": ["footer", "nav"]}, "back at the weir", "Foot"),
    ],
)
async def test_firecrawl_options_choose_parts_of_the_page(options: dict[str, Any], holds: str, lacks: str) -> None:
    async with serving() as served:
        _, answer = await served.post("/v2/scrape", {"url": served.page, **options})
        assert holds in answer["data"]["markdown"]
        assert lacks not in answer["data"]["markdown"]
        _, plain = await served.post("/v2/scrape", {"url": served.page})
        assert "back at the weir" in plain["data"]["markdown"]  # what was chosen for one call is not cached


async def test_what_is_not_supported_is_said_and_never_obeyed() -> None:
    async with serving() as served:
        body = {
            "url": served.page, "skipTlsVerification": True, "headers": {"X-Canary": "secret", "Cookie": "a=b"},
            "actions": [{"type": "click"}], "proxy": "stealth", "formats": ["markdown", {"type": "json"}],
            "location": {"country": "DE", "languages": ["de", "en"]}, "someNewKey": [1],
        }  # fmt: skip
        status, answer = await served.post("/v2/scrape", body)
        assert status == 200
        for word in ("skipTlsVerification", "headers", "actions", "proxy", "'json'", "location.country"):
            assert word in answer["warning"], word
        sent = served.site.seen[-1]
        assert "x-canary" not in {name.lower() for name in sent}
        assert "cookie" not in {name.lower() for name in sent}
        assert {name.lower(): value for name, value in sent.items()}["accept-language"] == "de, en;q=0.9"


@pytest.mark.parametrize(
    ("url", "status", "code"),
    [
        ("http://10.0.0.1/", 403, "ssrf_blocked"), ("GONE", 500, "http_4xx"), ("", 400, "bad_args"),
        ("http://a..b/", 400, "invalid_url"), ("ftp://example.com/", 400, "invalid_scheme"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_firecrawl_errors_are_a_text_and_never_502(version: str, url: str, status: int, code: str) -> None:
    async with serving() as served:
        url = served.site.url("/gone") if url == "GONE" else url
        got, answer = await served.post(f"/{version}/scrape", {"url": url})
        assert (got, answer["code"]) == (status, code)
        assert answer["success"] is False
        assert isinstance(answer["error"], str)


async def test_timeout_of_the_client_ends_the_fetch() -> None:
    async def slow() -> Reply:
        await asyncio.sleep(60)
        return html("late")

    async with serving(webfetch={"timeout_seconds": 60}) as served:
        served.site.pages["/slow"] = slow
        status, answer = await served.post("/v2/scrape", {"url": served.site.url("/slow"), "timeout": 1000})
        assert (status, answer["code"]) == (408, "timeout")


async def test_max_age_serves_a_copy_and_zero_fetches_again() -> None:
    async with serving() as served:
        bodies: list[dict[str, int]] = [{}, {}, {"maxAge": 0}, {"maxAge": 1}]
        for body, count in zip(bodies, (1, 1, 2, 3), strict=True):
            if body.get("maxAge") == 1:
                await asyncio.sleep(1.1)  # the copy's date has whole seconds
            _, answer = await served.post("/v2/scrape", {"url": served.page, **body})
            assert served.site.requests["/otters"] == count, body
        assert answer["data"]["metadata"]["cacheState"] == "miss"


async def test_change_tracking_compares_with_the_stored_copy() -> None:
    async with serving() as served:
        body = {"url": served.page, "formats": ["markdown", "changeTracking"]}
        statuses = []
        for change in (False, False, True):
            if change:
                served.site.pages["/otters"] = html(
                    "<article><h1>New</h1><p>Another text stands here now.</p></article>"
                )
            _, answer = await served.post("/v2/scrape", body)
            statuses.append(answer["data"]["changeTracking"]["changeStatus"])
        assert statuses == ["new", "same", "changed"]


async def finished(served: Served, path: str) -> Any:
    for _ in range(600):
        _, answer = await served.get(path)
        if answer["status"] != "scraping":
            return answer
        await asyncio.sleep(0.1)
    raise AssertionError("the batch does not end")


async def test_firecrawl_batch_is_polled_page_by_page_and_names_failures() -> None:
    async with serving() as served:
        urls = [served.site.url(path, "127.0.0.1") for path in ("/otters", "/gone", "/second")]
        status, start = await served.post("/v2/batch/scrape", {"urls": urls, "formats": ["markdown", "links"]})
        assert status == 200
        assert start["url"].endswith(f"/v2/batch/scrape/{start['id']}")
        answer = await finished(served, f"/v2/batch/scrape/{start['id']}")
        assert (answer["status"], answer["total"], answer["completed"]) == ("completed", 3, 3)
        assert {page["metadata"]["sourceURL"] for page in answer["data"]} == {urls[0], urls[2]}
        _, first = await served.get(f"/v2/batch/scrape/{start['id']}?limit=1")
        rest = await served.get(first["next"].removeprefix(served.base))
        assert len(first["data"]) <= 1
        assert len(rest[1]["data"]) + len(first["data"]) >= 1
        _, errors = await served.get(f"/v2/batch/scrape/{start['id']}/errors")
        assert [error["url"] for error in errors["errors"]] == [urls[1]]


async def test_firecrawl_map_lists_the_addresses_of_page_and_sitemap() -> None:
    async with serving() as served:
        site = served.site
        site.pages["/robots.txt"] = (200, {"Content-Type": "text/plain"}, f"Sitemap: {site.url('/map.xml')}\n".encode())
        locations = "".join(f"<url><loc>{site.url(f'/page{n}')}</loc></url>" for n in range(3))
        sitemap = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locations}</urlset>"
        site.pages["/map.xml"] = (200, {"Content-Type": "application/xml"}, sitemap.encode())
        _, answer = await served.post("/v2/map", {"url": served.page})
        urls = [link["url"] for link in answer["links"]]
        assert urls[0] == served.page
        assert {site.url("/second?a=1"), site.url("/menu"), site.url("/page2")} <= set(urls)
        _, answer = await served.post("/v1/map", {"url": served.page, "search": "page", "limit": 2})
        assert all(isinstance(link, str) for link in answer["links"])
        assert len(answer["links"]) == 2


async def test_crawl_is_not_built_yet() -> None:
    async with serving() as served:
        status, answer = await served.post("/v2/crawl", {"url": served.page})
        assert status == 501
        assert "/v2/map" in answer["error"]


async def test_jina_forms_by_accept_header() -> None:
    async with serving() as served:
        _, text = await served.get(f"/{served.page}")
        assert text.startswith(f"Title: Otters\n\nURL Source: {served.page}\n\nMarkdown Content:\n# Otters")
        _, bare = await served.get(f"/{served.page}", Accept="text/markdown")
        assert bare.startswith("# Otters\n")
        _, answer = await served.get(f"/{served.page}", Accept="application/json")
        assert (answer["code"], answer["status"]) == (200, 20000)
        assert answer["data"]["url"] == served.page
        assert answer["data"]["usage"]["tokens"] > 10
        status, posted = await served.post("/", {"url": served.page}, Accept="application/json")
        assert status == 200
        assert posted["data"]["content"] == answer["data"]["content"]


async def test_jina_address_keeps_its_query_and_survives_a_folded_slash() -> None:
    async with serving() as served:
        served.site.pages["/q"] = html("<article><h1>Q</h1><p>A page with a query in its address.</p></article>")
        address = served.site.url("/q?a=1&b=%2F2&c=x%20y")
        async with served.http.get(URL(f"{served.base}/{address}", encoded=True)) as answer:
            text = await answer.text()
        assert "/q?a=1&b=%2F2&c=x%20y" in served.site.requests
        folded = f"{served.base}/{address.replace('http://', 'http:/', 1)}"
        async with served.http.get(URL(folded, encoded=True)) as answer:
            assert await answer.text() == text


@pytest.mark.parametrize(
    ("headers", "holds", "lacks"),
    [
        ({"X-Target-Selector": ".note"}, "A note beside", "back at the weir"),
        ({"X-Remove-Selector": ".note, img"}, "back at the weir", "A note beside"),
        ({"X-With-Links-Summary": "true"}, "Links:\n- ", "Images:"),
        ({"X-Token-Budget": "5"}, "URL Source", "A note beside"),
        ({"X-Respond-With": "html"}, "<h1>Otters</h1>", "URL Source"),
        ({"X-Respond-With": "markdown"}, "# Otters", "URL Source"),
    ],
)
async def test_jina_headers_are_obeyed(headers: dict[str, str], holds: str, lacks: str) -> None:
    async with serving() as served:
        status, text = await served.get(f"/{served.page}", **headers)
        assert status == 200
        assert holds in text
        assert lacks not in text


async def test_jina_no_cache_and_bad_headers() -> None:
    async with serving() as served:
        for headers, count in (({}, 1), ({}, 1), ({"X-No-Cache": "true"}, 2), ({"X-Cache-Tolerance": "0"}, 3)):
            await served.get(f"/{served.page}", **headers)
            assert served.site.requests["/otters"] == count
        status, answer = await served.get(f"/{served.page}", **{"X-Timeout": "soon"})
        assert (status, answer["name"]) == (400, "bad_args")
        status, answer = await served.get(f"/{served.page}", **{"X-Target-Selector": "[["})
        assert (status, answer["name"]) == (400, "bad_args")


async def test_tavily_extract_returns_pages_and_failures() -> None:
    async with serving() as served:
        gone = served.site.url("/gone")
        body = {"urls": [served.page, gone], "include_images": True}
        status, answer = await served.post("/extract", body)
        assert status == 200
        assert [found["url"] for found in answer["results"]] == [served.page]
        assert answer["results"][0]["raw_content"].startswith("# Otters")
        assert answer["results"][0]["images"] == [served.site.url("/otter.png")]
        assert [found["url"] for found in answer["failed_results"]] == [gone]
        assert {"response_time", "request_id"} <= answer.keys()
        _, text = await served.post("/extract", {"urls": served.page, "format": "text"})
        assert "# Otters" not in text["results"][0]["raw_content"]


async def test_open_webui_loader_returns_documents() -> None:
    async with serving() as served:
        status, answer = await served.post("/load", {"urls": [served.page, served.site.url("/gone")]})
        assert status == 200
        assert [page["metadata"]["source"] for page in answer] == [served.page]
        assert answer[0]["page_content"].startswith("# Otters")
        status, answer = await served.post("/load", {"urls": [served.site.url("/gone")]})
        assert status == 502


async def test_html_holds_no_script_of_the_page() -> None:
    """A page that is read as Markdown may bring HTML and addresses of its own."""
    hostile = (
        "# Hi <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n"
        "[a](javascript:alert(1)) <b onclick=x>b</b>\n"
    )
    async with serving() as served:
        served.site.pages["/hostile.md"] = (200, {"Content-Type": "text/markdown"}, hostile.encode())
        body = {"url": served.site.url("/hostile.md"), "formats": ["html"]}
        _, answer = await served.post("/v2/scrape", body)
        written = json.dumps(answer["data"]["html"])
        for part in ("<script", "onerror=alert(1)>", "javascript:", "<b onclick"):
            assert part not in written.replace("&lt;img src=x onerror=alert(1)&gt;", "")
