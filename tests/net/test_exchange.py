"""Exchanges on real connections: what is read, which connections are kept, and how failures are reported."""

from __future__ import annotations

import asyncio
import ssl
import time

import pytest

from spaniel.net import pool
from spaniel.net.deadline import Deadline
from spaniel.net.http import DEFAULT_OPTIONS
from spaniel.net.pool import Exchange, Pool
from spaniel.net.responses import NoResponseError
from spaniel.slots import Slots
from spaniel.url import parse
from tests.net.harness import Harness, open_harness
from tests.net.servers import Wire as ServerWire
from tests.net.servers import answer, answering, black_hole, serve, silence, site, tls_for

BROKEN = "the body ended too early or is malformed"
PAGES = site({"/": (200, [], b"page")})
LARGE = bytes(range(256)) * 2000  # 500 KiB: more than is held for somebody who does not read


def pool_of(harness: Harness) -> Pool:
    return harness.services.http._pool


async def exchange_with(harness: Harness, href: str, method: str = "GET") -> Exchange:
    url, deadline = parse(href), Deadline(20)
    target = await harness.services.guard.vet(url, deadline)
    return pool_of(harness).request(method, url, target, deadline, DEFAULT_OPTIONS.lines(), "test")


async def test_it_is_known_who_answered_and_until_when_their_certificate_lasts(ca_file: str) -> None:
    async with (
        serve(PAGES) as plain,
        serve(PAGES, "127.0.0.2", tls=tls_for("a.test")) as secure,
        open_harness(plain, secure, names={"a.test": "127.0.0.2"}, ca_file=ca_file) as harness,
    ):
        for _ in range(2):  # on a kept connection as on a new one
            page = await harness.get(plain.url())
            assert (page.address, page.certificate_ends) == ("127.0.0.1", None)
            page = await harness.get(secure.url("/", "a.test"))
            assert page.address == "127.0.0.2"
            assert page.certificate_ends is not None
            assert page.certificate_ends > time.time()
        assert (plain.connections, secure.connections) == (1, 1)


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
async def test_a_large_body_is_whole_and_its_connection_serves_again(tls: bool, ca_file: str) -> None:
    pages = site({"/large": (200, [], LARGE), "/": (200, [], b"page")})
    async with (
        serve(pages, tls=tls_for("a.test") if tls else None) as server,
        open_harness(server, names={"a.test": "127.0.0.1"}, ca_file=ca_file) as harness,
    ):
        for path, body in (("/large", LARGE), ("/", b"page"), ("/large", LARGE)):
            assert (await harness.get(server.url(path, "a.test"))).body == body
        assert server.connections == 1


async def test_unread_body_is_buffered_up_to_an_eighth_of_a_mebibyte() -> None:
    async def behave(wire: ServerWire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\n")
        await wire.pour(b"x" * 65_536)

    async with (
        serve(behave) as server,
        open_harness(server) as harness,
        await exchange_with(harness, server.url()) as exchange,
    ):
        for _ in range(3):
            assert await server.sees(lambda: exchange.answer.size > 131_072)
            await asyncio.sleep(0.05)
            assert 131_072 < exchange.answer.size <= 131_072 + 65_536
            await exchange.read()


async def test_a_body_that_came_whole_and_that_nobody_took_is_in_nobodys_way() -> None:
    """Its connection no longer listens: kept, it would never hear the next answer."""
    body = b"x" * 150_000
    async with serve(site({"/": (200, [], body)})) as server, open_harness(server) as harness:
        async with await exchange_with(harness, server.url()) as exchange:
            assert await server.sees(lambda: exchange.answer.complete)
        for _ in range(2):
            assert (await harness.get(server.url(), 10)).body == body
        assert server.connections == 2


async def test_a_small_one_that_nobody_took_is_forgotten_with_its_exchange() -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        async with await exchange_with(harness, server.url()) as exchange:
            assert await server.sees(lambda: exchange.answer.complete)
        assert (await harness.get(server.url())).body == b"page"
        assert server.connections == 1


async def test_a_connection_whose_answer_is_not_over_is_not_used_again() -> None:
    rest = asyncio.Event()

    async def behave(wire: ServerWire) -> None:
        while await wire.request() is not None:
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npa")
            await rest.wait()
            await wire.send(b"ge")

    async with serve(behave) as server, open_harness(server) as harness:
        async with await exchange_with(harness, server.url()) as exchange:
            assert await exchange.read() == b"pa"
        assert await server.sees(lambda: pool_of(harness).connector.sockets.open == 0)
        rest.set()
        assert (await harness.get(server.url())).body == b"page"
        assert server.connections == 2


@pytest.mark.parametrize("field", ["Connection: close", "X: y"])
async def test_what_the_server_has_closed_or_will_close_is_not_kept(field: str) -> None:
    async with serve(answering(answer(200, b"page", field))) as server, open_harness(server) as harness:
        async with await exchange_with(harness, server.url()) as exchange:
            assert await exchange.read() == b"page"
            assert await server.sees(lambda: not server.open)
            if field == "X: y":
                assert await server.sees(lambda: exchange._connection.closed)
        assert pool_of(harness)._idle == {}
        await asyncio.sleep(0)
        assert pool_of(harness).connector.sockets.open == 0


@pytest.mark.req("FR-WF-18")
@pytest.mark.parametrize("close", [True, False], ids=["and the end", "and no end"])
@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"junk that is no answer\r\n\r\n", "not HTTP as it should be: "),
        (b"HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", "not HTTP as it should be: NUL in a header field"),
        (answer(200, b"page") + b"more", BROKEN),
        (answer(200, b"") + b"more", BROKEN),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", BROKEN),
    ],
)
async def test_what_is_wrong_with_an_answer_is_told_as_it_is(sent: bytes, message: str, close: bool) -> None:
    async with serve(answering(sent, close=close)) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "network")
        assert str(error.details["error"]).startswith(message)
        assert await server.all_closed()


@pytest.mark.req("FR-WF-18")
@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "the server closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nX", "the server closed the connection without an answer"),
        (answer(200, b"page")[:-1], BROKEN),
    ],
)
async def test_an_answer_that_breaks_off_is_told_as_such(sent: bytes, message: str) -> None:
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        assert (await harness.refuses(server.url(), "network")).details["error"] == message


@pytest.mark.req("FR-WF-18")
async def test_a_reset_is_told_as_one() -> None:
    async def behave(wire: ServerWire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        wire.reset()

    async with serve(behave) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "network")
        assert error.details["error"] == "Connection reset by peer"


@pytest.mark.req("FR-WF-10a")
async def test_a_deadline_says_what_was_waited_for() -> None:
    async def headed(wire: ServerWire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        await silence(wire)

    with black_hole("127.0.0.5") as port:
        async with (
            serve(silence) as silent,
            serve(headed) as begun,
            open_harness(silent, begun, ports=(port,)) as harness,
        ):
            for url, phase in (
                (f"http://127.0.0.5:{port}/", "connect"),
                (silent.url(), "headers"),
                (begun.url(), "body"),
            ):
                error = await harness.refuses(url, "timeout", 1.0)
                assert error.details["phase"] == phase


async def test_time_that_ends_after_the_wait_for_a_place_ended_in_connect() -> None:
    with black_hole("127.0.0.5") as port:
        async with serve(PAGES) as server, open_harness(server, ports=(port,)) as harness:
            pool_of(harness).connector.sockets.slots = Slots(1)
            async with await exchange_with(harness, server.url()):
                url = f"http://127.0.0.5:{port}/"
                waiting = asyncio.create_task(harness.refuses(url, "timeout", 1.0, serves=False))
                await asyncio.sleep(0.1)
            assert (await waiting).details["phase"] == "connect"


async def test_a_failure_gives_its_place_back() -> None:
    """There are so many in all: of those that are not given back, none is left before long."""
    gone = asyncio.Event()

    async def behave(wire: ServerWire) -> None:
        await wire.request()
        if not gone.is_set():
            await wire.send(b"junk\r\n")
        else:
            await wire.send(answer(200, b"page"))

    async with serve(behave) as server, open_harness(server) as harness:
        slots = pool_of(harness).connector.sockets.slots
        free = slots._free
        await harness.refuses(server.url(), "network", serves=False)
        await harness.refuses("http://127.0.0.1:1/", ("network", "port_blocked"), serves=False)
        assert slots._free == free
        gone.set()
        assert (await harness.get(server.url())).body == b"page"
        assert slots._free == free
        async with await exchange_with(harness, server.url()):
            assert slots._free == free - 1


async def test_no_more_connections_are_kept_than_there_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 600.0)  # their age closes none
    async with serve(PAGES) as server, open_harness(server) as harness:
        pool_of(harness).connector.sockets.keep = 2
        used = [await exchange_with(harness, server.url()) for _ in range(3)]
        for exchange in used:
            await exchange.__aenter__()
            assert exchange.request.startswith(b"GET / HTTP/1.1\r\n")
        for exchange in used:
            assert await exchange.read() == b"page"
            await exchange.__aexit__(None)
            assert await server.sees(lambda: server.open == 2)  # the first one goes
        await asyncio.gather(*(harness.get(server.url()) for _ in range(2)))
        assert server.connections == 3


async def test_a_connection_that_is_too_old_to_be_taken_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        await asyncio.gather(*(harness.get(server.url()) for _ in range(3)))
        monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 0.0)
        taken = await exchange_with(harness, server.url())
        async with taken:
            assert await server.sees(lambda: server.open == 1)
            await taken.read()


async def test_of_one_hosts_connections_the_old_are_swept_and_the_young_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(PAGES) as server, open_harness(server) as harness:
        async with await exchange_with(harness, server.url()) as first:
            await first.read()
            await harness.get(server.url())
            assert await first.read() == b""
        monkeypatch.setattr(pool, "KEEP_ALIVE_SECONDS", 600)
        (kept,) = pool_of(harness)._idle.values()
        kept[0].idle_since -= 600
        pool_of(harness)._sweep()
        assert await server.sees(lambda: server.open == 1)
        await harness.get(server.url())
        assert server.connections == 2


async def test_a_door_that_is_closed_has_closed_its_sockets(ca_file: str) -> None:
    """Ending the event loop afterwards leaves none behind."""
    async with (
        serve(PAGES) as plain,
        serve(PAGES, tls=tls_for("a.test")) as secure,
        open_harness(plain, secure, names={"a.test": "127.0.0.1"}, ca_file=ca_file) as harness,
    ):
        for server in (plain, secure):
            await harness.get(server.url("/", "a.test"))
        assert pool_of(harness).connector.sockets.open == 2
        await harness.services.http.close()
        assert pool_of(harness).connector.sockets.open == 0


async def test_a_connection_that_has_ended_is_neither_secured_nor_asked() -> None:
    async with serve(answering()) as server, open_harness(server) as harness:
        target = await harness.services.guard.vet(parse(server.url()), Deadline(20))
        wire = await pool_of(harness).connector.open("http", target, None, "test")
        assert await server.sees(lambda: wire.closed)
        assert not wire.usable
        with pytest.raises(ConnectionResetError):
            await wire.secure(ssl.create_default_context(), "a.test")
        with pytest.raises(NoResponseError):
            await wire.ask(b"GET / HTTP/1.1\r\n\r\n", bodiless=False)
        assert not wire.answered


async def test_a_connection_that_we_have_closed_is_of_no_use_from_that_moment_on() -> None:
    async with serve(silence) as server, open_harness(server) as harness:
        target = await harness.services.guard.vet(parse(server.url()), Deadline(20))
        wire = await pool_of(harness).connector.open("http", target, None, "test")
        assert wire.usable
        wire.close()
        assert not wire.usable
