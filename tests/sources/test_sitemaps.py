"""Sitemaps from files and from sites on loopback: valid, broken and hostile."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.testing import Reply, Site, html, redirect, text
from tests.sources.harness import read, read_site, urls

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*locs: str) -> str:
    entries = "".join(f"<url><loc>{loc}</loc><lastmod>2026-01-02</lastmod></url>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS}>{entries}</urlset>'


def index(*locs: str) -> str:
    return f"<sitemapindex {NS}>" + "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs) + "</sitemapindex>"


def xml(body: str | bytes) -> Reply:
    return 200, {"Content-Type": "application/xml"}, body if isinstance(body, bytes) else body.encode()


def sitemap(path: Path, body: str | bytes) -> Path:
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return path


def test_locations_are_in_order_with_dates(tmp_path: Path) -> None:
    found, problems = read(sitemap(tmp_path / "s.xml", urlset("https://a.example/?x=1&amp;y=2", "https://a.example/b")))
    assert [(item.raw_url, item.columns) for item in found] == [
        ("https://a.example/?x=1&y=2", {"lastmod": "2026-01-02"}),
        ("https://a.example/b", {"lastmod": "2026-01-02"}),
    ]
    assert not problems.count


@pytest.mark.parametrize(
    "body",
    [
        f"<urlset {NS} xmlns:image='i'><url><loc>https://a.example/</loc><image:image><image:loc>https://no.example/"
        "</image:loc></image:image><xhtml:link href='https://no.example/' rel='alternate'/></url></urlset>",
        '<sm:urlset xmlns:sm="s"><sm:url><sm:loc><![CDATA[https://a.example/]]></sm:loc></sm:url></sm:urlset>',
        "\n\n  <?xml version='1.0'?><urlset><url><loc>\n https://a.example/ \n</loc></url></urlset>",
        '<?xml version="1.0" encoding="utf-16"?><urlset><url><loc>https://a.example/</loc></url></urlset>'.encode(
            "utf-16"
        ),
        '<?xml version="1.0" encoding="iso-8859-1"?><urlset><!-- ü --><url><loc>https://a.example/</loc></url></urlset>'.encode(
            "latin-1"
        ),
        gzip.compress(b"<urlset><url><loc>https://a.example/</loc></url></urlset>"),
        "\ufeff<?xml version='1.0'?><!-- a comment --><urlset><url><loc>https://a.example/</loc></url></urlset>",
        '<?xml version="1.0" encoding="gb2312"?><urlset><url><loc>https://a.example/</loc></url></urlset>',
        '<?xml version="1.0" encoding="nonsense"?><urlset><url><loc>https://a.example/</loc></url></urlset>',
    ],
    ids=["foreign", "prefix", "space", "utf-16", "latin-1", "gzip", "mark", "gb2312", "nonsense"],
)
def test_forms_of_sitemaps(tmp_path: Path, body: str | bytes) -> None:
    assert urls(sitemap(tmp_path / "s.xml", body)) == ["https://a.example/"]
    assert urls(sitemap(tmp_path / "no ending", body)) == ["https://a.example/"]


def test_broken_xml_is_read_on_without_duplicates(tmp_path: Path) -> None:
    locs = [f"https://a.example/{number}?x=1{'&' if number in (700, 5000) else '&amp;'}y=2" for number in range(9000)]
    found, problems = read(sitemap(tmp_path / "s.xml", urlset(*locs)))
    assert [item.raw_url for item in found] == [f"https://a.example/{number}?x=1&y=2" for number in range(9000)]
    assert all(item.columns == {"lastmod": "2026-01-02"} for item in found)
    assert problems.count == 1
    assert "is broken XML" in problems.first[0]


def test_xml_broken_between_entries_gives_each_once(tmp_path: Path) -> None:
    whole = urlset(*(f"https://a.example/{number}" for number in range(9000)))
    broken = whole.replace("</url><url><loc>https://a.example/700<", "</url> & <url><loc>https://a.example/700<")
    assert broken != whole
    assert urls(sitemap(tmp_path / "s.xml", broken)) == [f"https://a.example/{number}" for number in range(9000)]


def test_truncated_sitemap_gives_its_complete_entries(tmp_path: Path) -> None:
    whole = urlset(*(f"https://a.example/{number}" for number in range(9000)))
    half = whole[: len(whole) // 2]
    found, problems = read(sitemap(tmp_path / "s.xml", half))
    assert len(found) == half.count("</url>") > 4000
    assert "breaks off before its end" in problems.first[0]


def test_broken_index_gives_no_pages(tmp_path: Path) -> None:
    path = sitemap(tmp_path / "s.xml", "<sitemapindex & ><sitemap><loc>ftp://no.example/s.xml</loc></sitemap>")
    with pytest.raises(SpanielError, match="broken XML"):
        read(path)


LAUGHS = (
    '<!DOCTYPE urlset [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">'
    '<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;">]><urlset><url><loc>https://a.example/&d;</loc></url></urlset>'
)
OUTSIDE = '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>https://a.example/&x;</loc></url></urlset>'
PARAMETER = '<!DOCTYPE urlset [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;]><urlset></urlset>'


@pytest.mark.parametrize("body", [LAUGHS, OUTSIDE, PARAMETER])
def test_file_with_entity_declarations_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(SpanielError, match="declares entities of its own"):
        read(sitemap(tmp_path / "s.xml", body))
    without = body[body.index("]>") + 2 :].replace("&d;", "").replace("&x;", "")  # the control
    if "loc" in without:
        assert urls(sitemap(tmp_path / "s.xml", without)) == ["https://a.example/"]


@pytest.mark.parametrize(
    ("begin", "message"),
    [
        ("<a>" * 100, "nested more than 64 deep"),
        ("".join(f"<a{number}/>" for number in range(30_000)), "different names"),
        (f"<!-- {'x' * 2_000_000} -->", "a tag or comment of more than 1 MB"),
        (f'<a b="{"x" * 2_000_000}"/>', "a tag or comment of more than 1 MB"),
        (f"<url><loc>https://b.example/</loc>{'<p/>' * 500_000}</url>", "an entry of more than 1 MB"),
    ],
)
def test_unlimited_xml_is_refused_after_its_first_entries(tmp_path: Path, begin: str, message: str) -> None:
    body = f"<urlset><url><loc>https://a.example/</loc></url>{begin}<url><loc>https://c.example/</loc></url></urlset>"
    found, problems = read(sitemap(tmp_path / "s.xml", body))
    assert [item.raw_url for item in found] == ["https://a.example/"]
    assert message in problems.first[0]


def test_urls_beyond_50_000_are_reported(tmp_path: Path) -> None:
    found, problems = read(sitemap(tmp_path / "s.xml", urlset(*(f"https://a.example/{n}" for n in range(50_001)))))
    assert len(found) == 50_000
    assert "50,000 URLs, and this one has more" in problems.first[0]


def test_bytes_beyond_50_mb_are_reported(tmp_path: Path) -> None:
    bomb = gzip.compress(urlset("https://a.example/").encode()[:-9] + b" " * (60 << 20) + b"</urlset>")
    assert len(bomb) < 100_000
    found, problems = read(sitemap(tmp_path / "s.xml.gz", bomb))
    assert [item.raw_url for item in found] == ["https://a.example/"]
    assert "more than 50 MB" in problems.first[0]


def test_web_page_is_not_a_sitemap(tmp_path: Path) -> None:
    with pytest.raises(SpanielError, match="is a web page"):
        read(sitemap(tmp_path / "s.xml", "<html><body><url><loc>https://a.example/</loc></url></body></html>"))
    with pytest.raises(SpanielError, match="is a web page, not a list"):
        read(sitemap(tmp_path / "s", "<!doctype html><p>hello"))


async def test_site_is_read_by_sitemaps_in_robots_txt() -> None:
    async with Site({}) as site:
        site.pages = {
            "/robots.txt": text(f"Sitemap: {site.url('/one.xml')}\nUser-agent: *\nDisallow: /x\nSitemap: /two.xml\n"),
            "/two.xml": xml(urlset(site.url("/p3"))),
            "/one.xml": xml(index(site.url("/b.xml.gz"), site.url("/a.xml"))),
            "/a.xml": xml(urlset(site.url("/page-1"))),
            "/b.xml.gz": (200, {"Content-Type": "application/gzip"}, gzip.compress(urlset(site.url("/p2")).encode())),
        }
        found, problems = await read_site(site.url("/"), sites=[site])
        assert [item.raw_url for item in found] == [site.url("/p2"), site.url("/page-1"), site.url("/p3")]
        assert "/sitemap.xml" not in site.requests
        assert not problems.count


async def test_site_without_sitemap_lines_uses_sitemap_xml() -> None:
    async with Site({}) as site:
        site.pages = {"/sitemap.xml": redirect("/wp-sitemap.xml"), "/wp-sitemap.xml": xml(urlset(site.url("/p")))}
        found, problems = await read_site(site.url("/"), sites=[site])
        assert [item.raw_url for item in found] == [site.url("/p")]
        assert not problems.count


async def test_site_without_a_sitemap_is_an_error() -> None:
    async with Site({"/sitemap.xml": html("<html><p>Not found")}) as site:
        with pytest.raises(SpanielError, match="is a web page"):
            await read_site(site.url("/"), sites=[site])
    async with Site({}) as site:
        with pytest.raises(SpanielError, match="404"):
            await read_site(site.url("/"), sites=[site])


async def test_circular_indexes_are_read_once() -> None:
    async with Site({}) as site:
        site.pages = {
            "/a.xml": xml(index(site.url("/b.xml"), site.url("/s.xml"))),
            "/b.xml": xml(index(site.url("/a.xml"), site.url("/b.xml"))),
            "/s.xml": xml(urlset(site.url("/p"))),
        }
        found, problems = await read_site(site.url("/a.xml"), sites=[site])
        assert [item.raw_url for item in found] == [site.url("/p")]
        assert site.requests["/a.xml"] == site.requests["/b.xml"] == 1
        assert problems.count == 2
        assert all("named more than once" in message for message in problems.first)


async def test_nesting_of_indexes_is_limited() -> None:
    async with Site({}) as site:
        for depth in range(20):
            site.pages[f"/{depth}.xml"] = xml(index(site.url(f"/{depth + 1}.xml"), site.url(f"/s{depth}.xml")))
            site.pages[f"/s{depth}.xml"] = xml(urlset(site.url(f"/p{depth}")))
        found, problems = await read_site(site.url("/0.xml"), sites=[site])
        assert [item.raw_url for item in found] == [site.url(f"/p{depth}") for depth in (3, 2, 1, 0)]
        assert problems.count == 2
        assert "within more than 4 others" in problems.first[0]


async def test_sitemap_on_another_site_needs_robots_txt() -> None:
    async with Site({}) as site:
        mine, theirs, sibling = (site.url("/s.xml", host) for host in ("www.a.co.uk", "b.co.uk", "static.a.co.uk"))
        site.pages = {
            "/index.xml": xml(index(theirs, sibling)),
            "/s.xml": xml(urlset(site.url("/p"))),
        }
        found, problems = await read_site(mine.replace("/s.xml", "/index.xml"), sites=[site])
        assert len(found) == 1
        assert problems.count == 1
        assert "on another site than the index that names it" in problems.first[0]
        assert [seen["host"].partition(":")[0] for seen in site.seen if seen] == [
            "www.a.co.uk", "www.a.co.uk", "static.a.co.uk", "static.a.co.uk",
        ]  # fmt: skip
        site.pages["/robots.txt"] = text(f"Sitemap: {theirs}\n")
        found, problems = await read_site(site.url("/", "www.a.co.uk"), sites=[site])
        assert len(found) == 1
        assert not problems.count


async def test_robots_txt_applies_to_sitemaps() -> None:
    async with Site({}) as site:
        site.pages = {
            "/robots.txt": text("User-agent: *\nDisallow: /s.xml\n"),
            "/s.xml": xml(urlset(site.url("/p"))),
        }
        with pytest.raises(SpanielError, match=r"robots\.txt .*disallows"):
            await read_site(site.url("/s.xml"), sites=[site])
        assert not site.requests["/s.xml"]


async def test_fetched_list_is_read_by_content_type_and_bytes() -> None:
    async with Site({}) as site:
        site.pages = {
            "/list": (200, {"Content-Type": "text/csv; charset=utf-8"}, b"n,url\n1,https://a.example/\n"),
            "/plain": text("https://b.example/\n"),
            "/lines": text('{"url": "https://c.example/"}\n'),
            "/map": text(urlset("https://d.example/")),
            "/page": html("<html><p>hello"),
            "/gone": text("", 404),
        }
        sources = [site.url(path) for path in ("/list", "/plain", "/gone", "/lines", "/map?x=a.txt")]
        found, problems = await read_site(*sources, sites=[site])
        assert [item.raw_url for item in found] == [f"https://{name}.example/" for name in "abcd"]
        assert found[0].columns == {"n": "1"}
        assert problems.count == 1
        assert "404" in problems.first[0]
        with pytest.raises(SpanielError, match="is a web page, not a list") as refused:
            await read_site(site.url("/page"), sites=[site])
        assert refused.value.details["field"] == site.url("/page")  # names the source, of several


async def test_kind_option_overrides_the_content() -> None:
    async with Site({}) as site:
        site.pages = {"/": text("https://a.example/,x\n"), "/sitemap.xml": xml(urlset("https://b.example/"))}
        found, _ = await read_site(site.url("/"), sites=[site], kind="text")
        assert found[0].raw_url == "https://a.example/,x"
        found, _ = await read_site(site.url("/"), sites=[site], kind="csv")
        assert found[0].raw_url == "https://a.example/"
        found, _ = await read_site(site.url("/deep/page"), sites=[site], kind="site")
        assert found[0].raw_url == "https://b.example/"
        with pytest.raises(SpanielError, match="not a kind of source"):
            await read_site(site.url("/"), sites=[site], kind="xls")


async def test_list_that_is_too_large_is_a_problem() -> None:
    async with Site({}) as site:
        site.pages = {
            "/large.xml": (200, {"Content-Type": "application/xml", "Content-Length": str(51 << 20)}, b""),
            "/small.xml": xml(urlset("https://a.example/")),
        }
        found, problems = await read_site(site.url("/large.xml"), site.url("/small.xml"), sites=[site])
        assert len(found) == 1
        assert problems.count == 1
