"""Workers whose hosts are done help the others, where that is of use."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spaniel.batch.coordinator import Coordinator, Pace
from spaniel.batch.done import Done
from spaniel.batch.messages import DONE, FETCH, READY
from spaniel.batch.plan import Plan
from spaniel.batch.planning import make_plan
from spaniel.batch.ports import Item
from spaniel.batch.progress import Progress
from spaniel.batch.records import Ending
from spaniel.hosts.rules import Rule, Rules
from tests.batch.test_coordinator import Kept


class Two:
    """Two workers, who take a moment for each page; of which hosts each of them had pages is noted."""

    def __init__(self) -> None:
        self.pages: list[Counter[str]] = [Counter(), Counter()]

    async def start(self, hear: Any) -> None:
        self._hear = hear
        for worker in range(2):
            hear(worker, READY)

    def tell(self, worker: int, word: str, *values: Any) -> None:
        assert word == FETCH
        self.pages[worker][values[1].split("/")[2]] += 1
        told: tuple[Any, ...] = DONE, values[0], Ending("", 200), {}, b""
        asyncio.get_running_loop().call_later(0.001, self._hear, worker, *told)

    async def close(self) -> None:
        pass


async def shared(folder: Path, urls: list[str], rule: Rule) -> list[Counter[str]]:
    make_plan((Item(n, url) for n, url in enumerate(urls)), lambda raw: raw, str(folder))
    crew, kept, clock = Two(), Kept(), asyncio.get_running_loop().time
    progress = Progress(len(urls), 0, clock)
    assert await Coordinator(Plan(str(folder)), Done(), crew, kept, progress, Pace(2, 16, Rules(rule))).run()
    assert sorted(kept.ordinals) == list(range(len(urls)))
    return crew.pages


async def test_one_site_without_pauses_is_fetched_by_all_workers(tmp_path: Path) -> None:
    pages = await shared(tmp_path, [f"http://www.site.example/{n}" for n in range(100)], Rule(8, 0.0))
    assert all(each.total() > 30 for each in pages), pages


@pytest.mark.parametrize("rule", [Rule(1, 0.0), Rule(8, 0.001)], ids=str)
async def test_one_site_with_pauses_or_one_place_has_one_worker(tmp_path: Path, rule: Rule) -> None:
    pages = await shared(tmp_path, [f"http://www.site.example/{n}" for n in range(40)], rule)
    assert sorted(each.total() for each in pages) == [0, 40]


async def test_whoever_has_hosts_of_its_own_helps_nobody(tmp_path: Path) -> None:
    """Not before they are done: what is known of a host stays in one place."""
    urls = [f"http://www.site{site}.example/{n}" for site in range(4) for n in range(60)]
    first, second = await shared(tmp_path, urls, Rule(4, 0.0))
    assert sum(min(first[host], second[host]) for host in first | second) < 20, (first, second)
