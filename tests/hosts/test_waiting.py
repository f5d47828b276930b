"""Whether a wait at a host counts against the deadline, by politeness."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.errors import SpanielError
from spaniel.hosts import Hosts, Politeness
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock

HOST = "site.test"
LONG, SHORT = 1.5, 0.5  # seconds: of a wait, and of a deadline


async def visit_after_another(politeness: Politeness) -> str:
    """Wait for a place for longer than the deadline is."""
    hosts, taken = Hosts(FakeClock()), asyncio.Event()

    async def stay() -> None:
        async with hosts.turn(HOST, Deadline(60), politeness):
            taken.set()
            await asyncio.sleep(LONG)

    staying = asyncio.create_task(stay())
    await taken.wait()
    deadline = Deadline(SHORT)
    try:
        with deadline.guarding("start"):
            async with hosts.turn(HOST, deadline, politeness):
                return "came in"
    except SpanielError as error:
        return str(error.code)
    finally:
        await staying


@pytest.mark.parametrize(("counts", "end"), [(True, "timeout"), (False, "came in")])
async def test_a_wait_for_a_place_counts_or_does_not(counts: bool, end: str) -> None:
    assert await visit_after_another(Politeness(at_once=1, waits_count=counts)) == end


class SlowClock(FakeClock):
    """Waiting for it does take time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(LONG)
        await super().sleep(seconds)


@pytest.mark.parametrize(("counts", "end"), [(True, "timeout"), (False, "came in")])
async def test_a_wait_for_its_time_counts_or_does_not(counts: bool, end: str) -> None:
    hosts, politeness = Hosts(SlowClock()), Politeness(delay_seconds=5, waits_count=counts)
    async with hosts.turn(HOST, Deadline(60), politeness):
        pass
    deadline, ended = Deadline(SHORT), "came in"
    try:
        with deadline.guarding("start"):
            async with hosts.turn(HOST, deadline, politeness):
                pass
    except SpanielError as error:
        ended = str(error.code)
    assert ended == end
