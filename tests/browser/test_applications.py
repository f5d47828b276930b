"""Applications of real frameworks, by automatic choice: those that need a browser get one, and come whole."""

from __future__ import annotations

import asyncio
import tempfile
from urllib.parse import quote

import pytest

from spaniel.errors import SpanielError
from spaniel.testing import spaniel_for
from tests.browser.gallery.applications import APPLICATIONS
from tests.browser.gallery.site import SET_UP, Gallery
from tests.browser.gallery.waiting import ARRIVED
from tests.browser.harness import with_chromium

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not (SET_UP / "built" / "react.js").exists(), reason="the gallery is not set up: `make test` does, with npm"
    ),
]
AT_ONCE = 4


async def fetched() -> dict[str, str]:
    """What is wrong with each; empty where it came whole."""
    turns = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory() as cache:
        async with (
            Gallery() as site,
            spaniel_for(site, cache=cache, browser=with_chromium(), timeout_seconds=120) as spaniel,
        ):

            async def fetch(name: str) -> str:
                async with turns:
                    try:
                        answer = await spaniel.fetch(site.url(f"/app/{quote(name)}", "localhost"))
                    except SpanielError as error:
                        return str(error)
                    return "" if ARRIVED in answer.markdown else f"{answer.rendering_method}, {answer.notes}"

            found = await asyncio.gather(*map(fetch, APPLICATIONS))
    return dict(zip(APPLICATIONS, found, strict=True))


@pytest.fixture(scope="module")
def wrong() -> dict[str, str]:
    return asyncio.run(fetched())


@pytest.mark.req("D2-34", "D2-35", "FG-20")
@pytest.mark.parametrize("name", APPLICATIONS)
def test_application_is_rendered_automatically_and_completely(wrong: dict[str, str], name: str) -> None:
    assert wrong[name] == ""
