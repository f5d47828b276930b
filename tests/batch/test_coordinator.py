"""The coordinator's own loop, with a worker of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spaniel.batch.coordinator import Coordinator, Pace
from spaniel.batch.done import Done
from spaniel.batch.messages import DONE, FETCH, READY
from spaniel.batch.plan import Plan
from spaniel.batch.planning import make_plan
from spaniel.batch.ports import Item
from spaniel.batch.progress import Progress
from spaniel.batch.records import Ending
from spaniel.hosts.rules import Rule, Rules


class Slow:
    """A worker that has one page at a time, and takes a while for it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def start(self, hear: Any) -> None:
        self._hear = hear
        hear(0, READY)

    def tell(self, worker: int, word: str, *values: Any) -> None:
        assert word == FETCH
        told: tuple[Any, ...] = DONE, values[0], Ending("", 200), {}, b""
        asyncio.get_running_loop().call_later(self._seconds, self._hear, worker, *told)

    async def close(self) -> None:
        pass


class Kept:
    is_behind = by_workers = False
    is_idle = True

    def put_part(self, part: Any, ordinals: list[int], failed: Sequence[str] = ()) -> None:
        raise AssertionError("there are none")

    def __init__(self) -> None:
        self.ordinals: list[int] = []

    def shared(self, record: Any) -> Any:
        return record

    def put(self, item: Item, shared: Any, captured: bytes = b"", failed: str = "") -> None:
        self.ordinals.append(item.ordinal)


class Counting(Coordinator):
    """Counts how often it looks for something to do."""

    looked = 0

    def _feed(self) -> None:
        self.looked += 1
        super()._feed()


def coordinator(folder: Path, seconds: float) -> tuple[Counting, Kept]:
    items = (Item(n, f"http://www.site{n}.example/") for n in range(10))
    make_plan(items, lambda raw: raw, str(folder))
    kept, clock = Kept(), asyncio.get_running_loop().time
    pace = Pace(1, 1, Rules(Rule(1, 0.01)))
    return Counting(Plan(str(folder)), Done(), Slow(seconds), kept, Progress(10, 0, clock), pace), kept


async def test_it_rests_while_nobody_has_room(tmp_path: Path) -> None:
    """A host that is due is no reason to look again and again."""
    made, kept = coordinator(tmp_path, 0.05)
    for number in range(10):
        made._turns.pause(f"www.site{number}.example", 0.02 * (number + 1), "test")
    assert await made.run()
    assert sorted(kept.ordinals) == list(range(10))
    assert made.looked < 60


async def test_told_to_stop_it_finishes_what_is_under_way_and_rests_meanwhile(tmp_path: Path) -> None:
    made, kept = coordinator(tmp_path, 0.2)
    for number in range(10):
        made._turns.pause(f"www.site{number}.example", 0.02 * (number + 1), "test")
    asyncio.get_running_loop().call_later(0.1, made.stop)
    assert not await made.run()
    assert len(kept.ordinals) == 1
    assert made.looked < 60
