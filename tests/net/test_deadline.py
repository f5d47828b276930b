"""The one deadline of a fetch: what is left of it, and that nothing awaited under it outlives it."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline


@pytest.fixture
async def stopped(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The loop's clock, which says what this list's one number is."""
    now = [1000.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    return now


@pytest.mark.req("FR-WF-10a")
async def test_what_is_left_is_counted_from_the_beginning(stopped: list[float]) -> None:
    deadline = Deadline(20)
    assert (deadline.seconds, deadline.at, deadline.left()) == (20, 1020, 20)
    stopped[0] += 12.5
    assert deadline.left() == 7.5
    stopped[0] += 10
    assert deadline.left() == -2.5


@pytest.mark.req("FR-WF-10a", "D2-13")
@pytest.mark.parametrize(
    ("gone", "asked", "given"), [(0, 5, 5), (0, 20, 20), (0, 30, 20), (16, 5, 4), (20, 5, 0), (25, 5, 0)]
)
async def test_a_part_has_its_own_time_but_never_more_than_is_left(
    stopped: list[float], gone: float, asked: float, given: float
) -> None:
    deadline = Deadline(20)
    stopped[0] += gone
    part = deadline.within(asked)
    assert (part.seconds, part.left(), part.at) == (given, given, stopped[0] + given)
    assert deadline.at == 1020  # the whole is as long as before


@pytest.mark.req("FR-WF-10a", "FR-WF-18b")
async def test_who_misses_it_is_told_how_long_it_was_and_what_was_under_way() -> None:
    deadline = Deadline(1.5004)
    assert deadline.phase == "start"
    deadline.guarding("dns")
    missed = deadline.missed()
    assert missed.code is Code.TIMEOUT
    assert missed.details == {"timeout_ms": 1500, "phase": "dns"}


async def ended(deadline: Deadline, *phases: str) -> str:
    """The phase in which a wait without end is ended; if it is not, the test is."""

    async def inside(left: tuple[str, ...]) -> None:
        if not left:
            await asyncio.Event().wait()
        with deadline.guarding(left[0]):
            await inside(left[1:])

    async with asyncio.timeout(30):
        with pytest.raises(SpanielError) as caught:
            await inside(phases)
    assert caught.value.code is Code.TIMEOUT
    return str(caught.value.details["phase"])


@pytest.mark.req("FR-WF-10a")
async def test_whatever_is_awaited_under_it_ends_with_it() -> None:
    deadline = Deadline(0.02)
    assert await ended(deadline, "dns") == "dns"
    assert await ended(deadline, "body") == "body"  # and the next is not let off because one was ended
    assert await ended(Deadline(0.02), "start", "connect", "headers") == "headers"


async def test_deadline_guards_successive_blocks() -> None:
    deadline = Deadline(0.05)
    for phase in ("dns", "connect"):
        with deadline.guarding(phase):
            with deadline.guarding("inside"):
                pass
            assert deadline.guarded is asyncio.current_task()  # the outer one still watches
        assert deadline.guarded is None
    assert await ended(deadline, "body") == "body"


async def test_what_goes_wrong_by_itself_stays_what_it_is() -> None:
    deadline = Deadline(60)
    for error in (ValueError("x"), TimeoutError("another's"), SpanielError(Code.NETWORK, error="x")):
        with pytest.raises(type(error)) as caught, deadline.guarding("headers"):
            raise error
        assert caught.value is error
        assert deadline.guarded is None


@pytest.mark.req("FR-WF-10a")
async def test_a_task_that_works_for_the_fetch_is_ended_too() -> None:
    """The one that entered first is watched by its own timeout, another one by another."""
    deadline = Deadline(0.05)

    async def work() -> None:
        with deadline.guarding("start"):
            helpers.append(asyncio.create_task(ended(deadline, "helper")))
            await asyncio.Event().wait()

    helpers: list[asyncio.Task[str]] = []
    async with asyncio.timeout(30):
        with pytest.raises(SpanielError) as caught:
            await work()
    assert caught.value.code is Code.TIMEOUT
    assert await helpers[0] == "helper"


async def test_what_comes_renews_it_but_not_for_ever(stopped: list[float]) -> None:
    deadline = Deadline(20)
    stopped[0] += 15
    deadline.renew(20, latest=1040)
    assert deadline.at == 1035
    stopped[0] += 15
    deadline.renew(20, latest=1040)
    assert deadline.at == 1040


async def test_a_renewed_one_stops_who_waits_at_its_new_moment() -> None:
    deadline = Deadline(3600)

    async def wait() -> None:
        with deadline.guarding("body"):
            deadline.renew(0.01, latest=deadline.at)
            await asyncio.Event().wait()

    with pytest.raises(SpanielError) as caught:
        await wait()
    assert caught.value.code is Code.TIMEOUT


async def test_of_many_each_is_stopped_at_its_own_moment() -> None:
    """One timer serves them all: also the one that came last and ends first, and those after one that was met."""
    ends: list[str] = []

    async def wait(name: str, seconds: float, needed: float = 60) -> None:
        deadline = Deadline(seconds)
        try:
            with deadline.guarding(name):
                await asyncio.sleep(needed)
            ends.append(f"{name} was met")
        except SpanielError as error:
            assert deadline.left() <= 0
            ends.append(f"{name} ended as {error.code}")

    async with asyncio.timeout(30):
        await asyncio.gather(wait("long", 0.3), wait("short", 0.2), wait("met", 0.1, 0), wait("last", 0.01))
    assert ends == ["met was met", "last ended as timeout", "short ended as timeout", "long ended as timeout"]


async def test_who_is_stopped_by_somebody_else_has_not_missed_it() -> None:
    inside = asyncio.Event()

    async def wait() -> None:
        with Deadline(60).guarding("body"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_stopped_by_both_has_not_missed_it_either() -> None:
    """As with `asyncio.timeout`: another cancellation must not be swallowed."""

    async def wait() -> None:
        with Deadline(0).guarding("body"):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                task.cancel()
                raise

    task = asyncio.create_task(wait())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_after_it_has_stopped_a_task_that_one_goes_on() -> None:
    with pytest.raises(SpanielError), Deadline(0).guarding("body"):
        await asyncio.Event().wait()
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


def test_each_event_loop_has_a_timer_of_its_own() -> None:
    async def miss() -> str:
        return await ended(Deadline(0.01), "body")

    assert [asyncio.run(miss()) for _ in range(2)] == ["body", "body"]
