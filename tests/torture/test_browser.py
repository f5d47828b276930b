"""The browser at length: every waiting page in both forms, and five hundred pages in a row."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from spaniel.testing import Site
from tests.browser.gallery.waiting import WAITING
from tests.browser.harness import SITE, WORDS, alive, all_gone, chromium_path, html, open_web
from tests.browser.test_waiting import brought

pytestmark = [
    pytest.mark.torture,
    pytest.mark.timeout(3_600),
    pytest.mark.skipif(not chromium_path(), reason="FORGE_TEST_CHROMIUM_PATH is not set"),
]


@pytest.mark.parametrize("form", ["bare", "text"])
async def test_every_waiting_page_comes_whole(form: str) -> None:
    wrong = await brought(dict.fromkeys(WAITING, form))
    assert {name: what for name, what in wrong.items() if what} == {}


def held() -> tuple[int, int]:
    """Descriptors of this process, and processes of Chromium."""
    return len(list(Path("/proc/self/fd").iterdir())), len(alive())


async def test_five_hundred_pages_in_a_row_leave_nothing_behind() -> None:
    page = html(f"<h1>Page</h1><p>{WORDS * 20}</p><script>fetch('/?').then(() => setTimeout(() => 1, 100))</script>")
    async with Site({"/": page}, SITE) as site:
        async with open_web(site.port) as web:
            for number in range(500):
                assert b"Page" in (await web.render(f"http://{SITE}:{site.port}/", 60)).body
                if number == 50:
                    gc.collect()
                    early = held()
            gc.collect()
            late = held()
        assert late[0] <= early[0] + 8
        assert late[1] <= early[1] + 2
    assert await all_gone()
