"""The beginning of a long text: as many bytes as are wanted, and no part of a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading.kinds import may_be_cut, text_part
from spaniel.reading.text.charset import whole_characters

TEXT = "aé漢😀\n" * 50


@pytest.mark.req("FG-26")
@pytest.mark.parametrize(
    ("encoding", "charset", "text"),
    [
        ("utf-8", None, TEXT),
        ("utf-8-sig", "latin1", TEXT),
        ("utf-8", "UTF-8", TEXT),
        ("utf-16", None, TEXT),
        ("utf-16-le", "utf-16le", TEXT),
        ("utf-16-be", "utf-16be", TEXT),
        ("utf-16-le", "utf-16", TEXT),
        ("shift_jis", "shift_jis", "日本語とabc\n" * 50),
        ("euc-kr", "euc-kr", "한국어와abc\n" * 50),
        ("gb18030", "gb18030", TEXT),
        ("latin-1", "iso-8859-1", "aé\n" * 50),
        ("big5", None, '<meta charset="big5">漢字\n' + "漢字abc\n" * 50),
        ("latin-1", None, "<?xml version='1.0' encoding='iso-8859-1'?>" + "aé\n" * 50),
    ],
)
def test_no_character_is_split(encoding: str, charset: str | None, text: str) -> None:
    body = text.encode(encoding)
    for most in range(8, len(body)):
        part = whole_characters(body, most, charset)
        assert most - 4 < len(part) <= most
        assert text.startswith(part.decode(encoding))
        assert body.startswith(part)


@pytest.mark.req("FG-26")
@given(
    st.binary(max_size=60),
    st.integers(1, 60),
    st.sampled_from([None, "utf-16", "hex", "nonsense", "utf-7", "x" * 99, "idna", "gbk", "rot13"]),
)
def test_any_bytes_are_cut(body: bytes, most: int, charset: str | None) -> None:
    part = whole_characters(body, most, charset)
    assert body.startswith(part)
    assert len(part) <= most
    assert part == body or len(part) > most - 8


@pytest.mark.req("FG-26")
@pytest.mark.parametrize(
    ("content_type", "start", "cut"),
    [
        ("text/html", b"<p>", True),
        ("text/plain; charset=x", b'{"a": 1}', True),
        ("text/markdown", b"# x", True),
        ("text/csv", b"a,b", True),
        ("application/xml", b"<x/>", True),
        ("application/rss+xml", b"<rss/>", True),
        (None, b"words", True),
        (None, b"<html>", True),
        ("application/json", b"{}", False),
        ("application/ld+json", b"[", False),
        ("application/feed+json", b'\xef\xbb\xbf {"version"', False),
        (None, b' {"a": 1}', False),
        ("application/pdf", b"%PDF-", False),
        ("image/png", b"\x89PNG", False),
        ("text/html", b"%PDF-1.7", False),
        (None, b"\x89PNG", False),
        ("nonsense", b"words", False),
    ],
)
def test_only_texts_are_cut(content_type: str | None, start: bytes, cut: bool) -> None:
    assert may_be_cut(content_type, start) is cut
    body = start + b" " * 1000
    assert (text_part(body, content_type, None, 100) is not body) is cut
    assert text_part(body, content_type, None, 0) is body
    assert text_part(body, content_type, None, len(body)) is body
