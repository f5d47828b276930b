"""Who is dialled: an address that was judged, under the name that was asked for."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from ipaddress import ip_address

import pytest

from spaniel.errors import SpanielError
from spaniel.net.http import Http
from tests.net.harness import open_harness
from tests.net.servers import Wire, answer, black_hole, serve, silence, site, tls_for

PAGES = site({"/": (200, [], b"page")})


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.req("FR-WF-06", "T-WF-SSRF-10")
@pytest.mark.parametrize("other", ["127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.2"])
async def test_one_private_answer_spoils_them_all_in_either_order(other: str) -> None:
    async with serve(PAGES) as server, open_harness(server, public=("127.0.0.1",)) as harness:
        for addresses in (["127.0.0.1", other], [other, "127.0.0.1"]):
            harness.resolver.names["mixed.test"] = addresses
            error = await harness.refuses(server.url("/", "mixed.test"), "ssrf_blocked")
            assert ip_address(str(error.details["blocked_ip"])) == ip_address(other)
        assert server.connections == 0
        harness.resolver.names["mixed.test"] = ["127.0.0.1"]  # the positive control
        assert (await harness.get(server.url("/", "mixed.test"))).body == b"page"


@pytest.mark.req("FR-WF-06", "FR-WF-06a")
async def test_a_name_is_looked_up_once_a_hop() -> None:
    pages = site({"/a": (302, ["Location: /b"], b""), "/b": (200, [], b"page")})
    async with serve(pages) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        assert (await harness.fetch(server.url("/a", "a.test"), robots=True)).page.body == b"page"
        assert harness.resolver.asked == ["a.test", "a.test"]  # two hops; robots.txt went with the first


@pytest.mark.req("FR-WF-06a")
async def test_where_one_address_refuses_the_next_is_tried() -> None:
    names: dict[str, str | list[str]] = {"a.test": ["127.0.0.5", "127.0.0.6", "127.0.0.1"]}
    async with serve(PAGES) as server, open_harness(server, names=names) as harness:
        assert (await harness.get(server.url("/", "a.test"))).body == b"page"
        assert server.connections == 1


@pytest.mark.req("FR-WF-06a")
async def test_where_one_address_is_silent_the_next_is_tried() -> None:
    names: dict[str, str | list[str]] = {"a.test": ["127.0.0.5", "127.0.0.1"]}
    with black_hole("127.0.0.5") as port:
        async with serve(PAGES, port=port) as server, open_harness(server, names=names) as harness:
            assert (await harness.get(server.url("/", "a.test"))).body == b"page"
            error = await harness.refuses(f"http://127.0.0.5:{port}/", "timeout", 0.5)  # it is silent indeed
            assert error.details["phase"] == "connect"


@pytest.mark.req("FR-WF-18")
async def test_a_refused_connection_is_a_network_error() -> None:
    async with serve(PAGES) as server, open_harness(server, names={"a.test": ["127.0.0.5", "127.0.0.6"]}) as harness:
        error = await harness.refuses(server.url("/", "127.0.0.5"), "network")
        assert error.details["error"] == "cannot connect: Connection refused"
        await harness.refuses(server.url("/", "a.test"), "network")


@pytest.mark.req("FR-WF-18")
async def test_a_server_that_hangs_up_at_once_is_a_network_error() -> None:
    async def hang_up(wire: Wire) -> None:
        wire.reset()

    async with serve(hang_up) as server, open_harness(server) as harness:
        await harness.refuses(server.url(), "network")


@pytest.mark.req("FR-WF-05", "FR-WF-06")
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_ipv6_is_dialled_by_literal_and_by_name() -> None:
    async with serve(PAGES, "::1") as server, open_harness(server, names={"six.test": "::1"}) as harness:
        assert (await harness.fetch(server.url(), robots=True)).page.body == b"page"
        assert (await harness.get(server.url("/", "six.test"))).body == b"page"
        assert [request.header("host") for request in server.heard] == [
            f"[::1]:{server.port}",
            f"[::1]:{server.port}",
            f"six.test:{server.port}",
        ]
    async with serve(PAGES, "::1") as server, open_harness(server, public=("127.0.0.1",)) as harness:
        await harness.refuses(server.url(), "ssrf_blocked")
        assert server.connections == 0


@pytest.mark.req("FR-WF-06a")
async def test_the_certificate_and_sni_are_the_names_whatever_address_is_dialled(ca_file: str) -> None:
    seen: list[str | None] = []
    names = {"a.test": "127.0.0.1", "b.test": "127.0.0.1"}
    async with (
        serve(PAGES, tls=tls_for("a.test", seen=seen)) as server,
        open_harness(server, names=names, ca_file=ca_file) as harness,
    ):
        assert (await harness.fetch(server.url("/", "a.test"), robots=True)).page.body == b"page"
        assert seen == ["a.test"]
        assert {request.header("host") for request in server.heard} == {f"a.test:{server.port}"}
        for host in ("b.test", "127.0.0.1"):  # the very same server, but the certificate is not for these
            error = await harness.refuses(server.url("/", host), "network")
            assert "certificate" in str(error.details["error"])
        assert seen == ["a.test", "b.test", None]
        assert len(server.heard) == 2  # nothing was asked of who could not say who it is


@pytest.mark.req("FR-WF-06a")
@pytest.mark.parametrize(
    "address", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no ::1"))]
)
async def test_a_certificate_for_an_address_serves_the_address(address: str, ca_file: str) -> None:
    async with serve(PAGES, address, tls=tls_for(address)) as server, open_harness(server, ca_file=ca_file) as harness:
        assert (await harness.get(server.url())).body == b"page"


@pytest.mark.req("FR-WF-06a")
async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async with (
        serve(PAGES, tls=tls_for("a.test")) as server,
        open_harness(server, names={"a.test": "127.0.0.1"}) as harness,
    ):
        error = await harness.refuses(server.url("/", "a.test"), "network")
        assert "certificate is not trusted" in str(error.details["error"])
        assert not server.heard
        assert await server.all_closed()


async def test_old_tls_is_refused(ca_file: str) -> None:
    old = tls_for("a.test")
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    names = {"a.test": "127.0.0.1"}
    async with (
        serve(PAGES, tls=old) as server,
        open_harness(server, names=names, ca_file=ca_file) as harness,
    ):
        await harness.refuses(server.url("/", "a.test"), "network")


async def test_http_on_an_https_port_and_the_reverse_are_network_errors(ca_file: str) -> None:
    async def puzzled(wire: Wire) -> None:
        await wire.reader.read(1)
        await wire.send(answer(400, b"this is not HTTP"))

    names = {"a.test": "127.0.0.1"}
    async with (
        serve(puzzled) as plain,
        serve(PAGES, tls=tls_for("a.test")) as secure,
        open_harness(plain, secure, names=names, ca_file=ca_file) as harness,
    ):
        await harness.refuses(plain.url("/", "a.test").replace("http:", "https:"), "network")
        await harness.refuses(secure.url("/", "a.test").replace("https:", "http:"), ("network", "timeout"), 1.0)


@pytest.mark.parametrize("content", [None, "not a certificate"])
async def test_a_ca_file_that_cannot_be_read_is_named(
    content: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tls") / "broken.pem"
    if content is not None:
        path.write_text(content)
    async with serve(PAGES) as server, open_harness(server, ca_file=str(path)) as harness:
        with pytest.raises(SpanielError) as refused:
            await harness.get(server.url())
        assert (str(refused.value.code), refused.value.details["field"]) == ("bad_args", "ca_file")
    await Http(str(path)).close()


@pytest.mark.req("FR-WF-10a")
async def test_slow_servers_end_at_the_one_deadline_and_say_where(caplog: pytest.LogCaptureFixture) -> None:
    """A byte now and then would satisfy any timeout per read, for ever."""
    caplog.set_level(logging.CRITICAL)

    async def headers(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nX: ")
        await wire.drip(b"y")

    async def status(wire: Wire) -> None:
        await wire.request()
        await wire.drip(b"\r\n")

    async def hints(wire: Wire) -> None:
        await wire.request()
        await wire.drip(b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01)

    async def body(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        await wire.drip(b"x")

    async def chunks(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await wire.drip(b"1\r\nx\r\n", 0.01)

    async def handshake(wire: Wire) -> None:
        await wire.reader.read(1)
        await wire.send(b"\x16\x03\x03\x40\x00")  # a record of 16 KB, a byte at a time
        await wire.drip(b"\x02")

    async def case(behaviour: object, phase: str, scheme: str = "http:") -> None:
        async with serve(behaviour) as server, open_harness(server) as harness:  # type: ignore[arg-type]
            error = await harness.refuses(server.url().replace("http:", scheme), "timeout", 1.0)
            assert error.details == {"timeout_ms": 1000, "phase": phase}, behaviour
            assert await server.all_closed()

    await asyncio.gather(
        case(headers, "headers"),
        case(status, "headers"),
        case(hints, "headers"),
        case(silence, "headers"),
        case(body, "body"),
        case(chunks, "body"),
        case(handshake, "connect", "https:"),
        case(silence, "connect", "https:"),
    )


@pytest.mark.req("FR-WF-10a")
async def test_a_deadline_that_has_passed_dials_nobody() -> None:
    async with serve(site({"/": (200, [], b"page")})) as server, open_harness(server) as harness:
        await harness.refuses(server.url(), "timeout", 0.0)
        assert server.heard == []


@pytest.mark.req("FR-WF-10a")
async def test_a_slow_but_honest_server_is_waited_for() -> None:
    """The positive control: it is the deadline that ends a fetch, not the pace."""

    async def behave(wire: Wire) -> None:
        await wire.request()
        for byte in answer(200, b"slow"):
            await wire.send(bytes([byte]))
            await asyncio.sleep(0.005)

    async with serve(behave) as server, open_harness(server) as harness:
        assert (await harness.get(server.url())).body == b"slow"
