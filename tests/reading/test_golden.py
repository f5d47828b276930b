"""Small pages that show one thing each: NAME.html in, NAME.md out."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.reading import extract

GOLDEN = Path(__file__).parent / "golden"
PAGES = sorted(page.stem for page in GOLDEN.glob("*.html"))
URL = "https://example.org/dir/page.html"
pytestmark = pytest.mark.usefixtures("either_judge")


@pytest.mark.req(
    "FR-WF-13", "FR-WF-13a", "FR-WF-13b", "FR-WF-13d", "FG-15", "FG-16", "T-WF-EXT-01", "T-WF-EXT-02", "T-WF-EXT-03"
)
@pytest.mark.parametrize("name", PAGES)
def test_a_small_page_gives_the_markdown_beside_it(name: str) -> None:
    page = (GOLDEN / f"{name}.html").read_bytes()
    assert extract(page, url=URL).markdown == (GOLDEN / f"{name}.md").read_text("utf-8")


def test_every_page_has_its_markdown_and_every_markdown_its_page() -> None:
    assert sorted(text.stem for text in GOLDEN.glob("*.md")) == PAGES


ARTICLES = "comments-ru comments-zh faq-buttons-es faq-details-ko script-el script-hi script-ja script-th table-rows-pt"


@pytest.mark.parametrize("name", ARTICLES.split())
def test_page_without_a_url_is_not_classified_as_a_front_page(name: str) -> None:
    page = (GOLDEN / f"{name}.html").read_bytes()
    front = "https://example.org/"
    unknown, deep, at_front = (
        extract(page, url=url).markdown for url in (None, f"{front}news/a-title-of-five-words", front)
    )
    assert unknown == deep != at_front
    own_word = page.replace(b"</head>", f"<link rel=canonical href={front}></head>".encode(), 1)
    assert extract(own_word).markdown == at_front, "where a page says itself where it is, that counts"
