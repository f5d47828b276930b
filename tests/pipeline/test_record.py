"""The record: every outcome has one, it follows its schema, and it does not flatter the page."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from spaniel import Spaniel
from spaniel.chunking import boundaries, chunk
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.outcome import Attempt, CacheInfo, FoundPage, LeftOut, Outcome, StoredPage
from spaniel.pipeline.record import Record, checklist, record_of, verdict_of
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, Page, Site, html, redirect
from tests.pipeline.revalidating import ingesting

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "record.schema.json"
URL = "https://a.example/page"
AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


def stored(markdown: str = "# Otters\n\nThey swim.\n", **fields: Any) -> StoredPage:
    return StoredPage(URL, markdown, 600, boundaries(chunk(markdown)), title="Otters", **fields)


def attempt(error: SpanielError | None = None, status: int | None = None, fallback: str = "http") -> Attempt:
    return Attempt(fallback, URL, error, status, (), "body", 12.5, elsewhere=fallback in ("archive", "mirrors"))


def found(page: StoredPage | None = None, cache_info: CacheInfo | None = None, method: str = "http") -> Outcome:
    return Outcome(
        URL, URL, FoundPage(page or stored(), AT, method, cache_info=cache_info), attempts=(attempt(status=200),)
    )


def refused(code: Code, **details: Any) -> Outcome:
    error = SpanielError(code, **details)
    return Outcome(URL, URL, refusal=error, attempts=(attempt(error, details.get("status")),))


def opened(site: Site, cache: Path) -> AbstractAsyncContextManager[Spaniel]:
    return ingesting(site, cache=cache, clock=FakeClock())


def valid(record: Record) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(record.as_json())
    jsonschema.validate(fields, json.loads(SCHEMA.read_text()))
    return fields


@pytest.mark.req("FG-17", "FG-18", "FG-36", "FG-37")
def test_a_page_is_told_whole() -> None:
    page = stored(
        metadata={"title": "Otters", "author": "A. Writer"},
        content_type="text/html",
        content_hash="c" * 64,
        content_length=321,
        markdown_hash="d" * 64,
        chain=["https://a.example/old"],
        freshness="news",
    )
    cache_info = CacheInfo(AT, 24.0, '"v1"', "Mon, 16 Nov 2026 11:00:00 GMT", "changed")
    fields = valid(record_of(found(page, cache_info), [piece.record() for piece in page.cut(600)]))
    assert fields["markdown"] == page.markdown
    assert fields["metadata"]["author"] == "A. Writer"
    assert fields["extraction"] == {
        "fetched_at": "2026-11-16T12:00:00Z",
        "status": 200,
        "content_type": "text/html",
        "content_length": 321,
        "extraction_method": "html",
        "served_by": "http",
    }
    assert fields["cache"] == {
        "cache_key": URL,
        "cached_at": "2026-11-16T12:00:00Z",
        "content_hash": "c" * 64,
        "http_etag": '"v1"',
        "http_last_modified": "Mon, 16 Nov 2026 11:00:00 GMT",
        "ttl_hours": 24.0,
        "freshness": "news",
        "how": "changed",
    }
    assert fields["chunks"][0]["heading_path"] == "Otters"
    assert fields["fallbacks"][0]["fallback"] == "http"
    assert fields["error"] is None
    assert valid(record_of(found()))["chunks"] is None  # only where asked for


CAVEAT = "Content retrieved from web archive; may not reflect current state."  # document 1


@pytest.mark.req("FG-17", "FG-33", "FG-34")
def test_what_else_a_page_has_is_told_as_well() -> None:
    page = stored(
        language="en",
        notes=["from_archive"],
        signals={"robots": ["noai"]},
        archive_url="https://archive.example/1",
        archive_date="2020-01-01",
        content_hash="c" * 64,
        markdown_hash="d" * 64,
        served_by="archive",
        data='{\n  "a": 1.50\n}',
        chain=["https://a.example/old"],
        region="Only here",
    )
    outcome = found(page)._replace(
        requested_url="a.example/page?utm_source=x", reason="user", warnings=("https:// was put in front of the URL",)
    )
    fields = valid(record_of(outcome))
    names = ("language", "signals", "archive_url", "archive_date", "content_hash", "markdown_hash", "region", "title")
    assert [fields[name] for name in names] == [
        "en", {"robots": ["noai"]}, "https://archive.example/1", "2020-01-01", "c" * 64, "d" * 64,
        "Only here", "Otters",
    ]  # fmt: skip
    assert (fields["schema"], fields["data"], fields["chain"]) == (
        "spaniel.record/1",
        {"a": 1.5},
        ["https://a.example/old"],
    )
    assert (fields["requested_url"], fields["canonical_url"]) == ("a.example/page?utm_source=x", URL)
    assert (fields["forced"], fields["caveats"], len(fields["warnings"])) == ("user", ["from_archive", CAVEAT], 1)
    assert (fields["extraction"]["served_by"], fields["extraction"]["content_type"]) == ("archive", None)
    assert fields["cache"] is None
    assert record_of(outcome).as_dict() == fields


@pytest.mark.req("FG-17", "FG-29")
def test_what_a_page_does_not_have_is_null() -> None:
    fields = valid(record_of(found()))
    nulls = ("page_type", "region", "content_hash", "markdown_hash", "archive_url", "archive_date", "data", "forced")
    assert {fields[name] for name in nulls} == {None}
    assert valid(record_of(found(cache_info=CacheInfo(AT, 1))))["cache"]["freshness"] is None
    assert valid(record_of(Outcome("nonsense")))["extraction_method"] == "none"


@pytest.mark.req("FG-21", "FG-27", "FG-29")
def test_an_error_is_told_with_what_its_page_said() -> None:
    geo = refused(Code.HTTP_4XX, status=403, status_text="", page_type="geo_block", region="Not here.", title="No")
    fields = valid(record_of(geo._replace(known_title="Otters")))
    assert (fields["page_type"], fields["region"], fields["title"]) == ("geo_block", "Not here.", "No")
    assert fields["error"]["code"] == "http_4xx"
    assert fields["error"]["details"]["status"] == 403
    assert fields["error"]["hint"]
    gone = valid(record_of(refused(Code.HTTP_4XX, status=404, status_text="")._replace(known_title="Otters")))
    assert (gone["title"], gone["extraction_method"], gone["page_type"]) == ("Otters", "none", None)
    assert (gone["final_url"], gone["extraction"]["status"], gone["extraction"]["fetched_at"]) == (URL, 404, None)


@pytest.mark.req("FG-36")
def test_a_rung_tells_where_it_ended_and_how_long_it_took() -> None:
    tried = Attempt("http", f"{URL}/", None, 200, (URL,), "body", 12.5, waited=5.0)
    left = LeftOut("queue", "first", 0)
    first, then = valid(record_of(found()._replace(attempts=(tried,), left_out=(left,))))["fallbacks"]
    assert (first["fallback"], first["ms"], first["waited"], first["chain"]) == ("queue", 0.0, 0.0, [])
    assert then == {
        "fallback": "http", "outcome": "ok", "why": None, "url": f"{URL}/", "status": 200, "chain": [URL],
        "waited": 5.0, "ms": 12.5,
    }  # fmt: skip


@pytest.mark.req("FG-36")
def test_record_lists_tried_and_skipped_fallbacks_in_order() -> None:
    error = SpanielError(Code.HTTP_5XX, status=500, status_text="")
    outcome = Outcome(
        URL,
        URL,
        refusal=error,
        attempts=(attempt(error, 500), attempt(error, 500, "archive")),
        left_out=(LeftOut("retry", "no time", 1), LeftOut("browser", "no page", 1), LeftOut("mirrors", "none", 2)),
    )
    fallbacks = [
        (fallback["fallback"], fallback["outcome"], fallback["why"])
        for fallback in valid(record_of(outcome))["fallbacks"]
    ]
    assert fallbacks == [
        ("http", "http_5xx", None),
        ("retry", "left out", "no time"),
        ("browser", "left out", "no page"),
        ("archive", "http_5xx", None),
        ("mirrors", "left out", "none"),
    ]


@pytest.mark.req("FG-21", "FG-29")
def test_a_blocked_page_is_its_address_and_its_title() -> None:
    fields = valid(record_of(found(stored("", page_type="paywall"))))
    assert (fields["extraction_method"], fields["verdict"], fields["page_type"]) == ("blocked", "blocked", "paywall")
    assert (fields["title"], fields["markdown"]) == ("Otters", None)
    robots = valid(record_of(refused(Code.ROBOTS_DISALLOWED, path="/page", origin="https://a.example")))
    assert (robots["extraction_method"], robots["verdict"]) == ("robots_blocked", "blocked")
    paid = valid(record_of(refused(Code.HTTP_4XX, status=402, status_text="", page_type="paywall", title="Otters")))
    assert (paid["extraction_method"], paid["verdict"], paid["title"]) == ("blocked", "blocked", "Otters")


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (found(), "ok"),
        (found(stored(chain=["https://a.example/old"])), "moved"),
        (found(cache_info=CacheInfo(AT, 24, how="changed")), "changed"),
        (found(cache_info=CacheInfo(AT, 24, how="not_modified")), "ok"),
        (found(stored("", page_type="login")), "blocked"),
        (found(stored("", page_type="rate_limit")), "rate-limited"),
        (refused(Code.HTTP_4XX, status=404, status_text=""), "failing"),
        (refused(Code.HTTP_4XX, status=410, status_text=""), "dead"),
        (refused(Code.HTTP_4XX, status=403, status_text=""), "blocked"),
        (refused(Code.HTTP_4XX, status=418, status_text=""), "unknown"),
        (refused(Code.HTTP_4XX, status=429, status_text=""), "rate-limited"),
        (refused(Code.HTTP_5XX, status=503, status_text="", retry_after="9"), "rate-limited"),
        (refused(Code.HTTP_5XX, status=503, status_text=""), "unknown"),
        (refused(Code.HTTP_5XX, status=503, status_text="", page_type="challenge"), "blocked"),
        (refused(Code.DNS_FAILED, host="a.example", error="no such name"), "unknown"),
        (refused(Code.TIMEOUT, timeout_ms=1, phase="body"), "unknown"),
        (refused(Code.SSRF_BLOCKED, blocked_ip="10.0.0.1"), "blocked"),
        (Outcome("nonsense", refusal=SpanielError(Code.INVALID_URL, url="nonsense", reason="x")), "unknown"),
    ],
)
def test_the_verdict_is_on_the_page_that_was_asked_for(outcome: Outcome, verdict: str) -> None:
    assert verdict_of(outcome) == verdict
    assert valid(record_of(outcome))["verdict"] == verdict


@pytest.mark.req("FG-32")
@pytest.mark.parametrize(
    "substitute",
    [
        FoundPage(stored(archive_url="https://archive.example/1", served_by="archive"), AT, "http"),
        FoundPage(stored(served_by="mirrors"), AT, "http"),
        FoundPage(stored(), AT, "http", cache_info=CacheInfo(AT, 1, how="stale")),
    ],
)
def test_a_copy_that_stands_in_is_no_sign_of_life(substitute: FoundPage) -> None:
    broken = SpanielError(Code.HTTP_5XX, status=500, status_text="")
    gone = SpanielError(Code.HTTP_4XX, status=404, status_text="")
    elsewhere = (
        attempt(status=200, fallback=substitute.page.served_by) if substitute.cache_info is None else attempt(gone, 404)
    )
    outcome = Outcome(URL, URL, substitute, attempts=(attempt(broken, 500), attempt(gone, 404), elsewhere))
    assert verdict_of(outcome) == "failing"  # the site's last word


@pytest.mark.req("FG-39")
def test_stale_copy_without_a_request_has_unknown_verdict() -> None:
    assert (
        verdict_of(Outcome(URL, URL, FoundPage(stored(), AT, "http", cache_info=CacheInfo(AT, 1, how="stale"))))
        == "unknown"
    )


def test_failed_browser_does_not_make_the_page_a_substitute() -> None:
    failed = SpanielError(Code.TIMEOUT, timeout_ms=1, phase="browser")
    outcome = found()._replace(attempts=(attempt(status=200), attempt(failed, fallback="browser")))
    assert verdict_of(outcome) == "ok"


@pytest.mark.req("FG-44")
async def test_the_checklist_is_ticked_by_what_happened(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": html("<title>A</title><p>Some text here.</p>"), "/old": redirect("/a")}
    async with Site(pages) as site, opened(site, tmp_path) as spaniel:
        first = await spaniel.record(site.url("/old"), chunks=True)
        again = await spaniel.record(site.url("/old"))
        none = await spaniel.record(site.url("/nothing"))
        wrong = await spaniel.record("ftp://a.example/")
    assert [step.done for step in first.checklist] == [True] * 9
    ticks = {step.step.split()[0]: step.done for step in again.checklist}
    assert ticks == {
        "URL": True, "robots.txt": False, "Cache": False, "Request": False, "Response": True, "Content": True,
        "Metadata": True, "Extraction": True,
    }  # fmt: skip
    assert "served from the cache" in {step.detail for step in again.checklist}
    assert [step.done for step in none.checklist] == [True, True, True, True, True, False, False, False, False]
    assert not any(step.done for step in wrong.checklist)
    for record in (first, again, none, wrong):
        valid(record)


def test_the_checklist_is_the_documents() -> None:
    assert [check.step.split()[0] for check in checklist(found())] == [
        "URL", "robots.txt", "Cache", "Request", "Response", "Content", "Metadata", "Cache", "Extraction",
    ]  # fmt: skip


@pytest.mark.req("FG-03", "FG-01")
async def test_what_was_repaired_in_the_url_is_said(tmp_path: Path) -> None:
    async with Site({"/a": html("<p>Some text.</p>")}) as site, opened(site, tmp_path) as spaniel:
        record = await spaniel.record(site.url("/a").replace("http://", "http://me:secret@"))
        there = Request(f"a.example:{site.port}/a", max_wait=0)  # which has no HTTPS, and is not waited for
        bare = record_of(await spaniel.outcome(there))
    assert record.warnings == ["credentials were removed from the URL"]
    assert "secret" not in record.as_json().decode()
    assert bare.warnings == ["https:// was put in front of the URL"]


def test_the_schema_is_the_one_in_the_docs() -> None:
    assert json.loads(SCHEMA.read_text()) == msgspec.json.schema(Record)
