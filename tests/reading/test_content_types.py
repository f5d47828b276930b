"""Which reader reads what, and how bytes become text."""

from __future__ import annotations

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.reading import extract, read
from spaniel.reading.kinds import kind_of, parse_type

HTML = b"<!DOCTYPE html><title>T</title><p>Hello there</p>"


@pytest.mark.req("FR-WF-10f")
@pytest.mark.parametrize("content_type", ["text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml"])
def test_html_is_read_as_html(content_type: str) -> None:
    assert read(HTML, content_type, None).markdown == "Hello there\n"


@pytest.mark.req("FR-WF-10f", "FR-WF-13c")
def test_plain_text_passes_with_its_white_space_in_order() -> None:
    page = read(b"# not a heading\r\n<b>kept</b>  \n\n\n\n\nend", "text/plain", None)
    assert page.markdown == "# not a heading\n<b>kept</b>\n\n\nend\n"


@pytest.mark.req("FR-WF-10g")
@pytest.mark.parametrize(
    "content_type",
    ["application/pdf", "image/png", "video/mp4", "application/json", "image/svg+xml", "text/css", "nonsense"],
)
def test_other_types_are_refused(content_type: str) -> None:
    with pytest.raises(SpanielError) as caught:
        read(b"<html><p>x", content_type, None)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.req("FR-WF-10h")
@pytest.mark.parametrize(
    "start",
    [
        b"<!DOCTYPE html>",
        b"<!doctype HTML>",
        b"<HTML>",
        b"  \n<html lang=en>",
        b"\xef\xbb\xbf<html>",
        b"<!-- c --><html>",
    ],
)
def test_a_missing_type_with_an_html_beginning_is_html(start: bytes) -> None:
    assert kind_of(None, start + b"<p>x").reader == "html"


@pytest.mark.req("FR-WF-10h")
@pytest.mark.parametrize("body", [b"just words", b"", b'{"a": 1}', b"html"])
def test_a_missing_type_without_one_is_plain_text(body: bytes) -> None:
    assert kind_of("", body).reader == "text"


@pytest.mark.req("D2-18")
@pytest.mark.parametrize(
    "body", [b"%PDF-1.7 x", b"\x7fELF\x02", b"PK\x03\x04zip", b"\x89PNG\r\n", b"GIF89a", b"a\x00b", b"\xff\xd8\xff\xe0"]
)
@pytest.mark.parametrize("content_type", [None, "text/html", "text/plain"])
def test_bytes_that_are_no_text_are_refused_whatever_they_are_called(body: bytes, content_type: str | None) -> None:
    with pytest.raises(SpanielError) as caught:
        read(body, content_type, None)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.req("D2-18")
def test_a_polyglot_that_begins_as_a_pdf_is_a_pdf() -> None:
    with pytest.raises(SpanielError):
        read(b"%PDF-1.4\n<html><script>alert(1)</script><p>text", "text/html", None)


def test_a_content_type_is_taken_apart() -> None:
    assert parse_type('Text/HTML ; x=y; Charset="ISO-8859-1"') == ("text/html", "ISO-8859-1")


META = b'<meta charset="%s"><p>%s</p>'


@pytest.mark.req("FR-WF-10i")
@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"<p>caf\xe9</p>", "text/html; charset=iso-8859-1", "café"),
        (META % (b"utf-8", b"caf\xe9"), "text/html; charset=latin1", "café"),
        (META % (b"windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2"), "text/html", "Привет"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis"><p>\x93\xfa\x96{', "text/html", "日本"),
        (META % (b"utf-7", b"x +ADw-b+AD4-"), "text/html", "x +ADw-b+AD4-"),
        (b"<p>caf\xc3\xa9</p>", "text/html; charset=utf-7", "café"),
        (b"<p>caf\xc3\xa9</p>", "text/html; charset=" + "x" * 10_000, "café"),
        (b"<p>bad \xe9 byte</p>", "text/html", "bad \ufffd byte"),
        ("<p>utf-16</p>".encode("utf-16"), "text/html", "utf-16"),
        (b"<meta charset=iso-2022-jp><p>\x1b$B4A\x1b(B</p>", "text/html", "漢"),
    ],
)  # fmt: skip
def test_charset_by_the_standard(body: bytes, content_type: str, text: str) -> None:
    assert read(body, content_type, None).markdown.strip() == text


@pytest.mark.req("D2-18", "FR-WF-10i")
def test_a_byte_order_mark_beats_the_header() -> None:
    assert read(b"\xef\xbb\xbf<p>caf\xc3\xa9</p>", "text/html; charset=latin1", None).markdown == "café\n"
    assert read(b"\xef\xbb\xbfcaf\xc3\xa9", "text/plain; charset=latin1", None).markdown == "café\n"


@pytest.mark.req("FR-WF-10i")
def test_plain_text_knows_the_standards_labels_and_replaces_bad_bytes() -> None:
    assert read(b"\x93quoted\x94", "text/plain; charset=latin1", None).markdown == "“quoted”\n"
    assert read(b"bad \xff", "text/plain; charset=unheard-of", None).markdown == "bad \ufffd\n"


def test_text_that_is_decoded_already_is_read_as_it_is() -> None:
    assert extract("<meta charset=latin1><p>é</p>").markdown == "é\n"
