"""Turns at hosts, by a clock that a test moves."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.batch.turns import MOST_KNOWN, Turns
from spaniel.errors import SpanielError
from spaniel.hosts.rules import Rule, Rules, read_rules


class Time:
    """A clock and its timers."""

    def __init__(self) -> None:
        self.now = 100.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._set = 0

    def clock(self) -> float:
        return self.now

    def later(self, at: float, do: Callable[[], None]) -> None:
        self._set += 1
        heapq.heappush(self._timers, (at, self._set, do))

    def advance(self, seconds: float) -> None:
        until = self.now + seconds
        while self._timers and self._timers[0][0] <= until:
            at, _, do = heapq.heappop(self._timers)
            self.now = max(self.now, at)
            do()
        self.now = until


def turns_of(rule: Rule) -> tuple[Turns, Time]:
    time = Time()
    return Turns(Rules(rule), time.clock, time.later), time


@given(
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.3, 1.0, 2.5])), max_size=40),
)
def test_never_more_at_once_than_may_be_and_never_without_the_pause(
    per_host: int, delay: float, steps: list[tuple[bool, float]]
) -> None:
    turns, time = turns_of(Rule(per_host, delay))
    there: list[float] = []
    began: list[float] = []
    left: list[float] = []
    asked = 0

    def come() -> None:
        there.append(time.now)
        began.append(time.now)

    for asks, seconds in steps:
        if asks:
            asked += 1
            turns.ask("a.example", come)
        elif there:
            there.pop(0)
            left.append(time.now)
            turns.leave("a.example")
        assert len(there) <= per_host
        time.advance(seconds)
    for _ in range(asked):
        time.advance(delay)
        if there:
            there.pop(0)
            left.append(time.now)
            turns.leave("a.example")
    assert len(began) == asked  # nobody was forgotten
    for number in range(per_host, len(began)):  # whoever comes after all places were taken comes after a pause
        assert began[number] >= sorted(left)[number - per_host] + delay - 1e-9


def test_turns_are_granted_in_the_order_in_which_they_were_asked_for() -> None:
    turns, time = turns_of(Rule(1, 1.0))
    granted: list[tuple[str, float]] = []
    for name in "abc":
        turns.ask("a.example", lambda name=name: granted.append((name, time.now)))  # type: ignore[misc]
    for _ in range(3):
        time.advance(5)
        turns.leave("a.example")
    assert granted == [("a", 100.0), ("b", 106.0), ("c", 111.0)]


def test_hosts_do_not_wait_for_one_another() -> None:
    turns, _ = turns_of(Rule(1, 1.0))
    granted: list[str] = []
    for host in ("a.example", "b.example"):
        turns.ask(host, lambda host=host: granted.append(host))  # type: ignore[misc]
    assert granted == ["a.example", "b.example"]


def test_retry_after_is_waited_for_and_without_it_the_pause_doubles() -> None:
    turns, time = turns_of(Rule(1, 0.0))
    turns.asked_for_time("a.example", 429, 30.0)
    assert turns.ready_at("a.example") == time.now + 30
    assert turns.reason("a.example") == "answered 429"
    turns.asked_for_time("b.example", 503, None)
    assert turns.ready_at("b.example") == time.now + 5
    time.advance(5)
    turns.asked_for_time("b.example", 503, None)
    assert turns.ready_at("b.example") == time.now + 10
    turns.answered("b.example")
    time.advance(10)
    turns.asked_for_time("b.example", 503, None)
    assert turns.ready_at("b.example") == time.now + 5  # an answer in between: it begins anew


def test_answers_of_requests_that_were_under_way_together_count_once() -> None:
    turns, time = turns_of(Rule(4, 0.0))
    assert [turns.asked_for_time("a.example", 429, 9.0) for _ in range(4)] == [1] * 4
    time.advance(9)
    assert turns.asked_for_time("a.example", 429, 9.0, led=True) == 1  # another site led there
    time.advance(9)
    assert turns.asked_for_time("a.example", 429, 9.0) == 2


def test_a_crawl_delay_is_for_one_visitor_alone() -> None:
    turns, time = turns_of(Rule(4, 0.0))
    turns.set_crawl_delay("a.example", 10.0)
    granted: list[float] = []
    for _ in range(3):
        turns.ask("a.example", lambda: granted.append(time.now))
    assert turns.places("a.example") == 1
    assert granted == [100.0]
    turns.leave("a.example")
    time.advance(9)
    assert granted == [100.0]
    time.advance(1)
    assert granted == [100.0, 110.0]


def test_who_withdraws_is_not_called() -> None:
    turns, time = turns_of(Rule(1, 1.0))
    granted: list[str] = []

    def other() -> None:
        granted.append("other")

    turns.ask("a.example", lambda: granted.append("first"))
    turns.ask("a.example", other)
    assert turns.withdraw("a.example", other)
    assert not turns.withdraw("a.example", other)
    turns.leave("a.example")
    time.advance(5)
    assert granted == ["first"]


def test_hosts_that_were_left_long_ago_are_forgotten() -> None:
    turns, time = turns_of(Rule(1, 1.0))
    for number in range(MOST_KNOWN + 100):
        turns.ask(f"site{number}.example", lambda: None)
        turns.leave(f"site{number}.example")
        time.advance(0.01)
    assert len(turns._hosts) <= MOST_KNOWN


def test_the_longest_domain_of_the_file_rules() -> None:
    politeness = Rules(Rule(), {"example.com": Rule(2, 3.0), "api.example.com": Rule(8, 0.0)})
    assert politeness.of("www.example.com") == Rule(2, 3.0)
    assert politeness.of("v1.api.example.com") == Rule(8, 0.0)
    assert politeness.of("notexample.com") == Rule()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('["a.example"]\ndelay = -1\n', "delay"),
        ('["a.example"]\nper_host = 0\n', "per_host"),
        ('["a.example"]\nper_host = true\n', "per_host"),
        ('["a.example"]\nspeed = 3\n', "speed"),
        ("delay = 3\n", "table"),
        ("not toml", "TOML"),
    ],
)
def test_a_wrong_hosts_file_is_refused_with_the_reason(
    tmp_path_factory: pytest.TempPathFactory, text: str, told: str
) -> None:
    path = tmp_path_factory.mktemp("hosts") / "hosts.toml"
    path.write_text(text)
    with pytest.raises(SpanielError, match=told):
        read_rules(Rule(), str(path))
