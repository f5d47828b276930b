"""robots.txt over the wire: origins, failures, redirects, time, and one flight for all who wait."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Target
from spaniel.net.http import DEFAULT_OPTIONS, Http, Page, RequestHeaders, RequestOptions
from spaniel.pipeline.retrieve import FetchOptions, retrieve
from spaniel.robots import gate as gate_module
from spaniel.robots.gate import RobotsGate, RobotsSettings
from spaniel.testing import FakeClock, FakeResolver, Reply, Site, redirect, spaniel_for, text
from spaniel.url import Url, parse
from tests.loopback import rooms_for
from tests.net.servers import Behaviour, Wire, answer, serve, silence

HELLO = text("hello")
NO_SECRETS = text("User-agent: *\nDisallow: /secret\n")


async def outcome(
    site: Site, path: str, robots: RobotsSettings | None = None, agent: str = "forge-webfetch/1.0"
) -> tuple[str, tuple[str, ...]]:
    """What a fetch of a path ends in: the page's text or an error code, and its notes."""
    way = FetchOptions(RequestOptions(RequestHeaders(agent)))
    async with rooms_for(site, robots=robots) as services:
        try:
            found = await retrieve(parse(site.url(path)), services.door, Deadline(10), way)
        except SpanielError as error:
            return str(error.code), ()
        return found.page.body.decode(), found.notes


@pytest.mark.req("FR-WF-08", "FR-WF-08c", "T-WF-ROB-01", "T-WF-ROB-02", "NFR-WF-SEC-02", "FG-28")
async def test_a_disallowed_page_is_not_asked_for_and_an_allowed_one_is() -> None:
    async with Site({"/robots.txt": NO_SECRETS, "/secret/a": HELLO, "/a": HELLO}) as site:
        assert await outcome(site, "/secret/a") == ("robots_disallowed", ())
        assert await outcome(site, "/a") == ("hello", ())
        assert site.requests["/secret/a"] == 0


@pytest.mark.req("FR-WF-18b", "FR-WF-08c")
async def test_the_refusal_names_the_line_that_decided() -> None:
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        with pytest.raises(SpanielError) as caught:
            await retrieve(parse(site.url("/secret/a?token=1")), services.door, Deadline(5))
        assert caught.value.details == {
            "path": "/secret/a",
            "origin": site.url("").rstrip("/"),
            "rule": "Disallow: /secret",
            "line": 2,
            "group": "*",
        }


async def test_a_permission_tells_what_the_file_says_about_delays_and_use() -> None:
    body = "User-agent: *\nCrawl-delay: 2.5\nContent-Signal: ai-train=no\nDisallow: /secret"
    async with Site({"/robots.txt": text(body), "/a": HELLO}) as site, rooms_for(site) as services:
        url, deadline = parse(site.url("/a")), Deadline(10)
        permission = await services.door.robots.require(url, await services.guard.vet(url, deadline), deadline)
        found = await retrieve(url, services.door, deadline)
    assert (permission.note, permission.crawl_delay, permission.content_signal) == (None, 2.5, "ai-train=no")
    assert found.content_signal == "ai-train=no"


@pytest.mark.req("FR-WF-08", "FR-WF-08a", "T-WF-ROB-09", "NFR-WF-PERF-04", "FG-28")
async def test_each_origin_has_its_own_file_and_is_asked_once() -> None:
    async with (
        Site({"/robots.txt": NO_SECRETS, "/secret": HELLO, "/a": HELLO}) as strict,
        Site({"/robots.txt": text(""), "/secret": HELLO}) as open_,
        rooms_for(strict, open_) as services,
    ):
        for _ in range(3):
            await retrieve(parse(strict.url("/a")), services.door, Deadline(5))
        with pytest.raises(SpanielError, match="disallows"):
            await retrieve(parse(strict.url("/secret")), services.door, Deadline(5))
        assert (await retrieve(parse(open_.url("/secret")), services.door, Deadline(5))).page.status == 200
        assert strict.requests["/robots.txt"] == 1
        assert open_.requests["/robots.txt"] == 1
        await retrieve(parse(strict.url("/a", host="other.example")), services.door, Deadline(5))
        assert strict.requests["/robots.txt"] == 2


@pytest.mark.req("FR-WF-08a", "T-WF-ROB-09")
async def test_redirect_to_another_port_is_judged_by_the_file_of_that_port() -> None:
    """In both directions; the host is the same."""
    async with (
        Site({"/robots.txt": NO_SECRETS, "/secret": HELLO}) as strict,
        Site({"/robots.txt": text(""), "/secret": HELLO}) as open_,
        rooms_for(strict, open_) as services,
    ):
        strict.pages["/go"], open_.pages["/go"] = redirect(open_.url("/secret")), redirect(strict.url("/secret"))
        assert parse(strict.url()).host == parse(open_.url()).host
        found = await retrieve(parse(strict.url("/go")), services.door, Deadline(5))
        assert found.page.url.href == open_.url("/secret")
        with pytest.raises(SpanielError, match="disallows"):
            await retrieve(parse(open_.url("/go")), services.door, Deadline(5))
        assert (strict.requests["/secret"], open_.requests["/secret"]) == (0, 1)


@pytest.mark.req("FR-WF-09", "T-WF-ROB-06", "D2-06")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 451, 499])
async def test_any_4xx_allows_all(status: int) -> None:
    async with Site({"/robots.txt": text("User-agent: *\nDisallow: /", status), "/a": HELLO}) as site:
        assert await outcome(site, "/a") == ("hello", ())


@pytest.mark.req("D2-06")
@pytest.mark.parametrize("status", [200, 201, 203, 207, 226, 299])
async def test_any_2xx_is_the_file(status: int) -> None:
    async with Site({"/robots.txt": text("User-agent: *\nDisallow: /secret", status), "/secret": HELLO}) as site:
        assert await outcome(site, "/secret") == ("robots_disallowed", ())


@pytest.mark.req("FR-WF-09a", "D2-06", "FR-WF-18b")
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "http_5xx: The server returned 500 Status"),
        (503, "http_5xx: The server returned 503 Status"),
        (599, "http_5xx: The server returned 599 Status"),
        (600, "network: Connection failed: status 600"),
        (399, "network: Connection failed: status 399"),
    ],
)
async def test_the_refusal_says_what_the_server_answered(status: int, message: str) -> None:
    async with Site({"/robots.txt": text("", status)}) as site, rooms_for(site) as services:
        with pytest.raises(SpanielError) as caught:
            await retrieve(parse(site.url("/a")), services.door, Deadline(5))
        assert caught.value.details == {"origin": site.url("").rstrip("/"), "error": message}


@pytest.mark.req("D2-45")
@pytest.mark.parametrize("body", ["User-agent: *\nDisallow: /", "User-agent: *\nAllow: /", ""])
@pytest.mark.parametrize("status", [204, 205, 206])
async def test_a_success_without_a_whole_file_is_no_permission(status: int, body: str) -> None:
    headers = {"Content-Range": "bytes 0-9/100"} if status == 206 else {}
    async with Site({"/robots.txt": text(body, status, headers), "/a": HELLO}) as site:
        assert await outcome(site, "/a") == ("robots_unavailable", ())
        assert site.requests["/a"] == 0
        opened = await outcome(site, "/a", robots=RobotsSettings(fail_open=True))
        assert opened == ("hello", ("robots_unavailable_fail_open",))


@pytest.mark.req("FR-WF-09a", "D2-06")
@pytest.mark.parametrize("status", [500, 502, 503, 599, 304, 300, 399, 600, 999])
async def test_a_failing_robots_txt_closes_the_door_unless_told_otherwise(status: int) -> None:
    async with Site({"/robots.txt": text("", status), "/a": HELLO}) as site:
        assert await outcome(site, "/a") == ("robots_unavailable", ())
        assert site.requests["/a"] == 0
        opened = await outcome(site, "/a", robots=RobotsSettings(fail_open=True))
        assert opened == ("hello", ("robots_unavailable_fail_open",))


async def never() -> Reply:
    await asyncio.sleep(60)
    return HELLO


@pytest.mark.req("FR-WF-09a", "T-WF-ROB-07", "T-WF-ROB-08", "D2-13")
async def test_a_slow_robots_txt_gets_a_part_of_the_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Had it all of the fetch's, the fetch would end as `timeout`; had it no end, it would not end."""
    monkeypatch.setattr(gate_module, "SECONDS", 0.3)
    async with Site({"/robots.txt": never, "/a": HELLO}) as site:
        assert await outcome(site, "/a") == ("robots_unavailable", ())
        opened = await outcome(site, "/a", robots=RobotsSettings(fail_open=True))
        assert opened == ("hello", ("robots_unavailable_fail_open",))


class Watched(Http):
    """An HTTP client that records the deadlines and the sizes of responses."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Deadline] = []
        self.fetched: list[int] = []  # octets

    async def get(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        self.given.append(deadline)
        page = await super().get(url, target, deadline, options)
        self.fetched.append(len(page.body))
        return page


@pytest.mark.req("D2-13")
async def test_that_part_is_five_seconds_for_all_of_its_redirects() -> None:
    """Checked by the deadline of the request, without waiting."""
    http = Watched()
    async with Site({"/robots.txt": redirect("/there"), "/there": NO_SECRETS}) as site, rooms_for(site) as services:
        url, whole = parse(site.url("/a")), Deadline(20)
        await RobotsGate(http, services.guard).require(url, await services.guard.vet(url, whole), whole)
        await http.close()
    first, second = http.given
    assert first is second
    assert (first.seconds, whole.seconds) == (5, 20)


def hangs_at(where: str) -> Behaviour:
    """A server that answers for pages, and whose robots.txt never comes to its end."""

    async def behave(wire: Wire) -> None:
        while request := await wire.request():
            if request.target != "/robots.txt":
                await wire.send(answer(200, b"hello", "Content-Type: text/plain"))
            elif where == "head":
                await silence(wire)
            else:
                await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
                await wire.drip(b"# ", 0.05)

    return behave


@pytest.mark.req("D2-45", "FR-WF-09a", "T-WF-ROB-07", "T-WF-ROB-08")
@pytest.mark.parametrize("where", ["head", "body"])
async def test_a_robots_txt_that_hangs_leaves_a_short_fetch_time_for_its_page(where: str) -> None:
    """Not `timeout`, however short the fetch's own time; with `fail_open` the page comes within it."""
    async with serve(hangs_at(where)) as server:
        url = server.url("/a", "site.example")
        async with spaniel_for(server, timeout_seconds=1) as client:  # type: ignore[arg-type]
            with pytest.raises(SpanielError) as caught:
                await client.fetch(url)
            assert caught.value.code is Code.ROBOTS_UNAVAILABLE
            assert caught.value.retryable
            assert "timeout" in str(caught.value.details["error"])
        async with spaniel_for(server, timeout_seconds=2, robots={"fail_open": True}) as client:  # type: ignore[arg-type]
            found = await client.fetch(url)
            assert found.markdown.strip() == "hello"
            assert "robots_unavailable_fail_open" in found.notes


@pytest.mark.req("D2-13", "D2-45")
@pytest.mark.parametrize(("seconds", "wait"), [(1, 0.5), (5, 2.5), (9, 4.5), (10, 5), (11, 5), (300, 5)])
async def test_robots_txt_gets_half_the_time_and_at_most_five_seconds(
    seconds: float, wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the event loop's clock, which stands still here but for these steps."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    async with Site({"/robots.txt": never}) as site, rooms_for(site) as services:
        url, deadline = parse(site.url("/a")), Deadline(seconds)
        target = await services.guard.vet(url, deadline)
        asking = asyncio.create_task(services.robots.require(url, target, deadline))
        while not site.requests["/robots.txt"]:  # noqa: ASYNC110  the clock that an event would be awaited by stands
            await asyncio.sleep(0)
        now += wait - 0.01
        for _ in range(100):
            await asyncio.sleep(0)
        assert not asking.done()
        now += 0.02
        while not asking.done():  # noqa: ASYNC110
            await asyncio.sleep(0)
        with pytest.raises(SpanielError, match=r"Cannot fetch robots\.txt of \S+ timeout"):
            await asking


@pytest.mark.req("D2-45")
async def test_who_gives_up_early_leaves_the_file_to_those_who_wait() -> None:
    come = asyncio.Event()

    async def late() -> Reply:
        await come.wait()
        return NO_SECRETS

    async with Site({"/robots.txt": late, "/a": HELLO}) as site, rooms_for(site) as services:
        patient = asyncio.create_task(retrieve(parse(site.url("/a")), services.door, Deadline(30)))
        with pytest.raises(SpanielError, match=r"Cannot fetch robots\.txt"):
            await retrieve(parse(site.url("/a")), services.door, Deadline(0.2))
        come.set()
        assert (await patient).page.body == b"hello"
        assert (await retrieve(parse(site.url("/a")), services.door, Deadline(30))).page.body == b"hello"
        assert site.requests["/robots.txt"] == 1


@pytest.mark.req("D2-06", "FR-WF-07e")
async def test_redirects_of_robots_txt_are_followed_and_guarded() -> None:
    async with Site({"/there": NO_SECRETS, "/secret": HELLO, "/a": HELLO}) as site:
        site.pages["/robots.txt"] = redirect("/there", 301)
        assert await outcome(site, "/secret") == ("robots_disallowed", ())
        for bad in ("http://10.0.0.1/robots.txt", "file:///etc/passwd", "http://site.example:22/", "/robots.txt"):
            site.pages["/robots.txt"] = redirect(bad)
            assert await outcome(site, "/a") == ("robots_unavailable", ())


@pytest.mark.req("D2-06")
@pytest.mark.parametrize(("hops", "right"), [(5, "robots_disallowed"), (6, "robots_unavailable")])
async def test_five_redirects_and_no_more(hops: int, right: str) -> None:
    pages = {f"/{i}": redirect(f"/{i + 1}") for i in range(1, hops)}
    async with Site({"/robots.txt": redirect("/1"), **pages, f"/{hops}": NO_SECRETS}) as site:
        assert await outcome(site, "/secret") == (right, ())


@pytest.mark.req("D2-06", "FR-WF-09b")
async def test_a_huge_or_strange_robots_txt_is_read_as_far_as_it_goes() -> None:
    padding = "# " + "x" * 1000 + "\n"
    early = "User-agent: *\nDisallow: /secret\n" + padding * 10_000
    late = padding * 10_000 + "User-agent: *\nDisallow: /secret\n"
    async with Site({"/secret": HELLO}) as site:
        for body, right in [
            (early, "robots_disallowed"),
            (late, "hello"),
            ("<html><p>Disallow: /</p></html>", "hello"),
        ]:
            site.pages["/robots.txt"] = text(body)
            assert (await outcome(site, "/secret"))[0] == right


@pytest.mark.req("NFR-WF-PERF-04")
async def test_however_many_wait_there_is_one_flight() -> None:
    async def slowly() -> Reply:
        await asyncio.sleep(0.1)
        return NO_SECRETS

    async with Site({"/robots.txt": slowly, "/a": HELLO}) as site, rooms_for(site) as services:
        first = asyncio.create_task(retrieve(parse(site.url("/a")), services.door, Deadline(5)))
        others = [asyncio.create_task(retrieve(parse(site.url("/a")), services.door, Deadline(5))) for _ in range(20)]
        await asyncio.sleep(0.05)
        first.cancel()  # the caller that started the fetch may be cancelled
        done = await asyncio.gather(*others)
        assert all(found.page.body == b"hello" for found in done)
        assert site.requests["/robots.txt"] == 1


@pytest.mark.req("NFR-WF-SEC-05", "FR-WF-06")
async def test_one_lookup_serves_the_hop_and_its_robots_txt() -> None:
    resolver = FakeResolver()
    async with Site({"/robots.txt": NO_SECRETS, "/a": HELLO}) as site, rooms_for(site, resolver=resolver) as services:
        await retrieve(parse(site.url("/a")), services.door, Deadline(5))
    assert resolver.asked == ["site.example"]


@pytest.mark.req("FR-WF-07e")
async def test_every_hop_asks_the_robots_txt_of_its_own_origin() -> None:
    async with (
        Site({"/robots.txt": NO_SECRETS, "/secret": HELLO}) as strict,
        Site({"/robots.txt": text("")}) as start,
    ):
        start.pages["/go"] = redirect(strict.url("/secret"))
        async with rooms_for(start, strict) as services:
            with pytest.raises(SpanielError, match="disallows /secret"):
                await retrieve(parse(start.url("/go")), services.door, Deadline(5))
        assert strict.requests["/secret"] == 0


@pytest.mark.req("FR-WF-08f", "FR-WF-08g", "FG-28")
async def test_a_file_is_kept_for_its_time_and_the_least_used_goes_first() -> None:
    clock = FakeClock()
    async with Site({"/robots.txt": NO_SECRETS}) as site, rooms_for(site) as services:
        gate = RobotsGate(services.http, services.guard, RobotsSettings(cache_entries=2), clock=clock.monotonic)

        async def ask(host: str) -> None:
            url = parse(site.url("/a", host=host))
            await gate.ask(url, await services.guard.vet(url, Deadline(5)), Deadline(5))

        for host in ("a.example", "b.example", "a.example", "c.example"):
            await ask(host)
        assert site.requests["/robots.txt"] == 3
        await ask("a.example")  # still there: b was the least recently used
        assert site.requests["/robots.txt"] == 3
        await ask("b.example")
        assert site.requests["/robots.txt"] == 4
        clock.advance(24 * 3600 - 1)
        await ask("b.example")
        assert site.requests["/robots.txt"] == 4
        clock.advance(2)
        await ask("b.example")
        assert site.requests["/robots.txt"] == 5


@pytest.mark.req("FR-WF-09a")
async def test_a_failure_is_remembered_for_seconds_only() -> None:
    clock = FakeClock()
    async with Site({"/robots.txt": text("", 503)}) as site, rooms_for(site) as services:
        gate = RobotsGate(services.http, services.guard, clock=clock.monotonic)
        url = parse(site.url("/a"))
        for seconds, requests in [(0, 1), (4, 1), (1, 2)]:  # five, and not a moment more
            clock.advance(seconds)
            with pytest.raises(SpanielError, match=r"Cannot fetch robots\.txt"):
                await gate.ask(url, await services.guard.vet(url, Deadline(5)), Deadline(5))
            assert site.requests["/robots.txt"] == requests


@pytest.mark.req("FR-WF-08e", "D2-11", "D2-13")
async def test_the_configured_agent_is_the_one_that_is_judged() -> None:
    body = text("User-agent: forge-webfetch\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    async with Site({"/robots.txt": body, "/a": HELLO}) as site:
        assert (await outcome(site, "/a"))[0] == "robots_disallowed"
        assert (await outcome(site, "/a", agent="ContextIngestion/1.0 (compatible)"))[0] == "hello"
