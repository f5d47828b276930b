"""What a host asked for: how it is reported, how long it holds, when it is over."""

from __future__ import annotations

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.hosts import AskedToWait, Hosts, Politeness
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock

HOST = "site.example"
WEEK = 7 * 86_400
RESPECTFUL = Politeness(respect_delays=True, longest_wait=30.0)


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (429, Code.HTTP_4XX, "Too Many Requests"),
        (503, Code.HTTP_5XX, "Service Unavailable"),
        (500, Code.HTTP_5XX, ""),  # of another version's memory
    ],
)
def test_a_refusal_says_what_the_host_said_and_when_it_may_be_asked(status: int, code: Code, text: str) -> None:
    refusal = AskedToWait(status, 1.2).refusal()
    assert refusal.code is code
    assert refusal.details == {
        "status": status,
        "status_text": text,
        "retry_after": "2",
        "reason": "the host asked to be left alone; it was not asked again",
    }


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(("seconds", "waits"), [("30", True), ("31", False)])
async def test_a_wish_is_waited_for_up_to_a_length_and_refused_beyond(seconds: str, waits: bool) -> None:
    clock = FakeClock()
    hosts, deadline = Hosts(clock), Deadline(60)
    hosts.answered(HOST, 503, {"retry-after": seconds})
    if waits:
        await hosts.wait(HOST, deadline, RESPECTFUL)
        assert (clock.slept, deadline.phase) == ([30.0], "queue")
        assert hosts.asked(HOST) is None
        await hosts.wait(HOST, deadline, RESPECTFUL)
        assert clock.slept == [30.0]
    else:
        with pytest.raises(SpanielError) as refused:
            await hosts.wait(HOST, deadline, RESPECTFUL)
        assert (refused.value.code, clock.slept) == (Code.HTTP_5XX, [])


async def test_no_wait_is_longer_than_the_deadline() -> None:
    clock = FakeClock()
    hosts = Hosts(clock)
    hosts.answered(HOST, 429, {"retry-after": "20"})
    with pytest.raises(SpanielError):
        await hosts.wait(HOST, Deadline(10), RESPECTFUL)
    await hosts.wait(HOST, Deadline(10), Politeness())  # which does not respect delays
    await hosts.wait("other.example", Deadline(10), RESPECTFUL)
    assert clock.slept == []


@pytest.mark.req("FG-22")
async def test_a_wish_is_over_when_its_time_is() -> None:
    clock = FakeClock()
    hosts = Hosts(clock)
    assert hosts.asked(HOST) is None
    hosts.answered(HOST, 429, {"retry-after": "20"})
    clock.advance(15)
    assert hosts.asked(HOST) == AskedToWait(429, 5.0)
    hosts.answered(HOST, 503, {"retry-after": "5"})  # no longer than what is left
    assert hosts.asked(HOST) == AskedToWait(429, 5.0)
    hosts.answered(HOST, 503, {"retry-after": "6"})
    assert hosts.asked(HOST) == AskedToWait(503, 6.0)
    clock.advance(6)
    assert hosts.asked(HOST) is None


def test_https_is_tried_again_after_a_week() -> None:
    clock = FakeClock()
    hosts = Hosts(clock)
    hosts.set_http_only(HOST)
    clock.advance(WEEK - 1)
    assert hosts.is_http_only(HOST)
    clock.advance(1)
    assert not hosts.is_http_only(HOST)


def test_default_politeness() -> None:
    assert Politeness() == Politeness(16, 0.0, respect_delays=False, longest_wait=60.0, waits_count=True)
