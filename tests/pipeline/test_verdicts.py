"""Verdicts and checklists, of outcomes as they may end: no server is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from spaniel.chunking import boundaries, chunk
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.outcome import Attempt, CacheInfo, FoundPage, Outcome, StoredPage
from spaniel.pipeline.record import ChecklistItem, checklist, verdict_of
from spaniel.pipeline.request import TraceStep
from spaniel.verdicts import Verdict

URL = "https://a.example/page"
AT = datetime(2026, 11, 16, 12, 34, tzinfo=UTC)
GONE = SpanielError(Code.HTTP_4XX, status=404, status_text="")
BROKEN = SpanielError(Code.HTTP_5XX, status=500, status_text="")


def stored(markdown: str = "They swim.", **fields: Any) -> StoredPage:
    return StoredPage(URL, markdown, 600, boundaries(chunk(markdown)), **fields)


def attempt(fallback: str, error: SpanielError | None = None, elsewhere: bool = False) -> Attempt:
    fields = error.details.get("status") if error else 200
    status = fields if isinstance(fields, int) else None
    return Attempt(fallback, URL, error, status, (), "body", 1.0, elsewhere=elsewhere)


def found(
    page: StoredPage, *attempts: Attempt, cache_info: CacheInfo | None = None, steps: tuple[TraceStep, ...] = ()
) -> Outcome:
    return Outcome(URL, URL, FoundPage(page, AT, "http", cache_info=cache_info), attempts=attempts, steps=steps)


def refused(code: Code, **details: Any) -> Outcome:
    return Outcome(URL, URL, refusal=SpanielError(code, **details))


class TestVerdicts:
    def test_these_are_all_words_for_it(self) -> None:
        words = ("ok", "moved", "changed", "blocked", "rate-limited", "failing", "dead", "unknown", "skipped")
        assert tuple(Verdict) == words

    def test_a_page_that_moved_or_changed_is_told_so(self) -> None:
        assert (
            verdict_of(found(stored(chain=["https://a.example/old"]), cache_info=CacheInfo(AT, 1, how="changed")))
            == "changed"
        )
        assert verdict_of(found(stored(chain=["https://a.example/old"]))) == "moved"
        assert verdict_of(found(stored(chain=[URL, "https://a.example/cookie"]))) == "ok"  # it led back
        assert verdict_of(found(stored(), cache_info=CacheInfo(AT, 1, how="changed"))) == "changed"
        assert verdict_of(found(stored(), cache_info=CacheInfo(AT, 1, how="not_modified"))) == "ok"
        assert verdict_of(found(stored("", page_type="rate_limit"))) == "rate-limited"
        assert verdict_of(found(stored("", page_type="login"))) == "blocked"

    @pytest.mark.req("FG-21", "FG-27")
    @pytest.mark.parametrize("status", [401, 402, 403, 407, 451, 999])
    def test_a_status_that_closes_the_page(self, status: int) -> None:
        assert verdict_of(refused(Code.HTTP_4XX, status=status, status_text="")) == "blocked"

    @pytest.mark.req("LH-02")
    def test_only_410_is_dead_at_once(self) -> None:
        assert verdict_of(refused(Code.HTTP_4XX, status=410, status_text="")) == "dead"
        assert verdict_of(refused(Code.HTTP_4XX, status=404, status_text="")) == "failing"
        assert verdict_of(refused(Code.DNS_FAILED, host="a.example", cause="nxdomain")) == "failing"
        assert verdict_of(refused(Code.NETWORK, error="x", cause="connect", refused=True)) == "failing"
        assert verdict_of(refused(Code.NETWORK, error="x", cause="connect")) == "unknown"

    @pytest.mark.req("LH-02")
    def test_url_that_is_never_requested_is_skipped(self) -> None:
        assert verdict_of(refused(Code.INVALID_SCHEME, scheme="ftp")) == "skipped"

    @pytest.mark.req("LH-02")
    def test_page_that_came_and_cannot_be_read_is_there(self) -> None:
        unread = SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type="image/png")
        came = attempt("http", unread)._replace(status=200)
        assert verdict_of(Outcome(URL, URL, refusal=unread, attempts=(came,))) == "ok"
        moved = came._replace(chain=("https://a.example/old",))
        assert verdict_of(Outcome(URL, URL, refusal=unread, attempts=(moved,))) == "moved"

    @pytest.mark.req("FG-29", "FR-WF-05")
    @pytest.mark.parametrize("code", [Code.ROBOTS_DISALLOWED, Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST])
    def test_what_is_forbidden_without_an_answer(self, code: Code) -> None:
        assert verdict_of(refused(code)) == "blocked"

    @pytest.mark.req("FG-22")
    def test_of_statuses_only_503_asks_for_time_by_its_header(self) -> None:
        assert verdict_of(refused(Code.HTTP_5XX, status=503, retry_after="9")) == "rate-limited"
        assert verdict_of(refused(Code.HTTP_5XX, status=503)) == "unknown"
        assert verdict_of(refused(Code.HTTP_5XX, status=503, retry_after="soon")) == "unknown"
        assert verdict_of(refused(Code.HTTP_4XX, status=429)) == "rate-limited"  # with or without one
        assert verdict_of(refused(Code.HTTP_5XX, status=500, retry_after="9")) == "unknown"
        assert verdict_of(refused(Code.HTTP_4XX, status=403, page_type="rate_limit")) == "rate-limited"
        assert verdict_of(refused(Code.HTTP_4XX, status=429, page_type="challenge")) == "blocked"

    def test_of_what_nobody_has_tried_nothing_is_known(self) -> None:
        assert verdict_of(Outcome(URL)) == "unknown"

    def test_a_page_that_came_at_the_second_try_is_there(self) -> None:
        assert verdict_of(found(stored(), attempt("http", BROKEN), attempt("retry"))) == "ok"

    def test_a_copy_from_the_cache_is_the_page(self) -> None:
        assert verdict_of(found(stored(), cache_info=CacheInfo(AT, 1, how="hit"))) == "ok"

    @pytest.mark.req("FG-32", "FG-34")
    @pytest.mark.parametrize("fallback", ["archive", "search_cache", "mirrors"])
    def test_whoever_else_has_the_page_does_not_bring_it_to_life(self, fallback: str) -> None:
        assert verdict_of(found(stored(), attempt("http", GONE), attempt(fallback, elsewhere=True))) == "failing"

    @pytest.mark.req("FG-32")
    def test_where_the_site_was_not_asked_a_copy_says_nothing_about_it(self) -> None:
        """A host that asked for time is left alone; that an archive has nothing is the archive's word."""
        page = stored(archive_url="https://archive.example/1")
        assert verdict_of(found(page, attempt("archive", elsewhere=True))) == "unknown"
        tried = attempt("archive", GONE, elsewhere=True), attempt("mirrors", elsewhere=True)
        assert verdict_of(found(stored(), *tried)) == "unknown"

    @pytest.mark.req("FG-42")
    def test_an_old_copy_says_nothing_about_a_server_that_is_silent(self) -> None:
        assert (
            verdict_of(found(stored(), attempt("http", BROKEN), cache_info=CacheInfo(AT, 1, how="stale"))) == "unknown"
        )


def ticked(outcome: Outcome) -> dict[str, tuple[bool, str]]:
    """The second step about the cache by the name of what it is about."""
    return {item.step.split(";")[0]: (item.done, item.detail) for item in checklist(outcome)}


@pytest.mark.req("FG-44")
class TestChecklists:
    def test_every_step_tells_what_came_of_it(self) -> None:
        steps = [("check_cache", "miss"), ("robots", "ok"), ("fetch", "http_5xx"), ("fetch", "ok"), ("robots", "ok")]
        trace = tuple(TraceStep(name, end, 1.0) for name, end in [*steps, ("write_cache", "ok")])
        page = stored(metadata={"title": "Otters", "author": "", "language": "en"}, reader="html")
        outcome = found(page, attempt("http", BROKEN), attempt("retry"), steps=trace)
        assert checklist(outcome) == [
            ChecklistItem("URL validated and normalized", True, URL),
            ChecklistItem("robots.txt checked for the domain", True, "ok"),
            ChecklistItem("Cache checked; conditional headers set if cached", True, "miss"),
            ChecklistItem("Request sent with proper headers and timeout", True, "http_5xx, ok"),
            ChecklistItem("Response status handled", True, "http: 500, retry: 200"),
            ChecklistItem("Content extracted and converted to Markdown", True, "html, 10 characters"),
            ChecklistItem("Metadata extracted", True, "title, language"),
            ChecklistItem("Cache updated with new content, hash and headers", True, "ok"),
            ChecklistItem("Extraction metadata recorded", True, "html, 2026-11-16 12:34 UTC, status 200"),
        ]

    def test_a_hit_says_where_it_was_served_from(self) -> None:
        steps = (TraceStep("check_cache", "hit", 1.0),)
        fields = ticked(found(stored(), steps=steps)._replace(served_at=AT))
        served = (False, "served from the cache")
        assert fields["robots.txt checked for the domain"] == served
        assert fields["Request sent with proper headers and timeout"] == served
        assert fields["Cache updated with new content, hash and headers"] == served
        assert fields["Cache checked"] == (True, "hit")
        assert fields["Response status handled"] == (True, "200, when it was fetched")

    def test_a_refusal_says_why_each_step_did_not_happen(self) -> None:
        fields = ticked(Outcome("ftp://a", refusal=SpanielError(Code.INVALID_URL, url="ftp://a", reason="x")))
        assert fields.pop("URL validated and normalized") == (False, "")
        assert fields.pop("Metadata extracted") == (False, "")
        assert set(fields.values()) == {(False, "invalid_url")}
        assert len(fields) == 7

    def test_a_page_that_is_not_the_page_is_not_extracted(self) -> None:
        fields = ticked(found(stored("", page_type="paywall", metadata={"title": "Otters"}), attempt("http")))
        assert fields["Content extracted and converted to Markdown"] == (False, "paywall")
        assert fields["Metadata extracted"][0] is False

    def test_page_without_text_has_metadata_but_no_extraction(self) -> None:
        fields = ticked(found(stored("", reader="html"), attempt("http")))
        assert fields["Content extracted and converted to Markdown"] == (False, "html, 0 characters")
        assert fields["Metadata extracted"] == (True, "")
        assert fields["robots.txt checked for the domain"] == (False, "not needed")

    @pytest.mark.parametrize(("end", "done"), [("ok", True), ("no-store", False), ("cache_write_failed", False)])
    def test_the_cache_is_updated_only_where_it_was_written(self, end: str, done: bool) -> None:
        fields = ticked(found(stored(), steps=(TraceStep("write_cache", end, 1.0),)))
        assert fields["Cache updated with new content, hash and headers"] == (done, end)

    def test_a_cache_that_was_passed_by_was_not_checked(self) -> None:
        fields = ticked(found(stored(), steps=(TraceStep("check_cache", "bypassed", 1.0),)))
        assert fields["Cache checked"] == (False, "bypassed")

    def test_a_page_that_was_rendered_was_asked_for(self) -> None:
        fields = ticked(found(stored(), steps=(TraceStep("render", "ok", 1.0),)))
        assert fields["Request sent with proper headers and timeout"] == (True, "ok")

    def test_a_server_that_never_answered_is_told_by_what_went_wrong(self) -> None:
        silent = SpanielError(Code.TIMEOUT, timeout_ms=1, phase="connect")
        fields = ticked(Outcome(URL, URL, refusal=silent, attempts=(attempt("http", silent),)))
        assert fields["Response status handled"] == (False, "http: timeout")
