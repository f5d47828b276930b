"""Real pages, if the development corpora are available: none raises, none with a reference text is empty."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spaniel.reading import extract

PAGES = Path(__file__).resolve().parents[3] / "shared/corpora/pages"


@pytest.mark.skipif(not PAGES.is_dir(), reason="the shared corpus is not here")
@pytest.mark.req("FR-WF-13", "FG-15", "FG-16")
@pytest.mark.parametrize("name", ["articles", "mixed"])
def test_pages_of_the_corpus_are_read(name: str) -> None:
    truth = json.loads((PAGES / f"{name}.json").read_text("utf-8"))
    for key in sorted(truth)[::9]:
        page = extract(gzip.decompress((PAGES / name / f"{key}.html.gz").read_bytes()), url=truth[key]["url"])
        assert page.markdown or len(truth[key]["text"].split()) < 40 or page.kind == "page", key
        assert page.title


@pytest.mark.req("FR-WF-13")
def test_an_article_is_read_without_what_stands_around_it() -> None:
    words = "The council met on Monday to discuss the new bridge, and most members spoke in favour of it. "
    body = (
        "<header class='site-header'><a href='/'>Daily</a></header><nav><a href='/a'>Politics</a><a href='/b'>Sport</a></nav>"
        "<main><article><h1>Bridge debated</h1>"
        + "".join(f"<p>{words * 3} Part {i}.</p>" for i in range(6))
        + "</article><div class='related-articles'><h3>Related</h3><ul><li><a href='/c'>Another story</a></li></ul></div></main>"
        "<div class='comments'><p>First! I do not agree with this at all.</p></div><footer>Copyright Daily</footer>"
    )
    markdown = extract(
        f"<title>Bridge debated - Daily</title><body>{body}", url="https://daily.example/2024/bridge-debated"
    ).markdown
    assert all(f"Part {i}." in markdown for i in range(6))
    assert not any(gone in markdown for gone in ("Politics", "Another story", "Copyright", "I do not agree"))
