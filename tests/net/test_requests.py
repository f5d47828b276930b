"""What Spaniel says: the same few lines on every hop, and nothing that a URL or a server could smuggle in."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import RequestHeaders, RequestOptions
from spaniel.testing import Site, spaniel_for, text
from spaniel.url import parse
from tests.net.harness import open_harness
from tests.net.servers import Pages, Request, answer, answering, serve, site
from tests.url.attacks import TABLE

ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
COOKIES = ["Set-Cookie: a=b; Path=/", "Set-Cookie: c=d; Domain=a.test", "Set-Cookie2: e=f"]


def said_to(host: str) -> tuple[tuple[str, str], ...]:
    """All that a request says: FR-WF-10b, and Host."""
    return (
        ("host", host),
        ("user-agent", "forge-webfetch/1.0"),
        ("accept", ACCEPT),
        ("accept-encoding", "gzip, deflate, br"),
    )


MINE = "my-agent/2.0 (me@example.org)"


@pytest.mark.req("FR-WF-07d")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("profile", ["web_fetch", "reader"])  # whose Accept is another
async def test_a_user_agent_and_accept_of_ones_own_stay_across_redirects(profile: str, status: int) -> None:
    """To another path, another host and another port; for the robots.txt of each, too. No cookie goes along."""
    async with Site({"/end": text("There and back again.")}) as there, Site({}) as start:
        cookie = {"Set-Cookie": "id=1"}
        start.pages["/a"] = (status, {"Location": "/b", **cookie}, b"")
        start.pages["/b"] = (status, {"Location": start.url("/c", host="other.example"), **cookie}, b"")
        start.pages["/c"] = (status, {"Location": there.url("/end"), **cookie}, b"")
        async with spaniel_for(start, there, profile=profile, user_agent=MINE) as client:
            accept = client.profile.way.options.headers.accept
            await client.fetch(start.url("/a"))
        assert (accept == ACCEPT) is (profile == "web_fetch")
        asked = start.seen + there.seen
        assert len(asked) == 4 + 3  # pages, and the robots.txt of each origin
        assert [(one["user-agent"], one["accept"]) for one in asked] == [(MINE, accept)] * 7
        assert not any("cookie" in one for one in asked)


@pytest.mark.req("FR-WF-07c", "FR-WF-07d", "FR-WF-10", "FR-WF-10b")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_every_hop_says_the_same_and_no_more(status: int) -> None:
    """GET without a body; no cookie, though every answer sets some; no Referer; no credentials."""
    pages: dict[str, tuple[int, list[str], bytes]] = {}
    names = {"a.test": "127.0.0.1", "b.test": "127.0.0.1"}
    async with serve(site(pages)) as server, open_harness(server, names=names) as harness:
        pages["/1"] = (status, ["Location: /2", *COOKIES], b"")
        pages["/2"] = (status, [f"Location: http://user:secret@b.test:{server.port}/3#part", *COOKIES], b"")
        pages["/3"] = (200, COOKIES, b"page")
        for _ in range(2):
            found = await harness.fetch(server.url("/1", "a.test"), robots=True)
            assert found.page.url.href == server.url("/3", "b.test")
        a, b = (f"{host}:{server.port}" for host in names)
        first = [("/robots.txt", a), ("/1", a), ("/2", a), ("/robots.txt", b), ("/3", b)]
        again = [("/1", a), ("/2", a), ("/3", b)]
        assert server.heard == [Request(f"GET {path} HTTP/1.1", said_to(host)) for path, host in first + again]


@pytest.mark.req("FR-WF-07c")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_last_redirect_that_is_followed_is_a_get_without_a_body(status: int) -> None:
    """As the first one is; nothing but a head goes over the wire, whatever body came with the redirects."""
    pages: dict[str, tuple[int, list[str], bytes]] = {
        f"/{n}": (status, [f"Location: /{n + 1}"], b"x" * 1000) for n in range(5)
    }
    async with serve(site(pages | {"/5": (200, [], b"page")})) as server, open_harness(server) as harness:
        found = await harness.fetch(server.url("/0"))
        assert found.page.body == b"page"
        assert [request.line for request in server.heard] == [f"GET /{n} HTTP/1.1" for n in range(6)]
        bodies = {"content-length", "content-type", "transfer-encoding", "expect"}
        assert not any(name in bodies for request in server.heard for name, _ in request.fields)


@pytest.mark.req("FR-WF-10")
async def test_settings_are_what_is_sent() -> None:
    headers = RequestHeaders("Spaniel/1 (+https://spaniel.example)", accept_language="de, en;q=0.5")
    options = RequestOptions(headers)
    async with serve(site({"/": (200, [], b"page")})) as server, open_harness(server, options=options) as harness:
        await harness.get(server.url())
        assert server.heard[0].header("user-agent") == headers.user_agent
        assert server.heard[0].header("accept-language") == headers.accept_language


@pytest.mark.req("FR-WF-10")
@pytest.mark.parametrize("field", ["user_agent", "accept", "accept_encoding", "accept_language"])
@pytest.mark.parametrize(
    "value", ["a\r\nX-Injected: yes", "a\nb", "a\rb", "a\0b", "a\x7fb", "a\u2028b", "ä", "a\ud800"]
)
def test_a_setting_cannot_inject_a_header(field: str, value: str) -> None:
    with pytest.raises(SpanielError) as refused:
        RequestHeaders(**{field: value}).fields()
    assert str(refused.value.code) == "bad_args"
    assert str(refused.value.details["field"]).lower().replace("-", "_") == field


@pytest.mark.req("FR-WF-10")
async def test_a_header_for_one_request_cannot_inject_another() -> None:
    async with serve(site({"/": (200, [], b"page")})) as server, open_harness(server) as harness:
        url, deadline = parse(server.url()), Deadline(2)
        target = await harness.services.guard.vet(url, deadline)
        await harness.services.http.get(url, target, deadline, RequestOptions(more={"If-None-Match": '"x"'}))
        assert server.heard[0].header("if-none-match") == '"x"'
        for value in ('"x"\r\nX-Injected: yes', '"\udcff"'):
            with pytest.raises(SpanielError) as refused:
                await harness.services.http.get(url, target, deadline, RequestOptions(more={"If-None-Match": value}))
            assert str(refused.value.code) == "bad_args"
        assert len(server.heard) == 1


SMUGGLED = [
    "/a b",
    "/a%0d%0aX-Injected:%20yes",
    "/%20HTTP/1.1%0d%0aHost:%20evil",
    "/?q=a b\u00a0c",
    "/?q=%0d%0a%0d%0aGET /x HTTP/1.1",
    "/?q='\"<>`{}|^\\",
    "/\u2028\u2029\u0085é",
    "//evil.test/x",
    "/http://evil.test/x",
    "/a;b=c@evil.test",
    "/..%2f..%2fetc",
    "/#\r",
    "/?",
    "/[::1]",
    "/a?b?c#d#e",
]


@pytest.mark.req("FR-WF-10b", "D2-14")
@pytest.mark.parametrize("tail", SMUGGLED)
async def test_whatever_a_url_holds_the_request_is_one_line_to_one_host(tail: str) -> None:
    answers = answering(*[answer(200, b"page")] * 2)
    async with serve(answers) as server, open_harness(server, names={"a.test": "127.0.0.1"}) as harness:
        try:
            url = parse(server.url(tail, "a.test"))
        except SpanielError as error:
            assert str(error.code) == "invalid_url"
            return
        await harness.get(url.href)
        (request,) = server.heard
        assert request.fields == said_to(f"a.test:{server.port}")
        assert request.line == f"GET {url.target} HTTP/1.1"  # an empty query is kept (D2-47)
        assert request.line.isascii()
        assert request.line.isprintable()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tails=st.lists(st.text(max_size=20), min_size=5, max_size=5))
async def test_any_path_and_query_reach_the_server_as_they_were_judged(tails: list[str]) -> None:
    """What robots.txt is asked about is what the server is asked for."""
    pages: Pages = {}
    async with serve(site(pages)) as server, open_harness(server) as harness:
        for tail in tails:
            try:
                url = parse(server.url("/" + tail))
            except SpanielError:
                continue
            await harness.get(url.href)
            assert server.heard[-1].line == f"GET {url.target.removesuffix('?')} HTTP/1.1"
            assert len(server.heard[-1].fields) == 4


async def test_every_host_that_the_parser_lets_pass_can_be_asked_for(ca_file: str) -> None:
    """Nothing but a typed error ever comes out, whatever the host looks like to resolver, TLS and connector."""
    hosts = sorted({parse(url).host for url, verdict in TABLE if verdict == "ok" and "[" not in url})
    assert len(hosts) > 10
    odd = [
        "a_b.test",
        "-a.test",
        "a-.test",
        "xn--a.test",
        "xn--zzzzzzz.test",
        "*.test",
        "a" * 63 + ".test",
        "~.test",
        "a$b.test",
    ]
    async with serve(site({"/": (200, [], b"page")})) as server:
        names = dict.fromkeys((*hosts, *odd), "127.0.0.1")
        async with open_harness(server, names=names, ca_file=ca_file) as harness:
            for host in odd + hosts:
                try:
                    url = parse(server.url("/", host))
                except SpanielError:
                    continue
                if not url.host[0].isdigit():
                    assert (await harness.get(url.href)).body == b"page"
                    assert server.heard[-1].header("host") == f"{url.host}:{server.port}"
