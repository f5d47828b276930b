"""Links from lists, tables, sitemaps and bookmarks."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from spaniel.errors import SpanielError
from spaniel.registry import foreign_text
from spaniel.registry.foreign_text import LARGEST
from spaniel.registry.sources import Link, kind_of, read_links

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://a.example/?x=1&amp;y=2 </loc><i:image><i:loc>http://a.example/i.png</i:loc></i:image></url>
<url><loc><![CDATA[http://a.example/b]]></loc><lastmod>2026-11-16</lastmod></url></urlset>"""
BOOKMARKS = b"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1><DL><p>
<DT><H3>Work</H3><DL><p><DT><A HREF="https://a.example/?x=1&amp;y=2" ADD_DATE="1">A</A>
<DT><A HREF="javascript:alert(1)">no</A><DT><A HREF="place:x">no</A></DL><p>
<DT><A HREF="HTTP://b.example/">B</A></DL>"""


def urls(raw: bytes, name: str = "f", kind: str | None = None, field: str | None = None) -> list[str]:
    return [link.url for link in read_links(name, raw, kind, field)]


def refused(raw: bytes, name: str = "f", kind: str | None = None, field: str | None = None) -> str:
    with pytest.raises(SpanielError) as caught:
        urls(raw, name, kind, field)
    return caught.value.message


@pytest.mark.parametrize(
    ("name", "raw", "kind"),
    [
        ("list", b"http://a.example/\n", "text"),
        ("x.csv", b"url\n", "csv"),
        ("-", b'{"url": 1}', "jsonl"),
        ("x.jsonl", b"", "jsonl"),
        ("-", SITEMAP, "sitemap"),
        ("x.txt", b"\xef\xbb\xbf <urlset/>", "sitemap"),
        ("-", BOOKMARKS, "bookmarks"),
        ("my.html", b"<a>", "bookmarks"),
        ("-", b' ["u"]', "json"),
        ("x.json", b'{"url": "u"}', "json"),
        ("list.csv.gz", b'"url","x"', "csv"),
    ],
)
def test_the_kind_of_a_file_is_seen_from_its_beginning_or_its_name(name: str, raw: bytes, kind: str) -> None:
    assert kind_of(name, raw.decode("utf-8-sig")) == kind


@pytest.mark.parametrize(
    ("raw", "name", "field", "found"),
    [
        (b"http://a.example/\r\n\n# no\n http://b.example/ \n", "t", None, ["http://a.example/", "http://b.example/"]),
        (b"name,URL\nx,http://a.example/\ny,\n", "t.csv", None, ["http://a.example/"]),
        (b'name,where\nx,"http://a.example/,b"\n', "t.csv", "Where", ["http://a.example/,b"]),
        (b"x,http://a.example/\ny,http://b.example/\n", "t.csv", None, ["http://a.example/", "http://b.example/"]),
        (b'{"url": "http://a.example/"}\n\n{"url": "u"}\n', "t.jsonl", None, ["http://a.example/", "u"]),
        (b'{"link": "http://a.example/"}\n', "t.jsonl", "link", ["http://a.example/"]),
        (b'"http://a.example/"\n', "t.jsonl", None, ["http://a.example/"]),
        (SITEMAP, "sitemap.xml", None, ["http://a.example/?x=1&y=2", "http://a.example/b"]),
        (BOOKMARKS, "b.html", None, ["https://a.example/?x=1&y=2", "HTTP://b.example/"]),
        (b"", "t", None, []),
        (b"Name;URL\r\nx;http://a.example/;b\r\n", "t.csv", None, ["http://a.example/"]),
        (b"url\tname\nhttp://a.example/,b\tx\n", "t.tsv", None, ["http://a.example/,b"]),
        (b"http://a.example/;b\n", "t.csv", None, ["http://a.example/;b"]),
        (b"a;b,url\n1;2,http://a.example/\n", "t.csv", None, ["http://a.example/"]),
        (b'["http://a.example/", {"url": "u"}]', "t.json", None, ["http://a.example/", "u"]),
        (b'{\n"link": "u"\n}', "t.json", "link", ["u"]),
        (gzip.compress(SITEMAP), "sitemap.xml.gz", None, ["http://a.example/?x=1&y=2", "http://a.example/b"]),
        ("http://a.example/\r\n".encode("utf-16"), "t.txt", None, ["http://a.example/"]),
    ],
)
def test_links_come_in_their_order(raw: bytes, name: str, field: str | None, found: list[str]) -> None:
    assert urls(raw, name, None, field) == found


@pytest.mark.parametrize(
    ("raw", "name", "field", "told"),
    [
        (b"\xff", "t", None, "not UTF-8 text"),
        (b"name\nx\n", "t.csv", None, "t.csv:1: there is no column that has URLs"),
        (b"url\nx\n", "t.csv", "link", "t.csv:1: there is no column 'link'"),
        (b"", "t.csv", None, "t.csv:1: there is no column"),
        (b'{"url": 3}', "t.jsonl", None, "t.jsonl:1: there is no text under 'url'"),
        (b'{"url": "x"}\n{', "t.jsonl", None, "t.jsonl:2: not a JSON value"),
        (b"[" * 100_000, "t.json", None, "t.json: not JSON that can be read"),
        (b'["u",\n', "t.json", None, "t.json:2:1: not JSON"),
        (b'["u", 5]', "t.json", None, "t.json: entry 2: there is no text under 'url'; --field"),
        (b'{"a": "b"}', "t.json", None, "t.json: entry 1: there is no text under 'url'; --field"),
        (b"\x1f\x8bxxxxxxxxxxxx", "t.xml.gz", None, "t.xml.gz: not gzip that can be unpacked"),
        (gzip.compress(SITEMAP)[:-9], "t.xml.gz", None, "t.xml.gz: not one whole gzip file"),
        (gzip.compress(SITEMAP) * 2, "t.xml.gz", None, "t.xml.gz: not one whole gzip file"),
        (b"<?xml version='1.0'?><sitemapindex/>", "t.xml", None, "an index of sitemaps"),
        (b"<?xml version='1.0'?><urlset>", "t.xml", None, "t.xml: not XML"),
        (b'<!DOCTYPE u [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>', "t.xml", None, "not XML"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(raw: bytes, name: str, field: str | None, told: str) -> None:
    assert told in refused(raw, name, None, field)


def test_what_unpacks_to_too_much_is_refused() -> None:
    assert "t.gz: has more than 64 MiB" in refused(gzip.compress(b"\n" * (LARGEST + 1)), "t.gz", None, None)


def test_what_is_packed_takes_no_more_memory_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_text, "LARGEST", 1 << 20)
    bomb = gzip.compress(bytes(32 << 20))
    tracemalloc.start()
    try:
        assert "has more than 1 MiB" in refused(bomb)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_what_a_dump_says_of_a_link_is_said_again() -> None:
    line = b'{"url": "u", "categories": ["b", "a"], "content-length": 5, "content-type": "x/y", "own": {"a": 1}}'
    [link] = read_links("t.jsonl", line)
    assert link == Link("line 1", "u", {"content-type": "x/y", "content-length": 5, "categories": ["a", "b"]})
    table = b"url,categories,content-length,content-sha256,content-type\nu,b a,5,,\n"
    [link] = read_links("t.csv", table)
    assert link.keys == {"content-length": 5, "categories": ["a", "b"]}
