"""Title, language and what else a page says about itself."""

from __future__ import annotations

import json

import pytest

from spaniel.reading import extract

URL = "https://example.org/2024/05/06/story"


def page(head: str, body: str = "<p>text</p>", html: str = "<html>") -> str:
    return f"<!DOCTYPE html>{html}<head>{head}</head><body>{body}</body></html>"


@pytest.mark.req("FR-WF-13e", "T-WF-EXT-04")
@pytest.mark.parametrize(
    ("html", "title"),
    [
        (page("<title> The \n title </title>", "<h1>Other</h1>"), "The title"),
        (page("<title> </title>", "<h1>First</h1><h1>Second</h1>"), "First"),
        (page("", "<svg><title>Drawing</title></svg><h1>Heading</h1>"), "Heading"),
        (page("", "<p>none</p>"), None),
        (page("", "<h2>Second level</h2><h3>Third</h3>"), None),
        (page("", "<h2>Second level</h2><h1>First level</h1>"), "First level"),
        (page("<title></title>", "<h2>Second level</h2>"), None),
        (page("<title>con\x1b[31mtrol \u202ebidi</title>"), "control bidi"),
    ],
)
def test_the_title(html: str, title: str | None) -> None:
    assert extract(html).title == title


@pytest.mark.req("FR-WF-13f")
@pytest.mark.parametrize(
    "more", ["<meta http-equiv=content-language content=es>", "<meta property=og:locale content=es_ES>"]
)
def test_no_language_is_detected(more: str) -> None:
    text = "El certificado se puede solicitar por internet o en la oficina de atención, con cita previa. " * 9
    assert extract(page(more, f"<p>{text}</p>")).language is None
    assert extract(page(more, f"<p lang=es>{text}</p>", html="<html lang=en>")).language == "en"


@pytest.mark.req("FR-WF-13f")
@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("<html lang='pt-BR'>", "pt-BR"),
        ("<html lang=''>", None),
        ("<html>", None),
        ("<html lang=x-klingon>", "x-klingon"),
        ("<html lang='EN-gb-oed'>", "EN-gb-oed"),
        ("<html xml:lang=de>", None),
        ("<html><body lang=fr>", None),
    ],
)
def test_the_language_is_passed_on_as_it_is(tag: str, language: str | None) -> None:
    assert extract(page("", html=tag)).language == language


@pytest.mark.req("FG-17")
def test_metadata_from_meta_and_open_graph() -> None:
    head = """<meta name="Description" content="About it"><meta name=author content="By Ann Lee"><meta property="og:site_name" content="Site">
      <meta property="article:published_time" content="2024-02-03T10:00:00Z"><meta property="article:modified_time" content="2024-03-04">
      <meta property="og:image" content="/a.png"><link rel="canonical" href="/story"><meta property="og:title" content="Headline">"""
    found = extract(page(head), url=URL).metadata
    assert (found.title, found.description, found.author, found.site_name) == (
        "Headline",
        "About it",
        "Ann Lee",
        "Site",
    )
    assert (found.published, found.modified) == ("2024-02-03T10:00:00Z", "2024-03-04")
    assert (found.canonical_url, found.image) == ("https://example.org/story", "https://example.org/a.png")


@pytest.mark.req("FG-17")
def test_metadata_from_linked_data() -> None:
    data = {
        "@graph": [
            {
                "@type": "NewsArticle",
                "headline": "H &#038; I",
                "author": [{"name": "A"}, "B"],
                "datePublished": "2021-01-02T03:04",
                "dateModified": "20210304",
            }
        ]
    }
    found = extract(page(f'<script type="application/ld+json">{json.dumps(data)}</script>'), url=URL).metadata
    assert (found.title, found.author, found.published, found.modified) == (
        "H & I",
        "A, B",
        "2021-01-02T03:04:00",
        "2021-03-04",
    )


@pytest.mark.req("FG-17")
def test_metadata_from_microdata_time_and_address() -> None:
    body = '<article><span itemprop="author"><b itemprop="name">Ann</b></span><time datetime="2020-05-06">May</time><p>x</p></article>'
    found = extract(page("", body)).metadata
    assert (found.author, found.published) == ("Ann", "2020-05-06")
    assert extract(page(""), url=URL).metadata.published == "2024-05-06"


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[" * 100_000,
        '{"author": {"name": {"name": 1}}}',
        "null",
        '{"@type": 5, "author": 7, "image": []}',
        '{"a": NaN}',
    ],
)
def test_bad_linked_data_is_no_data(data: str) -> None:
    assert extract(page(f'<script type="application/ld+json">{data}</script>')).metadata.author is None


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "http://[bad", "file:///etc/passwd"])
def test_only_web_addresses_are_canonical(address: str) -> None:
    assert extract(page(f'<link rel=canonical href="{address}">'), url=URL).metadata.canonical_url is None


@pytest.mark.req("FG-38")
def test_linked_data_types_and_generator_are_unique_and_clean() -> None:
    data = [{"@type": ["NewsArticle", "Article"]}, {"@graph": [{"@type": "NewsArticle"}, {"@type": "Per\x1b[1mson\n"}]}]
    head = (
        f'<script type="application/ld+json">{json.dumps(data)}</script><meta name=Generator content=" Sphinx\n8\x07">'
    )
    found = extract(page(head))
    assert found.types == ("NewsArticle", "Article", "Person")
    assert found.generator == "Sphinx 8"
    assert (extract(page("")).types, extract(page("")).generator) == ((), "")
    many = [{"@type": "x" * 100_000 + str(number)} for number in range(5)]
    long = extract(page(f'<script type="application/ld+json">{json.dumps(many)}</script>'))
    assert all(len(name) <= 2000 for name in long.types)


@pytest.mark.req("FG-17")
@pytest.mark.parametrize(
    ("title", "headings", "name", "found"),
    [
        ("Die Kunst des Backens - Morgenblatt", ["Morgenblatt", "Die Kunst des Backens"], "Morgenblatt", None),
        ("Die Kunst des Backens | Example", ["Example", "Rezepte"], None, None),
        ("Die Kunst des Backens | Rezepte | Küche heute", ["Küche heute"], None, None),
        ("Die Kunst des Backens - Das Buch vom Brot", ["Das Buch vom Brot"], None, None),
        ("Example - für alle da", ["Die Kunst des Backens"], None, None),
        ("Vom guten Brot", ["Die Kunst des Backens ¶"], None, "Vom guten Brot"),
        ("Backens Kunst, die wir lieben", ["Die Kunst des Backens ¶"], None, None),
        ("Die Kunst des Backens", ["Thema: Die Kunst des Backens"], None, None),
        ("Die Kunst des Backens", [], None, None),
        ("パンの作り方｜台所", ["台所"], None, "パンの作り方"),
        ("", [], None, ""),
        ("| |", ["|"], None, "| |"),
    ],
)
def test_the_name_of_the_site_is_no_title(title: str, headings: list[str], name: str | None, found: str | None) -> None:
    head = f"<title>{title}</title>" + (f'<meta property="og:site_name" content="{name}">' if name else "")
    body = "".join(f"<h1>{heading}</h1>" for heading in headings) + "<p>text</p>"
    wanted = "Die Kunst des Backens" if found is None else found
    assert (extract(page(head, body), url=URL).metadata.title or "") == wanted


@pytest.mark.req("FG-17")
def test_a_home_page_is_called_what_its_head_calls_it() -> None:
    html = page("<title>Example | Bread for all</title>", "<h1>Bread, and all that</h1><p>text</p>")
    assert extract(html, url="https://example.org/").metadata.title == "Example | Bread for all"


@pytest.mark.req("FG-17")
def test_all_authors_are_told_once() -> None:
    cited = "".join(f'<meta name="citation_author" content="{name}">' for name in ("Ana Ruiz", "Bo Ek", "Ana Ruiz"))
    assert extract(page(cited)).metadata.author == "Ana Ruiz, Bo Ek"
    byline = '<p class="byline">By <a href="/a">Ana Ruiz</a> and <a href="/b">Bo Ek</a></p><p>text</p>'
    assert extract(page("", byline)).metadata.author == "Ana Ruiz, Bo Ek"
    many = "".join(f'<meta name="citation_author" content="Author {number}">' for number in range(5000))
    assert len((extract(page(many)).metadata.author or "").split(", ")) == 20


@pytest.mark.req("FG-17")
@pytest.mark.parametrize(
    ("body", "author"),
    [
        ('<p>By <a href="/author/anna">Anna Becker</a> on Monday</p>', "Anna Becker"),
        ('<span class="post-meta__author-name">Åsa Ek</span><a href="/author/asa">Åsa Ek</a>', "Åsa Ek"),
        ("".join(f'<h2>x</h2><a href="/author/{n}">Writer {n}</a>' for n in "abcd"), None),
        (f'<a href="/author/x">{"a long text " * 9}</a>', None),
    ],
)
def test_author_is_found_by_profile_link_but_not_in_teasers(body: str, author: str) -> None:
    assert extract(f"<title>x</title>{body}", url=URL).metadata.author == author


@pytest.mark.req("FG-17")
def test_a_thread_of_phpbb_has_the_title_and_the_author_of_its_first_post() -> None:
    post = (
        '<div class="post"><dl class="postprofile"><dt><a class="username">{0}</a></dt></dl><div class="postbody"><p '
        'class="author">von <b>{0}</b> » Mo 4. Mär 2019, 18:22</p><div class="content">{1}</div></div></div>'
    )
    page = (
        "<title>Tracks - How to clean them</title><body id=phpbb><h1>Tracks</h1><h2 class=topic-title>"
        f"<a href='?t=1'>How to clean them</a></h2>{post.format('Kim', 'With what?')}{post.format('Lee', 'Soap.')}"
    )
    found = extract(page, url=URL).metadata
    assert (found.title, found.author) == ("How to clean them", "Kim")


@pytest.mark.req("FG-17")
@pytest.mark.parametrize(
    ("written", "published"),
    [
        ("2024-02-03T10:20:30+02:00", "2024-02-03T10:20:30+02:00"),
        ("2024-02-03T10:20:30.123Z", "2024-02-03T10:20:30Z"),
        ("2024-02-03 10:20", "2024-02-03T10:20:00"),
        ("2024-02-03T10:20:30+0200", "2024-02-03T10:20:30+02:00"),
        ("2024-02-03T10:20:30 -0500", "2024-02-03T10:20:30-05:00"),
        ("2024-02-03", "2024-02-03"),
        ("2024-02-03T", "2024-02-03"),
        ("2024-02-03T99:99", "2024-02-03"),
        ("Feb 3, 2024 at 10:20", "2024-02-03"),
    ],
)
def test_published_keeps_its_time_of_day(written: str, published: str) -> None:
    for head in (
        f"<meta property=article:published_time content='{written}'>",
        f'<script type=application/ld+json>{{"@type": "Article", "datePublished": "{written}"}}</script>',
        f"<article><time datetime='{written}'>some day</time></article>",
    ):
        assert extract(f"<title>t</title>{head}<p>words").metadata.published == published
