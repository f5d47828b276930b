"""Slots: a limited number, first come, first served, and none lost by cancellation."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.slots import Slots


def has_room(slots: Slots) -> bool:
    if slots.take():
        slots.release()
        return True
    return False


async def test_there_are_so_many_and_no_more() -> None:
    slots = Slots(2)
    assert slots.take()
    assert has_room(slots)
    assert slots.take()
    assert not has_room(slots)
    assert not slots.take()
    slots.release()
    assert has_room(slots)
    assert slots.take()


async def test_whoever_waited_longest_is_next_and_nobody_comes_between() -> None:
    slots, order = Slots(1), list[int]()
    assert slots.take()

    async def wait(number: int) -> None:
        await slots.wait()
        order.append(number)

    waiting = [asyncio.create_task(wait(number)) for number in range(3)]
    await asyncio.sleep(0)
    slots.release()
    assert not slots.take(), "it is the first one's, who has not run yet"
    for _ in range(3):
        await asyncio.sleep(0)
        slots.release()
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2]
    assert slots.take()
    assert not has_room(slots), "there is one, however often it went round"


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "as its turn comes"])
async def test_whoever_is_stopped_keeps_nothing(late: bool) -> None:
    slots = Slots(1)
    assert slots.take()
    waiting = asyncio.create_task(slots.wait())
    behind = asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    if late:
        slots.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if not late:
        slots.release()
    await asyncio.wait_for(behind, 10)
    slots.release()
    assert slots.take(), "it is free"
    assert not has_room(slots)


async def test_cancelled_waiter_that_is_skipped_is_only_cancelled() -> None:
    slots = Slots(1)
    assert slots.take()
    waiting = asyncio.create_task(slots.wait())
    behind = asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    slots.release()  # before the one that was stopped has run again
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.wait_for(behind, 10)


async def test_dropped_waiter_releases_nothing_and_blocks_no_one() -> None:
    """A coroutine without references is closed, not cancelled."""
    slots = Slots(1)
    assert slots.take()
    ahead = asyncio.create_task(slots.wait())
    await asyncio.sleep(0)
    gone = slots.wait()
    gone.send(None)
    gone.close()
    await asyncio.sleep(0)
    assert not ahead.done(), "a cancelled waiter had no slot to release"
    slots.release()
    await asyncio.wait_for(ahead, 10)
    slots.release()
    assert slots.take(), "it is not handed to who is gone"


async def test_whoever_comes_when_one_is_free_does_not_wait() -> None:
    slots = Slots(1)
    waiting = slots.wait()
    with pytest.raises(StopIteration):
        waiting.send(None)
    assert not has_room(slots)
