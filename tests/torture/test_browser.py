"""The browser at length: every waiting page in both forms, and five hundred pages in a row."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel.browser.renderer import PAGES
from spaniel.testing import Site
from tests.browser.gallery.waiting import WAITING
from tests.browser.harness import SITE, WORDS, alive, all_gone, chromium_path, html, open_web
from tests.browser.test_waiting import fetched

pytestmark = [
    pytest.mark.torture,
    pytest.mark.timeout(3_600),
    pytest.mark.skipif(not chromium_path(), reason="FORGE_TEST_CHROMIUM_PATH is not set"),
]


@pytest.mark.parametrize("form", ["bare", "text"])
async def test_every_waiting_page_comes_whole(form: str) -> None:
    wrong = await fetched(dict.fromkeys(WAITING, form))
    assert {name: what for name, what in wrong.items() if what} == {}


class Held(NamedTuple):
    """What we and our Chromium hold."""

    descriptors: int
    processes: int
    own: int  # MB of memory, without the pages of programs, which others on the machine may share
    chromium: int


def held() -> Held:
    gc.collect()
    pids = alive()
    return Held(len(list(Path("/proc/self/fd").iterdir())), len(pids), _megabytes("self"), sum(map(_megabytes, pids)))


def _megabytes(pid: int | str) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # it has gone since
        return 0
    return int(rollup.partition("\nPss_Anon:")[2].split()[0]) >> 10


async def test_five_hundred_pages_in_a_row_leave_nothing_behind() -> None:
    """Of ours, from beginning to end; of a Chromium's, from its first pages to its last, after which comes another."""
    page = html(f"<h1>Page</h1><p>{WORDS * 20}</p><script>fetch('/?').then(() => setTimeout(() => 1, 100))</script>")
    seen: dict[int, Held] = {}
    async with Site({"/": page}, SITE) as site:
        async with open_web(site.port) as web:
            for number in range(1, 501):
                assert b"Page" in (await web.render(f"http://{SITE}:{site.port}/", 60)).body
                if number in (50, PAGES - 50, 500):
                    seen[number] = held()
                    print(number, seen[number])
        early, late, last = seen.values()
        assert max(late.descriptors, last.descriptors) <= early.descriptors + 8
        assert max(late.processes, last.processes) <= early.processes + 2
        assert last.own <= early.own + 8
        assert late.chromium <= early.chromium * 1.3
    assert await all_gone()
