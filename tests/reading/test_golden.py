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
