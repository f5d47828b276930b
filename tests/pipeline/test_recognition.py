"""Whether what came is the page, and what an error says about itself."""

from __future__ import annotations

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.http import Page
from spaniel.pipeline.page_types import BlockedPage, explained, recognized
from spaniel.reading.document import Document
from spaniel.url.parsing import parse

URL = parse("https://a.example/login")
FORM = b"<input type=password>"
PLACE = "Not available in your country."


def page(status: int = 200, body: bytes = b"", kind: str = "text/html") -> Page:
    return Page(URL, status, "", {"content-type": kind}, body)


def refused(status: int = 403, code: Code = Code.HTTP_4XX) -> SpanielError:
    return SpanielError(code, status=status, status_text="No")


@pytest.mark.req("FG-21", "FG-27")
class TestRecognized:
    def test_a_page_that_is_the_page_is_nothing_else(self) -> None:
        found = recognized(page(), Document("Otters swim."), {}, redirected=False, types=True, respect=["noai"])
        assert found is None

    def test_the_place_is_told_of_what_is_closed_by_place_alone(self) -> None:
        closed = recognized(page(403), Document(PLACE), {}, redirected=False, types=True, respect=())
        assert closed == BlockedPage("geo_block", PLACE, ("geo_block",))
        other = recognized(page(402), Document(PLACE), {}, redirected=False, types=True, respect=())
        assert other == BlockedPage("paywall", "", ("paywall",), {"sign": "status", "where": "402"})

    def test_a_redirect_is_a_sign(self) -> None:
        form = page(body=FORM)
        assert recognized(form, Document(""), {}, redirected=False, types=True, respect=()) is None
        wall = {"sign": "login_redirect", "where": "https://a.example/login"}
        found = recognized(form, Document(""), {}, redirected=True, types=True, respect=())
        assert found == BlockedPage("login", "", ("login",), wall)

    def test_types_are_looked_for_only_where_asked(self) -> None:
        assert recognized(page(402), Document(""), {}, redirected=False, types=False, respect=()) is None

    def test_a_signal_that_is_respected_comes_first(self) -> None:
        signals = {"robots": ["noai"]}
        fields = recognized(page(402), Document(""), signals, redirected=False, types=True, respect=["noai"])
        assert fields == BlockedPage("site_signal", "", ("site_signal", "noai"))


@pytest.mark.req("FG-21", "FG-27")
class TestExplained:
    def test_an_error_is_told_with_its_page(self) -> None:
        body = f"<title>No</title><p>{PLACE}</p>".encode()
        fields = explained(refused(), page(403, body), False)
        assert fields.code is Code.HTTP_4XX
        assert fields.details == {
            "status": 403, "status_text": "No", "page_type": "geo_block", "title": "No", "region": PLACE,
        }  # fmt: skip

    def test_text_without_marks_is_read_as_well(self) -> None:
        fields = explained(refused(), page(403, PLACE.encode(), "text/plain"), False)
        assert fields.details["page_type"] == "geo_block"

    def test_a_region_is_told_of_nothing_else(self) -> None:
        fields = explained(refused(402), page(402, f"<p>{PLACE}</p>".encode()), False)
        wall = {"sign": "status", "where": "402"}
        assert fields.details == {"status": 402, "status_text": "No", "page_type": "paywall", "wall": wall}

    @pytest.mark.parametrize("body", [b"", b"%PDF-1.7 nonsense"])
    def test_what_cannot_be_read_is_told_by_its_status(self, body: bytes) -> None:
        fields = explained(refused(), page(403, body, "application/pdf"), False)
        assert fields.details == {"status": 403, "status_text": "No", "page_type": "forbidden"}

    def test_a_challenge_may_come_with_503(self) -> None:
        body = b"<title>Just a moment...</title>"
        fields = explained(refused(503, Code.HTTP_5XX), page(503, body), False)
        assert (fields.code, fields.details["page_type"]) == (Code.HTTP_5XX, "challenge")

    def test_whether_it_was_redirected_is_a_sign(self) -> None:
        gone = refused(404)
        assert explained(gone, page(404, FORM), True).details["page_type"] == "login"
        assert explained(gone, page(404, FORM), False) is gone

    def test_other_errors_and_errors_without_a_page_stay_as_they_are(self) -> None:
        other, bare = SpanielError(Code.RESPONSE_TOO_LARGE, size=2, max_bytes=1), refused(402)
        assert explained(other, page(402), False) is other
        assert explained(bare, None, False) is bare
