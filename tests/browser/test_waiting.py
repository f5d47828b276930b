"""Pages whose content waits for something: it is waited for, and nothing is waited for that will not come."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from spaniel.errors import SpanielError
from tests.browser.gallery.site import Gallery
from tests.browser.gallery.waiting import ARRIVED, WAITING
from tests.browser.harness import SITE, open_web

pytestmark = pytest.mark.timeout(900)
AT_ONCE = 4
# Each page in one of its two forms; the other is tried with `make torture`.
FORMS = {name: ("bare", "text")[number % 2] for number, name in enumerate(WAITING)}


async def brought(forms: dict[str, str]) -> dict[str, str]:
    """What is wrong with each page; empty where it came whole."""
    turns = asyncio.Semaphore(AT_ONCE)
    async with Gallery(SITE) as site, open_web(site.port) as web:

        async def render(form: str, name: str) -> str:
            async with turns:
                try:
                    page = await web.render(f"http://{SITE}:{site.port}/{form}/{quote(name)}")
                except SpanielError as error:
                    return str(error.code)
                return ", ".join(page.notes) if ARRIVED in page.body.decode() else f"incomplete {page.notes}"

        found = await asyncio.gather(*(render(form, name) for name, form in forms.items()))
    return dict(zip(forms, found, strict=True))


@pytest.fixture(scope="module")
def wrong() -> dict[str, str]:
    return asyncio.run(brought(FORMS))


@pytest.mark.req("D2-35", "FR-WF-11e")
@pytest.mark.parametrize("name", WAITING)
def test_a_page_comes_whole_and_without_a_note(wrong: dict[str, str], name: str) -> None:
    assert wrong[name] == ""
