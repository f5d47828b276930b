"""What is seen of an answer: its text, what came instead of a page, a domain for sale, anchors, a hash of the text."""

from __future__ import annotations

import asyncio
import hashlib
import threading

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.health import pages
from spaniel.health.hops import LinkHops
from spaniel.health.pages import NO_FACTS, Body, CheckedPage, look_at, look_at_head, may_have_signs, needs_of
from spaniel.net.deadline import Deadline
from spaniel.net.http import Page
from spaniel.pipeline.page_types import PageEvidence
from spaniel.reading import Document, read, read_as
from spaniel.reading.kinds import DetectedKind, kind_of
from spaniel.url import parse
from spaniel.verdicts import ANYTHING, Expected

URL = "http://a.test/1"
HTML = "text/html; charset=utf-8"
TEXT = "The tide tables of the harbour, hour by hour, for whoever goes out to fish."
PAGE = f"<html><body><h1 id='top'>Tides</h1><p>{TEXT}</p></body></html>".encode()
FOR_SALE = b"<html><body><p>This domain is for sale. Make an offer today.</p></body></html>"


def page(body: bytes = PAGE, status: int = 200, url: str = URL, **headers: str) -> Page:
    fields = {"content-type": HTML} | {name.replace("_", "-"): value for name, value in headers.items()}
    return Page(parse(url), status, "", fields, body)


def hops() -> LinkHops:
    return LinkHops(parse(URL), Deadline(60))


def taken(data: bytes, expected: Expected = ANYTHING) -> Body:
    body = Body(needs_of(expected, reads=True))
    body.take(data)
    return body


@pytest.mark.parametrize(
    ("content_type", "tells"),
    [
        *((None, True), ("", True), ("text/html", True), ("TEXT/plain; charset=x", True)),
        *(("application/xhtml+xml", True), ("application/xml", True), ("image/png", False), ("application/zip", False)),
    ],
)
def test_only_text_and_markup_may_say_that_they_are_not_the_page(content_type: str | None, tells: bool) -> None:
    assert may_have_signs(content_type) is tells


def test_a_head_says_as_much_as_its_headers_and_its_host() -> None:
    assert look_at_head(page(b"")) == NO_FACTS == CheckedPage()
    assert look_at_head(page(b"", cf_mitigated="challenge")) == CheckedPage(page_type="challenge")
    assert look_at_head(page(b"", url="http://www.sedo.com/x")) == CheckedPage(is_parked=True)
    assert look_at_head(page(b"", 404, url="http://www.sedo.com/x")) == NO_FACTS


async def test_the_beginning_of_a_page_is_read_where_no_more_was_wanted() -> None:
    seen = await look_at(page(), None, hops(), None)
    assert TEXT in seen.text
    assert seen == CheckedPage(text=seen.text, title=seen.title)


async def test_of_a_page_that_was_taken_the_text_is_hashed() -> None:
    seen = await look_at(page(b""), taken(PAGE, Expected(length=5)), hops(), None)
    assert seen.content is not None
    assert seen.content.length == len(PAGE)
    assert seen.content.text_sha256 == hashlib.sha256(seen.text.encode()).hexdigest()
    empty = await look_at(page(b""), taken(b"", Expected(length=5)), hops(), None)
    assert empty.content is not None
    assert (empty.text, empty.content.text_sha256) == ("", "")


async def test_of_an_error_its_own_words_count_and_not_what_was_taken_before() -> None:
    seen = await look_at(page(b"<p>Nothing to see here, go away.</p>", 404), taken(PAGE), hops(), None, ("top",))
    assert "go away" in seen.text
    assert seen.fragments == ()


async def test_what_cannot_be_read_has_no_text() -> None:
    seen = await look_at(page(b"\x89PNG\r\n\x1a\n" + bytes(200), content_type="image/png"), None, hops(), None)
    assert (seen.text, seen.page_type) == ("", "")


async def test_a_page_that_was_not_kept_to_its_end_is_not_judged_by_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.health.pages.KEPT", 40)
    body = taken(PAGE)
    assert not body.is_kept
    seen = await look_at(page(b""), body, hops(), None, ("top", "bottom"))
    assert (seen.text, seen.page_type) == ("", "")
    assert [(one.name, one.found) for one in seen.fragments] == [("top", True), ("bottom", None)]


async def test_anchors_are_looked_for_in_what_was_taken() -> None:
    seen = await look_at(page(b""), taken(PAGE), hops(), None, ("top", "bottom"))
    assert [(one.name, one.found) for one in seen.fragments] == [("top", True), ("bottom", False)]


async def test_a_challenge_is_known_by_its_headers_whatever_the_page_says() -> None:
    seen = await look_at(page(cf_mitigated="challenge"), None, hops(), None)
    assert seen.page_type == "challenge"
    assert (await look_at(page(b"", cf_mitigated="challenge"), None, hops(), None)).page_type == "challenge"


@pytest.mark.parametrize(
    ("answer", "parked"),
    [
        (page(FOR_SALE), True),
        (page(FOR_SALE, 404), False),
        (page(url="http://parking.sedo.com/"), True),
        (page(status=500, url="http://parking.sedo.com/"), False),
        (page(), False),
    ],
)
async def test_a_domain_for_sale_is_known_by_its_host_or_its_words(answer: Page, parked: bool) -> None:
    assert (await look_at(answer, None, hops(), None)).is_parked is parked


async def test_whether_one_was_led_there_is_told_to_whoever_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    led: list[bool] = []

    def judged(evidence: PageEvidence) -> str:
        led.append(evidence.redirected)
        return "login"

    monkeypatch.setattr(pages, "page_type_of", judged)
    for count in (0, 1):
        way = hops()
        for _ in range(count):
            way.move(302, way.resolve(page(b"", 302, location="/2")))
        assert (await look_at(page(), None, way, None)).page_type == "login"
    assert led == [False, True]


class Reader:
    """BodyReader for others, or refuses to."""

    def __init__(self, error: SpanielError | None = None) -> None:
        self.error = error
        self.given: list[tuple[object, ...]] = []

    async def read(self, body: bytes, kind: DetectedKind, url: str | None, deadline: Deadline) -> Document:
        self.given.append((body, kind, url, deadline))
        if self.error is not None:
            raise self.error
        return read_as(kind, body, url)


async def test_a_reader_that_is_there_is_handed_all_that_is_known() -> None:
    reader, way = Reader(), hops()
    seen = await look_at(page(), None, way, reader)
    assert TEXT in seen.text
    assert reader.given == [(PAGE, kind_of(HTML, PAGE, ("html", "text")), URL, way.deadline)]
    late = Reader(SpanielError(Code.TIMEOUT, phase="extract", timeout_ms=1))
    assert (await look_at(page(), None, way, late)).text == ""


@pytest.mark.parametrize(
    ("body", "beside"),
    [
        (PAGE, False),
        (b"x" * (64 << 10), False),
        (b"x" * ((64 << 10) + 1), True),
        (b"<b>" * 2000, False),
        (b"<b>" * 2001, True),
    ],
)
async def test_long_pages_and_those_of_many_tags_are_read_beside_the_event_loop(
    body: bytes, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []

    def reading(*given: object) -> Document:
        threads.append(threading.current_thread() is not threading.main_thread())
        return read(b"<p>short</p>", HTML, None)

    monkeypatch.setattr(pages, "read_as", reading)
    assert (await look_at(page(body), None, hops(), None)).text.strip() == "short"
    assert threads == [beside]
    await asyncio.sleep(0)
