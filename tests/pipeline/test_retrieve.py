"""What a response means, and the trace of its hops; the dangers of redirects are in test_redirects.py."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts, Politeness
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Target
from spaniel.net.http import DEFAULT_HEADERS, RequestHeaders, RequestOptions
from spaniel.pipeline.request import Trace
from spaniel.pipeline.retrieve import Door, FetchedPage, FetchOptions, PageHops, follow, retrieve
from spaniel.robots.gate import RobotsGate, RobotsPermission, RobotsSettings
from spaniel.testing import Page, Reply, Site, redirect, text
from spaniel.url import Url, parse
from spaniel.verdicts import Hop
from tests.loopback import rooms_for


async def refusal(reply: Reply) -> SpanielError:
    async with Site({"/a": reply}) as site, rooms_for(site) as services:
        with pytest.raises(SpanielError) as caught:
            await retrieve(parse(site.url("/a")), services.door, Deadline(60))
    return caught.value


@pytest.mark.req("FR-WF-18b", "D2-27")
@pytest.mark.parametrize("retry_after", ["120", None])
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Code.HTTP_4XX),
        (429, Code.HTTP_4XX),
        (499, Code.HTTP_4XX),
        (500, Code.HTTP_5XX),
        (503, Code.HTTP_5XX),
        (599, Code.HTTP_5XX),
    ],
)
async def test_error_status_is_reported_with_retry_after(status: int, code: Code, retry_after: str | None) -> None:
    wait = {"Retry-After": retry_after} if retry_after else {}
    error = await refusal((status, wait, b""))
    assert error.code is code
    fields = {"status": status, "status_text": "Status"}
    assert error.details == (fields | {"retry_after": retry_after} if retry_after else fields)


class StuckRobots(RobotsGate):
    """A robots.txt check that waits without a deadline of its own."""

    async def require(
        self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders = DEFAULT_HEADERS
    ) -> RobotsPermission:
        await asyncio.sleep(10)
        return await super().require(url, target, deadline, headers)


@pytest.mark.req("FR-WF-10a")
async def test_the_deadline_ends_whatever_a_room_waits_for() -> None:
    async with Site({"/a": text("a")}) as site, rooms_for(site) as services:
        door = services.door._replace(robots=StuckRobots(services.http, services.guard))
        with pytest.raises(SpanielError) as caught:
            await retrieve(parse(site.url("/a")), door, Deadline(0.3))
        assert (caught.value.code, caught.value.details["timeout_ms"]) == (Code.TIMEOUT, 300)


@pytest.mark.req("D2-27")
@pytest.mark.parametrize("status", [304, 399, 600, 999])
async def test_a_status_that_has_no_code_is_the_networks(status: int) -> None:
    error = await refusal((status, {}, b""))
    assert error.code is Code.NETWORK
    assert error.details == {
        "status": status,
        "status_text": "Status",
        "error": f"status {status} is not a page",
    }


@pytest.mark.req("FR-WF-07")
async def test_each_hop_is_traced_by_number_and_without_its_query() -> None:
    trace = Trace()
    async with Site({"/a": redirect("/b?token=1"), "/b": text("x")}) as site, rooms_for(site) as services:
        hops = PageHops(parse(site.url("/a?key=2")), trace, attempt=3)
        found = await retrieve(hops.url, services.door, Deadline(60), hops=hops)
    assert [(step.name, step.url, step.attempt, step.hop) for step in trace.steps] == [
        (name, site.url(path), 3, hop) for hop, path in enumerate(("/a", "/b")) for name in ("guard", "robots", "fetch")
    ]
    assert (hops.url, hops.status) == (parse(site.url("/b?token=1")), 200)
    assert (found.chain, hops.chain) == ((site.url("/a?key=2"),), [Hop(site.url("/a?key=2"), 302)])


async def test_hops_begin_with_the_first_attempt_and_no_status() -> None:
    trace = Trace()
    hops = PageHops(parse("http://a.example/"), trace)
    with hops.step("guard"):
        pass
    assert [(step.attempt, step.hop) for step in trace.steps] == [(1, 0)]
    assert (hops.status, hops.chain) == (None, [])


@pytest.mark.req("D2-05", "FR-WF-09a")
async def test_a_note_is_made_once_however_many_hops_give_rise_to_it() -> None:
    pages: dict[str, Page] = {"/robots.txt": text("", 503), "/a": redirect("/b"), "/b": text("x")}
    async with Site(pages) as site, rooms_for(site, robots=RobotsSettings(fail_open=True)) as services:
        found = await retrieve(parse(site.url("/a")), services.door, Deadline(60))
    assert found.notes == ("robots_unavailable_fail_open",)


class Watchful:
    """Records the turns at a host, with which politeness, and its answers."""

    def __init__(self) -> None:
        self.fields: list[object] = []

    def turn(self, where: str, deadline: Deadline, politeness: Politeness, *, led: bool = False) -> Watchful:
        self.fields.append((where, deadline.seconds, politeness, led))
        return self

    async def again(self) -> None:
        raise AssertionError("no connection was kept")

    async def __aenter__(self) -> None:
        self.fields.append("came")

    async def __aexit__(self, *_: object) -> None:
        self.fields.append("left")

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self.fields.append((host, seconds))

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None:
        self.fields.append((where, status, headers.get("retry-after"), led))

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None:
        raise AssertionError("nor is this a hop's")

    def asked(self, where: str) -> None:
        raise AssertionError("a hop does not look up requested delays")

    async def wait(self, where: str, deadline: Deadline, politeness: Politeness) -> None:
        raise AssertionError("this politeness respects no delays")

    def set_http_only(self, host: str) -> None:
        raise AssertionError("nor is this a hop's")

    def is_http_only(self, host: str) -> bool:
        raise AssertionError("nor is this a hop's")


@pytest.mark.req("FG-22")
async def test_the_host_is_visited_in_turn_and_what_it_asks_for_is_told() -> None:
    pages: dict[str, Page] = {
        "/robots.txt": text("User-agent: otter\nCrawl-delay: 7\n\nUser-agent: *\nAllow: /\n"),
        "/a": text("", 503, {"Retry-After": "9"}),
    }
    hosts, host = Watchful(), "site.example"
    async with Site(pages) as site, rooms_for(site) as services:
        door = services.door._replace(hosts=cast("Hosts", hosts))
        for agent in ("otter/1", "another/1"):
            way = FetchOptions(RequestOptions(RequestHeaders(agent)), politeness=Politeness(3, 0.5))
            assert (await retrieve_any(site.url("/a"), door, way)).page.status == 503
    origin = site.url("").rstrip("/")
    visit = [(origin, 60, Politeness(3, 0.5), False), "came", (origin, 503, "9", False), "left"]
    assert hosts.fields == [(host, 7.0), *visit, *visit]  # a delay is asked of the one agent only


async def retrieve_any(url: str, door: Door, way: FetchOptions) -> FetchedPage:
    """Whatever the status: who called judges it."""
    return await follow(parse(url), door, door.http.get, Deadline(60), way)


async def test_the_usual_way_is_the_srds() -> None:
    assert FetchOptions() == FetchOptions(RequestOptions(), 5, Politeness(16, 0.0, respect_delays=False))
