"""Lists as bytes: their kind, URLs, places and problems."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest

from spaniel.errors import SpanielError
from spaniel.registry.links import known_facts
from spaniel.sources.files import StreamInfo, read_stream
from spaniel.sources.kinds import LISTS, is_url_list, list_kind
from spaniel.sources.rows import ChildSitemap, ListOptions, Problems, SourceRow

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://a.example/?x=1&amp;y=2 </loc><i:image><i:loc>http://a.example/i.png</i:loc></i:image></url>
<url><loc><![CDATA[http://a.example/b]]></loc><lastmod>2026-11-16</lastmod></url></urlset>"""
BOOKMARKS = b"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1><DL><p>
<DT><H3>Work</H3><DL><p><DT><A HREF="https://a.example/?x=1&amp;y=2" ADD_DATE="1">A</A>
<DT><A HREF="javascript:alert(1)">no</A><DT><A HREF="place:x">no</A></DL><p>
<DT><A HREF="HTTP://b.example/">B</A></DL>"""


def read(raw: bytes, name: str = "f", **options: Any) -> tuple[list[SourceRow], Problems]:
    problems = Problems()
    about = StreamInfo("standard input", "") if name == "-" else StreamInfo(name, name)
    found = list(read_stream(io.BytesIO(raw), about, ListOptions(**options), problems))
    assert not any(isinstance(row, ChildSitemap) for row in found)
    return [row for row in found if isinstance(row, SourceRow)], problems


def urls(raw: bytes, name: str = "f", **options: Any) -> list[str]:
    return [row.url for row in read(raw, name, **options)[0]]


@pytest.mark.parametrize(
    ("name", "raw", "kind"),
    [
        ("list", b"http://a.example/\n", "text"),
        ("x.csv", b"url\n", "csv"),
        ("-", b'{"url": 1}', "jsonl"),
        ("x.jsonl", b"", "jsonl"),
        ("-", SITEMAP, "sitemap"),
        ("x.txt", b" <urlset/>", "sitemap"),
        ("x.txt", b"<!-- a -->\n<rss/>", "feed"),
        ("x.txt", b"<!-- a -->\nhttps://a.example/", "text"),
        ("-", BOOKMARKS, "bookmarks"),
        ("my.html", b"<a>", "bookmarks"),
        ("-", b' ["u"]', "json"),
        ("x.jsonl", b'[{"url": "u"}]', "json"),
        ("x.json", b'{"url": "u"}', "json"),
        ("x.json", b'{\n"url": "u"\n}', "json"),
        ("x.json", b'{"url": "u"}\n{"url": "v"}\n', "jsonl"),
        ("-", b'"http://a.example/"\n', "jsonl"),
        ("list.csv.gz", b'"url","x"', "csv"),
        ("-", b"name,url\nx,http://a.example/\n", "csv"),
        ("-", b"1;http://a.example/\n", "csv"),
        ("-", b"http://a.example/\tx\n", "tsv"),
        ("-", b"url\nhttp://a.example/\n", "tsv"),
        ("-", b"http://a.example/a,b;c\n", "text"),
        ("-", b"# name,url\nhttp://a.example/\n", "text"),
        ("-", b"[2001:db8::1]\n", "text"),
        ("x.yml", b"- url: u\n", "yaml"),
    ],
)
def test_kind_is_recognized_by_content_and_name(name: str, raw: bytes, kind: str) -> None:
    assert list_kind("" if name == "-" else name, "", raw) == kind


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("https://a.example/\nexample.com/x\n", True),
        ("# mine\n\nhttps://a.example/\nnonsense here\nhttps://b.example/\n", True),
        ("Links:\nhttps://a.example/\nhttps://b.example/\n", False),
        ("See https://a.example/ for more.\n", False),
        ("https://a.example/\nis a page\nof mine\n", False),
        ("", False),
    ],
)
def test_text_is_a_list_where_lines_are_urls(text: str, is_list: bool) -> None:
    assert is_url_list(text) == is_list


@pytest.mark.parametrize(
    ("raw", "name", "options", "found"),
    [
        (b"name,where\nx,http://a.example/\n", "t.csv", {"column": "Where"}, ["http://a.example/"]),
        (b'name,where\nx,"http://a.example/,b"\n', "t.csv", {"fields": ("where",)}, ["http://a.example/,b"]),
        (b"a,b\nu,v\n", "t.csv", {"fields": ("a", "b")}, ["u", "v"]),
        (b'{"link": "http://a.example/"}\n', "t.jsonl", {"fields": ("link",)}, ["http://a.example/"]),
        (b'{"a": [{"b": "u"}, {"b": ["v", "w"]}]}', "t.json", {"fields": ("a.b",)}, ["u", "v", "w"]),
        (b'{"a": {"url": "u"}, "c": {"url": "v"}}', "t.json", {"fields": ("url",)}, ["u", "v"]),
        (b'{"url": "u", "image": {"url": "v"}}', "t.json", {"fields": ("url",)}, ["u"]),
        (b'["http://a.example/", {"url": "u"}]', "t.json", {}, ["http://a.example/", "u"]),
        (b'{"url": "u"} {"url": "v"}\n\n{"url": "w"}', "t", {"kind": "json"}, ["u", "v", "w"]),
        (b"- u\n- url: v\n---\nurl: w\n", "t.yaml", {}, ["u", "v", "w"]),
        (SITEMAP, "sitemap.xml", {}, ["http://a.example/?x=1&y=2", "http://a.example/b"]),
        (SITEMAP, "t", {"kind": "xml"}, ["http://a.example/?x=1&y=2", "http://a.example/b"]),
        (BOOKMARKS, "b.html", {}, ["https://a.example/?x=1&y=2", "HTTP://b.example/"]),
        (b"<p><a href='https://a.example/'>x</a>", "page.html", {"kind": "bookmarks"}, ["https://a.example/"]),
        (b"Name;URL\r\nx;http://a.example/;b\r\n", "t.csv", {}, ["http://a.example/"]),
        (b"a;b,url\n1;2,http://a.example/\n", "t.csv", {}, ["http://a.example/"]),
        (gzip.compress(SITEMAP) * 1, "sitemap.xml.gz", {}, ["http://a.example/?x=1&y=2", "http://a.example/b"]),
    ],
)
def test_urls_are_in_order(raw: bytes, name: str, options: dict[str, Any], found: list[str]) -> None:
    rows, problems = read(raw, name, **options)
    assert [row.url for row in rows] == found
    assert not problems.count, problems.first


@pytest.mark.parametrize(
    ("raw", "name", "places"),
    [
        (b"# x\n\nu\n", "t.txt", [3]),
        (b"url\nu\n\nv\n", "t.csv", [2, 4]),
        (b'{"url": "u"}\n\n{"url": "v"}\n', "t.jsonl", [1, 3]),
        (b'["u", {"url": "v"}]', "t.json", ["[0]", "[1]"]),
        (SITEMAP, "t.xml", ["entry 1", "entry 2"]),
        (BOOKMARKS, "t.html", ["bookmark 1", "bookmark 4"]),
    ],
)
def test_each_url_has_its_place(raw: bytes, name: str, places: list[int | str]) -> None:
    assert [row.place for row in read(raw, name)[0]] == places


@pytest.mark.req("LH-05")
@pytest.mark.parametrize(
    ("raw", "name", "found", "message"),
    [
        (b'{"url": "u"}\n{', "t.jsonl", ["u"], "t.jsonl, line 2: is not JSON that can be read"),
        (b'{"url": 3}', "t.jsonl", [], "t.jsonl, line 1: has no URL at 'url'"),
        (b'["u",\n', "t.json", ["u"], "t.json, line 2: is not JSON that can be read (Expecting value)"),
        (b'["u"\n "v"]', "t.json", ["u"], "t.json, line 2: is not JSON that can be read (Expecting ',' or ']')"),
        (b'["u"]\n]', "t.json", ["u"], "t.json, line 2: is not JSON that can be read (Extra data)"),
        (b'["u", NaN]', "t.json", ["u"], "NaN is not JSON"),
        (b'["u", 5]', "t.json", ["u"], "t.json, entry 2: is not a JSON object"),
        (b'["u", {"a": "b"}]', "t.json", ["u"], "t.json, entry 2: has no field 'url'; say which one"),
        (b"[" * 200_000, "t.json", [], "t.json, line 1: is not JSON that can be read"),
        (b'["u", ' + b"[" * 90 + b"]" * 90 + b"]", "t.json", ["u"], "more than 64 levels"),
        (b"- url: u\n- a: &x [1]\n", "t.yaml", [], "t.yaml, line 2: is not YAML that can be read (an anchor"),
        (b"a: [", "t.yaml", [], "t.yaml, line 2: is not YAML that can be read"),
        (b"\x1f\x8bxxxxxxxxxxxx", "t.xml.gz", [], "t.xml.gz: breaks off"),
        (b"<?xml version='1.0'?><urlset>", "t.xml", [], "t.xml: breaks off before its end"),
        (b'<!DOCTYPE u [<!ENTITY a "b">]><urlset/>', "t.xml", [], "declares entities of its own"),
    ],
)
def test_problem_is_reported_with_file_and_line(raw: bytes, name: str, found: list[str], message: str) -> None:
    rows, problems = read(raw, name)
    assert [row.url for row in rows] == found
    assert message in problems.first[0]
    assert problems.lost


@pytest.mark.parametrize(
    ("raw", "name", "options", "message"),
    [
        (b"name,x\na,b\n", "t.csv", {}, "t.csv: --column: it is not clear which column holds the URLs"),
        (b"url\nx\n", "t.csv", {"fields": ("link",)}, "t.csv: --column: there is no column 'link'; there are: url"),
        (b"x", "t", {"kind": "markdown"}, "--kind: 'markdown' is not a list"),
        (b"x", "t", {"kind": "nonsense"}, "--kind: 'nonsense' is not a kind of source"),
    ],
)
def test_list_that_cannot_be_read_is_refused(raw: bytes, name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpanielError) as caught:
        read(raw, name, **options)
    assert message in caught.value.message


def test_long_json_list_is_read_in_pieces() -> None:
    raw = b"[" + b",\n".join(b'{"url": "u%d", "text": "%s"}' % (n, b"x" * (n % 7) * 20_000) for n in range(300)) + b"]"
    assert urls(raw, "t.json") == [f"u{n}" for n in range(300)]
    _, problems = read(raw[:-1] + b",}]", "t.json")
    assert "t.json, line 300: is not JSON" in problems.first[0]


def test_columns_of_a_dump_become_keys() -> None:
    line = b'{"url": "u", "categories": ["b", "a"], "content-length": 5, "content-type": "x/y", "own": {"a": 1}}'
    [row] = read(line, "t.jsonl")[0]
    assert known_facts(row.columns) == {"content-type": "x/y", "content-length": 5, "categories": ["a", "b"]}
    [row] = read(b"url,Categories,content-length,content-sha256,content-type\nu,b a,5,,\n", "t.csv")[0]
    assert known_facts(row.columns) == {"content-length": 5, "categories": ["a", "b"]}


def test_commands_list_all_kinds() -> None:
    from spaniel.cli.inputs import KINDS

    assert [*KINDS, "site"] == list(LISTS)
