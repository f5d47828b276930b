"""One flight for all who want the same thing at the same time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from spaniel.errors import SpanielError
from spaniel.pipeline.request import Trace
from spaniel.pipeline.services import Flights


@pytest.mark.req("NFR-WF-REL-02")
async def test_caller_does_not_join_a_flight_that_is_ending() -> None:
    flights: Flights[str] = Flights()
    begun = 0

    async def work(_: Trace) -> str:
        nonlocal begun
        begun += 1
        try:
            await asyncio.sleep(0.05)
        finally:
            await asyncio.sleep(0.05)  # as connections are closed
        return "here"

    first = asyncio.create_task(flights.join("key", work))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0)
    assert await flights.join("key", work) == "here"
    assert begun == 2
    with contextlib.suppress(asyncio.CancelledError):
        await first
    assert first.cancelled()


async def test_closing_ends_what_is_under_way_with_an_error_that_says_so() -> None:
    flights: Flights[None] = Flights()
    waiting = [asyncio.create_task(flights.join("key", lambda _: asyncio.sleep(30))) for _ in range(3)]
    await asyncio.sleep(0.01)
    await flights.close()
    for fields in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(fields, SpanielError)
        assert "closed" in fields.message


async def test_whoever_joins_sees_every_step_and_nobody_sees_one_twice() -> None:
    flights: Flights[str] = Flights()
    midway, go_on = asyncio.Event(), asyncio.Event()

    async def work(trace: Trace) -> str:
        with trace.step("first"):
            pass
        midway.set()
        await go_on.wait()
        with trace.step("second"):
            pass
        return "here"

    early, late, gone = Trace(), Trace(), Trace()
    first = asyncio.create_task(flights.join("key", work, early))
    await midway.wait()
    second = asyncio.create_task(flights.join("key", work, late))
    third = asyncio.create_task(flights.join("key", work, gone))
    await asyncio.sleep(0)
    third.cancel()
    await asyncio.wait([third])
    go_on.set()
    assert list(await asyncio.gather(first, second)) == ["here", "here"]
    for trace in (early, late):
        assert [step.name for step in trace.steps] == ["first", "second"]
    assert [step.name for step in gone.steps] == ["first"]
