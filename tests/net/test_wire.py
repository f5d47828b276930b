"""A connection in use: what is asked again and what is not, what is kept, and how much waits to be taken."""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode

import aiohttp
import pytest
from hypothesis import given, settings

from spaniel.errors import SpanielError
from spaniel.net import connector, pool
from spaniel.net.connection import MAX_BUFFERED, Connection
from spaniel.net.deadline import Deadline
from spaniel.net.http import DEFAULT_OPTIONS, Http, Page
from spaniel.net.proxy import Proxies, request
from spaniel.net.responses import NoResponseError
from spaniel.slots import Slots
from spaniel.url import parse
from spaniel.url.hostlists import HostList
from tests.net.harness import Harness, open_harness
from tests.net.servers import Behaviour, answer, answering, proxying, serve, silence, site, tls_for
from tests.net.servers import Wire as ServerWire
from tests.net.streams import streams

PAGES = site({"/": (200, [], b"page")})


async def head(harness: Harness, href: str) -> Page:
    url, deadline = parse(href), Deadline(20)
    return await harness.services.http.head(url, await harness.services.guard.vet(url, deadline), deadline)


def hanging_up(after: int, sent: bytes = b"") -> Behaviour:
    """Answers so many requests of a connection; of the next it hears, says this much, and is gone."""

    async def behave(wire: ServerWire) -> None:
        for _ in range(after):
            if await wire.request() is None:
                return
            await wire.send(answer(200, b"page"))
        if await wire.request() is not None and sent:
            await wire.send(sent)

    return behave


async def test_a_kept_connection_that_ends_without_a_word_is_replaced_once() -> None:
    """The server has closed it while the request was on its way: nothing was done (RFC 9112 9.3.1)."""
    async with serve(hanging_up(1)) as server, open_harness(server) as harness:
        for _ in range(3):
            assert (await harness.get(server.url())).body == b"page"
        assert (server.connections, len(server.heard)) == (3, 5)


async def test_a_new_connection_that_ends_without_a_word_is_not() -> None:
    async with serve(hanging_up(0)) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "network")
        assert error.details["error"] == "the server closed the connection without an answer"
        assert server.connections == 1


async def test_nor_is_the_one_that_stands_in_for_a_kept_one() -> None:
    served = 0

    async def behave(wire: ServerWire) -> None:
        nonlocal served
        served += 1
        await hanging_up(1 if served == 1 else 0)(wire)

    async with serve(behave) as server, open_harness(server) as harness:
        await harness.get(server.url())
        await harness.refuses(server.url(), "network")
        assert server.connections == 2


@pytest.mark.parametrize("sent", [b"H", b"HTTP/1.1 200 OK\r\nContent-Le", b"junk\r\n"])
async def test_nothing_is_asked_again_once_something_has_come_back(sent: bytes) -> None:
    async with serve(hanging_up(1, sent)) as server, open_harness(server) as harness:
        await harness.get(server.url())
        await harness.refuses(server.url(), "network")
        assert server.connections == 1


async def test_body_after_a_head_response_closes_the_connection() -> None:
    async with serve(answering(*[answer(200, b"body all the same")] * 2)) as server, open_harness(server) as harness:
        for _ in range(2):
            assert (await head(harness, server.url())).status == 200
        assert server.connections == 2


async def test_a_connection_that_is_idle_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 0.05)
    async with serve(PAGES) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        for host in ("127.0.0.1", "a.test"):
            await harness.get(server.url("/", host))
        assert await server.all_closed()
        await harness.get(server.url())
        assert server.connections == 3


async def test_one_that_is_too_old_is_not_taken_though_nobody_has_swept_it_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        await harness.get(server.url())
        monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 0.0)
        await harness.get(server.url())
        assert server.connections == 2


async def test_the_young_are_kept_when_the_old_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(PAGES) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        await harness.get(server.url())
        await asyncio.sleep(0.3)
        await harness.get(server.url("/", "a.test"))
        monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 0.2)
        harness.services.http._pool._sweep()
        assert await server.sees(lambda: server.open == 1)
        monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 60)
        await harness.get(server.url("/", "a.test"))
        assert server.connections == 2


def poisoning(said: asyncio.Event) -> Behaviour:
    """Its first connection sends an unsolicited response when it is triggered."""
    served = 0

    async def behave(wire: ServerWire) -> None:
        nonlocal served
        served += 1
        await wire.request()
        await wire.send(answer(200, b"page"))
        if served == 1:
            await said.wait()
            await wire.send(answer(200, b"poison"))
        await wire.reader.read()

    return behave


@pytest.mark.req("FR-WF-06a", "NFR-WF-REL-03")
async def test_unread_data_on_an_idle_connection_is_not_the_next_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The event loop may have been busy: that nothing was read does not mean that nothing came."""

    async def second(expected: bytes) -> None:
        said = asyncio.Event()
        async with serve(poisoning(said)) as server, open_harness(server) as harness:
            await harness.get(server.url())
            (wire,) = next(iter(harness.services.http._pool._idle.values()))
            wire._transport.pause_reading()  # as a loop that has no time for it
            said.set()
            assert await server.sees(lambda: not wire.usable)  # it has arrived
            wire._transport.resume_reading()
            if expected == b"poison":
                monkeypatch.setattr(Connection, "usable", property(lambda wire: not wire.closed))
            assert (await harness.get(server.url())).body == expected

    await second(b"page")
    await second(b"poison")  # the positive control


async def test_a_kept_connection_that_was_reset_unnoticed_is_not_used() -> None:
    said = asyncio.Event()

    async def behave(wire: ServerWire) -> None:
        await wire.request()
        await wire.send(answer(200, b"page"))
        await said.wait()
        wire.reset()

    async with serve(behave) as server, open_harness(server) as harness:
        await harness.get(server.url())
        (wire,) = next(iter(harness.services.http._pool._idle.values()))
        wire._transport.pause_reading()
        assert wire.usable
        said.set()
        assert await server.sees(lambda: not wire.usable)
        assert (await harness.get(server.url())).body == b"page"
        assert server.connections == 2


async def test_request_on_an_ended_connection_fails_at_once() -> None:
    async with serve(silence) as server, open_harness(server) as harness:
        target = await harness.services.guard.vet(parse(server.url()), Deadline(20))
        wire = await harness.services.http._pool.connector.open("http", target, None, "test")
        wire.close()
        with pytest.raises(NoResponseError):
            await wire.ask(b"GET / HTTP/1.1\r\n\r\n", bodiless=False)
        with pytest.raises(ConnectionResetError):
            await wire.secure(ssl.create_default_context(), "a.test")


async def test_whoever_waits_for_a_body_is_told_when_we_end_it_ourselves() -> None:
    """Where only the end of the connection marks the body's, ours is not the server's."""

    async def behave(wire: ServerWire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        await wire.reader.read()

    async with serve(behave) as server, open_harness(server) as harness:
        url, deadline = parse(server.url()), Deadline(20)
        target = await harness.services.guard.vet(url, deadline)
        exchange = harness.services.http._pool.request("GET", url, target, deadline, DEFAULT_OPTIONS.lines(), "test")
        async with exchange:
            assert await exchange.read() == b"abc"
            waiting = asyncio.create_task(exchange.read())
            await asyncio.sleep(0)
            exchange.close()
            with pytest.raises(NoResponseError):
                await waiting


async def test_a_request_is_one_line_or_none() -> None:
    """The parser writes no such URL; were there one, it would begin a second request."""
    url = parse("http://a.test/")
    for odd in ("/a b", "/\r\nX: y", "/\u00e9"):
        with pytest.raises(SpanielError) as refused:
            request("GET", url._replace(path=odd), b"")
        assert str(refused.value.code) == "internal"
    assert request("GET", url, b"A: b\r\n") == b"GET / HTTP/1.1\r\nHost: a.test\r\nA: b\r\n\r\n"
    assert request("GET", url._replace(host="a.test.", port=81), b"").split(b"\r\n")[1] == b"Host: a.test:81"


async def test_a_body_that_nobody_takes_is_left_to_the_network() -> None:
    async def behave(wire: ServerWire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\n")
        await wire.pour(b"x" * 65_536)

    async with serve(behave) as server, open_harness(server) as harness:
        url, deadline = parse(server.url()), Deadline(20)
        target = await harness.services.guard.vet(url, deadline)
        exchange = harness.services.http._pool.request("GET", url, target, deadline, DEFAULT_OPTIONS.lines(), "test")
        async with exchange:
            taken = 0
            for _ in range(3):
                await asyncio.sleep(0.1)
                assert MAX_BUFFERED < exchange.answer.size <= MAX_BUFFERED + (1 << 18)
                taken += len(await exchange.read())
            assert taken > 3 * MAX_BUFFERED
        assert await server.all_closed()


async def test_a_door_that_was_closed_keeps_nothing() -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        await harness.get(server.url())
        await harness.services.http.close()
        assert await server.all_closed()
        assert (await harness.get(server.url())).body == b"page"
        assert await server.all_closed()


async def test_concurrent_requests_use_one_connection_each_and_reuse_them() -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        for _ in range(2):
            pages = await asyncio.gather(*(harness.get(server.url()) for _ in range(8)))
            assert [page.body for page in pages] == [b"page"] * 8
        assert server.connections == 8


@pytest.mark.parametrize("at_once", [True, False])
async def test_where_buffers_are_filled_meanwhile_no_two_connections_share_one(
    monkeypatch: pytest.MonkeyPatch, *, at_once: bool
) -> None:
    monkeypatch.setattr(connector, "READS_AT_ONCE", at_once)
    async with serve(PAGES) as server, open_harness(server) as harness:
        await asyncio.gather(*(harness.get(server.url()) for _ in range(4)))
        (kept,) = harness.services.http._pool._idle.values()
        services = {id(wire._buffer) for wire in kept}
        assert len(kept) == 4
        assert len(services) == (1 if at_once else 4)


async def test_a_name_that_tls_has_no_room_for_is_a_network_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(silence) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        monkeypatch.setattr("spaniel.net.connector._name", lambda _: ".a.test")
        error = await harness.refuses(server.url("/", "a.test").replace("http:", "https:"), "network")
        assert str(error.details["error"]).startswith("cannot connect")
        assert await server.all_closed()


@pytest.mark.req("D2-20")
async def test_a_proxy_is_told_who_asks_where_its_url_says_so(ca_file: str) -> None:
    names = {"a.test": "127.0.0.1"}
    async with (
        serve(PAGES) as plain,
        serve(PAGES, tls=tls_for("a.test")) as secure,
        serve(proxying) as proxy,
    ):
        where = f"http://us%C3%A9r:p%40ss@localhost:{proxy.port}"
        proxies = Proxies({"http": where, "https": where}, HostList(["good.test"]))
        async with open_harness(plain, secure, names=names, ca_file=ca_file, proxies=proxies) as harness:
            for server in (plain, secure):
                assert (await harness.get(server.url("/", "a.test"))).body == b"page"
        pair = b64encode("usér:p@ss".encode()).decode()
        assert [request.header("proxy-authorization") for request in proxy.heard] == [f"Basic {pair}"] * 2
        assert secure.heard[0].header("proxy-authorization") is None  # it is for the proxy alone


@pytest.mark.req("D2-20")
@pytest.mark.parametrize(
    "where", ["http://", "http://127.0.0.8:99999/", "http://[::1/", "http://no-such-host.invalid:80"]
)
async def test_a_proxy_whose_url_leads_nowhere_is_a_network_error(where: str) -> None:
    async with serve(PAGES) as server:
        proxies = Proxies({"http": where}, HostList(["good.test"]))
        async with open_harness(server, names={"a.test": "127.0.0.1"}, proxies=proxies) as harness:
            await harness.refuses(server.url("/", "a.test"), "network")
            assert server.connections == 0


async def seen_by_another(url: str, method: str) -> object:
    """The same answer as aiohttp reads it: no relation of ours but the grammar."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        try:
            async with session.request(method, url, allow_redirects=False) as response:
                body = await response.read()
                return response.status, body
        except (aiohttp.ClientError, OSError):
            return None


@pytest.mark.req("NFR-WF-REL-03")
@settings(max_examples=60, deadline=None)
@given(sent=streams())
async def test_what_is_taken_for_a_page_another_client_takes_for_the_same(sent: bytes) -> None:
    """It may refuse more than we do, or less: but never are there two bodies."""
    async with serve(answering(sent)) as server, Http() as http, open_harness(server) as harness:
        url, deadline = parse(server.url()), Deadline(20)
        target = await harness.services.guard.vet(url, deadline)
        try:
            page = await http.get(url, target, deadline)
        except SpanielError as error:
            assert str(error.code) in ("network", "response_too_large")
            return
        other = await seen_by_another(server.url(), "GET")
        if other is not None and page.ok and "content-encoding" not in page.headers:
            assert other == (page.status, page.body)


async def test_a_connection_that_answers_slowly_holds_up_no_other() -> None:
    async def slow(wire: ServerWire) -> None:
        await wire.request()
        await asyncio.sleep(30)

    async with serve(slow) as waiting, serve(PAGES) as server, open_harness(waiting, server) as harness:
        held = asyncio.create_task(harness.get(waiting.url()))
        assert await waiting.sees(lambda: len(waiting.heard) == 1)
        began = time.monotonic()
        for _ in range(20):
            await harness.get(server.url())
        assert time.monotonic() - began < 20
        held.cancel()
        with pytest.raises(asyncio.CancelledError):
            await held


@pytest.mark.req("FR-WF-10a")
async def test_whoever_waits_for_a_place_is_on_the_clock_and_told_so() -> None:
    async with serve(silence) as server, open_harness(server) as harness:
        harness.services.http._pool.connector.sockets.slots = Slots(1)
        first = asyncio.create_task(harness.get(server.url()))
        assert await server.sees(lambda: server.open == 1)
        error = await harness.refuses(server.url(), "timeout", 0.2, serves=False)
        assert error.details["phase"] == "queue"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await harness.still_serves()


async def test_of_too_many_hosts_the_one_that_was_used_least_recently_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_HOSTS", 2)
    names = {f"{name}.test": "127.0.0.1" for name in "abc"}
    async with serve(PAGES) as server, open_harness(server, names=names) as harness:
        for host in ("a.test", "b.test", "a.test", "c.test", "a.test"):
            await harness.get(server.url("/", host))
        assert server.connections == 3


async def test_what_was_too_young_to_be_swept_is_swept_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 0.2)
    async with serve(PAGES) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        await harness.get(server.url())
        await asyncio.sleep(0.1)
        await harness.get(server.url("/", "a.test"))
        assert await server.all_closed()
