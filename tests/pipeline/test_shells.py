"""Which pages are shells that scripts fill, and which only look like it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from spaniel import extract
from spaniel.pipeline.page_types import SHELL_BYTES, shell_in
from spaniel.pipeline.page_types import shell_patterns as signs
from spaniel.testing import Page, Site
from tests.browser.harness import WORDS, html
from tests.pipeline.test_choosing import opened

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "pages"
MENU = "<nav>" + "".join(f"<a href=/{n}>Chapter {n} of the book</a> " for n in range(20)) + "</nav>"
HOLLOW = {
    "swagger ui": "<div id=swagger-ui></div><script src=./swagger-ui-bundle.js></script>",
    "redoc": "<redoc spec-url=/openapi.json></redoc><script src=redoc.standalone.js></script>",
    "docsify": "<div id=main></div><script>window.$docsify = {}</script>",
    "discourse": "<discourse-assets></discourse-assets><section id=main></section>",
    "htmx": "<div hx-get='/rows' hx-trigger='load'></div>",
    "htmx with data attributes": '<div data-hx-get="/rows" data-hx-trigger="revealed once"></div>',
    "alpine": "<div x-data='list' x-init='load()'><template x-for='i in items'><p x-text=i></p></template></div>",
    "jquery": "<div id=x></div><script>$('#x').load('/part.html')</script>",
    "turbo": "<turbo-frame id=a src=/messages></turbo-frame>",
}
SHORT = {
    "an empty place": "<div id=content>\n</div><script src=a.js></script>",
    "an element of its own": "<river-news></river-news><script src=a.js></script>",
    "a skeleton": "<div class='card skeleton-text'>.</div><script src=a.js></script>",
    "a fetch": "<p class=x>.</p><script>fetch('/story')</script>",
    "a text that is written": "<script>document.write('<p>story</p>')</script>",
    "an island": "<astro-island uid=1><p>.</p></astro-island>",
    "sent on": "<meta http-equiv=refresh content='0; url=/story'>",
}
LONGER = {
    "an empty article": "<article class=story><!-- here --></article><script src=a.js></script>",
    "a part that is busy": "<section aria-busy=true>.</section><script src=a.js></script>",
    "a part that says so": "<p>Loading the story…</p><script src=a.js></script>",
}
PLAIN = {
    "a place for something else": "<div id=fb-root></div><div class=x></div><script src=a.js></script>",
    "a button that was loading": "<button>Loading…</button><script src=a.js></script>",
    "a page that renews itself later": "<meta http-equiv=refresh content='300; url=/'>",
    "a script that counts": "<script>var s=document.createElement('script');s.src='//count.example/x.js'</script>",
    "htmx on a click": "<button hx-get='/rows' hx-trigger='click'>more</button>",
    "alpine for a menu": "<div x-data='{open: false}'><a @click='open = !open'>menu</a></div>",
    "jquery that fades": "<script>$('#x').fadeIn()</script>",
    "linked data alone": '<script type="application/ld+json">{}</script>',
}


def sent(page: str, markdown: str) -> bool:
    return shell_in(page.encode(), markdown, 400, empty_counts=True) is not None


@pytest.mark.req("D2-34", "FG-20")
@pytest.mark.parametrize("name", HOLLOW)
def test_a_hollow_page_is_known_although_its_menu_has_text(name: str) -> None:
    assert sent(MENU + HOLLOW[name], "x" * 500)
    assert not sent(MENU + HOLLOW[name], "x" * 1500)  # what has its text has it


@pytest.mark.req("D2-34")
@pytest.mark.parametrize(
    ("page", "most"), [(page, 399) for page in SHORT.values()] + [(page, 699) for page in LONGER.values()]
)
def test_shells_of_other_frameworks_are_recognized(page: str, most: int) -> None:
    assert sent(MENU + page, "x" * most)
    assert not sent(MENU + page, "x" * 1000)
    assert not sent(MENU + page.partition("<script")[0].replace("island", "x").replace("refresh", "x"), "x" * most)


@pytest.mark.req("D2-34")
@pytest.mark.parametrize("name", PLAIN)
def test_what_fills_no_page_is_no_sign(name: str) -> None:
    assert not sent(f"<p>{WORDS * 3}</p>{PLAIN[name]}", WORDS * 3)


@pytest.mark.req("D2-34")
def test_next_to_nothing_and_a_script_is_enough() -> None:
    assert sent("<div></div><script src=a.js></script>", "x" * 59)
    assert not sent("<div></div><script src=a.js></script>", "x" * 60)
    assert not sent("<div></div>", "")
    assert not sent('<script type="application/ld+json">{}</script>', "")


@pytest.mark.req("D2-34")
def test_noscript_text_counts_only_if_it_is_the_page() -> None:
    excuse = "Please switch scripts on. " * 20
    page = f"<div id=root></div><noscript><p>{excuse}</p></noscript><script src=a.js></script>"
    assert sent(page, excuse)
    assert not sent(page.replace("noscript", "section"), excuse)
    thread = WORDS * 60
    assert not sent(f"<script type=module></script><noscript>{thread}</noscript>", thread)


@pytest.mark.req("FR-WF-12c", "D2-34")
@pytest.mark.parametrize(
    ("link", "rendered"),
    [
        ("<a href='/section/{n}/a-long-name-of-a-section-of-this-site/index.html'>Part {n}</a> ", True),
        ("<a href='/s/{n}?{long}' title='The part with the number {n}'>Part {n}</a> ", True),
        ("<a href='/s/{n}_(disambiguation)/{long}'><img src='/{long}.png' alt=x></a> ", True),
        ("<a href='/s'>The otter swims in the river and eats the fish of number {n}, and no other.</a> ", False),
    ],
    ids=["menu", "titles", "pictures", "text"],
)
async def test_link_targets_are_not_text_of_the_page(tmp_path: Path, link: str, rendered: bool) -> None:
    from spaniel.browser.rendering import DocumentHead, RenderedPage
    from tests.pipeline.test_choosing import Failing, rendered_by

    menu = "".join(link.format(n=n, long="long-" * 12) for n in range(8))
    shell = f"<title>App</title><main><div>{menu}</div><div id=app></div></main><script src=/a.js></script>"
    page = RenderedPage(None, DocumentHead(200), "text/html", b"<h1>There</h1>", (), ())  # type: ignore[arg-type]
    async with Site({"/": html(shell)}) as site, rendered_by(Failing(page), site, tmp_path) as spaniel:
        answer = await spaniel.fetch(site.url("/"))
    assert answer.rendering_method == ("browser" if rendered else "http")


@pytest.mark.req("D2-34", "D2-05")
async def test_the_note_says_that_http_brought_nothing(tmp_path: Path) -> None:
    from spaniel.browser.rendering import DocumentHead, RenderedPage
    from tests.pipeline.test_choosing import Failing, rendered_by

    page = RenderedPage(None, DocumentHead(200), "text/html", b"<h1>There</h1>", (), ())  # type: ignore[arg-type]
    pages: dict[str, Page] = {
        "/": html("<script src=/a.js></script>"),
        "/plain": html(f"<p>{WORDS * 20}</p><script></script>"),
    }
    async with Site(pages) as site, rendered_by(Failing(page), site, tmp_path) as spaniel:
        answer = await spaniel.fetch(site.url("/"))
        assert (answer.rendering_method, answer.note, answer.markdown) == (
            "browser",
            "rendered_empty_http",
            "# There\n",
        )
        assert (await spaniel.fetch(site.url("/plain"))).rendering_method == "http"
    off = {"empty_fallback": False}
    async with Site(pages) as site, opened(site, tmp_path / "off", rendering=off) as spaniel:
        assert (await spaniel.fetch(site.url("/"))).rendering_method == "http"


def test_shell_patterns_are_bounded() -> None:
    """Else a page of nothing but beginnings makes each of them as dear as the longest run."""
    for sign in signs():
        assert not any(b"[^>]" in pattern for pattern in sign.patterns), sign.name
    assert not sent("x" * SHELL_BYTES + SHORT["an empty place"], "x" * 399)


def test_shell_patterns_are_lower_case() -> None:
    for sign in signs():
        assert all(word == word.lower() for word in sign.has)
        assert not any(re.search(rb"(?<!\\)[A-Z]", pattern) for pattern in sign.patterns), sign.name


@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not here")
@pytest.mark.req("D2-34")
def test_hardly_any_page_that_has_its_text_is_rendered() -> None:
    """Rendering is needless if HTTP returned at least half of the visible text."""
    fields = {name: one for file in CORPUS.glob("*.json") for name, one in json.loads(file.read_bytes()).items()}
    pages = sorted(CORPUS.glob("*/*.html.gz"))[::6]
    needless = 0
    for path in pages:
        body, about = gzip.decompress(path.read_bytes()), fields[path.name.partition(".")[0]]
        text = about.get("text") or about.get("articleBody") or ""
        markdown = extract(body, url="https://page.example/").markdown
        if markdown and len(markdown) > len(text) / 2:
            needless += shell_in(body, markdown, 400, empty_counts=True) is not None
    assert needless < len(pages) / 100
