"""Which reader reads what, and how bytes become text."""

from __future__ import annotations

from importlib import import_module
from inspect import signature

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.reading import Document, extract, kinds, read, read_as
from spaniel.reading.document import READING_CUT
from spaniel.reading.html.parse import MAX_TAGS
from spaniel.reading.kinds import DetectedKind, kind_of, loadable_types, parse_type

WEB = ("html", "text")  # what the profile web_fetch reads
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
    ["application/pdf", "image/png", "video/mp4", "application/json", "image/svg+xml", "text/css", "nonsense"]
    + [
        "text/markdown",
        "application/xml",
        "application/rss+xml",
        "text/csv",
        "application/ld+json",
        "application/a+xml",
    ],
)
def test_other_types_are_refused(content_type: str) -> None:
    with pytest.raises(SpanielError) as caught:
        read(b"<html><p>x", content_type, None, ("html", "text"))
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.req("FR-WF-10g")
@pytest.mark.parametrize(
    "content_type", ["image/png", "video/mp4", "image/svg+xml", "text/css", "nonsense", "image/x+json"]
)
def test_types_that_nobody_reads_are_refused_by_all_readers(content_type: str) -> None:
    with pytest.raises(SpanielError) as caught:
        read(b"<html><p>x", content_type, None)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.req("FR-WF-10h", "D2-48")
@pytest.mark.parametrize(
    "start",
    [
        b"<!DOCTYPE html>",
        b"<!doctype HTML>",
        b"<HTML>",
        b"  \n<html lang=en>",
        b"\xef\xbb\xbf<html>",
        b"<!-- c --><html>",
        b"\xef\xbb\xbf \n<!-- a -->\n<!-- b --> <!DOCTYPE html>",
        b"<!--" + b" licence" * 2000 + b"-->\n<!doctype html>",
        b" " * 3000 + b"<html>",
        "\ufeff <!-- c --><html>".encode("utf-16-le"),
        b"<!--><html>",
    ],
)
def test_a_missing_type_with_an_html_beginning_is_html(start: bytes) -> None:
    assert kind_of(None, start + b"<p>x").reader == "html"


@pytest.mark.req("FR-WF-10h")
@pytest.mark.parametrize(
    "body",
    [
        b"just words",
        b"",
        b'{"a": 1}',
        b"html",
        b"<p>",
        b"<!-- <html> -->",
        b"<!-- <html>",
        b"<!-- c -->words <html>",
        b'<?xml version="1.0"?><feed><entry/></feed>',
        b"\xef\xbb\xbf  <?XML version='1.0'?>",
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>x',
    ],
)
def test_a_missing_type_without_one_is_plain_text(body: bytes) -> None:
    assert kind_of("", body).reader == "text"


NO_TEXT = [b"\x7fELF\x02", b"PK\x03\x04zip", b"\x89PNG\r\n", b"\xff\xd8\xff\xe0"]
NO_TEXT += [b"%PDF-1.7 \0", b"GIF89a\0", b"MZ\x90\0", b"ID3\x04\0", b"RIFF" + b"x\1\2\3" * 9]


@pytest.mark.req("D2-18", "D2-43")
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        *((content_type, body) for content_type in (None, "text/html", "text/plain") for body in NO_TEXT),
        *((None, body) for body in (b"%PDF-1.7 x", b"GIF89a", b"a\x00b", b"MZ is how it begins")),
    ],
)
def test_bytes_that_are_no_text_are_refused_whatever_they_are_called(content_type: str | None, body: bytes) -> None:
    with pytest.raises(SpanielError) as caught:
        read(body, content_type, None, WEB)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE
    assert caught.value.details["content_type"] == f"{content_type or 'none'} (binary data)"


@pytest.mark.req("D2-43")
@pytest.mark.parametrize("kinds", [None, WEB])
@pytest.mark.parametrize("begin", ["MZ", "ID3", "RIFF", "%PDF-1.4\n", "GIF89a", "BZh", "Rar!", "OggS", "%!PS"])
def test_declared_text_that_begins_with_a_magic_word_is_text(begin: str, kinds: tuple[str, ...] | None) -> None:
    text = f"{begin} is how such a file begins."
    expected = " ".join(text.split())
    assert " ".join(read(text.encode(), "text/plain", None, kinds).markdown.split()) == expected
    page = f"{text}<p>text<script>alert(1)</script>"
    assert "text" in read(page.encode(), "text/html", None, kinds).markdown


@pytest.mark.req("D2-43")
@pytest.mark.parametrize("place", [0, 20, 100])
def test_stray_nul_in_declared_text_is_dropped(place: int) -> None:
    page = b"<!DOCTYPE html><title>T</title><p>Some words of a page that is one.</p>" + b"<p>More of its words.</p>" * 9
    broken = page[:place] + b"\0" + page[place:]
    document = read(broken, "text/html", None, WEB)
    assert "\0" not in document.markdown
    assert document.markdown.count("More of its words.") == 9
    assert read(b"one\0 two", "text/plain", None, WEB).markdown == "one two\n"


@pytest.mark.req("D2-18", "D2-43")
def test_polyglot_that_begins_as_a_pdf_is_a_pdf() -> None:
    body = b"%PDF-1.4\n\0\1\2<html><script>alert(1)</script><p>text"
    assert kind_of("text/html", body).reader == "pdf"
    with pytest.raises(SpanielError):
        read(body, "text/html", None, WEB)


@pytest.mark.req("D2-43")
def test_same_content_type_twice_counts_once() -> None:
    assert parse_type("text/html, Text/HTML") == ("text/html", None)
    assert parse_type("text/html; charset=latin1, text/html; charset=latin1") == ("text/html", "latin1")
    assert parse_type('text/plain; name="a,b"; charset=latin1') == ("text/plain", "latin1")
    assert read(b"caf\xe9", "text/plain; charset=latin1,text/plain; charset=latin1", None, WEB).markdown == "café\n"
    with pytest.raises(SpanielError):
        kind_of("text/html, image/png", b"<p>x", WEB)


@pytest.mark.req("D2-44")
@pytest.mark.parametrize("sign", ["\f", "\v", "\x85", "\f\r\n", "\r\n"])
def test_breaks_of_plain_text_do_not_glue_words(sign: str) -> None:
    document = read(f"one{sign}two".encode(), "text/plain", None)
    assert document.markdown.replace("\n\n", "\n") == "one\ntwo\n"
    assert document.hygiene.control_characters == 0


@pytest.mark.req("D2-44")
def test_escape_sequences_and_steering_characters_of_plain_text_go() -> None:
    document = read("a\x1b[31mb\u202ec\x07d".encode(), "text/plain", None)
    assert document.markdown == "abcd\n"


@pytest.mark.req("FG-24")
@pytest.mark.parametrize("junk", [b"", b"\r\n \t", b"\0\1\2junk" * 100, b"x" * 1024])
@pytest.mark.parametrize("content_type", [None, "application/pdf", "application/octet-stream", "binary/octet-stream"])
def test_a_pdf_may_stand_after_some_junk(junk: bytes, content_type: str | None) -> None:
    assert kind_of(content_type, junk + b"%PDF-1.7\n1 0 obj\n%%EOF\n").reader == "pdf"


@pytest.mark.req("FG-24")
def test_what_only_speaks_of_pdfs_is_none() -> None:
    about = b"A file that begins with %PDF-1.7 is a PDF. "
    assert kind_of(None, about).reader == "text"
    assert kind_of("text/html", about + b"It ends with %%EOF").reader == "html"
    assert kind_of(None, b"x" * 1025 + b"%PDF-1.7\n%%EOF").reader == "text"
    with pytest.raises(SpanielError):
        kind_of("application/octet-stream", about)


def test_a_content_type_is_taken_apart() -> None:
    assert parse_type('Text/HTML ; x=y; Charset="ISO-8859-1"') == ("text/html", "ISO-8859-1")


@pytest.mark.req("FR-WF-10f", "FR-WF-10g")
@pytest.mark.parametrize(
    ("content_type", "body", "kinds", "wanted"),
    [
        ("text/html", HTML, None, "html"),
        ("text/html", HTML, ("html", "text"), "html"),
        ("text/html", HTML, ("text",), None),
        ("application/xhtml+xml", HTML, ("text",), None),
        ("text/plain", HTML, ("html",), None),
        ("text/plain", HTML, ("text",), "text"),
        (None, HTML, ("text",), None),
        (None, HTML, ("html",), "html"),
        (None, b"words", ("html",), None),
        ("application/pdf", b"%PDF-1.7", ("html", "text"), None),
    ],
)
def test_only_the_kinds_that_are_named_are_read(
    content_type: str | None, body: bytes, kinds: tuple[str, ...] | None, wanted: str | None
) -> None:
    if wanted is not None:
        assert kind_of(content_type, body, kinds).reader == wanted
        assert read(body, content_type, None, kinds).markdown
        return
    with pytest.raises(SpanielError) as caught:
        read(body, content_type, None, kinds)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


def test_the_browser_loads_what_is_read_and_nothing_else() -> None:
    assert loadable_types() == {"text/html", "application/xhtml+xml", "text/plain"}
    assert loadable_types(("text",)) == {"text/plain"}
    assert loadable_types(("html",)) == {"text/html", "application/xhtml+xml"}
    assert loadable_types(()) == frozenset()


def test_every_row_of_the_table_is_whole() -> None:
    """No type or name stands twice, and every reader is there and has the one signature."""
    types = [essence for row in kinds.TABLE for essence in row.types]
    assert len(set(types)) == len(types) == len(kinds.BY_TYPE)
    assert len({row.name for row in kinds.TABLE}) == len(kinds.TABLE)
    for row in kinds.TABLE:
        module, _, name = row.reader.partition(":")
        reader = getattr(import_module(module), name)
        assert [one.kind.name for one in signature(reader).parameters.values()][:4].count("POSITIONAL_OR_KEYWORD") == 3
        if row.apart:  # a parser that takes no words for a document
            with pytest.raises(SpanielError):
                reader(b"some words", None, None)
        else:
            assert reader(b"some words", None, None).markdown == "some words\n"


@pytest.fixture
def two_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind is one row: here a binary one that betrays itself, and a textual one that is refused above its cap."""
    paper = kinds.ContentKind(
        "paper", ("application/x-paper",), "spaniel.reading.formats.plain:read_text", magic=(b"%PAPER",)
    )
    notes = kinds.ContentKind(
        "notes",
        ("text/x-notes",),
        "spaniel.reading.formats.plain:read_text",
        starts=(b"note:",),
        cap=20,
        over=kinds.REFUSE,
    )
    table = (paper, notes, *kinds.TABLE)
    monkeypatch.setattr(kinds, "TABLE", table)
    monkeypatch.setattr(kinds, "BY_TYPE", {essence: row for row in table for essence in row.types})
    monkeypatch.setitem(kinds.BY_NAME, "paper", paper)
    monkeypatch.setitem(kinds.BY_NAME, "notes", notes)


@pytest.mark.usefixtures("two_more")
def test_a_kind_more_is_a_row_more() -> None:
    assert kind_of("text/html", b"%PAPER \0").reader == "paper"  # whatever it is called
    assert kind_of(None, b"Note: buy bread").reader == "notes"
    assert kind_of("text/x-notes", b"<html>").reader == "notes"
    for content_type, body in (("text/html", b"%PAPER \0"), ("application/x-paper", b"%PAPER"), (None, b"note: x")):
        with pytest.raises(SpanielError):
            kind_of(content_type, body, ("html", "text"))
    assert loadable_types(("notes", "text")) == {"text/plain"}


@pytest.mark.usefixtures("two_more")
def test_what_is_over_the_cap_of_its_kind_is_refused_or_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(b"note: " + b"x" * 14, "text/x-notes", None).notes == ()
    with pytest.raises(SpanielError) as caught:
        read(b"note: " + b"x" * 15, "text/x-notes", None)
    assert caught.value.code is Code.RESPONSE_TOO_LARGE
    monkeypatch.setitem(kinds.BY_NAME, "text", kinds.BY_NAME["text"]._replace(cap=20))
    assert read(b"x" * 21, "text/plain", None) == Document("x" * 20 + "\n", notes=(READING_CUT,))
    assert read(b"x" * 20, "text/plain", None).notes == ()


@pytest.mark.req("D2-18")
@pytest.mark.parametrize("start", [b"<svg>", b"<?xml version='1.0'?> <svg>", b"<!-- x --><?xml?><!-- y --><SVG>"])
def test_a_drawing_without_a_type_is_refused(start: bytes) -> None:
    with pytest.raises(SpanielError) as caught:
        read(start + b"<script>x</script>", None, None)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.req("FR-WF-10i")
@pytest.mark.parametrize("label", ["utf-16", "UTF-16LE", "utf-16be", "ucs-2"])
def test_utf_16_that_only_the_header_tells_is_weighed_as_any_page_is(label: str) -> None:
    encoding = "utf-16-be" if label == "utf-16be" else "utf-16-le"
    assert extract("<p>né</p>".encode(encoding), content_type=None).markdown != "né\n"
    assert read_as(DetectedKind("html", label), "<p>né</p>".encode(encoding), None).markdown == "né\n"
    page = "<p>first</p>" + "<i></i>" * MAX_TAGS + "<p>last</p>"
    document = read_as(DetectedKind("html", label), page.encode(encoding), None)
    assert document.markdown == "first\n"
    assert document.notes == (READING_CUT,)


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
        (b"<p>bad \xe9 byte</p>", "text/html; charset=utf-8", "bad \ufffd byte"),
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
