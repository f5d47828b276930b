"""Properties that hold for every input, including hostile ones."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.sources.files import StreamInfo, read_stream
from spaniel.sources.kinds import FileKind
from spaniel.sources.rows import ChildSitemap, ListOptions, Problems, SourceRow
from spaniel.sources.tables import read_csv
from spaniel.sources.xml_lists import read_xml

WRITABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"))
IN_XML = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)
PIECES = [
    b"<urlset>", b"<url>", b"</url>", b"<loc>", b"</loc>", b"https://a.example/", b"&", b"&amp;", b"<![CDATA[", b"]]>",
    b"<!--", b"-->", b"<?xml version='1.0'?>", b"<!DOCTYPE x [", b"<rss>", b"<item>", b"<link>", b"<link href='x'/>",
    b"<feed>", b"<entry>", b'"', b",", b"\n", b"\r", b"\x00", b"\xff", b"{", b"}", b"[", b'{"url": "x"}', b"url,b\n",
    b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xef\xbb\xbf", b"#", b" ",
]  # fmt: skip
HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)), max_size=40).map(b"".join)


@given(st.lists(st.tuples(WRITABLE, WRITABLE), max_size=20), st.sampled_from([",", ";", "\t", "|"]))
def test_table_survives_a_round_trip(cells: list[tuple[str, str]], separator: str) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator="\n")
    writer.writerow(["url", "a", "b"])
    writer.writerows([("https://a.example/", *row) for row in cells])
    problems = Problems()
    found = list(read_csv(io.BytesIO(written.getvalue().encode()), ListOptions(), problems.at("x")))
    assert [(row.columns["a"], row.columns["b"]) for row in found] == cells
    assert not problems.count


@given(st.lists(IN_XML.filter(str.strip), max_size=20), st.integers(1, 50))
def test_sitemap_survives_a_round_trip_in_any_pieces(locs: list[str], piece: int) -> None:
    body = "<urlset>" + "".join(f"<url><loc>{escape(loc)}</loc></url>" for loc in locs) + "</urlset>"
    found = list(read_xml(Slow(body.encode(), piece), ListOptions(), Problems().at("x")))
    assert [row.url for row in found] == [loc.strip() for loc in locs]


class Slow(io.BytesIO):
    """Returns a few bytes per read."""

    def __init__(self, body: bytes, piece: int) -> None:
        super().__init__(body)
        self._piece = piece

    def read(self, _size: int | None = -1) -> bytes:
        return super().read(self._piece)


@pytest.mark.parametrize("kind", [None, *(kind for kind in FileKind if kind != FileKind.SITE)])
@given(body=HOSTILE)
@example(body=b"")
def test_any_bytes_give_rows_that_can_be_written(kind: str | None, body: bytes) -> None:
    problems = Problems()
    try:
        found = list(read_stream(io.BytesIO(body), StreamInfo("x", "x"), ListOptions(kind), problems))
    except SpanielError:
        return
    for row in found:
        assert isinstance(row, SourceRow | ChildSitemap)
        columns: dict[str, Any] = row.columns if isinstance(row, SourceRow) else {}
        assert json.dumps([row.url, columns], ensure_ascii=False).encode()
    assert all(problem.isprintable() for problem in problems.first)
