"""The redirect loop: every hop is a URL from a stranger, and is judged like the first."""

from __future__ import annotations

import asyncio

import pytest

from spaniel.url import parse
from tests.net.harness import open_harness
from tests.net.servers import Server, Wire, answer, answering, authority, serve, silence, site, tls_for

FRONT = "127.0.0.1"  # stands in for a public address
VICTIM = "127.0.0.2"  # judged as what it is


def to(location: str, *more: str, status: int = 302) -> bytes:
    return answer(status, b"", f"Location: {location}", *more)


HIDDEN = {
    "by its address": ("http://127.0.0.2:{port}/", "ssrf_blocked"),
    "by its name": ("http://victim.test:{port}/", "ssrf_blocked"),
    "by a name that has a public address too": ("http://both.test:{port}/", "ssrf_blocked"),
    "without a scheme": ("//127.0.0.2:{port}/", "ssrf_blocked"),
    "with credentials": ("http://front.test@127.0.0.2:{port}/", "ssrf_blocked"),
    "mapped into IPv6": ("http://[::ffff:127.0.0.2]:{port}/", "ssrf_blocked"),
    "mapped into IPv6 in hexadecimal": ("http://[::ffff:7f00:2]:{port}/", "ssrf_blocked"),
    "through NAT64": ("http://[64:ff9b::7f00:2]:{port}/", "ssrf_blocked"),
    "through 6to4": ("http://[2002:7f00:2::]:{port}/", "ssrf_blocked"),
    "as IPv6 loopback": ("http://[::1]:{port}/", "ssrf_blocked"),
    "as the unspecified address": ("http://0.0.0.0:{port}/", "ssrf_blocked"),
    "as one number": ("http://2130706434:{port}/", "invalid_host"),
    "in hexadecimal": ("http://0x7f000002:{port}/", "invalid_host"),
    "in octal": ("http://0177.0.0.2:{port}/", "invalid_host"),
    "in short": ("http://127.2:{port}/", "invalid_host"),
    "in full-width digits": ("http://１２７.0.0.2:{port}/", ("invalid_host", "invalid_url")),
    "with a percent escape": ("http://127.0.0.%32:{port}/", ("invalid_host", "invalid_url")),
    "with a zone": ("http://[fe80::1%25lo]:{port}/", "invalid_url"),
    "behind a backslash": ("http:\\\\127.0.0.2:{port}/", "invalid_url"),
    "behind another backslash": ("/\\127.0.0.2:{port}/", "invalid_url"),
    "behind three slashes": ("///127.0.0.2:{port}/", "invalid_url"),
    "behind a tab": ("http://127.0.0.2\t:{port}/", ("invalid_url", "network")),
    "by a file URL": ("file://127.0.0.2:{port}/etc/passwd", "invalid_scheme"),
    "by gopher": ("gopher://127.0.0.2:{port}/_GET", "invalid_scheme"),
    "by ftp": ("ftp://127.0.0.2:{port}/", "invalid_scheme"),
    "by ws": ("ws://127.0.0.2:{port}/", "invalid_scheme"),
    "by dict": ("dict://127.0.0.2:{port}/x", "invalid_scheme"),
    "in a jar": ("jar:http://127.0.0.2:{port}/!/", "invalid_scheme"),
    "in view-source": ("view-source:http://127.0.0.2:{port}/", "invalid_scheme"),
    "in a blob": ("blob:http://127.0.0.2:{port}/x", "invalid_scheme"),
    "in data": ("data:text/html,<script src=http://127.0.0.2:{port}>", "invalid_scheme"),
    "in a script": ("javascript:fetch('http://127.0.0.2:{port}/')", "invalid_scheme"),
    "in a script of mixed case": ("JaVaScRiPt:fetch('http://127.0.0.2:{port}/')", "invalid_scheme"),
    "on port 22": ("http://front.test:22/", "port_blocked"),
    "on port 0": ("http://front.test:0/", "port_blocked"),
    "on port 65536": ("http://front.test:65536/", "invalid_url"),
}
NAMES: dict[str, str | list[str]] = {"front.test": FRONT, "victim.test": VICTIM, "both.test": [FRONT, VICTIM]}


@pytest.mark.req("FR-WF-07e", "D2-09", "NFR-WF-SEC-01", "T-WF-SSRF-09")
@pytest.mark.parametrize(("location", "code"), HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("status", [302, 308])
async def test_a_redirect_cannot_reach_what_is_blocked(location: str, code: str | tuple[str, ...], status: int) -> None:
    pages: dict[str, tuple[int, list[str], bytes]] = {}
    async with (
        serve(site(pages), FRONT) as front,
        serve(silence, VICTIM) as victim,
        open_harness(front, victim, names=NAMES, public=(FRONT,)) as harness,
    ):
        there = location.format(port=victim.port).encode().decode("latin-1")  # UTF-8 on the wire
        pages["/"] = (status, [f"Location: {there}"], b"")
        await harness.refuses(front.url("/", "front.test"), code, robots=True)
        assert victim.connections == 0
        assert [request.target for request in front.heard] == ["/robots.txt", "/"]


@pytest.mark.req("FR-WF-07e", "T-WF-SSRF-09")
@pytest.mark.parametrize(
    "host", ["127.0.0.2", "victim.test", "[::ffff:127.0.0.2]"], ids=["by its address", "by its name", "mapped"]
)
async def test_with_the_block_off_the_victim_is_reached(host: str) -> None:
    """The positive control: it is the guard that stands between."""
    pages: dict[str, tuple[int, list[str], bytes]] = {}
    async with (
        serve(site(pages), FRONT) as front,
        serve(site({"/": (200, [], b"secret")}), VICTIM) as victim,
        open_harness(front, victim, names=NAMES) as harness,
    ):
        pages["/"] = (302, [f"Location: http://{host}:{victim.port}/"], b"")
        assert (await harness.fetch(front.url("/", "front.test"), robots=True)).page.body == b"secret"
        assert victim.connections == 1


@pytest.mark.req("D2-09", "FR-WF-05c", "T-WF-SSRF-07", "T-WF-SSRF-08")
async def test_a_redirect_to_another_port_needs_that_port_allowed() -> None:
    pages: dict[str, tuple[int, list[str], bytes]] = {}
    async with serve(site(pages), FRONT) as front, serve(site({"/": (200, [], b"there")}), FRONT) as other:
        pages["/"] = (302, [f"Location: {other.url()}"], b"")
        async with open_harness(front) as harness:
            error = await harness.refuses(front.url(), "port_blocked")
            assert error.details["port"] == other.port
            assert other.connections == 0
        async with open_harness(front, ports=(other.port,)) as harness:
            assert (await harness.fetch(front.url())).page.body == b"there"


@pytest.mark.req("FR-WF-07e", "FR-WF-06a", "T-WF-SSRF-10")
async def test_name_that_turns_private_between_hops_is_refused() -> None:
    async with (
        serve(answering(to("/next"), answer(200, b"secret")), FRONT) as front,
        open_harness(front, names={"turn.test": FRONT}, public=(FRONT,)) as harness,
    ):
        ask = harness.resolver.resolve

        async def turning(host: str) -> object:
            found = await ask(host)
            harness.resolver.names["turn.test"] = VICTIM
            return found

        harness.resolver.resolve = turning  # type: ignore[method-assign, assignment]
        await harness.refuses(front.url("/", "turn.test"), "ssrf_blocked")
        assert [request.target for request in front.heard] == ["/"]


@pytest.mark.req("FR-WF-07e", "FR-WF-08")
async def test_robots_is_asked_at_every_hop() -> None:
    pages: dict[str, tuple[int, list[str], bytes]] = {"/robots.txt": (200, [], b"User-agent: *\nDisallow: /private")}
    async with serve(site(pages)) as server, open_harness(server) as harness:
        pages["/"] = (302, ["Location: /private/page"], b"")
        pages["/private/page"] = (200, [], b"private")
        await harness.refuses(server.url(), "robots_disallowed", robots=True)
        assert [request.target for request in server.heard] == ["/robots.txt", "/"]


RESOLVED = {
    "relative": ("next", "/dir/next"),
    "rooted": ("/next", "/next"),
    "upwards": ("../../../next", "/next"),
    "query only": ("?q=1", "/dir/page?q=1"),
    "without a scheme": ("//front.test:{port}/next", "/next"),
    "absolute": ("http://front.test:{port}/next?a=b&c", "/next?a=b&c"),
    "with a fragment": ("/next#part", "/next"),
    "with surrounding space": ("   /next \t ", "/next"),
    "with a space inside": ("/ne xt", "/ne%20xt"),
    "in UTF-8": ("/n\u00c3\u00a9xt", "/n%C3%A9xt"),
    "escaped already": ("/n%C3%A9xt%2Fa", "/n%C3%A9xt%2Fa"),
    "with escaped line breaks": ("/next%0d%0aX-Injected:%20yes", "/next%0d%0aX-Injected:%20yes"),
    "with a colon that is no scheme": ("./a:b", "/dir/a:b"),
    "with credentials": ("http://user:secret@front.test:{port}/next", "/next"),
    "folded": ("\r\n /next", "/next"),
}


@pytest.mark.req("FR-WF-07b", "IT-WF-HTTP-02")
@pytest.mark.parametrize(("location", "target"), RESOLVED.values(), ids=RESOLVED)
async def test_a_location_is_resolved_against_the_current_url(location: str, target: str) -> None:
    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(to(location.replace("{port}", str(wire.writer.get_extra_info("sockname")[1]))))
        await wire.request()
        await wire.send(answer(200, b"there"))

    async with serve(behave) as server, open_harness(server, names={"front.test": FRONT}) as harness:
        found = await harness.fetch(server.url("/dir/page", "front.test"))
        assert found.page.body == b"there"
        assert [request.target for request in server.heard] == ["/dir/page", target]
        assert server.heard[1].header("authorization") is None
        assert server.heard[1].header("host") == f"front.test:{server.port}"
        assert found.chain == (server.url("/dir/page", "front.test"),)
        assert "secret" not in found.page.url.href


BROKEN = {
    "CR LF and a header": (b"Location: /next\r\nX-Injected: yes\r\n", "redirect"),
    "CR inside": (b"Location: /ne\rxt\r\n", "network"),
    "NUL inside": (b"Location: /ne\0xt\r\n", "network"),
    "ESC inside": (b"Location: /ne\x1b[2Jxt\r\n", ("invalid_url", "network")),
    "bytes that are no text": (b"Location: /ne\xffxt\r\n", ("invalid_url", "network")),
    "64 KB long": (b"Location: /" + b"a" * 65_536 + b"\r\n", ("invalid_url", "network")),
    "8 KB long": (b"Location: /" + b"a" * 8_192 + b"\r\n", "invalid_url"),
    "two of them": (b"Location: /a\r\nLocation: /b\r\n", "network"),
    "the same twice": (b"Location: /a\r\nlocation: /a\r\n", "network"),
    "no host": (b"Location: http:///next\r\n", "invalid_url"),
    "no scheme before the colon": (b"Location: ://next\r\n", "redirect"),
    "Refresh instead": (b"Refresh: 0; url=http://127.0.0.2/\r\n", "network"),
    "Content-Location instead": (b"Content-Location: /next\r\n", "network"),
}


@pytest.mark.req("FR-WF-07b", "D2-27")
@pytest.mark.parametrize(("field", "outcome"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_location_is_a_typed_error_or_a_plain_redirect(
    field: bytes, outcome: str | tuple[str, ...]
) -> None:
    sent = b"HTTP/1.1 302 Found\r\n" + field + b"Content-Length: 0\r\n\r\n"
    async with serve(answering(sent, answer(200, b"there"))) as server, open_harness(server) as harness:
        if outcome == "redirect":
            assert (await harness.fetch(server.url())).page.body == b"there"
            assert all(name != "x-injected" for name, _ in server.heard[1].fields)
            return
        error = await harness.refuses(server.url(), outcome)
        assert len(server.heard) == 1
        assert "\x1b" not in repr(error.details)


@pytest.mark.req("FR-WF-07", "FR-WF-07f")
@pytest.mark.parametrize("location", ["", "/", "?", "#part", "/?{n}", "//front.test:{port}/{n}"])
async def test_a_loop_or_a_long_chain_ends_at_the_limit(location: str) -> None:
    async def behave(wire: Wire) -> None:
        for n in range(100):
            if await wire.request() is None:
                return
            await wire.send(to(location.format(n=n, port=wire.writer.get_extra_info("sockname")[1])))

    async with serve(behave) as server, open_harness(server, names={"front.test": FRONT}) as harness:
        for most in (0, 1, 5):
            del server.heard[:]
            error = await harness.refuses(server.url("/", "front.test"), "redirect_limit", most=most)
            assert error.details == {"count": most + 1, "max": most}
            assert len(server.heard) == most + 1


@pytest.mark.req("FR-WF-07")
async def test_a_chain_of_just_the_limit_arrives() -> None:
    """The positive control of the limit."""
    async with serve(answering(*[to("/next")] * 5, answer(200, b"there"))) as server, open_harness(server) as harness:
        found = await harness.fetch(server.url())
        assert (found.page.body, len(found.chain)) == (b"there", 5)


@pytest.mark.req("FR-WF-07", "FR-WF-10a")
async def test_all_hops_share_one_deadline() -> None:
    async def slow(wire: Wire) -> None:
        while await wire.request():
            await asyncio.sleep(0.3)
            await wire.send(to("/next"))

    async with serve(slow) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "timeout", 2.0, most=1000)
        assert error.details["timeout_ms"] == 2000
        assert 2 <= len(server.heard) <= 8


@pytest.mark.req("FR-WF-09a", "D2-45")
async def test_a_robots_txt_that_hangs_ends_the_fetch_within_its_time() -> None:
    async with serve(silence) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "robots_unavailable", 0.5, robots=True)
        assert "timeout" in str(error.details["error"])


async def downgraded(secure: Server, plain: Server, ca_file: str) -> tuple[str, ...]:
    names = {"a.test": FRONT}
    async with open_harness(secure, plain, names=names, ca_file=ca_file) as harness:
        found = await harness.fetch(secure.url("/", "a.test"), robots=True)
        assert found.page.body == b"there"
        assert found.page.url == parse(plain.url("/", "a.test"))
        return found.notes


@pytest.mark.req("D2-09")
async def test_a_step_from_https_to_http_is_noted(tmp_path_factory: pytest.TempPathFactory) -> None:
    ca = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority().cert_pem.write_to_path(str(ca))
    there = site({"/": (200, [], b"there")})
    pages: dict[str, tuple[int, list[str], bytes]] = {}
    async with (
        serve(site(pages), tls=tls_for("a.test")) as secure,
        serve(there) as plain,
        serve(there, tls=tls_for("a.test")) as other,
        serve(site(pages)) as plain_start,
    ):
        pages["/"] = (302, [f"Location: {plain.url('/', 'a.test')}"], b"")
        assert await downgraded(secure, plain, str(ca)) == ("https_downgrade",)
        assert await downgraded(plain_start, plain, str(ca)) == ()
        pages |= {"/": (301, ["Location: /2"], b""), "/2": (302, [f"Location: {plain.url('/', 'a.test')}"], b"")}
        assert await downgraded(secure, plain, str(ca)) == ("https_downgrade",)  # at whichever hop
        pages["/"] = (302, [f"Location: {other.url('/', 'a.test')}"], b"")
        assert await downgraded(secure, other, str(ca)) == ()
        assert await downgraded(plain_start, other, str(ca)) == ()
