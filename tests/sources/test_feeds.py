"""RSS and Atom as sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.testing import Site
from tests.sources.harness import read, read_site

RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<link>https://a.example/</link><atom:link href="https://a.example/feed" rel="self"/>
<item><title>One &amp; only</title><link>https://a.example/1</link><pubDate>Fri, 02 Jan 2026 10:00:00 GMT</pubDate>
<description>&lt;link&gt;https://no.example/&lt;/link&gt;</description></item>
<item><guid>https://a.example/2</guid></item>
<item><guid isPermaLink="false">https://a.example/no</guid><title>no address</title></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a.example/"/><id>urn:x</id>
<entry><title>One</title><link rel="edit" href="https://no.example/"/><link href="https://a.example/1"/>
<updated>2026-01-02T10:00:00Z</updated></entry>
<entry><id>https://a.example/2</id></entry><entry><id>tag:a.example,2026:3</id></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><link>https://a.example/</link></channel>
<item><title>One</title><link>https://a.example/1</link><dc:date>2026-01-02</dc:date></item>
<item><link>https://a.example/2</link></item></rdf:RDF>"""


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        (RSS, {"title": "One & only", "published": "Fri, 02 Jan 2026 10:00:00 GMT"}),
        (ATOM, {"title": "One", "updated": "2026-01-02T10:00:00Z"}),
        (RDF, {"title": "One", "published": "2026-01-02"}),
    ],
    ids=["rss", "atom", "rdf"],
)
def test_entries_have_title_and_date(tmp_path: Path, body: str, columns: dict[str, str]) -> None:
    (tmp_path / "feed").write_text(body)
    found, problems = read(tmp_path / "feed")
    assert [item.raw_url for item in found] == ["https://a.example/1", "https://a.example/2"]
    assert found[0].columns == columns
    assert not problems.count


@pytest.mark.parametrize("body", [RSS, ATOM], ids=["rss", "atom"])
def test_broken_feed_is_read_as_far_as_possible(tmp_path: Path, body: str) -> None:
    (tmp_path / "feed.xml").write_text(body.replace("<title>", "<title>&nbsp;", 1))
    found, problems = read(tmp_path / "feed.xml")
    assert found[0].raw_url == "https://a.example/1"
    assert "https://no.example/" not in {item.raw_url for item in found}
    assert problems.count == 1


async def test_relative_urls_of_a_feed_are_resolved() -> None:
    async with Site({}) as site:
        feed = '<feed><entry><link href="/p/1"/></entry><entry><link href="//b.example/2"/></entry></feed>'
        site.pages = {"/blog/feed": (200, {"Content-Type": "application/atom+xml"}, feed.encode())}
        found, _ = await read_site(site.url("/blog/feed"), sites=[site])
        assert [item.raw_url for item in found] == [site.url("/p/1"), "http://b.example/2"]
