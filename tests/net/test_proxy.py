"""Proxies: those of the environment are not heeded; one that is set is asked for the judged address (D2-20)."""

from __future__ import annotations

import aiohttp
import pytest

from spaniel.net.proxy import Proxies
from spaniel.url.hostlists import HostList
from tests.net.harness import open_harness
from tests.net.servers import Server, Wire, answering, proxying, serve, silence, site, tls_for

PAGES = site({"/": (200, [], b"page"), "/q?a=b": (200, [], b"query"), "/on": (302, ["Location: /q?a=b"], b"")})
NAMES: dict[str, str | list[str]] = {"a.test": "127.0.0.1", "b.test": ["127.0.0.1", "127.0.0.7"], "six.test": "::1"}
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def through(proxy: Server, *direct: str) -> Proxies:
    return Proxies({"http": proxy.url(), "https": proxy.url()}, HostList(direct))


@pytest.mark.req("FR-WF-10d")
async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch, ca_file: str) -> None:
    async with (
        serve(PAGES) as plain,
        serve(PAGES, tls=tls_for("a.test")) as secure,
        serve(proxying, "127.0.0.8") as proxy,
        open_harness(plain, secure, names=NAMES, ca_file=ca_file) as harness,
    ):
        for variable in VARIABLES:
            monkeypatch.setenv(variable, proxy.url())
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        for server in (plain, secure):
            assert (await harness.fetch(server.url("/", "a.test"), robots=True)).page.body == b"page"
        assert proxy.connections == 0
        async with aiohttp.ClientSession(trust_env=True) as session, session.get(plain.url()) as response:
            assert await response.read() == b"page"
        assert proxy.connections == 1  # the positive control: a client that uses them connects to it


@pytest.mark.req("D2-20")
async def test_a_proxy_is_asked_for_the_judged_address_while_host_stays_the_name() -> None:
    async with (
        serve(PAGES) as server,
        serve(proxying, "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy)) as harness,
    ):
        found = await harness.fetch(server.url("/on", "a.test"), robots=True)
        assert found.page.body == b"query"
        assert [request.line for request in proxy.heard] == [
            f"GET http://127.0.0.1:{server.port}{path} HTTP/1.1" for path in ("/robots.txt", "/on", "/q?a=b")
        ]
        assert {request.header("host") for request in server.heard} == {f"a.test:{server.port}"}
        assert harness.resolver.asked == ["a.test", "a.test"]
        assert proxy.heard[0].header("proxy-authorization") is None
        await harness.still_serves()


@pytest.mark.req("D2-20")
async def test_tunnel_uses_the_vetted_address_and_tls_the_name(ca_file: str) -> None:
    seen: list[str | None] = []
    async with (
        serve(PAGES, tls=tls_for("a.test", seen=seen)) as server,
        serve(proxying, "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy), ca_file=ca_file) as harness,
    ):
        assert (await harness.get(server.url("/", "a.test"))).body == b"page"
        assert [request.line for request in proxy.heard] == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"]
        assert proxy.heard[0].header("user-agent") == "forge-webfetch/1.0"  # not the library's
        assert proxy.heard[0].header("proxy-authorization") is None
        assert seen == ["a.test"]
        assert server.heard[0].header("host") == f"a.test:{server.port}"
        await harness.refuses(server.url("/", "b.test"), "network")  # no certificate for this one, proxy or not
        assert len(server.heard) == 1


@pytest.mark.req("D2-20", "FR-WF-06")
async def test_what_the_guard_refuses_is_not_asked_of_a_proxy_either() -> None:
    async with (
        serve(PAGES, "127.0.0.2") as victim,
        serve(proxying, "127.0.0.8") as proxy,
        open_harness(victim, names={"v.test": "127.0.0.2"}, proxies=through(proxy), public=("127.0.0.1",)) as harness,
    ):
        for host in ("v.test", "127.0.0.2"):
            await harness.refuses(victim.url("/", host), "ssrf_blocked", serves=False)
        assert (victim.connections, proxy.connections) == (0, 0)


@pytest.mark.req("D2-20")
async def test_a_host_that_is_to_be_reached_directly_is() -> None:
    async with (
        serve(PAGES) as server,
        serve(proxying, "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy, "a.test")) as harness,
    ):
        await harness.get(server.url("/", "a.test"))
        assert proxy.connections == 0
        await harness.get(server.url("/", "b.test"))
        assert proxy.connections == 1
        assert server.connections == 2  # nor does one way use the other's connection


@pytest.mark.req("D2-20")
async def test_two_names_do_not_share_a_connection_to_the_proxy() -> None:
    names = {"a.test": "127.0.0.1", "b.test": "127.0.0.1"}
    async with (
        serve(PAGES) as server,
        serve(proxying, "127.0.0.8") as proxy,
        open_harness(server, names=names, proxies=through(proxy)) as harness,
    ):
        for host in names:
            await harness.get(server.url("/", host))
        assert proxy.connections == 2


@pytest.mark.req("D2-20", "FR-WF-18")
@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2/\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n\r\nthis is no TLS",
    ],
)
async def test_a_proxy_that_makes_no_tunnel_is_a_network_error(said: bytes) -> None:
    direct = "good.test"
    async with (
        serve(silence) as server,
        serve(answering(said), "127.0.0.8") as proxy,
        open_harness(server, names=NAMES, proxies=through(proxy, direct)) as harness,
    ):
        await harness.refuses(server.url("/", "a.test").replace("http:", "https:"), "network")
        assert server.connections == 0


@pytest.mark.req("D2-20", "FR-WF-10a")
async def test_a_silent_proxy_ends_at_the_deadline() -> None:
    async def endless(wire: Wire) -> None:
        await wire.request()
        await wire.pour(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

    for behaviour in (silence, endless):
        async with (
            serve(silence) as server,
            serve(behaviour, "127.0.0.8") as proxy,
            open_harness(server, names=NAMES, proxies=through(proxy, "good.test")) as harness,
        ):
            url = server.url("/", "a.test").replace("http:", "https:")
            await harness.refuses(url, ("timeout", "network"), 0.5)
            assert await proxy.all_closed()


@pytest.mark.req("D2-20", "FR-WF-18")
async def test_a_proxy_that_is_not_there_is_a_network_error() -> None:
    async with serve(PAGES) as server:
        unreachable = Proxies({"http": "http://127.0.0.8:1/"}, HostList(["good.test"]))
        async with open_harness(server, names=NAMES, proxies=unreachable) as harness:
            await harness.refuses(server.url("/", "a.test"), "network")
            assert server.connections == 0  # never around the proxy
