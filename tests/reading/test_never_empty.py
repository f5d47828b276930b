"""A page that has much text is never an empty success, whatever the model thinks of it."""

from __future__ import annotations

import pytest

from spaniel.reading import extract

pytestmark = pytest.mark.usefixtures("either_judge")
WORDS = [f"{a}{b}" for a in ("alba", "beryl", "cedar", "delta", "ember") for b in range(60)]
PAGES = {
    "a cloud of links": "<div>" + " ".join(f"<a href=/{w}>{w}</a>" for w in WORDS) + "</div>",
    "a menu that is all there is": "<div class=menu><ul>"
    + "".join(f"<li><a href=/{w}>{w}</a>" for w in WORDS)
    + "</ul></div>",
    "buttons and labels": "".join(f"<div class=widget><span class=label>{w}</span></div>" for w in WORDS),
    "a table of codes": "<table>" + "".join(f"<tr><td>{w}<td>{w[::-1]}" for w in WORDS) + "</table>",
    "one line": "<pre>" + " ".join(WORDS) + "</pre>",
    "everything in the footer": "<footer>" + " ".join(WORDS) + "</footer>",
}


@pytest.mark.req("FR-WF-13", "D2-08")
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_much_text_is_never_nothing(page: str) -> None:
    document = extract(f"<html><body>{page}</body></html>", url="https://example.com/")
    assert sum(word in document.markdown for word in WORDS) > len(WORDS) / 2


@pytest.mark.req("FR-WF-13", "FR-WF-13e")
@pytest.mark.parametrize("title", ["", "T", "The daily news"])
def test_a_heading_that_the_title_does_not_have_is_never_lost(title: str) -> None:
    text = "<p>The council met on Monday to discuss the bridge, and most members spoke in favour of it.</p>" * 20
    page = f"<title>{title}</title><article><h1>Otters return to the river</h1>{text}</article>"
    assert extract(page, url="https://daily.example/2024/otters").markdown.startswith("# Otters return to the river\n")


SHELL = """<html><head><title>Shop</title><script type="application/ld+json">{data}</script></head>
<body><div id=app></div><script>render()</script></body></html>"""


@pytest.mark.req("FG-16")
@pytest.mark.parametrize(
    ("data", "markdown"),
    [
        ('{"@type": "Product", "name": "Kettle", "description": "Boils 2 * 3 litres.\\n\\nIn <blue>."}',
         "# Kettle\n\nBoils 2 * 3 litres.\n\nIn \\<blue>.\n"),
        ('{"@type": "NewsArticle", "headline": "Rain", "articleBody": "<p>It <b>rained</b>.</p><script>x()<\\/script>"}',
         "# Rain\n\nIt **rained**.\n"),
        ('{"@type": "WebSite", "name": "Shop", "description": "The best shop."}', ""),
        ("{broken", ""),
    ],
)  # fmt: skip
def test_a_shell_is_read_from_its_linked_data(data: str, markdown: str) -> None:
    assert extract(SHELL.replace("{data}", data), url="https://example.com/").markdown == markdown
