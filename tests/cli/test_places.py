"""Places of fetches: so many in all and at one host, and none for a fetch that only waits."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from spaniel.cli.places import Places
from spaniel.hosts.scheduler import PlaceClock
from tests.hosts.virtual import VirtualClock


async def test_concurrency_is_limited_in_total_and_per_host_in_order() -> None:
    places, here, order = Places(5, 2), Counter[str](), []
    most, most_here = 0, Counter[str]()

    async def fetch(host: str, number: int) -> None:
        nonlocal most
        async with places.at(host):
            order.append((host, number))
            here[host] += 1
            most, most_here[host] = max(most, here.total()), max(most_here[host], here[host])
            await asyncio.sleep(0.001)
            here[host] -= 1

    for _ in range(2):  # also when it has been idle
        order.clear()
        async with asyncio.timeout(30):
            await asyncio.gather(*(fetch(host, number) for number in range(10) for host in "abc"))
        assert (most, set(most_here.values())) == (5, {2})
        assert all([n for host, n in order if host == name] == list(range(10)) for name in "abc")


@pytest.mark.req("FG-46")
async def test_fetch_waiting_before_a_retry_frees_its_slot() -> None:
    clock, places, ended = VirtualClock(), Places(1, 1), list[tuple[str, float]]()

    async def fetch(name: str, host: str, waits: float = 0.0) -> None:
        async with places.at(host):
            if waits:
                await PlaceClock(clock).sleep(waits)
            ended.append((name, clock.passed))

    async def all_of_them() -> None:
        await asyncio.gather(fetch("slow", "a", 45.0), fetch("same host", "a"), fetch("other host", "b"))

    await clock.drive(all_of_them())
    assert sorted(ended[:2]) == [("other host", 0.0), ("same host", 0.0)]
    assert ended[2] == ("slow", 45.0)


async def test_cancelled_fetch_frees_its_slot() -> None:
    places, inside = Places(1, 1), asyncio.Event()

    async def stay() -> None:
        async with places.at("a"):
            inside.set()
            await asyncio.Event().wait()

    staying, waiting = asyncio.create_task(stay()), asyncio.create_task(stay())
    await inside.wait()
    for task in (waiting, staying):
        task.cancel()
        await asyncio.wait([task])
    async with asyncio.timeout(30), places.at("a"):
        pass
