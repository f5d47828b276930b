"""The whole generated family of pages, weighed: the long form of tests/reading/test_amplification.py.

With SAMPLE=1 in the environment it is whole; by default every 40th page is weighed. The tables that it prints are the
figures: worst time, memory, growth, length of Markdown, and how long others had to wait.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.readers import Readers
from spaniel.reading.kinds import kind_of
from tests.reading.family import TRICKS, names, page
from tests.reading.other_kinds import NAMES, text
from tests.reading.weighing import MEGABYTE, Cost, Scales

pytestmark = [
    pytest.mark.torture,
    pytest.mark.timeout(6 * 3600),
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is read from /proc"),
]
SAMPLE = int(os.environ.get("SAMPLE", "40"))
SIZE = 5_000_000
SLOW = 0.5  # CPU seconds above which the growth is measured too


def report(costs: list[Cost], growth: dict[str, float]) -> None:
    rows = {
        "CPU seconds": max(costs, key=lambda c: c.seconds),
        "memory": max(costs, key=lambda c: c.memory),
        "memory to its limit": max(costs, key=lambda c: c.memory / (64 * MEGABYTE + 12 * c.size)),
        "Markdown to page": max(costs, key=lambda c: c.markdown / c.size),
    }
    print(f"\n{len(costs)} pages of {costs[0].size:,} bytes; cut: {sum(c.cut for c in costs)}")
    for what, cost in rows.items():
        print(
            f"  worst {what:20} {cost.name:45} {cost.seconds:6.2f} s {cost.memory / MEGABYTE:6.0f} MB "
            f"{cost.markdown / cost.size:5.2f} x the page"
        )
    for name, ratio in sorted(growth.items(), key=lambda item: -item[1])[:3]:
        print(f"  twice the page, {ratio:.2f} times the time: {name}")


def weigh_all(chosen: Iterator[str], size: int) -> None:
    costs: list[Cost] = []
    growth: dict[str, float] = {}
    with Scales() as scales:
        for name in chosen:
            costs.append(scales.weigh(name, size))
            if costs[-1].seconds > SLOW:
                growth[name] = scales.growth(name, size // 2, size)
    report(costs, growth)
    assert not [c for c in costs if c.refused]
    assert not [c for c in costs if c.too_much_memory]
    assert not [c for c in costs if c.too_much_markdown]
    assert not {name: ratio for name, ratio in growth.items() if ratio >= 3}


def test_every_element_with_every_attribute_in_every_shape() -> None:
    weigh_all((name for place, name in enumerate(names()) if place % SAMPLE == 0), 100_000)


def test_every_element_in_every_shape_at_the_cap() -> None:
    weigh_all((name for place, name in enumerate(names({"": ""})) if place % max(1, SAMPLE // 10) == 0), SIZE)


def test_every_attribute_in_every_shape_at_the_cap() -> None:
    some = ("p[", "a[", "td[", "pre[", "li[", "img[", "span[", "div[")
    weigh_all((name for name in names() if name.startswith(some) and hash_of(name) % SAMPLE == 0), SIZE)


def hash_of(name: str) -> int:
    return sum(map(ord, name)) * 7919 % 10_007


def test_every_trick_at_the_cap() -> None:
    weigh_all(iter(TRICKS), SIZE)


def test_every_text_of_another_kind_at_the_cap() -> None:
    weigh_all(iter(NAMES), SIZE)


async def test_another_fetch_is_not_delayed() -> None:
    """A task that wakes up every millisecond, as a fetch does: how much this process worked between two of its turns.

    Processor time, so that it does not matter what else the machine does.
    """
    worst: tuple[float, str] = (0.0, "")
    async with Readers() as readers:
        for name in (*TRICKS, *NAMES):
            content_type = name.partition(": ")[0] if name in NAMES else "text/html"
            for size in (250_000, 1_000_000, SIZE):
                body = text(name, size) if name in NAMES else page(name, size)
                wait = await _longest_wait(readers, body, content_type)
                worst = max(worst, (wait, f"{name}, {size:,} bytes"))
    print(f"\n  longest time in which nothing else could run: {worst[0] * 1000:.0f} ms ({worst[1]})")
    assert worst[0] < 0.1


async def _longest_wait(readers: Readers, body: bytes, content_type: str) -> float:
    longest = 0.0
    stopped = False

    async def watch() -> None:
        nonlocal longest
        while not stopped:
            before = time.process_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.process_time() - before)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.01)
    try:
        await readers.read(body, kind_of(content_type, body), "https://example.org/", Deadline(20))
    except SpanielError as error:
        print(f"  {error}")
    stopped = True
    await watching
    return longest
