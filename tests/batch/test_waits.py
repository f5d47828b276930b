"""How long a batch waits, how often it asks, and when it gives a host up: on a fake clock, against real servers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.testing import FakeClock, Reply, Site, redirect, text
from spaniel.testing.batching import open_fetcher
from spaniel.testing.site import Page

CLOSE = {"Connection": "close"}  # so that no request is repeated: each is one attempt
PAGE = text("The river in spring carries more water than anybody remembers. " * 12, headers=CLOSE)
GIVEN_UP = "host_given_up"


class Watched(Site):
    """A site that knows when each request came, on the clock of the run."""

    def __init__(self, pages: dict[str, Page], clock: FakeClock, address: str = "127.0.0.1") -> None:
        super().__init__({"/robots.txt": text("", headers=CLOSE), **pages}, address)
        self.clock = clock
        self.came: list[tuple[str, float]] = []

    def reply(self, path: str) -> Reply | None:
        self.came.append((path, self.clock.monotonic()))
        return None

    def times(self, path: str) -> list[float]:
        return [at for asked, at in self.came if asked == path]


def settings(folder: Path, *ports: int, **own: Any) -> Settings:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": list(ports) or [80, 443]}
    table = {"cache_dir": str(folder / "cache"), "security": security, "browser": {"enabled": False}}
    return from_data({"tools": {"webfetch": table}, "spaniel": {"archive": {"available": ""}, **own}}, "test")


async def run(urls: list[str], given: Settings, clock: FakeClock | None = None, **more: Any) -> list[dict[str, Any]]:
    """The records of a batch, in the order of the input."""
    options = {"delay": 0, "fetcher": open_fetcher, "profile": "ingest", **more}
    async with asyncio.timeout(120):
        found: list[Any] = [record async for record in spaniel.batch(urls, settings=given, clock=clock, **options)]
    assert sorted(record["ordinal"] for record in found) == list(range(len(urls)))
    return sorted(found, key=lambda record: record["ordinal"])


def causes(found: list[dict[str, Any]]) -> list[str | None]:
    return [record["error"] and record["error"]["details"].get("cause") for record in found]


async def drop() -> Reply:
    raise ConnectionResetError


def asking(status: int, retry_after: str = "") -> Page:
    return text("not now", status, CLOSE | ({"Retry-After": retry_after} if retry_after else {}))


# How often a page is asked for


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("profile", ["ingest", "web_fetch"])
@pytest.mark.parametrize(
    ("page", "least"),
    [(asking(429), 5.0), (asking(429, "7"), 7.0), (asking(503, "100"), 100.0)],
    ids=["429", "429 with a wait", "503 with a wait"],
)
async def test_page_that_asks_to_wait_is_asked_for_three_times(
    tmp_path: Path, profile: str, page: Page, least: float
) -> None:
    clock = FakeClock()
    async with Watched({"/busy": page, "/ok": PAGE}, clock) as site:
        given = settings(tmp_path, site.port)
        busy, fine = await run([site.url("/busy"), site.url("/ok")], given, clock, profile=profile)
        times = site.times("/busy")
    assert len(times) == 3
    assert all(later - earlier >= least for earlier, later in pairwise(times))
    assert (busy["error"]["details"]["status"], fine["error"]) == (page[0], None)  # type: ignore[index]


@pytest.mark.req("FG-30", "FG-46")
@pytest.mark.parametrize("status", [500, 503])
async def test_page_that_fails_is_asked_for_four_times(tmp_path: Path, status: int) -> None:
    clock = FakeClock()
    async with Watched({"/fail": text("", status)}, clock) as site:
        (record,) = await run([site.url("/fail")], settings(tmp_path, site.port), clock)
        times = site.times("/fail")
    assert record["error"]["code"] == "http_5xx"
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert [wait >= least for wait, least in zip(waits, (5, 15, 45), strict=True)] == [True] * 3


@pytest.mark.req("FG-46")
async def test_statuses_that_alternate_do_not_multiply_the_retries(tmp_path: Path) -> None:
    clock, count = FakeClock(), 0

    async def alternating() -> Reply:
        nonlocal count
        count += 1
        return text("", 429 if count % 2 else 500)

    async with Watched({"/mixed": alternating}, clock) as site:
        await run([site.url("/mixed")], settings(tmp_path, site.port), clock)
        assert site.requests["/mixed"] <= 4


@pytest.mark.req("FG-46")
async def test_third_request_may_bring_the_page(tmp_path: Path) -> None:
    clock, answers = FakeClock(), [asking(429, "60"), asking(503, "300"), PAGE]

    async def recovering() -> Reply:
        return answers.pop(0)  # type: ignore[return-value]

    async with Watched({"/busy": recovering}, clock) as site:
        (record,) = await run([site.url("/busy")], settings(tmp_path, site.port), clock)
    assert (record["error"], answers) == (None, [])


@pytest.mark.req("FG-46")
async def test_host_that_answers_nothing_but_429_is_given_up(tmp_path: Path) -> None:
    clock = FakeClock()
    pages = {f"/{n}": asking(429) for n in range(40)}
    async with Watched(pages, clock) as site:
        found = await run([site.url(f"/{n}") for n in range(40)], settings(tmp_path, site.port), clock)
        asked = sum(count for path, count in site.requests.items() if path != "/robots.txt")
    assert (asked, {record["error"]["details"]["status"] for record in found}) == (7, {429})
    assert causes(found).count(GIVEN_UP) >= 33


# Hosts that do not answer


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("profile", ["ingest", "web_fetch"])
async def test_host_that_closes_connections_is_given_up_after_six_failures(tmp_path: Path, profile: str) -> None:
    """Although its robots.txt answers. The sixth comes after a pause of 30 s."""
    clock = FakeClock()
    pages: dict[str, Page] = {f"/{n}": drop for n in range(40)}
    async with Watched(pages, clock) as site, Watched({"/ok": PAGE}, clock) as other:
        urls = [site.url(f"/{n}") for n in range(40)] + [other.url("/ok", "www.other.example")]
        found = await run(urls, settings(tmp_path, site.port, other.port), clock, profile=profile, delay=1)
        times = sorted(at for path, at in site.came if path != "/robots.txt")
    assert len(times) == 6
    assert times[5] - times[4] >= 30
    assert {record["error"]["code"] for record in found[:40]} == {"network"}
    assert causes(found[:40]).count(GIVEN_UP) >= 34
    assert "6 times in a row" in found[39]["error"]["message"]
    assert found[40]["error"] is None


@pytest.mark.req("FG-46")
async def test_host_that_answers_in_between_is_not_given_up(tmp_path: Path) -> None:
    """The positive control: as many pages fail, but not in a row."""
    clock = FakeClock()
    pages: dict[str, Page] = {f"/{n}": drop if n % 3 else PAGE for n in range(30)}
    async with Watched(pages, clock) as site:
        urls = [site.url(f"/{n:}") for n in range(30)]
        found = await run(urls, settings(tmp_path, site.port), clock, profile="web_fetch")
    assert [record["error"] is None for record in found] == [n % 3 == 0 for n in range(30)]
    assert GIVEN_UP not in causes(found)


@pytest.mark.req("FG-46")
async def test_pages_are_fetched_while_another_waits_for_its_retry(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Watched({"/0": drop, "/1": PAGE, "/2": PAGE}, clock) as site:
        await run([site.url(f"/{n}") for n in range(3)], settings(tmp_path, site.port), clock, jobs=1)
        order = [path for path, _ in site.came if path != "/robots.txt"]
    assert order.count("/0") == 4
    first, last = order.index("/0"), len(order) - 1 - order[::-1].index("/0")
    assert {"/1", "/2"} <= set(order[first:last])


# Waits that are too long


@pytest.mark.req("FG-46")
@pytest.mark.parametrize(
    ("delay", "own", "is_given_up"),
    [(120, {}, False), (121, {}, True), (11, {"max_crawl_delay_seconds": 10}, True)],
)
async def test_crawl_delay_above_the_limit_gives_the_host_up(
    tmp_path: Path, delay: int, own: dict[str, int], is_given_up: bool
) -> None:
    clock = FakeClock()
    robots = text(f"User-agent: *\nCrawl-delay: {delay}\n")
    async with Watched({"/robots.txt": robots, "/0": PAGE, "/1": PAGE, "/2": PAGE}, clock) as site:
        given = settings(tmp_path, site.port, batch=own)
        found = await run([site.url(f"/{n}") for n in range(3)], given, clock)
        times = sorted(at for path, at in site.came if path != "/robots.txt")
    if is_given_up:
        assert (times, causes(found)) == ([], [GIVEN_UP] * 3)
        assert f"Crawl-delay of {delay} s" in found[0]["error"]["message"]
        assert found[0]["error"]["details"]["limit"] == "spaniel.batch.max_crawl_delay_seconds"
    else:
        assert [record["error"] for record in found] == [None] * 3
        assert all(later - earlier >= delay for earlier, later in pairwise(times))


@pytest.mark.req("FG-46")
@pytest.mark.parametrize(
    ("wait", "own", "is_given_up"),
    [(600, {}, False), (601, {}, True), (86_400, {}, True), (31, {"max_retry_after_seconds": 30}, True)],
)
async def test_retry_after_above_the_limit_gives_the_host_up(
    tmp_path: Path, wait: int, own: dict[str, int], is_given_up: bool
) -> None:
    clock, answers = FakeClock(), [asking(429, str(wait))]

    async def once() -> Reply:
        return answers.pop() if answers else PAGE  # type: ignore[return-value]

    async with Watched({"/0": once, "/1": PAGE, "/2": PAGE}, clock) as site:
        given = settings(tmp_path, site.port, batch=own)
        found = await run([site.url(f"/{n}") for n in range(3)], given, clock, jobs=1)
        asked = [path for path, _ in site.came if path != "/robots.txt"]
    if is_given_up:
        assert asked == ["/0"]
        assert {record["error"]["details"]["status"] for record in found} == {429}
        assert causes(found)[1:] == [GIVEN_UP] * 2
        assert f"a wait of {wait} s" in found[1]["error"]["message"]
    else:
        assert [record["error"] for record in found] == [None] * 3
        assert site.times("/0")[1] - site.times("/0")[0] >= wait


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("option", ["host_time", "total_time"])
async def test_time_limit_ends_with_records_that_say_so(tmp_path: Path, option: str) -> None:
    """The host is waited for, for two minutes before each page, but for no longer than its time."""
    robots = text("User-agent: *\nCrawl-delay: 100\n")
    async with Watched({"/robots.txt": robots, **{f"/{n}": PAGE for n in range(5)}}, FakeClock()) as site:
        urls = [site.url(f"/{n}") for n in range(5)] + [site.url("/busy", f"www.site{n}.example") for n in range(3)]
        found = await run(urls, settings(tmp_path, site.port), None, **{option: 1.0})
        asked = [path for path, _ in site.came if path.removeprefix("/").isdigit()]
    assert len(asked) == 0 or len(asked) == 1  # what came first: robots.txt, which the pause begins with
    late = [record for record in found[:5] if record["error"]]
    assert len(late) == 5 - len(asked)
    for record in late:
        assert (record["error"]["code"], record["error"]["details"]["cause"]) == ("timeout", GIVEN_UP)
        assert record["error"]["details"]["limit"] == f"--{option.replace('_', '-')}"


@pytest.mark.req("FG-46")
async def test_limits_of_the_settings_hold_where_the_call_says_nothing(tmp_path: Path) -> None:
    robots = text("User-agent: *\nCrawl-delay: 100\n")
    async with Watched({"/robots.txt": robots, "/0": PAGE, "/1": PAGE, "/2": PAGE}, FakeClock()) as site:
        given = settings(tmp_path, site.port, batch={"total_seconds": 1})
        found = await run([site.url(f"/{n}") for n in range(3)], given)
    assert [record["error"]["details"]["limit"] for record in found if record["error"]][-1] == "--total-time"


# What a redirect of another site brings about


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("trap", [asking(429, "86400"), asking(429), drop], ids=["a long wait", "429", "closed"])
async def test_site_cannot_close_another_one_by_redirects(tmp_path: Path, trap: Page) -> None:
    clock = FakeClock()
    async with Watched({"/trap": trap, **{f"/{n}": PAGE for n in range(5)}}, clock) as site:
        urls = [site.url(f"/{n}", "www.attacker.example") for n in range(100, 120)]
        site.pages |= {f"/{n}": redirect(site.url("/trap", "www.victim.example")) for n in range(100, 120)}
        victims = [site.url(f"/{n}", "www.victim.example") for n in range(5)]
        found = await run(urls + victims, settings(tmp_path, site.port), clock, profile="web_fetch", jobs=1)
    assert [record["error"] for record in found[20:]] == [None] * 5
    assert all(record["error"] for record in found[:20])


@pytest.mark.req("FG-46")
async def test_redirects_to_a_dead_host_are_given_up(tmp_path: Path) -> None:
    """Also where the plan does not have that host: else each page would wait for it anew."""
    clock = FakeClock()
    async with Watched({}, clock) as site:
        there = site.url("/dead", "www.dead.example")
        site.pages |= {f"/{n}": text("", 302, {"Location": there, **CLOSE}) for n in range(30)}
        site.pages["/dead"] = drop
        urls = [site.url(f"/{n}", "www.a.example") for n in range(30)]
        found = await run(urls, settings(tmp_path, site.port), clock, profile="web_fetch", jobs=1, delay=1)
        asked = site.requests["/dead"]
    assert asked == 6
    assert causes(found).count(GIVEN_UP) == 24


# Repeated requests


@pytest.mark.req("FG-28")
async def test_request_repeated_on_a_fresh_connection_waits_its_delay(tmp_path: Path) -> None:
    """A server that closes each connection at its second request sees that request again: after the pause."""
    clock, came = FakeClock(), []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            came.append((head.split()[1].decode(), clock.monotonic()))
            if number:
                break
            body = b"" if b"robots.txt" in head else PAGE[2]
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
            writer.write(head + body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        urls = [f"http://site.example:{port}/{n}" for n in range(4)]
        found = await run(urls, settings(tmp_path, port), clock, delay=3.0)
    assert [record["error"] for record in found] == [None] * 4
    assert len(came) > 5  # some were sent twice
    assert all(later - earlier >= 3.0 for (_, earlier), (_, later) in pairwise(came))


# The scheme that was given


class Forward(Site):
    """A forward proxy for plain HTTP that has all pages itself, by host and path."""

    def reply(self, path: str) -> Reply | None:
        page = self.pages.get(path.removeprefix("http://127.0.0.1"))
        return page if isinstance(page, tuple) else None


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def through_proxies(folder: Path, monkeypatch: pytest.MonkeyPatch, http: str, https: str) -> Settings:
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", http)
    monkeypatch.setenv("HTTPS_PROXY", https)
    webfetch = {
        "cache_dir": str(folder / "cache"),
        "http": {"use_system_proxy": True},
        "security": {"block_loopback": False, "allow_insecure_overrides": True},
        "browser": {"enabled": False},
    }
    archive = {"available": "http://archive.example/available?url={url}"}
    return from_data({"tools": {"webfetch": webfetch}, "spaniel": {"archive": archive}}, "test")


@pytest.mark.req("FG-45", "FG-13")
async def test_host_without_https_is_asked_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    """An item with HTTP gets the page, at once and not from an archive; one with HTTPS does not."""
    clock = FakeClock()
    async with Forward({"/a": PAGE, "/b": PAGE, "/robots.txt": text("")}) as way:
        given = through_proxies(tmp_path, monkeypatch, way.url("", "127.0.0.1"), f"http://127.0.0.1:{closed_port}")
        urls = [f"http://old.example/{name}" for name in "ab"] + [
            "HTTP://old.example:80/a#top",
            "https://old.example/a",
        ]
        found = await run(urls, given, clock)
        asked = [path for path in way.requests if path.endswith("/a")]
        count = way.requests[asked[0]]
    for record in found[:3]:
        assert (record["error"], record["final_url"].partition(":")[0]) == (None, "http")
        assert record["archive_url"] is None
    assert "http_only_host" in found[0]["caveats"]
    assert [record["requested_url"] for record in found] == urls
    assert (found[3]["error"]["code"], found[3]["markdown"]) == ("network", None)
    assert (len(asked), count) == (1, 1)  # equal ones are fetched once


@pytest.mark.req("FG-45")
async def test_https_is_tried_before_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Forward({"/a": PAGE, "/robots.txt": text("")}) as way, Site({}) as tls:
        given = through_proxies(tmp_path, monkeypatch, way.url("", "127.0.0.1"), tls.url("", "127.0.0.1"))
        (record,) = await run(["http://old.example/a"], given, FakeClock())
        asked = list(tls.requests)
    assert asked
    assert (record["error"], [fallback["fallback"] for fallback in record["fallbacks"] if fallback["url"]][:2]) == (
        None,
        ["http", "plain_http"],
    )


# Bugs


@pytest.mark.req("FG-36")
@pytest.mark.parametrize("where", ["spaniel.batch.worker.ending_of", "spaniel.batch.outputs.warc.packed_captures"])
async def test_unexpected_exception_costs_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    from importlib import import_module

    module, _, name = where.rpartition(".")
    usual, calls = getattr(import_module(module), name), 0

    def broken(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise LookupError("a bug of ours")
        return usual(*args)

    monkeypatch.setattr(where, broken)
    async with Watched({f"/{n}": PAGE for n in range(4)}, FakeClock()) as site:
        found = await run([site.url(f"/{n}") for n in range(4)], settings(tmp_path, site.port))
    failed = [record["error"] for record in found if record["error"]]
    assert [(error["code"], "a bug of ours" in error["message"]) for error in failed] == [("internal", True)]
    assert any("unexpected_error" in line.message and line.exc_info for line in caplog.records)


@pytest.mark.req("FG-36")
async def test_unexpected_exception_while_planning_costs_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spaniel.url.policy import Policy

    usual = Policy.apply

    def broken(self: Any, raw: str, *args: Any) -> Any:
        if "/1" in raw:
            raise RecursionError("a bug of ours")
        return usual(self, raw, *args)

    async with Watched({f"/{n}": PAGE for n in range(3)}, FakeClock()) as site:
        urls = [site.url(f"/{n}") for n in range(3)]
        monkeypatch.setattr(Policy, "apply", broken)
        found = await run(urls, settings(tmp_path, site.port))
    assert [record["error"] and record["error"]["code"] for record in found] == [None, "internal", None]
