"""XML: feeds and pages as such, sitemaps as links, the rest as it is; and nothing in it is ever expanded or fetched."""

from __future__ import annotations

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.reading import read
from spaniel.reading.document import READING_CUT
from spaniel.reading.formats.xml import xml_root
from spaniel.reading.kinds import kind_of

ALL = ("html", "text", "xml", "feed")
LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="/style.xsl"?>
<!-- a > comment -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://example.org/image">
  <url><loc> https://e.x/a?b=1&amp;c=2 </loc><lastmod>2024-05-01T10:00:00Z</lastmod><image:image><image:loc>https://e.x/i.png</image:loc></image:image></url>
  <url><loc><![CDATA[https://e.x/c]]></loc></url>
  <url><loc>javascript:alert(1)</loc></url>
  <url><loc>https://e.x/&gt;&lt;b&gt;</loc></url>
</urlset>
"""


@pytest.mark.parametrize("content_type", ["application/xml", "text/xml; charset=utf-8", "application/soap+xml"])
def test_xml_is_passed_on_in_a_fence(content_type: str) -> None:
    document = read(
        b"<?xml version='1.0'?>\r\n<note to='x'>\r\n\t<b>Hi &amp; \xc3\xa9</b>```\r\n</note>\r\n", content_type, None
    )
    assert document.markdown == "````xml\n<?xml version='1.0'?>\n<note to='x'>\n\t<b>Hi &amp; é</b>```\n</note>\n````\n"
    assert (document.kind, document.title, document.notes) == ("xml", None, ())


def test_a_sitemap_is_a_list_of_links_with_days() -> None:
    document = read(SITEMAP.encode(), "application/xml", None)
    assert document.markdown == "- <https://e.x/a?b=1&c=2> · 2024-05-01\n- <https://e.x/c>\n"
    assert document.kind == "sitemap"


def test_an_index_of_sitemaps_is_one_too() -> None:
    text = "<s:sitemapindex xmlns:s='x'><s:sitemap><s:loc>https://e.x/1.xml</s:loc></s:sitemap></s:sitemapindex>"
    assert read(text.encode(), "text/xml", None).markdown == "- <https://e.x/1.xml>\n"


def test_a_sitemap_without_links_is_xml() -> None:
    assert read(b"<urlset></urlset>", "text/xml", None).markdown == "```xml\n<urlset></urlset>\n```\n"


def test_a_long_sitemap_is_cut_and_says_so() -> None:
    body = b"<urlset>" + b"<url><loc>https://e.x/</loc></url>" * 50_001
    document = read(body, "text/xml", None)
    assert document.markdown.count("\n") == 50_000
    assert document.notes == (READING_CUT,)


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("<rss>", ("", "rss")),
        ("\ufeff <?xml version='1.0'?><!-- <x> --><!DOCTYPE y [<!ENTITY a '>'>]><Atom:Feed x='1'>", ("Atom:", "feed")),
        ("words <rss>", ("", "")),
        ("<!-- open <rss>", ("", "")),
        ("", ("", "")),
        ("<?xml " * 5000, ("", "")),
        ("<!doctype [" * 5000, ("", "")),
    ],
)
def test_the_first_element_is_found_behind_what_may_stand_before_it(text: str, root: tuple[str, str]) -> None:
    assert xml_root(text) == root


@pytest.mark.req("FR-WF-10h")
@pytest.mark.parametrize(
    ("content_type", "body", "kinds", "reader"),
    [
        ("application/xml", b"<rss version='2.0'/>", ALL, "feed"),
        ("application/xml", b"<?xml version='1.0'?><feed/>", ALL, "feed"),
        ("application/rdf+xml", b"<rdf:RDF/>", ALL, "feed"),
        ("application/xml", b"<rss/>", ("xml",), "xml"),
        ("application/rss+xml", b"<rss/>", ("xml",), "xml"),
        ("application/xml", b"<rss/>", ("feed",), "feed"),
        ("application/xml", b"<?xml version='1.0'?><html><p>x", ALL, "html"),
        ("application/xml", b"<html/>", ("xml", "text"), "xml"),
        ("application/xml", "<?xml version='1.0'?><rss/>".encode("utf-16"), ALL, "feed"),
        (None, b"<?xml version='1.0'?><rss/>", ALL, "feed"),
        (None, b"<rss version='2.0'>", ALL, "feed"),
        (None, b"<?xml version='1.0'?><x/>", ALL, "xml"),
        (None, b"<?xml version='1.0'?><x/>", ("html", "text", "feed"), "text"),
        (None, b"<?xml version='1.0'?><rss/>", ("html", "text"), "text"),
        (None, b"<?xml version='1.0'?><rss/>", None, "text"),
        (None, b"<x/>", ALL, "text"),
        ("text/plain", b"<?xml version='1.0'?><rss/>", ALL, "text"),
        ("application/feed+json", b"{}", ("feed",), "feed"),
        ("application/feed+json", b"{}", ("json",), "json"),
        ("application/json", b'{"version": "https://jsonfeed.org/version/1.1"}', ("json", "feed"), "feed"),
        ("application/json", b'{"version": "https://jsonfeed.org/version/1.1"}', ("json",), "json"),
    ],
)
def test_type_and_bytes_choose_among_the_kinds_of_the_profile(
    content_type: str | None, body: bytes, kinds: tuple[str, ...] | None, reader: str
) -> None:
    assert kind_of(content_type, body, kinds).reader == reader


@pytest.mark.req("FR-WF-10g", "D2-18")
@pytest.mark.parametrize(
    ("content_type", "body", "kinds"),
    [
        ("application/xml", b"<html><p>x", ("html", "text")),
        ("application/xml", b"<x/>", ("feed", "html")),
        ("application/xml", b"<?xml version='1.0'?><svg><script>x</script></svg>", ALL),
        ("text/xml", b"<!-- x --><svg:svg xmlns:svg='y'/>", None),
        (None, b"<?xml version='1.0'?><svg/>", ALL),
        ("image/svg+xml", b"<svg/>", ALL),
        ("application/xml", b"%PDF-1.7", ("xml", "text")),
        ("application/xml", b"<x>\0", ALL),
    ],
)
def test_what_the_profile_does_not_read_is_refused(
    content_type: str | None, body: bytes, kinds: tuple[str, ...] | None
) -> None:
    with pytest.raises(SpanielError) as caught:
        kind_of(content_type, body, kinds)
    assert caught.value.code is Code.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.parametrize(
    "rest",
    [
        "<l>&c;</l>",
        "<rss version='2.0'><channel><title>&c;</title></channel></rss>",
        "<urlset><loc>https://e.x/&c;</loc></urlset>",
    ],
)
def test_entities_are_never_expanded(rest: str) -> None:
    markdown = read((LAUGHS + rest).encode(), "application/xml", None).markdown
    assert "haha" not in markdown
    assert "&c;" in markdown or "\\&c;" in markdown


def test_nothing_outside_is_read() -> None:
    text = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]><rss version="2.0"><channel><title>a&f;b</title></channel></rss>'
    title = read(text.encode(), "application/rss+xml", None).title
    assert title == "a&f;b"


@pytest.mark.parametrize("declared", ["ISO-8859-1", "windows-1252"])
def test_the_declaration_tells_the_encoding_unless_the_header_does(declared: str) -> None:
    body = f"<?xml version='1.0' encoding='{declared}'?><a>".encode() + b"\xe9</a>"
    assert "<a>é</a>" in read(body, "application/xml", None).markdown
    assert "<a>И</a>" in read(body, "application/xml; charset=koi8-u", None).markdown


def test_what_is_no_xml_is_text() -> None:
    assert read(b"just words", "application/xml", None).markdown == "just words\n"
