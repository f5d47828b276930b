"""Places on the wire: so many in all, none held by whoever waits for a host, none lost whoever gives up."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.health.places import Places
from spaniel.hosts import Hosts, Politeness
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock

A, B = "a.example", "b.example"


def places_for(jobs: int, politeness: Politeness | None = None) -> tuple[Places, Hosts, FakeClock]:
    clock = FakeClock()
    hosts = Hosts(clock)
    return Places(hosts, politeness or Politeness(), jobs), hosts, clock


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.req("DB-09")
async def test_no_more_are_on_the_wire_than_there_are_places_whatever_the_host() -> None:
    places, _, _ = places_for(3)
    here = most = 0

    async def visit(number: int) -> None:
        nonlocal here, most
        async with places.turn(f"{number}.example", Deadline(60), Politeness()):
            here += 1
            most = max(most, here)
            assert not places.has_room(4 - here)
            await asyncio.sleep(0)
            here -= 1

    assert places.has_room() is True
    await asyncio.gather(*(visit(number) for number in range(12)))
    assert most == 3
    assert (places.has_room(3), places.has_room(4)) == (True, False)


@pytest.mark.req("DB-09")
async def test_whoever_waits_for_a_host_holds_no_place() -> None:
    places, _, _ = places_for(2)
    alone = Politeness(at_once=1)
    async with places.turn(A, Deadline(60), alone):
        waiting = asyncio.create_task(places.turn(A, Deadline(60), alone).__aenter__())
        await turns_of_the_loop()
        assert not waiting.done()
        assert places.has_room() is True
        async with places.turn(B, Deadline(60), alone):
            assert places.has_room() is False
    await asyncio.wait_for(waiting, 30)


async def test_the_clock_of_a_link_stands_while_others_have_all_places() -> None:
    places, _, _ = places_for(1)
    loop = asyncio.get_running_loop()
    first = places.turn(A, Deadline(60), Politeness())
    await first.__aenter__()

    async def late() -> float:
        deadline = Deadline(1.0)
        with deadline.guarding("start"):
            async with places.turn(B, deadline, Politeness()):
                return deadline.left()

    waiting = asyncio.create_task(late())
    until = loop.time() + 1.2
    while loop.time() < until:  # noqa: ASYNC110  longer than its whole time
        await asyncio.sleep(0.01)
    await first.__aexit__()
    assert await waiting > 0


async def test_whoever_gives_up_waiting_for_a_place_leaves_the_host_to_others() -> None:
    places, hosts, _ = places_for(1)
    alone = Politeness(at_once=1)
    first = places.turn(A, Deadline(60), Politeness())
    await first.__aenter__()
    waiting = asyncio.create_task(places.turn(B, Deadline(60), alone).__aenter__())
    await turns_of_the_loop()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(30), hosts.turn(B, Deadline(60), alone):
        pass  # nobody is at that host
    await first.__aexit__()
    async with asyncio.timeout(30), places.turn(B, Deadline(60), alone):
        assert not places.has_room()


async def test_a_turn_that_is_over_gives_back_both_its_place_and_its_turn() -> None:
    places, _, _ = places_for(1)
    for _ in range(3):
        async with asyncio.timeout(30), places.turn(A, Deadline(60), Politeness(at_once=1)):
            pass


@pytest.mark.req("DB-09")
async def test_spacing_is_ours_or_what_a_host_asks_for_if_that_is_more() -> None:
    places, _, _ = places_for(4, Politeness(spacing_seconds=2.0))
    assert places.wait_seconds(A) == 0.0
    async with places.turn(A, Deadline(60), Politeness(spacing_seconds=2.0)):
        assert places.wait_seconds(A) == 2.0
    async with places.turn(B, Deadline(60), Politeness(spacing_seconds=7.0)):  # by its Crawl-delay
        assert (places.wait_seconds(B), places.wait_seconds(A)) == (7.0, 2.0)


@pytest.mark.req("DB-09")
async def test_a_crawl_delay_is_heeded_where_we_have_no_spacing_of_our_own() -> None:
    places, _, _ = places_for(4)
    for host in (A, B):
        async with places.turn(host, Deadline(60), Politeness()):
            assert places.wait_seconds(host) == 0.0
    async with places.turn("c.example", Deadline(60), Politeness(spacing_seconds=7.0)):
        assert [places.wait_seconds(host) for host in (A, B, "c.example")] == [0.0, 0.0, 7.0]


async def test_a_run_is_told_when_somebody_has_to_wait_and_only_then() -> None:
    """It calls another worker in then: the one that waits asks nobody meanwhile."""
    places, _, clock = places_for(4)
    told: list[float] = []
    spaced = Politeness(at_once=4, spacing_seconds=0.5)
    async with places.turn(A, Deadline(60), spaced):
        pass
    places.turn(A, Deadline(60), spaced)  # nobody wants to know yet
    places.when_waiting(lambda: told.append(clock.monotonic()))
    places.turn(B, Deadline(60), spaced)
    assert not told
    places.turn(A, Deadline(60), spaced)
    assert len(told) == 1
    clock.advance(0.5)
    places.turn(A, Deadline(60), spaced)
    assert len(told) == 1


@pytest.mark.req("FG-22")
async def test_what_a_host_said_is_known_to_all_and_apart_from_spacing() -> None:
    places, hosts, clock = places_for(4, Politeness(spacing_seconds=1.0, heeds_delays=True))
    assert (places.asked(A), places.asked_seconds(A)) == (None, 0.0)
    places.answered(A, 429, {"retry-after": "30"})
    assert (places.asked_seconds(A), places.asked_seconds(B)) == (30.0, 0.0)
    assert places.asked(A) == hosts.asked(A) is not None
    assert places.wait_seconds(A) == 0.0  # a run waits for what was asked by itself, and only so long
    heeding = Politeness(heeds_delays=True)
    await places.wait(A, Deadline(60), heeding)
    assert clock.slept == [30.0]
    places.answered(B, 503, {"retry-after": "3600"})
    with pytest.raises(SpanielError) as refused:
        await places.wait(B, Deadline(60), heeding)
    assert refused.value.code is Code.HTTP_5XX
    places.set_crawl_delay("slow.example", 9.0)
    async with places.turn("slow.example", Deadline(60), heeding):
        assert hosts.wait_seconds("slow.example", heeding) == 9.0
    assert not places.is_http_only(A)
    places.set_http_only(A)
    assert [places.is_http_only(host) for host in (A, B)] == [True, False]
    assert hosts.is_http_only(A)
