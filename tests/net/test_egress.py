"""The browser's egress proxy, with raw requests: authentication, allowed and refused targets."""

from __future__ import annotations

import asyncio
import contextlib
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.egress import USER, EgressProxy, RequestHead, StreamPair
from spaniel.net.proxy import Proxies
from spaniel.net.responses import MalformedError
from spaniel.testing import FakeClock, FakeResolver
from spaniel.url import parse
from spaniel.url.hostlists import HostList
from tests.net.harness import guard_with_a_hole
from tests.net.servers import Wire, answer, answering, proxying, serve, silence, site

PUBLIC = "127.0.0.2"
INSIDE = "127.0.0.66"


@asynccontextmanager
async def open_egress(
    *ports: int, names: dict[str, str | list[str]] | None = None, proxies: Proxies | None = None, most: int = 1 << 20
) -> AsyncIterator[tuple[EgressProxy, FakeResolver]]:
    resolver = FakeResolver(names or {"site.test": PUBLIC, "inside.test": INSIDE}, None)
    egress = EgressProxy(guard_with_a_hole(resolver, ports, (PUBLIC,)), proxies, most)
    await egress.open()
    try:
        yield egress, resolver
    finally:
        await egress.close()


async def ask(egress: EgressProxy, head: str, body: bytes = b"", secret: str | None = None) -> bytes:
    """Send a request as Chromium would; what comes back, to its announced end or the connection's."""
    reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
    token = b64encode(f"{USER}:{egress.secret if secret is None else secret}".encode()).decode()
    writer.write(f"{head}\r\nProxy-Authorization: Basic {token}\r\n\r\n".encode() + body)
    try:
        async with asyncio.timeout(60):
            head_back = await reader.readuntil(b"\r\n\r\n")
            length = head_back.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            return head_back + (await reader.readexactly(int(length)) if length else await reader.read())
    except (ConnectionError, asyncio.IncompleteReadError):
        return b""
    finally:
        writer.close()


@pytest.mark.req("FR-WF-11b")
async def test_request_is_forwarded_without_proxy_fields() -> None:
    async with serve(site({"/a?b": (200, ["X-Kept: yes", "Proxy-Authenticate: Basic"], b"page")}), PUBLIC) as server:
        async with open_egress(server.port) as (egress, _):
            more = "Host: wrong\r\nProxy-Connection: keep-alive\r\nX-A: 1"
            got = await ask(egress, f"GET http://site.test:{server.port}/a?b HTTP/1.1\r\n{more}")
        assert got.startswith(b"HTTP/1.1 200")
        assert got.endswith(b"\r\n\r\npage")
        assert b"X-Kept: yes" in got
        assert b"Connection: close" in got
        assert b"Proxy-Authenticate" not in got
        (request,) = server.heard
        assert request.line == "GET /a?b HTTP/1.1"
        assert request.header("host") == f"site.test:{server.port}"
        assert request.header("x-a") == "1"
        assert not [name for name, _ in request.fields if name.startswith("proxy")]


async def test_a_path_of_any_length_is_passed_on_as_it_came() -> None:
    path = "/a\\b?" + "q" * 20_000
    async with serve(site({path: (200, [], b"long")}), PUBLIC) as server, open_egress(server.port) as (egress, _):
        assert (await ask(egress, f"GET http://site.test:{server.port}{path} HTTP/1.1")).endswith(b"long")


@pytest.mark.req("FR-WF-11b")
@pytest.mark.parametrize("secret", ["", "wrong"])
async def test_whoever_does_not_know_the_secret_is_not_served(secret: str) -> None:
    async with serve(silence, PUBLIC) as server, open_egress(server.port) as (egress, resolver):
        for line in (f"GET http://site.test:{server.port}/ HTTP/1.1", f"CONNECT site.test:{server.port} HTTP/1.1"):
            reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
            token = b64encode(f"{USER}:{secret}".encode()).decode()
            writer.write(f"{line}\r\nProxy-Authorization: Basic {token}\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 407 ")
            writer.close()
        assert server.connections == 0
        assert resolver.asked == []


@pytest.mark.req("FR-WF-11b", "FR-WF-05")
async def test_addresses_ports_and_forms_are_judged_as_everywhere() -> None:
    async with (
        serve(silence, INSIDE) as victim,
        serve(silence, PUBLIC) as shut,
        open_egress(victim.port) as (egress, _),
    ):
        for host in ("inside.test", INSIDE, "127.0.0.1", "[::1]", "0x7f000042", "2130706433", "localhost."):
            for head in (f"GET http://{host}:{victim.port}/ HTTP/1.1", f"CONNECT {host}:{victim.port} HTTP/1.1"):
                assert await ask(egress, head) == b"", head
        for head in (f"GET http://{PUBLIC}:{shut.port}/ HTTP/1.1", f"CONNECT {PUBLIC}:{shut.port} HTTP/1.1"):
            assert await ask(egress, head) == b""
        assert (victim.connections, shut.connections) == (0, 0)


async def test_the_same_requests_reach_the_same_server_where_the_guard_lets_them() -> None:
    """The control for the two tests before."""
    async with serve(answering(answer(200, b"x")), PUBLIC) as server, open_egress(server.port) as (egress, _):
        assert (await ask(egress, f"GET http://{PUBLIC}:{server.port}/ HTTP/1.1")).endswith(b"x")


@pytest.mark.req("FR-WF-06", "FR-WF-11b")
async def test_a_host_is_looked_up_once_and_mixed_answers_are_refused_whole() -> None:
    async with serve(site({"/": (200, [], b"x")}), PUBLIC) as server:
        names: dict[str, str | list[str]] = {"site.test": PUBLIC, "mixed.test": [PUBLIC, INSIDE]}
        async with open_egress(server.port, names=names) as (egress, resolver):
            for _ in range(3):
                assert await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1")
                resolver.names["site.test"] = INSIDE
            assert resolver.asked == ["site.test"]
            assert await ask(egress, f"GET http://mixed.test:{server.port}/ HTTP/1.1") == b""
            with pytest.raises(SpanielError):
                await egress.vet(parse(f"http://mixed.test:{server.port}/"))


@pytest.mark.req("D2-39")
async def test_a_page_that_lives_long_has_its_hosts_judged_again() -> None:
    clock = FakeClock()
    resolver = FakeResolver({"site.test": PUBLIC}, None)
    async with serve(site({"/": (200, [], b"x")}), PUBLIC) as server:
        egress = EgressProxy(guard_with_a_hole(resolver, (server.port,), (PUBLIC,), clock.monotonic))
        await egress.open()
        head = f"GET http://site.test:{server.port}/ HTTP/1.1"
        assert await ask(egress, head)
        resolver.names["site.test"] = INSIDE
        clock.advance(29.9)
        assert await ask(egress, head)  # at the address that was judged
        assert len(resolver.asked) == 1
        clock.advance(0.2)
        for _ in range(2):  # a refusal stays one
            assert await ask(egress, head) == b""
        assert len(resolver.asked) == 2
        await egress.close()


@pytest.mark.req("D2-20")
@pytest.mark.parametrize("said", [None, b"", b"HTTP/1.1 200", b"HTTP/1.1 403 No\r\n\r\n", b"x" * 70_000])
async def test_a_proxy_that_makes_no_tunnel_is_hung_up_on(said: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Especially one that never responds: nothing else would close that connection."""
    monkeypatch.setattr("spaniel.net.egress.DIAL_SECONDS", 0.3)

    async def behave(wire: Wire) -> None:
        await wire.request()
        if said is not None:
            await wire.send(said)
        if said != b"":
            await silence(wire)

    async with serve(behave, "127.0.0.1") as proxy, serve(silence, PUBLIC) as server:
        proxies = Proxies({"https": proxy.url()}, HostList(()))
        async with open_egress(server.port, proxies=proxies) as (egress, _):
            assert await ask(egress, f"CONNECT site.test:{server.port} HTTP/1.1") == b""
            assert "site.test" in egress.failures
            assert await proxy.all_closed()
        assert (proxy.connections, server.connections) == (1, 0)


async def test_a_client_that_leaves_takes_the_servers_connection_with_it() -> None:
    """Though the server has not answered: a page that starts and drops requests would use all connections up."""
    async with serve(silence, PUBLIC) as server, open_egress(server.port) as (egress, _):
        _, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        token = b64encode(f"{USER}:{egress.secret}".encode()).decode()
        head = f"GET http://site.test:{server.port}/ HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n"
        writer.write(head.encode())
        assert await server.sees(lambda: server.open == 1)
        writer.close()
        assert await server.all_closed()


async def test_a_connection_that_is_cancelled_while_it_is_flushed_is_dropped() -> None:
    """A server that takes nothing would keep it, and its descriptor, for as long as it likes."""

    async def deaf(wire: Wire) -> None:
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(300)

    async with serve(deaf, PUBLIC) as server, open_egress(server.port) as (egress, _):
        ends = StreamPair(*await asyncio.open_connection(PUBLIC, server.port))
        while not ends.writer.transport.get_write_buffer_size():
            ends.writer.write(bytes(1 << 20))
            await asyncio.sleep(0.01)
        flushing = asyncio.create_task(egress._shut(ends))
        await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.wait([flushing])
        await asyncio.sleep(0)
        assert ends.writer.transport.get_extra_info("socket").fileno() == -1


async def test_a_verdict_that_was_given_before_is_taken_over() -> None:
    async with serve(site({"/": (200, [], b"x")}), PUBLIC) as server, open_egress(server.port) as (egress, resolver):
        url = parse(f"http://site.test:{server.port}/")
        egress.adopt(await egress._guard.vet(url, Deadline(1)))
        assert await ask(egress, f"GET {url.href} HTTP/1.1")
        assert resolver.asked == ["site.test"]


async def echo(wire: Wire) -> None:
    while data := await wire.reader.read(1 << 16):
        await wire.send(data.upper())


async def tunnel(egress: EgressProxy, authority: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
    token = b64encode(f"{USER}:{egress.secret}".encode()).decode()
    writer.write(f"CONNECT {authority} HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n".encode())
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connected\r\n\r\n"
    writer.write(b"hello")
    got = await reader.readexactly(5)
    writer.close()
    return got


async def test_a_tunnel_carries_both_ways() -> None:
    async with serve(echo, PUBLIC) as server, open_egress(server.port) as (egress, _):
        assert await tunnel(egress, f"site.test:{server.port}") == b"HELLO"
        assert await server.all_closed()


async def test_a_page_may_bring_in_only_so_much() -> None:
    async def flood(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\n")
        await wire.pour(b"x" * 65536)

    async with serve(flood, PUBLIC) as server, open_egress(server.port, most=500_000) as (egress, _):
        got = await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1")
        assert 300_000 < len(got) < 700_000
        assert egress.bytes_in <= 700_000


@pytest.mark.parametrize(
    "reply",
    [b"not http\r\n\r\n", b"HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n\r\n", b"HTTP/1.1 200", b"",
     b"HTTP/1.1 100 x\r\n\r\n" * 20, b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n"],
)  # fmt: skip
async def test_non_http_and_407_responses_are_not_forwarded(reply: bytes) -> None:
    async with serve(answering(reply), PUBLIC) as server, open_egress(server.port) as (egress, _):
        assert await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1") == b""


async def test_a_body_is_carried_to_its_length_and_no_second_request_after_it() -> None:
    async def reads(wire: Wire) -> None:
        await wire.request()
        body = await wire.reader.readexactly(4)
        rest = await asyncio.wait_for(wire.reader.read(100), 0.3) if not wire.reader.at_eof() else b""
        await wire.send(answer(200, body + rest))

    async def patient(wire: Wire) -> None:
        try:
            await reads(wire)
        except TimeoutError:
            await wire.send(answer(200, b"only the body"))

    async with serve(patient, PUBLIC) as server, open_egress(server.port) as (egress, _):
        head = f"POST http://site.test:{server.port}/ HTTP/1.1\r\nContent-Length: 4"
        assert (await ask(egress, head, b"bodyGET http://site.test/ HTTP/1.1\r\n\r\n")).endswith(b"only the body")
        chunked = f"POST http://site.test:{server.port}/ HTTP/1.1\r\nTransfer-Encoding: chunked"
        assert await ask(egress, chunked, b"0\r\n\r\n") == b""
    assert len(server.heard) == 1


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET ftp://site.test/ HTTP/1.1",
        "GET https://site.test/ HTTP/1.1",
        "CONNECT site.test HTTP/1.1",
        "CONNECT a:b@site.test:80 HTTP/1.1",
        "nonsense",
    ],
)
async def test_what_is_no_request_for_a_proxy_gets_nothing(line: str) -> None:
    async with open_egress(80) as (egress, _):
        assert await ask(egress, line) == b""


@pytest.mark.req("D2-20", "FR-WF-10d")
async def test_with_the_systems_proxy_the_judged_address_is_asked_for() -> None:
    async with serve(proxying, "127.0.0.1") as proxy, serve(site({"/": (200, [], b"x")}), PUBLIC) as server:
        proxies = Proxies({"http": proxy.url(), "https": proxy.url()}, HostList(()))
        async with open_egress(server.port, proxies=proxies) as (egress, _):
            assert (await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1")).endswith(b"x")
            assert proxy.heard[0].line == f"GET http://{PUBLIC}:{server.port}/ HTTP/1.1"
            assert server.heard[0].header("host") == f"site.test:{server.port}"
        async with serve(echo, PUBLIC) as other, open_egress(other.port, proxies=proxies) as (egress, _):
            assert await tunnel(egress, f"site.test:{other.port}") == b"HELLO"
            assert proxy.heard[-1].line == f"CONNECT {PUBLIC}:{other.port} HTTP/1.1"


async def test_a_dead_server_is_remembered_by_what_was_wrong() -> None:
    async with serve(silence, PUBLIC) as server:
        port = server.port
    async with open_egress(port) as (egress, _):
        assert await ask(egress, f"GET http://site.test:{port}/ HTTP/1.1") == b""
        assert "refused" in egress.failures["site.test"].lower() or "Connect" in egress.failures["site.test"]


async def test_a_server_that_keeps_its_connection_does_not_keep_ours() -> None:
    async def stubborn(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await asyncio.sleep(300)  # whatever was said of closing

    async with serve(stubborn, PUBLIC) as server, open_egress(server.port) as (egress, _):
        for _ in range(5):
            assert (await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1")).endswith(b"hi")
        async with asyncio.timeout(60):
            while egress._serving:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("length", [b"", b"-1", b"+1", b"1 1", b"9" * 21, b"0" * 5_000 + b"1"])
def test_a_length_that_is_none_is_told_as_that(length: bytes) -> None:
    """Python refuses to parse thousands of digits, with an unexpected exception."""
    with pytest.raises(MalformedError, match="without a length"):
        assert RequestHead("POST", "/", [], {b"content-length": length}).body_length
    assert RequestHead("POST", "/", [], {b"content-length": b"9" * 20}).body_length == int("9" * 20)  # the control


async def test_what_a_stranger_sends_is_thrown_away_as_it_comes() -> None:
    async with open_egress(80) as (egress, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        size = 20_000_000
        writer.write(f"POST http://site.test/ HTTP/1.1\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size // 100_000):
            writer.write(b"x" * 100_000)
            await writer.drain()
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 407")
        writer.close()


async def test_one_page_cannot_ask_for_any_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.net.egress.MAX_HOSTS", 3)
    names: dict[str, str | list[str]] = {f"h{number}.test": INSIDE for number in range(6)}
    async with open_egress(80, names=names) as (egress, resolver):
        for number in range(6):
            with pytest.raises(SpanielError):
                await egress.vet(parse(f"http://h{number}.test/"))
        assert len(resolver.asked) == 3


@pytest.mark.parametrize("head", [b"HTTP/1.1 0407 x\r\n", b"HTTP/1.1 200 OK\r\nA: b\nProxy-Authenticate: Basic\r\n"])
async def test_a_head_that_others_might_read_otherwise_is_refused(head: bytes) -> None:
    async with (
        serve(answering(head + b"Content-Length: 0\r\n\r\n"), PUBLIC) as server,
        open_egress(server.port) as (egress, _),
    ):
        assert await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1") == b""


async def test_a_way_out_that_is_not_open_has_no_port_and_is_closed_without_fuss() -> None:
    egress = EgressProxy(guard_with_a_hole(FakeResolver(), (80,), (PUBLIC,)))
    with pytest.raises(RuntimeError, match="not open"):
        _ = egress.port
    await egress.close()


@pytest.mark.parametrize("steps", range(5))
async def test_a_way_out_that_is_stopped_while_it_opens_leaves_no_port_behind(steps: int) -> None:
    before = _descriptors()
    egress = EgressProxy(guard_with_a_hole(FakeResolver({}, None), (), ()))
    opening = asyncio.create_task(egress.open())
    for _ in range(steps):
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    await egress.close()
    assert _descriptors() == before


@pytest.mark.parametrize("steps", range(1, 7))  # a task that is stopped before it begins does nothing
async def test_a_way_out_is_closed_even_if_whoever_closes_it_is_stopped(steps: int) -> None:
    before = _descriptors()
    async with open_egress() as (egress, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        closing = asyncio.create_task(egress.close())
        for _ in range(steps):
            await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        async with asyncio.timeout(60):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            while _descriptors() != before:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_one_page_cannot_hold_any_number_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(site({"/": (200, [], b"x")}), PUBLIC) as server, open_egress(server.port) as (egress, _):
        head = f"GET http://site.test:{server.port}/ HTTP/1.1"
        monkeypatch.setattr("spaniel.net.egress.MAX_CONNECTIONS", 0)
        assert await ask(egress, head) == b""
        assert server.connections == 0
        monkeypatch.undo()
        assert (await ask(egress, head)).endswith(b"x")


async def test_a_body_that_ends_too_early_ends_the_request() -> None:
    heard: list[bytes] = []

    async def listening(wire: Wire) -> None:
        heard.append(await wire.reader.read())  # to the connection's end

    async with serve(listening, PUBLIC) as server, open_egress(server.port) as (egress, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        token = b64encode(f"{USER}:{egress.secret}".encode()).decode()
        head = f"POST http://site.test:{server.port}/ HTTP/1.1\r\nContent-Length: 10\r\n"
        writer.write(f"{head}Proxy-Authorization: Basic {token}\r\n\r\nhal".encode())
        writer.write_eof()
        async with asyncio.timeout(30):
            assert await reader.read() == b""
            while not heard:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert heard[0].endswith(b"\r\n\r\nhal")
        writer.close()


async def test_the_systems_proxy_gets_its_password_and_may_refuse() -> None:
    async def refusing(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    async with serve(refusing, "127.0.0.1") as proxy, serve(silence, PUBLIC) as server:
        where = proxy.url().replace("http://", "http://me:secret@")
        proxies = Proxies({"http": where, "https": where}, HostList(()))
        async with open_egress(server.port, proxies=proxies) as (egress, _):
            assert await ask(egress, f"CONNECT site.test:{server.port} HTTP/1.1") == b""
            assert "403" in egress.failures["site.test"]
            assert (await ask(egress, f"GET http://site.test:{server.port}/ HTTP/1.1")).startswith(b"HTTP/1.1 403")
        token = b64encode(b"me:secret").decode()
        assert [request.header("proxy-authorization") for request in proxy.heard] == [f"Basic {token}"] * 2
        assert server.connections == 0
