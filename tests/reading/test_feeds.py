"""Feeds of every sort as one list: titled links, days, authors, texts."""

from __future__ import annotations

import json

import pytest

from spaniel.reading import read
from spaniel.reading.document import READING_CUT, Document
from spaniel.reading.formats.feed import MAX_ENTRIES, MAX_ENTRY_MARKDOWN

URL = "https://example.org/feed"
RSS = """<?xml version="1.0"?>
<rss {version}xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>News &amp; more</title><link>https://site.example/</link><description>What &lt;b&gt;happens&lt;/b&gt;</description>
<item><title>One [1]</title><link>https://site.example/1</link><author>ann@e.x (Ann)</author>
<pubDate>Mon, 06 May 2024 10:00:00 GMT</pubDate><description>Short.</description>
<content:encoded><![CDATA[<h1>Inner</h1><p>Long <a href="/x">text</a>.</p><script>evil()</script><p hidden>secret</p>]]></content:encoded></item>
<item><title>Two</title><link>javascript:alert(1)</link><description>a &lt; b</description></item>
<item></item>
</channel></rss>"""
ATOM = """<feed xmlns="{namespace}"><title type="html">Atom &amp;amp; Co</title><subtitle>sub</subtitle>
<entry><title>E1</title><link rel="alternate" href="/e1"/><updated>2024-05-06T10:00:00Z</updated><author><name>Bob</name></author>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Rich <em>text</em></p></div></content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="x"><title>Old</title><link>https://old.example/</link></channel>
<item rdf:about="https://old.example/1"><title>Item</title><link>https://old.example/1</link><dc:date>2004-02-03</dc:date></item></rdf:RDF>"""
RSS_READ = """# News & more

What happens

## [One [1]](https://site.example/1)

2024-05-06 · Ann

### Inner

Long [text](https://site.example/x).

## Two

a \\< b
"""


def read_feed(text: str, content_type: str = "application/rss+xml") -> Document:
    return read(text.encode(), content_type, URL)


@pytest.mark.req("FG-15")
@pytest.mark.parametrize("version", ['version="2.0" ', 'version="0.91" ', "version='0.92' ", ""])
@pytest.mark.parametrize("content_type", ["application/rss+xml", "application/xml", "text/xml"])
def test_rss_of_any_version(version: str, content_type: str) -> None:
    document = read_feed(RSS.format(version=version), content_type)
    assert document.markdown.replace("a < b", "a \\< b") == RSS_READ
    assert (document.title, document.kind) == ("News & more", "feed")
    assert document.metadata.description == "What happens"
    assert document.hygiene.dangerous_links == 1


@pytest.mark.parametrize("namespace", ["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"])
def test_atom(namespace: str) -> None:
    document = read_feed(ATOM.format(namespace=namespace), "application/atom+xml")
    assert document.title == "Atom & Co"
    assert document.markdown == (
        "# Atom & Co\n\nsub\n\n## [E1](https://example.org/e1)\n\n2024-05-06 · Bob\n\nRich *text*\n"
    )


def test_rss_1() -> None:
    assert read_feed(RDF).markdown == "# Old\n\n## [Item](https://old.example/1)\n\n2004-02-03\n"


@pytest.mark.req("FG-25")
@pytest.mark.parametrize("content_type", ["application/feed+json", "application/json"])
def test_a_json_feed_is_a_feed_and_data(content_type: str) -> None:
    body = json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": "JSON",
            "items": [
                {"id": 1, "url": "https://e.x/1", "title": "One", "content_html": "<p>a <b>b</b></p>", "authors": [{"name": "Ann"}]},
                {"id": 2, "url": "https://e.x/2", "content_text": "first\n\nsecond <c>", "date_published": "2024-05-06T00:00:00Z"},
                "nonsense",
            ],
        }
    )  # fmt: skip
    document = read_feed(body, content_type)
    assert document.data == body
    assert document.markdown == (
        "# JSON\n\n## [One](https://e.x/1)\n\nAnn\n\na **b**\n\n"
        "## [https://e.x/2](https://e.x/2)\n\n2024-05-06\n\nfirst\n\nsecond \\<c>\n"
    )


@pytest.mark.parametrize("body", ['{"version": "https://jsonfeed.org/version/1", "items": 5}', '{"a": 1}', "[1]", "{"])
def test_json_that_is_no_feed_is_json(body: str) -> None:
    document = read_feed(body, "application/feed+json")
    assert document.kind == ("json" if document.data else "text")


def test_a_feed_that_ends_early_is_read_as_far_as_it_goes() -> None:
    cut = RSS.format(version='version="2.0" ').partition("<item><title>Two")[0]
    document = read_feed(cut)
    assert "## [One" in document.markdown
    assert document.title == "News & more"


def test_xml_that_is_no_feed_is_xml() -> None:
    assert read_feed("<x>1</x>").markdown == "```xml\n<x>1</x>\n```\n"
    assert read_feed("words").markdown == "words\n"


def test_entries_cannot_reach_into_one_another() -> None:
    bad = "<item><title>{}</title><description>&lt;!-- &lt;script&gt; &lt;plaintext&gt; &lt;b&gt; &lt;/div&gt;</description></item>"
    items = "".join(bad.format(name) for name in ("first", "second", "third"))
    markdown = read_feed(f"<rss version='2.0'><channel>{items}</channel></rss>").markdown
    assert [line for line in markdown.split("\n") if line.startswith("## ")] == ["## first", "## second", "## third"]


def test_many_entries_and_long_ones_are_cut_and_say_so() -> None:
    head, item = "<rss version='2.0'><channel>", "<item><title>t</title></item>"
    assert read_feed(head + item * MAX_ENTRIES + "</channel></rss>").notes == ()
    many = read_feed(head + item * (MAX_ENTRIES + 1) + "</channel></rss>")
    assert many.notes == (READING_CUT,)
    assert many.markdown.count("## t") == MAX_ENTRIES
    long = read_feed(
        f"{head}<item><title>t</title><description>{'word ' * 5000}</description></item>{item}</channel></rss>"
    )
    assert long.notes == (READING_CUT,)
    assert len(long.markdown) < MAX_ENTRY_MARKDOWN + 100
    assert long.markdown.count("## t") == 2
