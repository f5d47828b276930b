"""What a page tells about itself and its neighbours."""

from __future__ import annotations

import pytest

from spaniel.reading.metadata.page_facts import MAX_LINKS, MAX_VERSIONS, detect_language, page_facts, total_pages
from spaniel.url import parse

URL = parse("https://e.es/lista?tipo=a&p=2")


def total(html: str, header: str = "", param: str = "p") -> int | None:
    return total_pages(page_facts(html.encode(), URL, "utf-8", header), URL, param)


@pytest.mark.req("CP-26")
@pytest.mark.parametrize(
    ("html", "header", "pages"),
    [
        ('<link rel="last" href="?tipo=a&p=12">', "", 12),
        ('<a rel="nofollow last" href="/lista?p=12">»</a><a href="?p=99">99</a>', "", 12),
        ("", '</lista?p=12>; rel="last", </lista?p=3>; rel=next', 12),
        ('<a href="?p=3">3</a><a href="?p=10">10</a>', "", 10),
        ('<a href="/otra?p=50">50</a>', "", None),
        ('<a href="https://x.es/lista?p=50">50</a>', "", None),
        ('<a href="?p=999999">todo</a>', "", None),
        ("<p>Página 2 de 12</p>", "", 12),
        ("<p>PÀGINA 2 de 12</p>", "", 12),
        ("<p>Page 2 of 12</p>", "", 12),
        ("<p>Página 2 de 12</p><a href='?p=5'>5</a>", "", 12),
        ("<p>Página 7 de 3</p>", "", None),
        ('<a href="?p=1">1</a>', "", None),  # fewer than the page that it is
        ("<p>nada</p>", "", None),
        ('<base href="https://x.es/"><a href="lista?p=9">9</a>', "", None),
    ],
)
def test_the_number_of_pages(html: str, header: str, pages: int | None) -> None:
    assert total(html, header) == pages


@pytest.mark.req("CP-25")
def test_versions_of_page_and_header() -> None:
    html = b"<head><link rel=alternate hreflang=ES href=/es/a><link rel=alternate hreflang=x-default href=/><link rel=alternate href=/feed></head>"
    header = '<https://e.es/fr/a>; rel="alternate"; hreflang="fr", <javascript:x>; rel=alternate; hreflang=ca, </b>; rel=preload'
    assert page_facts(html, URL, None, header).versions == (
        ("fr", "https://e.es/fr/a"),
        ("es", "https://e.es/es/a"),
        ("x-default", "https://e.es/"),
    )


@pytest.mark.parametrize(
    ("html", "declared", "language"),
    [
        ('<html lang="es-ES"><p>hola', "", "es"),
        ("<p>hola", "es", "es"),
        ("<p>hola", "es, ca", None),
        ("<p>hola", "", None),
        (
            '<html lang="es"><p>'
            + "the page is in the language of the site and you can read it with the help of a friend " * 2,
            "",
            "en",
        ),
    ],
)
def test_the_language_is_the_texts_own_else_the_one_that_is_declared(
    html: str, declared: str, language: str | None
) -> None:
    assert page_facts(html.encode(), URL, "utf-8", "", declared).language == language


def test_lists_are_bounded_and_titles_are_found() -> None:
    html = (
        "<title> Un  trámite </title>" + "<link rel=alternate hreflang=es href=/a>" * 500 + "<a href=/x>x</a>" * 10_000
    )
    facts = page_facts(html.encode(), URL, "utf-8")
    assert (facts.title, len(facts.versions), len(facts.links)) == ("Un trámite", MAX_VERSIONS, MAX_LINKS)
    assert page_facts(b"<h1>Ayuda</h1>", URL).title == "Ayuda"
    assert page_facts(b"", URL).title is None


def test_a_text_of_a_few_words_has_no_language() -> None:
    assert detect_language("") is None
    assert detect_language("de la " * 3) is None
    assert detect_language("12345 " * 1000) is None
