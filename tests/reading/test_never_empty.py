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


TEXT = "<p>" + "</p><p>".join(" ".join(WORDS[i : i + 20]) for i in range(0, len(WORDS), 20)) + "</p>"
UNENDED = {
    "a title": f"<head><title>Prices</titlu><meta name=x></head><body>{TEXT}",
    "a style": f"<head><title>Prices</title><style>p {{ color: red }}</stile></head><body>{TEXT}",
    "a script": f"<head><title>Prices</title><script>if (a<b) c()</scrept></head><body>{TEXT}",
}


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("page", UNENDED.values(), ids=UNENDED)
def test_text_in_an_element_that_lost_its_end_is_found(page: str) -> None:
    html = f"<html>{page}</body></html>"
    document = extract(html.encode(), url="https://example.com/")
    assert sum(word in document.markdown for word in WORDS) > len(WORDS) / 2
    assert "color" not in document.markdown
    assert extract(html, url="https://example.com/") == document


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("opening", ["<!-- begin ->", "<template><p>x</p></tempate>"])
def test_what_a_comment_or_a_template_without_an_end_holds_stays_hidden(opening: str) -> None:
    document = extract(f"<html><title>Prices</title><body><p>Seen.</p>{opening}{TEXT}</body></html>".encode())
    assert document.markdown == "Seen.\n"
