"""Hosts by the rules and limits of a run: pauses after each answer, giving up, hosts that another worker owns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts
from spaniel.hosts import hosts as module
from spaniel.hosts.limits import GIVEN_UP, HostLimits
from spaniel.hosts.memory import Memory
from spaniel.hosts.rules import HostRule, HostRules, read_rules
from spaniel.net.deadline import Deadline
from spaniel.testing import FakeClock
from tests.hosts.virtual import VirtualClock, wait_of

HOST = "a.example"
ORIGIN = f"https://{HOST}"
BROKEN = SpanielError(Code.NETWORK, host=HOST, error="reset")


def hosts_of(
    rule: HostRule, limits: HostLimits | None = None, clock: FakeClock | None = None
) -> tuple[Hosts, FakeClock]:
    clock = clock or FakeClock()
    return Hosts(clock, rules=HostRules(rule), limits=limits or HostLimits()), clock


@given(
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0, 2.5]), st.sampled_from([0.0, 0.1, 3.0])), max_size=25),
)
def test_never_more_at_once_and_never_without_the_pause(
    per_host: int, delay: float, requests: list[tuple[float, float]]
) -> None:
    clock = VirtualClock()
    spans: list[tuple[float, float]] = []
    here = most = 0

    async def request(hosts: Hosts, at: float, takes: float) -> None:
        nonlocal here, most
        await clock.sleep(at)
        async with hosts.turn(HOST, Deadline(1e9)):
            here += 1
            most = max(most, here)
            began = clock.passed
            await clock.sleep(takes)
            here -= 1
            spans.append((began, clock.passed))

    async def all_of_them() -> None:
        hosts, _ = hosts_of(HostRule(per_host, delay), clock=clock)
        at, waits = 0.0, list[Awaitable[None]]()
        for pause, takes in requests:
            at += pause
            waits.append(request(hosts, at, takes))
        await clock.drive(asyncio.gather(*waits))

    asyncio.run(all_of_them())
    assert len(spans) == len(requests)  # none was forgotten
    assert most <= per_host
    began, ended = sorted(span[0] for span in spans), sorted(span[1] for span in spans)
    for number in range(per_host, len(spans)):  # a request that found all places taken begins after a pause
        assert began[number] >= ended[number - per_host] + delay - 1e-9


async def test_turns_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    clock, order = VirtualClock(), list[int]()
    hosts, _ = hosts_of(HostRule(1, 1.0), clock=clock)

    async def request(number: int) -> None:
        async with hosts.turn(HOST, Deadline(1e9)):
            order.append(number)
            await clock.sleep(0.1)

    await clock.drive(asyncio.gather(*(request(number) for number in range(8))))
    assert order == list(range(8))


@pytest.mark.req("FG-22")
def test_retry_after_is_waited_for_and_without_it_the_pause_doubles() -> None:
    hosts, clock = hosts_of(HostRule(1, 0.0))
    hosts.answered(ORIGIN, 429, {"retry-after": "30"})
    assert wait_of(hosts, ORIGIN) == 30.0
    assert hosts.reason(HOST) == "answered 429"
    other = "https://b.example"
    for pause in (5.0, 10.0, 20.0):
        hosts.answered(other, 503, {})
        assert wait_of(hosts, other) == pause
        assert hosts.reason("b.example") == "answered 503"
        clock.advance(pause)
    hosts.answered(other, 200, {})
    hosts.answered(other, 503, {})
    assert wait_of(hosts, other) == 5.0  # an answer in between: it begins anew


@pytest.mark.req("FG-22")
def test_what_one_port_asked_for_is_not_waited_for_at_another() -> None:
    hosts, _ = hosts_of(HostRule(1, 0.0))
    hosts.answered(f"{ORIGIN}:8443", 429, {"retry-after": "30"})
    assert [wait_of(hosts, where) for where in (f"{ORIGIN}:8443", ORIGIN, HOST)] == [30.0, 0.0, 30.0]


@pytest.mark.req("FG-46")
@pytest.mark.parametrize(("seconds", "given_up"), [("600", False), ("601", True)])
def test_host_that_asks_for_too_long_a_wait_is_given_up(seconds: str, given_up: bool) -> None:
    hosts, _ = hosts_of(HostRule())
    seen: list[str] = []
    hosts.on_give_up(lambda host, _: seen.append(host))
    hosts.answered(ORIGIN, 429, {"retry-after": seconds})
    error = hosts.given_up(HOST)
    assert (error is not None, seen) == (given_up, [HOST] if given_up else [])
    if error is not None:
        assert (error.details["cause"], error.details["retry_after"]) == (GIVEN_UP, "601")


@pytest.mark.req("FG-46")
def test_host_that_only_asks_for_time_is_given_up_and_requests_under_way_together_count_once() -> None:
    hosts, clock = hosts_of(HostRule(4, 0.0))
    for _ in range(6):
        for _ in range(4):
            hosts.answered(ORIGIN, 429, {"retry-after": "9"})
        hosts.answered(ORIGIN, 429, {"retry-after": "9"}, led=True)
        clock.advance(9)
    assert hosts.given_up(HOST) is None
    hosts.answered(ORIGIN, 429, {"retry-after": "9"})
    assert hosts.given_up(HOST) is not None


@pytest.mark.req("FG-46")
def test_another_sites_redirect_closes_a_host_for_no_others() -> None:
    hosts, clock = hosts_of(HostRule(1, 0.0))
    hosts.answered(ORIGIN, 429, {"retry-after": "86400"}, led=True)
    assert wait_of(hosts, ORIGIN) == 300.0
    for _ in range(20):
        hosts.unanswered(ORIGIN, BROKEN, led=True)
        clock.advance(60)
    assert hosts.given_up(HOST) is None
    assert hosts.given_up(HOST, led=True) is not None


@pytest.mark.req("FG-46")
def test_host_that_cannot_be_reached_is_paused_and_then_given_up() -> None:
    hosts, clock = hosts_of(HostRule(1, 0.0), HostLimits(failures=3, pause=30.0))
    for _ in range(2):
        hosts.unanswered(ORIGIN, BROKEN)
    hosts.answered(ORIGIN, 404, {})  # an answer: it begins anew
    for _ in range(3):
        hosts.unanswered(ORIGIN, BROKEN)
    assert (wait_of(hosts, ORIGIN), hosts.reason(HOST)) == (30.0, "not reached")
    hosts.unanswered(ORIGIN, BROKEN)  # it began before the pause
    assert hosts.given_up(HOST) is None
    clock.advance(30)
    hosts.unanswered(ORIGIN, BROKEN)
    error = hosts.given_up(HOST)
    assert error is not None
    assert "4 times in a row" in str(error.details["error"])


@pytest.mark.req("FG-46")
async def test_crawl_delay_means_one_at_a_time_or_giving_up() -> None:
    clock = VirtualClock()
    hosts, _ = hosts_of(HostRule(4, 0.0), clock=clock)
    hosts.set_crawl_delay(HOST, 10.0)
    began: list[float] = []

    async def request() -> None:
        async with hosts.turn(HOST, Deadline(1e9)):
            began.append(clock.passed)
            await clock.sleep(1.0)

    assert (hosts.places(HOST), hosts.places("b.example"), hosts.crawl_delay(HOST)) == (1, 4, 10.0)
    await clock.drive(asyncio.gather(*(request() for _ in range(3))))
    assert began == [0.0, 11.0, 22.0]
    assert hosts.reason(HOST) == "Crawl-delay 10 s"
    hosts.set_crawl_delay(HOST, 121.0)
    with pytest.raises(SpanielError, match="Crawl-delay of 121 s"):
        async with hosts.turn(HOST, Deadline(60)):
            pass


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("how", ["given up", "closed"])
async def test_requests_that_wait_are_refused_when_their_host_is_given_up(how: str) -> None:
    clock = VirtualClock()
    hosts, _ = hosts_of(HostRule(1, 1000.0), clock=clock)
    why = SpanielError(Code.TIMEOUT, reason="enough")

    async def request(*, led: bool = False) -> str:
        try:
            async with hosts.turn(HOST, Deadline(1e9), led=led):
                return "came in"
        except SpanielError as error:
            return str(error.details["reason"])

    async def give_up() -> None:
        await clock.sleep(5.0)
        if how == "closed":
            hosts.close(why)
        else:
            hosts.give_up(HOST, why)
            hosts.give_up(HOST, SpanielError(Code.TIMEOUT, reason="the first reason stays"))

    ended = await clock.drive(asyncio.gather(request(), request(), request(led=True), request(), give_up()))
    led = "enough" if how == "closed" else "came in"
    assert list(ended[:4]) == ["came in", "enough", led, "enough"]
    assert await request() == "enough"
    assert not any(known.busy or known.waiting for known in hosts._hosts.values())


class Owner:
    """Another worker, which owns all hosts but one."""

    def __init__(self) -> None:
        self.said: list[tuple[object, ...]] = []
        self.refusal: SpanielError | None = None

    def owns(self, host: str) -> bool:
        return host == "mine.example"

    async def take(self, host: str, *, led: bool) -> None:
        self.said.append(("take", host, led))
        if self.refusal is not None:
            raise self.refusal

    def release(self, host: str, *, answered: bool) -> None:
        self.said.append(("release", host, answered))

    def report(self, kind: str, host: str, *values: object) -> None:
        self.said.append((kind, host, *values))


async def test_host_of_another_worker_is_asked_with_a_turn_of_its_owner() -> None:
    owner, clock = Owner(), FakeClock()
    hosts = Hosts(clock, rules=HostRules(), limits=HostLimits(), foreign=owner)
    async with hosts.turn("https://mine.example", Deadline(60)):
        assert owner.said == []
    turn = hosts.turn(ORIGIN, Deadline(60), led=True)
    async with turn:
        await turn.again()
    with pytest.raises(ZeroDivisionError):
        async with hosts.turn(ORIGIN, Deadline(60)):
            raise ZeroDivisionError
    assert owner.said == [
        *(("take", HOST, True), ("release", HOST, True), ("take", HOST, True), ("release", HOST, True)),
        *(("take", HOST, False), ("release", HOST, False)),
    ]
    owner.said.clear()
    owner.refusal = SpanielError(Code.TIMEOUT, reason="given up there")
    with pytest.raises(SpanielError, match="given up there"):
        async with hosts.turn(ORIGIN, Deadline(60)):
            pass
    assert owner.said == [("take", HOST, False)]


def test_what_is_learnt_of_another_workers_host_goes_to_its_owner() -> None:
    owner, clock = Owner(), FakeClock()
    hosts = Hosts(clock, rules=HostRules(), limits=HostLimits(), foreign=owner)
    hosts.answered(ORIGIN, 429, {"retry-after": "20"}, led=True)
    hosts.unanswered(ORIGIN, BROKEN, led=True)
    hosts.set_crawl_delay(HOST, 3.0)
    hosts.answered("https://mine.example", 503, {})
    assert owner.said == [
        ("asked_to_wait", HOST, ORIGIN, 429, 20.0),
        ("unanswered", HOST, ORIGIN, "network"),
        ("set_crawl_delay", HOST, HOST, 3.0),
    ]
    asked = hosts.asked(ORIGIN)
    assert asked is not None
    assert asked.seconds == 20.0  # the fetch that heard it knows


def test_hosts_that_were_left_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KNOWN", 50)
    hosts, clock = hosts_of(HostRule(), HostLimits(retry_after=5.0))
    for number in range(300):
        hosts.answered(f"https://{number}.example", 429, {"retry-after": "6"})
        clock.advance(1.0)
    assert len(hosts._hosts) <= 50
    assert len(hosts._given_up) <= 50


def test_the_longest_domain_of_the_file_decides() -> None:
    rules = HostRules(HostRule(), {"example.com": HostRule(2, 3.0), "api.example.com": HostRule(8, 0.0)})
    assert rules.of("www.example.com") == HostRule(2, 3.0)
    assert rules.of("v1.api.example.com") == HostRule(8, 0.0)
    assert rules.of("notexample.com") == HostRule()
    hosts = Hosts(FakeClock(), rules=rules)
    assert [hosts.places(host) for host in ("www.example.com", "api.example.com")] == [2, 8]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('["a.example"]\ndelay = -1\n', "delay"),
        ('["a.example"]\nper_host = 0\n', "per_host"),
        ('["a.example"]\nper_host = true\n', "per_host"),
        ('["a.example"]\nspeed = 3\n', "speed"),
        ('["http://a.example/"]\ndelay = 3\n', "example.com"),
        ("delay = 3\n", "table"),
        ("not toml", "TOML"),
    ],
)
def test_wrong_hosts_file_is_refused_with_the_reason(
    tmp_path_factory: pytest.TempPathFactory, text: str, reason: str
) -> None:
    path = tmp_path_factory.mktemp("hosts") / "hosts.toml"
    path.write_text(text)
    with pytest.raises(SpanielError, match=reason):
        read_rules(HostRule(), str(path))


def test_unknown_host_has_its_places_and_no_reason_to_wait() -> None:
    hosts, _ = hosts_of(HostRule(3, 0.0))
    assert (hosts.places("new.example"), hosts.reason("new.example")) == (3, "")
    without_rules = Hosts(FakeClock())
    wanted = module.Politeness(at_once=5, respect_delays=True)
    assert without_rules.places("new.example", wanted) == 5
    assert without_rules.places("new.example", wanted._replace(respect_delays=False)) == 5
    without_rules.set_crawl_delay("new.example", 2.0)
    assert without_rules.places("new.example", wanted) == 1


def test_waits_of_a_hosts_many_origins_are_bounded_and_the_longest_stay() -> None:
    hosts, _ = hosts_of(HostRule(1, 0.0))
    for port in range(1, module.MOST_ORIGINS + 2):
        hosts.answered(f"https://{HOST}:{port}", 429, {"retry-after": str(100 + port)})
    hosts.answered(f"https://{HOST}:9", 429, {"retry-after": "1"})  # less than it has asked for
    waits = [hosts.asked(f"https://{HOST}:{port}") for port in range(1, module.MOST_ORIGINS + 2)]
    assert waits[0] is None
    assert [round(asked.seconds) for asked in waits if asked] == [
        100 + port for port in range(2, module.MOST_ORIGINS + 2)
    ]


async def test_host_of_another_worker_that_was_given_up_is_not_asked() -> None:
    class Owner:
        def owns(self, host: str) -> bool:
            return host != HOST

        async def take(self, host: str, *, led: bool) -> None:
            raise AssertionError(f"{host} was asked for, {led}")

        def release(self, host: str, *, answered: bool) -> None:
            raise AssertionError(f"{host} was released, {answered}")

        def report(self, kind: str, host: str, *values: object) -> None:
            raise AssertionError(f"{kind} {host} {values}")

    hosts = Hosts(FakeClock(), rules=HostRules(HostRule(1, 0.0)), limits=HostLimits(), foreign=Owner())
    hosts.give_up(HOST, BROKEN)
    with pytest.raises(SpanielError) as caught:
        async with hosts.turn(ORIGIN, Deadline(5)):
            pass
    assert caught.value is BROKEN


async def test_earlier_moment_replaces_a_later_one() -> None:
    """Two waiters at one host: for what one port asked for, and then for another port that asked for less."""
    clock = VirtualClock()
    hosts = Hosts(clock, rules=HostRules(HostRule(2, 0.0)), limits=HostLimits())
    hosts.answered(f"{ORIGIN}:1", 429, {"retry-after": "300"})
    hosts.answered(f"{ORIGIN}:2", 429, {"retry-after": "20"})
    ended: dict[int, float] = {}

    async def request(port: int) -> None:
        async with hosts.turn(f"{ORIGIN}:{port}", Deadline(1e9)):
            ended[port] = clock.passed

    await clock.drive(asyncio.gather(request(1), request(2)))
    assert ended[1] >= 300
    assert ended[2] >= 20


def test_memory_that_cannot_be_read_is_as_if_nothing_were_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory(str(tmp_path))

    def fails(_: object, __: float) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Memory, "entries", fails)
    assert memory.snapshot(0.0) == {}
    assert caplog.records
    memory.close()


async def test_wait_of_a_single_fetch_leaves_its_place_to_others() -> None:
    clock = VirtualClock()
    hosts = Hosts(clock)
    wanted = module.Politeness(respect_delays=True, longest_wait=100.0)
    hosts.answered(ORIGIN, 503, {"retry-after": "30"})
    calls: list[str] = []

    class Place:
        def may_move(self, host: str, seconds: float) -> bool:
            raise AssertionError(f"{host} {seconds}")

        def leave(self) -> None:
            calls.append("leave")

        async def come_back(self) -> None:
            calls.append("come back")

        def take_back(self) -> None:
            calls.append("take back")

    token = module.current_place.set(Place())
    try:
        await clock.drive(hosts.wait(ORIGIN, Deadline(1e9), wanted))
    finally:
        module.current_place.reset(token)
    assert calls == ["leave", "take back"]
    assert clock.passed >= 30
