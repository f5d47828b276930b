"""What the gate keeps, for how long and how much of it; and what it does beside the event loop."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Iterable
from math import inf
from threading import get_ident

import pytest

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard
from spaniel.net.http import Http
from spaniel.robots import gate as gate_module
from spaniel.robots import rules as rules_module
from spaniel.robots.gate import MAX_BYTES, RobotsGate, RobotsPermission, RobotsSettings, _CachedFile, _weight
from spaniel.robots.rules import LIMIT, Line, RobotsDecision, RobotsFile, RuleIndex
from spaniel.robots.rules import parse as parse_robots
from spaniel.testing import FakeClock, FakeResolver, Reply, Site, redirect, text
from spaniel.url import parse
from tests.loopback import Services, rooms_for
from tests.robots.test_gate import NO_SECRETS, Watched

OURS = "forge-webfetch/1.0"


class Asking:
    """A gate, a site with many names, and how often the site's robots.txt was asked for."""

    def __init__(self, gate: RobotsGate, services: Services, site: Site) -> None:
        self.gate, self._services, self._site = gate, services, site

    async def __call__(self, host: str, path: str = "/a") -> RobotsPermission:
        url = parse(self._site.url(path, host=host))
        return await self.gate.require(url, await self._services.guard.vet(url, Deadline(10)), Deadline(10))

    async def is_known(self, host: str) -> bool:
        """Whether robots.txt of this host is cached now; afterwards it is."""
        before = self._site.requests["/robots.txt"]
        await self(host)
        return self._site.requests["/robots.txt"] == before


@pytest.mark.req("FR-WF-08f", "FR-WF-08g")
def test_the_settings_are_the_documents() -> None:
    assert RobotsSettings() == RobotsSettings(fail_open=False, cache_entries=1024, cache_ttl_hours=24)


@pytest.mark.req("FR-WF-08g")
@pytest.mark.parametrize("entries", [0, 1])
async def test_the_last_file_is_kept_however_small_the_cache(entries: int) -> None:
    """Else each fetch of a page would fetch robots.txt again."""
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        asking = Asking(
            RobotsGate(services.http, services.guard, RobotsSettings(cache_entries=entries)), services, site
        )
        assert not await asking.is_known("a.example")
        assert await asking.is_known("a.example")
        assert not await asking.is_known("b.example")
        assert not await asking.is_known("a.example")


@pytest.mark.req("FR-WF-08g")
@pytest.mark.parametrize(("room", "both"), [(0, True), (-1, False)])
async def test_files_are_kept_as_long_as_their_bytes_have_room(
    monkeypatch: pytest.MonkeyPatch, room: int, both: bool
) -> None:
    """To the byte: what failed counts for nothing, and what was fetched again counts once."""
    monkeypatch.setattr(gate_module, "MAX_BYTES", 2 * _weight(b"User-agent: *\nDisallow: /secret\n") + room)
    clock = FakeClock()
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(services.http, services.guard, clock=clock.monotonic), services, site)
        await asking("a.example")
        clock.advance(25 * 3600)
        assert not await asking.is_known("a.example")
        site.pages["/robots.txt"] = text("", 503)
        with pytest.raises(SpanielError):
            await asking("failing.example")
        site.pages["/robots.txt"] = NO_SECRETS
        assert not await asking.is_known("b.example")
        assert await asking.is_known("a.example") is both


@pytest.mark.req("NFR-WF-PERF-04", "FR-WF-08f")
@pytest.mark.parametrize("hours", [1, 24, 48])
async def test_one_request_does_until_the_time_is_over(hours: int) -> None:
    clock = FakeClock()
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        settings = RobotsSettings(cache_ttl_hours=hours)
        asking = Asking(RobotsGate(services.http, services.guard, settings, clock=clock.monotonic), services, site)
        await asyncio.gather(*(asking("a.example", f"/{number}") for number in range(20)))
        assert site.requests["/robots.txt"] == 1
        clock.advance(hours * 3600 - 1)
        assert await asking.is_known("a.example")
        clock.advance(1)
        assert not await asking.is_known("a.example")


@pytest.mark.req("FR-WF-08g")
async def test_a_file_that_was_asked_is_not_the_next_to_go() -> None:
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(services.http, services.guard, RobotsSettings(cache_entries=3)), services, site)
        for host in ("a.example", "b.example", "c.example", "a.example", "d.example"):
            await asking(host)
        assert await asking.is_known("a.example")
        assert not await asking.is_known("b.example")


@pytest.mark.req("FR-WF-08g")
async def test_what_was_fetched_again_counts_as_the_newest() -> None:
    clock = FakeClock()
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        settings = RobotsSettings(cache_entries=2)
        asking = Asking(RobotsGate(services.http, services.guard, settings, clock=clock.monotonic), services, site)
        await asking("a.example")
        clock.advance(23 * 3600)
        await asking("b.example")
        clock.advance(2 * 3600)
        await asking("a.example")  # its time was over
        await asking("c.example")  # b goes
        assert await asking.is_known("a.example")


def test_files_take_128_megabytes_of_memory_together() -> None:
    gate = RobotsGate(Http(), Guard(FakeResolver()))
    for name, size in [("a", 1), ("b", MEGABYTE // 2), ("c", MEGABYTE * 255 // 2)]:
        gate._keep(name, _CachedFile(parse_robots(b""), inf, 0, size))
    assert list(gate._kept) == ["b", "c"]  # these are 128 to the byte
    assert MAX_BYTES == 128 * MEGABYTE


MEGABYTE = 1_048_576
SHORT_LINES: dict[str, Callable[[int], bytes]] = {
    "empty rules": lambda _: b"Allow:\n",
    "rules": lambda n: b"Allow:/%x\n" % n,
    "patterns": lambda n: b"Allow:/*%x\n" % n,
    "patterns with a head": lambda n: b"Allow:/%x*\n" % n,
    "agents": lambda n: b"User-agent:%x\n" % n,
    "groups": lambda n: b"User-agent:%x\nAllow:\n" % n,
    "groups for all": lambda _: b"User-agent:*\nAllow:\n",
    "groups for all, old line ends": lambda _: b"User-agent:*\rAllow:\r",
    "delays": lambda n: b"User-agent:*\nCrawl-delay:%d\n" % n,
    "one long pattern": lambda _: b"*a",
    "nothing": lambda _: b"\n",
}


@pytest.mark.parametrize("name", SHORT_LINES)
def test_no_file_takes_more_memory_than_it_is_counted_for(name: str) -> None:
    """Short lines take thirty times their octets; counted by octets, 64 MB of files took 2 GB."""
    body = (b"User-agent:*\nAllow:/" + b"".join(map(SHORT_LINES[name], range(60_000))))[: LIMIT // 4]
    tracemalloc.start()
    try:
        robots = parse_robots(body)
        robots.decide(OURS, "/x")
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < _weight(body)


def test_the_usual_file_counts_for_a_few_kilobytes() -> None:
    """So that a thousand of them are kept; a line is counted once, whatever ends it."""
    body = b"User-agent: *\n" + b"Disallow: /some/path\r" * 59
    assert _weight(body) == 6 * len(body) + 61 * 420


@pytest.mark.req("D2-06")
async def test_no_more_is_taken_from_the_wire_than_is_read() -> None:
    """One octet over the limit, to see whether the last line ends there; a line that goes on beyond it is no rule."""
    http, allow = Watched(), b"User-agent: *\nDisallow: /b\n"
    cut = b"Disallow: /"
    padding = b"#" * (LIMIT - len(allow) - len(cut) - 1) + b"\n"
    body = (allow + padding + cut + b"secret\n" * 1000).decode()
    async with Site({"/robots.txt": text(body)}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(http, services.guard), services, site)
        await asking("site.example", "/a")
        with pytest.raises(SpanielError, match="disallows /b"):  # the control
            await asking("site.example", "/b")
        await http.close()
    assert http.fetched == [LIMIT + 1]


@pytest.mark.req("FR-WF-08")
@pytest.mark.parametrize(("size", "aside"), [(65_536, False), (65_537, True)])
async def test_a_long_file_is_read_and_laid_out_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, size: int, aside: bool
) -> None:
    threads: dict[str, int] = {}

    def watched_parse(body: bytes) -> RobotsFile:
        threads["read"] = get_ident()
        return parse_robots(body)

    class WatchedIndex(RuleIndex):
        __slots__ = ()

        def __init__(self, lines: Iterable[Line]) -> None:
            threads["laid out"] = get_ident()
            super().__init__(lines)

    monkeypatch.setattr(gate_module, "parse", watched_parse)
    monkeypatch.setattr(rules_module, "RuleIndex", WatchedIndex)
    body = "User-agent: forge-webfetch\nDisallow: /secret\n"
    async with Site({"/robots.txt": text(body + "#" * (size - len(body)))}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(services.http, services.guard), services, site)
        with pytest.raises(SpanielError, match="disallows /secret"):
            await asking("site.example", "/secret")
    assert {step: thread != get_ident() for step, thread in threads.items()} == {"read": aside, "laid out": aside}


@pytest.mark.req("FR-WF-08")
@pytest.mark.parametrize(("length", "aside"), [(256, False), (257, True)])
async def test_a_long_decision_leaves_the_event_loop_alone(
    monkeypatch: pytest.MonkeyPatch, length: int, aside: bool
) -> None:
    """From 2^27 octets of file × path on; and it is the same decision."""
    threads: list[int] = []
    decide = RobotsFile.decide

    def watched(self: RobotsFile, agent: str, path: str) -> RobotsDecision:
        if path != "/":  # laid out
            threads.append(get_ident())
        return decide(self, agent, path)

    monkeypatch.setattr(RobotsFile, "decide", watched)
    rules = b"User-agent: forge-webfetch\nDisallow: /secret\n\n"
    body = rules + b"#" * (LIMIT - len(rules))
    async with Site({"/robots.txt": text(body.decode())}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(services.http, services.guard), services, site)
        assert await asking("site.example", "/" + "a" * (length - 1)) == RobotsPermission()
        with pytest.raises(SpanielError) as caught:
            await asking("site.example", "/secret" + "a" * (length - 7))
        assert (caught.value.details["line"], caught.value.details["group"]) == (2, "forge-webfetch")
    assert [thread != get_ident() for thread in threads] == [aside, aside]


async def test_permission_tells_the_delay_that_the_file_asks_for() -> None:
    async with Site({"/robots.txt": text("User-agent: *\nCrawl-delay: 7")}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(services.http, services.guard), services, site)
        assert await asking("site.example") == RobotsPermission(None, 7.0)


@pytest.mark.req("D2-06", "FR-WF-18b")
async def test_the_refusal_tells_that_the_file_redirects_for_ever() -> None:
    async with Site({"/robots.txt": redirect("/robots.txt")}) as site, rooms_for(site) as services:
        asking = Asking(RobotsGate(services.http, services.guard), services, site)
        with pytest.raises(SpanielError) as caught:
            await asking("site.example")
        assert caught.value.details["error"] == "redirect_limit: The page redirects more than 5 times"
        assert site.requests["/robots.txt"] == 6


async def test_whoever_closes_the_gate_waits_until_its_flights_have_ended() -> None:
    asked = asyncio.Event()

    async def never() -> Reply:
        asked.set()
        await asyncio.sleep(60)
        return NO_SECRETS

    async with Site({"/robots.txt": never}) as site, rooms_for(site) as services:
        before = asyncio.all_tasks()
        asking = Asking(RobotsGate(services.http, services.guard), services, site)
        waiting = asyncio.create_task(asking("site.example"))
        await asked.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        flights = {task for task in asyncio.all_tasks() - before if "_fly" in str(task.get_coro())}
        assert [flight.done() for flight in flights] == [False]  # not awaited, and it goes on
        await asking.gate.close()
        assert [flight.cancelled() for flight in flights] == [True]
