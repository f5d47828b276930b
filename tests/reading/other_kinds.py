"""Texts of the other kinds that cost more than they weigh. A name begins with the content type: `text/csv: quotes`."""

from __future__ import annotations

from collections.abc import Callable

from tests.reading.family import filled

Make = Callable[[int], str]


def _between(before: str, unit: str, after: str = "") -> Make:
    return lambda n: before + filled(unit, n - len(before) - len(after)) + after


def _numbered(before: str, unit: str, after: str = "") -> Make:
    return lambda n: before + "".join(unit.replace("%", str(i)) for i in range(n // (len(unit) + 3))) + after


def _nested(opening: str, closing: str) -> Make:
    return lambda n: opening * (n // (len(opening) + len(closing))) + closing * (n // (len(opening) + len(closing)))


JSON: dict[str, Make] = {
    "lists in lists": _nested("[", "]"),
    "objects in objects": lambda n: '{"a":' * (n // 6) + "1" + "}" * (n // 6),
    "open lists": _between("", "["),
    "empty lists": _between("[", "[],", "1]"),
    "lists of one": _between("[", "[1],", "1]"),
    "numbers": _between("[", "1,", "1]"),
    "strings": _between("[", '"ab",', "1]"),
    "strings of one": _between("[", '"a",', "1]"),
    "empty strings": _between("[", '"",', "1]"),
    "numbers far in": lambda n: "[" * 390 + "1," * (n // 2) + "1" + "]" * 390,
    "far in now and then": _between("[", "[" * 300 + "]" * 300 + "," + "1," * 2000, "1]"),
    "keys": _numbered("{", '"a%":1,', '"b":1}'),
    "one key again and again": _between("{", '"a":1,', '"b":1}'),
    "a long number": _between("", "9"),
    "a long string": _between('"', "a", '"'),
    "escapes": _between('"', "\\\\", '"'),
    "quotes in a string": _between('"', '\\"', '"'),
    "halves of characters": _between('["', "\\ud800", '"]'),
    "brackets in a string": _between('["', "[", '"]'),
    "back-ticks": _between('["', "```` ", '"]'),
    "lines": _between("", "1\n"),
    "lines of objects": _between("", '{"a":[1]}\n'),
    "lines of which one is none": _between("", "1\n", "x"),
    "ideographs": _between('["', "漢", '"]'),
    "one picture and letters": _between('["😀', "a", '"]'),
    "invisible": _between('["', "a\u200b", '"]'),
    "linked data": _between('{"@context":1,"name":"', "x ", '"}'),
    "no JSON": _between("{", "'a':1,"),
}
MARKDOWN: dict[str, Make] = {
    "words": _between("", "word "),
    "lines": _between("", "a\n"),
    "paragraphs": _between("", "a\n\n"),
    "back-ticks": _between("", "` "),
    "runs of back-ticks": lambda n: "".join("`" * (i % 50) + "a" for i in range(n // 25)),
    "a long run and another": lambda n: "`" * (n // 2) + "a" + "`" * (n // 2 - 1),
    "brackets": _between("", "["),
    "closing brackets": _between("", "]"),
    "links": _between("", "[a](b)"),
    "images": _between("", "![a](b)"),
    "links in links": _nested("[", "](a)"),
    "open targets": _between("", "](a "),
    "open titles": _between("", '](a "'),
    "open angles": _between("", "](<a "),
    "nested brackets in a target": _between("](", "("),
    "definitions": _between("", "[a]: b\n"),
    "open definitions": _between("", "[a"),
    "long labels": _between("[", "a", "]: x"),
    "lesser signs": _between("", "<"),
    "open tags": _between("", "<a "),
    "open attributes": _between("", "<a b='"),
    "many attributes": _numbered("<a ", "b%=c ", ">"),
    "tags": _between("", "<b>x</b>"),
    "anchors": _between("", "<a href=x>"),
    "anchors that are closed": _between("", "<a href=x>y</a>"),
    "pictures": _between("", "<img src=x alt=y>"),
    "headings": _between("", "<h1>"),
    "comments": _between("", "<!-- x -->"),
    "open comments": _between("", "<!--"),
    "scripts": _between("", "<script>x</script>"),
    "open scripts": _between("", "<script>"),
    "hidden elements": _between("", "<p hidden>x</p>"),
    "open hidden elements": _between("", "<p hidden>"),
    "hidden elements with one end": _between("", "<p hidden>", "</p>"),
    "unknown hidden elements": _numbered("", "<x% hidden>"),
    "instructions": _between("", "<?"),
    "declarations": _between("", "<!x"),
    "blocks of code": _between("", "```\n```\n"),
    "open blocks in items": _between("", "- ```\nx\n"),
    "open blocks in quotes": _between("", "> ```\nx\n"),
    "blocks with an indent": _between("", "  ```\n"),
    "blocks with two indents": _between("", "  ```\n   ```\nx\n"),
    "blocks far in": _between("", "      ```\n"),
    "fences of many lengths": lambda n: "".join("`" * (3 + i % 90) + "\n" for i in range(n // 48)),
    "items": _between("", "- "),
    "quotes": _between("", "> "),
    "escapes": _between("", "\\["),
    "references": _between("", "[x](&amp;&#58;)"),
    "front matter": _between("---\n", "a: b\n", "---\n"),
    "open front matter": _between("---\n", "a: b\n"),
    "rules": _between("", "---\n"),
    "underlines": _between("", "a\n---\n"),
    "emphasis": _between("# ", "*a"),
    "breaks": _between("", "a  \n"),
    "links that run": _nested("[", "](javascript:a)"),
    "links that run, one by one": _between("", "[](javascript:a)"),
    "back-ticks in a line of HTML": _between("<p>", "` "),
    "lines of back-ticks": _between("", "`\n"),
    "fences in HTML": _between("<p>\n", "```\n"),
    "fences far behind HTML": lambda n: "x" * (n // 2) + "\n<p>\n" + "```\n" * (n // 8),
    "code in lines": _between("", "`a\nb` "),
    "invisible": _between("", "a\u200b"),
    "pictures of one character": _between("", "😀"),
}
XML: dict[str, Make] = {
    "elements": _between("<x>", "<a/>"),
    "nested": _nested("<a>", "</a>"),
    "comments": _between("", "<!---->"),
    "open comments": _between("", "<!--"),
    "instructions": _between("", "<?a?>"),
    "laughs": lambda n: "<!DOCTYPE x [<!ENTITY a '" + "ha" * (n // 4) + "'>]><x>" + "&a;" * (n // 6) + "</x>",
    "a doctype": _between("<!DOCTYPE x [", "<!ENTITY a 'b'>", "]><x/>"),
    "back-ticks": _between("<x>", "` "),
    "sitemap": _between("<urlset>", "<url><loc>https://e.x/a</loc></url>"),
    "sitemap of short ones": _between("<urlset>", "<loc>http://a"),
    "sitemap of empty ones": _between("<urlset>", "<loc>"),
    "sitemap of days": _between("<urlset><loc>https://e.x/", "<lastmod>2024-01-01"),
    "sitemap of attributes": _between("<urlset>", "<loc a "),
    "sitemap of references": _between("<urlset><loc>http://a/", "&amp;"),
    "controls": _between("<x>", "\x01"),
}
RSS = "<rss version='2.0'><channel>"
FEED: dict[str, Make] = {
    "empty entries": _between(RSS, "<item/>"),
    "open entries": _between(RSS, "<item>"),
    "titles": _between(RSS, "<item><title>a</title></item>", "</channel></rss>"),
    "open titles": _between(RSS, "<item><title>a"),
    "texts": _between(RSS, "<item><description>&lt;p&gt;x&lt;/p&gt;</description></item>", "</channel></rss>"),
    "one long text": _between(RSS + "<item><description>", "&lt;p&gt;x", "</description></item></channel></rss>"),
    "nested text": _between(RSS + "<item><description>", "&lt;div&gt;", "</description></item></channel></rss>"),
    "long links": _between(RSS, f"<item><link>http://e.x/{'y' * 4000}</link><description>{'&lt;a href=z&gt;x&lt;/a&gt;' * 40}</description></item>", "</channel></rss>"),
    "a long base": _between(f"{RSS}<link>http://e.x/{'y' * 4000}/</link>", f"<item><description>{'&lt;a href=z&gt;x&lt;/a&gt;' * 40}</description></item>", "</channel></rss>"),
    "a long title": _between(RSS + "<title>", "x ", "</title></channel></rss>"),
    "a title of tags": _between(RSS + "<title>", "&lt;", "</title></channel></rss>"),
    "authors": _between(RSS + "<item><title>x</title><author>", "(", "</author></item></channel></rss>"),
    "dates": _between(RSS + "<item><title>x</title><pubDate>", "2020 ", "</pubDate></item></channel></rss>"),
    "atom": _between("<feed xmlns='http://www.w3.org/2005/Atom'>", "<entry><title>a</title></entry>", "</feed>"),
    "atom links": _between("<feed xmlns='http://www.w3.org/2005/Atom'><entry>", "<link href='/x'/>", "</entry></feed>"),
    "rdf": _between("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>", "<item rdf:about='x'><title>a</title></item>", "</rdf:RDF>"),
    "attributes of the root": _numbered("<rss ", "a%='b' ", "><channel/></rss>"),
    "laughs": lambda n: "<!DOCTYPE x [<!ENTITY a '" + "ha" * (n // 4) + "'>]>" + RSS + "<title>" + "&a;" * (n // 6) + "</title></channel></rss>",
}  # fmt: skip
JSON_FEED = '{"version":"https://jsonfeed.org/version/1","items":['
FEED_JSON: dict[str, Make] = {
    "entries": _between(JSON_FEED, '{"title":"a"},', "{}]}"),
    "empty entries": _between(JSON_FEED, "{},", "{}]}"),
    "no entries": _between(JSON_FEED, "1,", "1]}"),
    "authors": _between(JSON_FEED + '{"title":"a","authors":[', '{"name":"b"},', "{}]}]}"),
}
CSV: dict[str, Make] = {
    "rows": _between("", "a,b\n"),
    "rows of one": _between("", "1\n"),
    "commas": _between("", ","),
    "one wide row": _between("", "1,"),
    "wide rows": _between("", "1," * 600 + "\n"),
    "ragged": _between("," * 450 + "x\n", "1\n"),
    "empty rows": _between("", "\n"),
    "quotes": _between("", '"'),
    "quoted cells": _between("", '"a","b"\n'),
    "open quotes": _between("", '"a,b\n'),
    "three quotes": _between("", '"""a,\n'),
    "one open quote": _between('a,"', 'b,""c\n'),
    "pipes": _between("a,b\n", "|"),
    "signs": _between("a,b\n", "*[`\\|<a&b;"),
    "underscores": _between("a,b\n", "_"),
    "semicolons and commas": _between("", ",;\t|\n"),
    "ideographs": _between("漢,b\n", "漢,漢\n"),
}
KINDS = {
    "application/json": JSON,
    "text/markdown": MARKDOWN,
    "application/xml": XML,
    "application/rss+xml": FEED,
    "application/feed+json": FEED_JSON,
    "text/csv": CSV,
}
NAMES = [f"{content_type}: {name}" for content_type, tricks in KINDS.items() for name in tricks]


def text(name: str, size: int) -> bytes:
    content_type, _, trick = name.partition(": ")
    return KINDS[content_type][trick](size).encode("utf-8", "surrogatepass")
