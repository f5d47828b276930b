"""Pages that redefine what our scripts use, by intent or by the names of their inputs: they are read all the same."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.errors import SpanielError
from spaniel.testing import Page, Site, text
from tests.browser.harness import SITE, WORDS, html, open_web

pytestmark = pytest.mark.timeout(300)
AT_ONCE = 4
LEDGERS = "Object.getOwnPropertyNames(window).filter((k) => /^_[0-9a-f]{16}$/.test(k)).map((k) => window[k].ledger)"
FIGHTING = {
    "inputs with the names of methods": "<form hidden><input name=remove></form><form><input name=checkVisibility>"
    "<input name=tagName><input name=firstChild><input name=shadowRoot><input name=getBoundingClientRect></form>",
    "pictures with the names of a document's own": "<img name=documentElement><img name=implementation>"
    "<img name=body><img name=contentType><img name=scripts><img name=getElementsByTagName>",
    "a ledger that was got at": f"<script>for (const l of {LEDGERS}) Object.assign(l, {{closed: 'x', frames: {{}},"
    "lively: 'y', declared: 1, timers: new Map([['a', ['q', 'q']]])})</script>",
    "another Reflect": "<script>Reflect.apply = Reflect.construct = () => { throw 1 }</script>",
    "frozen prototypes": "<script>for (const c of [Object, Array, Function, Promise, Map, Set, Element, Document])"
    "Object.freeze(c.prototype)</script>",
    "another Promise": "<script>window.Promise = class { then() { return this } }</script>",
    "a broken iterator": "<script>Array.prototype[Symbol.iterator] = () => { throw 1 }</script>",
    "methods without end": "<script>Element.prototype.checkVisibility = Element.prototype.getAnimations ="
    "Animation.prototype.finish = window.getComputedStyle = () => { for (;;); }</script>",
    "a hash that changes": "<script>setInterval(() => { location.hash = Math.random() }, 20)</script>",
    "an attribute of six million characters": "<script>document.documentElement.dataset.x = 'a'.repeat(6e6)</script>",
    "a drawing of six million characters": "<svg><path id=d /></svg><script>document.querySelector('#d')"
    ".setAttribute('d', 'M0 0 '.repeat(1.2e6))</script>",
}
LATE = "<p id=late></p><script>fetch('/late').then((r) => r.text()).then((t) => { late.textContent = t })</script>"


async def fetched() -> dict[str, str]:
    """What is wrong with each; empty where nothing is."""
    turns = asyncio.Semaphore(AT_ONCE)
    names = {f"/{number}": name for number, name in enumerate(FIGHTING)}
    pages: dict[str, Page] = {path: html(f"{FIGHTING[name]}<p>{WORDS * 12}</p>{LATE}") for path, name in names.items()}
    pages["/late"] = text("It has come.")
    async with Site(pages, SITE) as site, open_web(site.port) as web:

        async def render(path: str) -> str:
            async with turns:
                try:
                    page = await web.render(f"http://{SITE}:{site.port}{path}")
                except SpanielError as error:
                    return str(error)
                body = page.body.decode()
                whole = "The otter swims" in body and "It has come." in body
                return ", ".join(page.notes) if whole else f"incomplete {page.notes}"

        found = await asyncio.gather(*map(render, names))
    return dict(zip(FIGHTING, found, strict=True))


@pytest.fixture(scope="module")
def wrong() -> dict[str, str]:
    return asyncio.run(fetched())


@pytest.mark.req("FR-WF-11e", "D2-35")
@pytest.mark.parametrize("name", FIGHTING)
def test_a_page_that_redefines_what_is_used_in_it_comes_whole(wrong: dict[str, str], name: str) -> None:
    assert wrong[name] == ""
