"""Connecting directly or through a proxy, with the requested name in TLS; and the errors."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.net import connector
from spaniel.net.connector import Connector, tls_context
from spaniel.net.deadline import Deadline
from spaniel.url import parse
from tests.net.harness import open_harness
from tests.net.servers import (
    Behaviour,
    Wire,
    answer,
    answering,
    proxying,
    proxying_with,
    serve,
    silence,
    site,
    tls_for,
)
from tests.net.test_proxy import through

PAGES = site({"/": (200, [], b"page")})
NAMES = {"a.test": "127.0.0.1"}


@pytest.mark.req("D2-20")
@pytest.mark.parametrize("status", [200, 204, 299])
async def test_any_success_makes_a_tunnel(status: int, ca_file: str) -> None:
    async with (
        serve(PAGES, tls=tls_for("a.test")) as server,
        serve(proxying_with(b"HTTP/1.1 %d Fine\r\n\r\n" % status), "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy, "good.test"), ca_file=ca_file) as harness,
    ):
        assert (await harness.get(server.url("/", "a.test"))).body == b"page"
        assert (await harness.get(server.url("/", "a.test"))).body == b"page"
        assert (proxy.connections, server.connections) == (1, 1)


@pytest.mark.req("D2-20")
@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 300 Many\r\n\r\n", b"HTTP/1.1 407 Who\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nX"]
)
async def test_anything_else_makes_none_though_one_were_there(said: bytes, ca_file: str) -> None:
    """Nor does a success with data after it: a TLS server does not send first in a tunnel."""
    async with (
        serve(PAGES, tls=tls_for("a.test")) as server,
        serve(proxying_with(said), "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy, "good.test"), ca_file=ca_file) as harness,
    ):
        error = await harness.refuses(server.url("/", "a.test"), "network")
        status = said[9:12].decode()
        assert error.details["error"] == f"cannot connect: the system's proxy answered {status}"
        assert error.details["cause"] == "connect"
        assert server.heard == []
        assert await proxy.all_closed()


@pytest.mark.req("D2-20")
@pytest.mark.parametrize(
    ("said", "reported"),
    [
        (b"", "closed the connection without an answer"),
        (b"HTTP/1.1 2", "closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH\r\n", "did not answer in HTTP: "),
    ],
)
async def test_a_proxy_that_makes_no_tunnel_is_a_failed_connection(said: bytes, reported: str) -> None:
    async with (
        serve(silence) as server,
        serve(answering(said), "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy, "good.test")) as harness,
    ):
        error = await harness.refuses(server.url("/", "a.test").replace("http:", "https:"), "network", robots=True)
        assert f"cannot connect: the system's proxy {reported}" in str(error.details["error"])
        assert error.details["cause"] == "connect"
        assert await proxy.all_closed()


def speaking_first(tls: ssl.SSLContext, early: bytes) -> Behaviour:
    """A TLS server whose last flight of the handshake contains an unsolicited response."""

    async def behave(wire: Wire) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        secured = tls.wrap_bio(incoming, outgoing, server_side=True)
        established = False
        while data := await wire.reader.read(1 << 16):
            incoming.write(data)
            with contextlib.suppress(ssl.SSLWantReadError):
                if not established:
                    secured.do_handshake()
                    established = True
                    secured.write(early)
                secured.read(1 << 16)
                secured.write(answer(200, b"page"))
            await wire.send(outgoing.read())

    return behave


@pytest.mark.req("D2-20", "FR-WF-06a")
@pytest.mark.parametrize("tunnelled", [True, False])
async def test_a_server_that_speaks_first_is_not_asked(tunnelled: bool, ca_file: str) -> None:
    """What it says is not taken for an answer, and not passed over either: the next bytes could be anything."""
    tls = tls_for("a.test")
    tls.maximum_version = ssl.TLSVersion.TLSv1_2  # where the server's flight is the last one
    for early in (answer(200, b"early"), b"220 mail.test ESMTP\r\n", b""):
        async with (
            serve(speaking_first(tls, early)) as server,
            serve(proxying, "127.0.0.8") as proxy,
            open_harness(
                server, names=NAMES, ca_file=ca_file, proxies=through(proxy, "good.test") if tunnelled else None
            ) as harness,
        ):
            url = server.url("/", "a.test").replace("http:", "https:")
            if early:
                error = await harness.refuses(url, "network")
                assert "without an answer" in str(error.details["error"])
                assert await server.all_closed()
            else:  # the control: the same server, silent until it is asked
                assert (await harness.get(url)).body == b"page"
            assert proxy.connections == tunnelled


@pytest.mark.req("D2-20")
async def test_what_follows_the_proxys_answer_is_not_from_the_server(ca_file: str) -> None:
    """A moment later than that answer, so that it is met in the handshake."""

    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.sleep(0)
        await wire.send(answer(200, b"early"))
        await silence(wire)

    async with (
        serve(silence) as server,
        serve(behave, "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, ca_file=ca_file, proxies=through(proxy, "good.test")) as harness,
    ):
        error = await harness.refuses(server.url("/", "a.test").replace("http:", "https:"), "network")
        assert error.details["cause"] in ("tls", "connect")
        assert await proxy.all_closed()


@pytest.mark.req("D2-20")
async def test_a_proxy_that_refuses_is_left_though_it_stays() -> None:
    said = b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
    async with (
        serve(silence) as server,
        serve(answering(said, close=False), "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy, "good.test")) as harness,
    ):
        await harness.refuses(server.url("/", "a.test").replace("http:", "https:"), "network")
        assert await proxy.all_closed()


async def test_a_name_that_is_written_in_full_is_the_same_for_tls(ca_file: str) -> None:
    seen: list[str | None] = []
    names = {"a.test": "127.0.0.1", "a.test.": "127.0.0.1"}
    async with (
        serve(PAGES, tls=tls_for("a.test", seen=seen)) as server,
        open_harness(server, names=names, ca_file=ca_file) as harness,
    ):
        assert (await harness.get(server.url("/", "a.test."))).body == b"page"
    assert seen == ["a.test"]


async def test_an_address_is_asked_for_in_tls_without_its_brackets() -> None:
    async with open_harness(ports=(443,)) as harness:
        target = await harness.services.guard.vet(parse("https://[::1]/"), Deadline(5))
        assert connector._name(target) == "::1"


async def test_an_address_with_a_certificate_of_its_own_is_believed(ca_file: str) -> None:
    async with serve(PAGES, tls=tls_for("127.0.0.1")) as server, open_harness(server, ca_file=ca_file) as harness:
        assert (await harness.get(server.url())).body == b"page"


async def test_whose_certificate_is_not_trusted_is_not_asked() -> None:
    async with serve(PAGES, tls=tls_for("a.test")) as server, open_harness(server, names=NAMES) as harness:
        error = await harness.refuses(server.url("/", "a.test"), "network")
        assert error.details["cause"] == "certificate"
        assert server.heard == []
        assert await server.all_closed()
        sockets = harness.services.http._pool.connector.sockets
        assert await server.sees(lambda: sockets.open <= 1)  # but for the good neighbour's


@pytest.mark.parametrize(("content", "message"), [(None, "No such file or directory"), ("no certificate", "")])
async def test_unreadable_ca_file_is_reported_before_any_request(
    content: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    async with serve(PAGES) as server, open_harness(server, ca_file=str(path)) as harness:
        for url in (server.url(), server.url().replace("http:", "https:")):
            with pytest.raises(SpanielError) as refused:
                await harness.get(url)
            assert (str(refused.value.code), refused.value.details["field"]) == ("bad_args", "ca_file")
            reason = str(refused.value.details["reason"])
            assert reason.startswith(f"{path}: ")
            assert reason.endswith(message)
            assert not reason.endswith("None")
            assert content is not None or reason == f"{path}: {message}"
        assert server.connections == 0


async def test_certificates_are_read_once_and_only_where_they_are_needed(ca_file: str) -> None:
    bare = Connector("")
    assert bare.certificates("http") is None
    assert bare._tls is None
    trusting = Connector(ca_file)
    assert trusting.certificates("http") is None
    first = trusting.certificates("https")
    assert first is not None
    assert trusting.certificates("https") is first
    assert len(first.get_ca_certs()) == len(tls_context("").get_ca_certs()) + 1


async def test_each_address_of_a_name_is_dialled_once() -> None:
    assert await connector._addresses("127.0.0.7") == [ip_address("127.0.0.7")]
    found = await connector._addresses("localhost")
    assert len(found) == len(set(found)) >= 1


async def test_an_address_is_dialled_without_the_name_of_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(host: str, port: object) -> list[tuple[object, ...]]:
        assert (host, port) == ("proxy.test", None)
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1%lo", 0, 0, 1)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("127.0.0.1", 0)),
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)
    assert await connector._addresses("proxy.test") == [ip_address("fe80::1"), ip_address("127.0.0.1")]


async def test_of_a_handshake_that_fails_no_socket_is_left() -> None:
    async def babble(wire: Wire) -> None:
        await wire.reader.read(10)
        await wire.send(b"no TLS at all\r\n")
        await silence(wire)

    async with serve(babble) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url().replace("http:", "https:"), "network", serves=False)
        assert error.details["cause"] == "tls"
        assert await server.all_closed()
        sockets = harness.services.http._pool.connector.sockets
        assert await server.sees(lambda: sockets.open == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="there each has a buffer of its own")
async def test_many_connections_share_one_buffer() -> None:
    """A thousand that are kept would otherwise weigh 64 MiB."""
    async with serve(PAGES) as server, open_harness(server) as harness:
        await asyncio.gather(*(harness.get(server.url()) for _ in range(4)))
        (kept,) = harness.services.http._pool._idle.values()
        assert {len(wire._buffer) for wire in kept} == {65_536}
        assert len({id(wire._buffer) for wire in kept}) == 1
