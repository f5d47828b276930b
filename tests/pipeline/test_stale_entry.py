"""A copy whose time is over, as a value: how it is asked about, what proves it, what it is served as."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

import pytest

from spaniel.cache import Validators, key_for
from spaniel.cache.entry import compose
from spaniel.errors import Code, SpanielError
from spaniel.net.http import Page, RequestOptions
from spaniel.pipeline.outcome import CacheInfo, StoredPage, bounds
from spaniel.pipeline.retrieve import conditional_for
from spaniel.pipeline.task import StaleEntry
from spaniel.reading.document import Metadata
from spaniel.testing import FakeClock
from spaniel.url.parsing import parse

URL = "https://a.example/page"
BODY = b"<p>They swim.</p>"
HTML = {"content-type": "text/html"}
DATE = "Wed, 01 Jan 2025 10:00:00 GMT"
NOW = FakeClock().now()
HOUR = timedelta(hours=1)


def stale(asked: str | None = None, ttl: timedelta = 3 * HOUR, etag: str | None = '"v1"') -> StaleEntry:
    key = key_for(URL, "http", "ingest", "1")
    page = StoredPage(
        URL, "They swim.", 600, bounds("They swim.", 600), title="Otters", language="en",
        notes=["https_downgrade", "reading_cut", "robots_unavailable_fail_open"],
        metadata={"author": "A. Writer", "own": 1},
        content_type="text/html", content_hash=sha256(BODY).hexdigest(), content_length=len(BODY), freshness="blog",
    )  # fmt: skip
    return StaleEntry(key, compose(key, page, NOW, ttl, Validators(etag, DATE)), page, ttl, asked)


def answer(status: int = 200, body: bytes = BODY, url: str = URL, headers: dict[str, str] | None = None) -> Page:
    return Page(parse(url), status, "", HTML if headers is None else headers, body)


@pytest.mark.req("FG-40", "FG-41")
class TestProof:
    def test_a_304_and_the_same_bytes_are_proof(self) -> None:
        copy = stale()
        assert copy.revalidated_by(answer(304, b""), "http") == "not_modified"
        assert copy.revalidated_by(answer(), "http") == "unchanged"

    @pytest.mark.parametrize(
        "page",
        [
            answer(url=f"{URL}/other"),
            answer(304, b"", url=f"{URL}/other"),
            answer(body=BODY[:-1] + b"!"),  # of the same length
            answer(body=BODY + b"\n"),
            answer(headers={"content-type": "text/plain"}),
            answer(headers={}),
        ],
    )
    def test_nothing_else_is(self, page: Page) -> None:
        assert stale().revalidated_by(page, "http") is None

    def test_what_was_fetched_otherwise_is_none(self) -> None:
        assert stale().revalidated_by(answer(), "browser") is None
        assert stale().revalidated_by(answer(304, b""), "browser") is None


class TestServed:
    @pytest.mark.req("FG-37", "FG-42")
    def test_it_tells_what_the_cache_knows_of_it(self) -> None:
        found = stale().found("stale")
        assert found.cache_info == CacheInfo(NOW, 3.0, '"v1"', DATE, "stale")
        assert (found.fetched_at, found.rendering_method, found.page) == (NOW, "http", stale().page)

    @pytest.mark.req("FG-38")
    def test_it_is_of_the_class_that_is_asked_for(self) -> None:
        assert stale("news").found("hit").page.freshness == "news"
        assert stale().found("hit").page.freshness == "blog"

    def test_document_of_a_copy_drops_notes_about_hops(self) -> None:
        document = stale().document
        assert (document.markdown, document.title, document.language) == ("They swim.", "Otters", "en")
        assert document.metadata == Metadata(author="A. Writer")
        assert document.notes == ("reading_cut",)

    @pytest.mark.req("FG-42")
    @pytest.mark.parametrize("code", [Code.HTTP_5XX, Code.TIMEOUT, Code.NETWORK, Code.DNS_FAILED])
    def test_it_stands_in_until_twice_its_time(self, code: Code) -> None:
        silent = SpanielError(code)
        assert stale().replaces(silent, NOW + 6 * HOUR)
        assert not stale().replaces(silent, NOW + 6 * HOUR + timedelta(seconds=1))

    @pytest.mark.req("FG-42")
    def test_a_broken_server_says_its_status_and_is_made_up_for(self) -> None:
        assert stale().replaces(SpanielError(Code.HTTP_5XX, status=503), NOW)
        assert not stale().replaces(SpanielError(Code.NETWORK, status=304), NOW)


@pytest.mark.req("FG-39")
class TestConditional:
    def test_both_validators_go_to_the_url_of_the_copy_alone(self) -> None:
        asked = stale().conditional
        assert asked is not None
        plain = RequestOptions(more={"X": "y"})
        both = {"X": "y", "If-None-Match": '"v1"', "If-Modified-Since": DATE}
        assert asked.options_for(parse(URL), plain).more == both
        assert asked.options_for(parse(f"{URL}?other"), plain) == plain

    def test_what_has_nothing_to_be_known_by_is_not_asked_about(self) -> None:
        assert conditional_for(URL, None, None) is None
        assert conditional_for(URL, "", "") is None

    @pytest.mark.parametrize("etag", ['"v1"', 'W/"v1"', "v1", '""', '"a,b c"'])
    def test_a_tag_is_sent_as_the_server_wrote_it(self, etag: str) -> None:
        asked = conditional_for(URL, etag, None)
        assert asked is not None
        assert asked.fields == {"If-None-Match": etag}

    @pytest.mark.parametrize("etag", ["*", '"a", "b"', "a b", 'a"', '"v1"\r\nX: y', '"ö"', '"\x00"', "w/ "])
    def test_a_tag_that_is_none_is_left_out(self, etag: str) -> None:
        asked = conditional_for(URL, etag, DATE)
        assert asked is not None
        assert asked.fields == {"If-Modified-Since": DATE}

    @pytest.mark.parametrize("date", ["yesterday\r\nX: y", "1. März", ""])
    def test_a_date_that_cannot_stand_in_a_header_is_left_out(self, date: str) -> None:
        assert conditional_for(URL, None, date) is None

    def test_only_a_304_of_the_url_that_was_asked_is_an_answer(self) -> None:
        asked = stale().conditional
        assert asked is not None
        assert asked.answered_by(answer(304))
        assert not asked.answered_by(answer(304, url=f"{URL}?other"))
        assert not asked.answered_by(answer(200))

    @pytest.mark.req("FG-40")
    @pytest.mark.parametrize(
        ("stored", "named", "agrees"),
        [
            ('"v1"', None, True),
            (None, '"v2"', True),
            ('W/"v1"', '"v1"', True),
            *(
                ('"v1"', f'"v1{joint}{coding}"', True)
                for joint in "-;:"
                for coding in ("gzip", "br", "deflate", "zstd")
            ),
            ('"v1--gzip"', '"v1"', True),
            ("v1-gzip", "v1", True),
            ('"v1-gzip-2"', '"v1-2"', False),
            ('"v1-lzma"', '"v1"', False),
            ('"v1"', '"v2"', False),
        ],
    )
    def test_versions_are_compared_however_they_were_packed(
        self, stored: str | None, named: str | None, agrees: bool
    ) -> None:
        asked = conditional_for(URL, stored, DATE)
        assert asked is not None
        assert asked.agrees_with(answer(304, headers={"etag": named} if named else {})) is agrees
