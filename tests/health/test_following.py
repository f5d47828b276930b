"""The way to an answer: guarded and polite at each hop, with cookies only for those who set them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from spaniel.errors import Code
from spaniel.health.hops import LinkOptions
from spaniel.health.links import Link
from spaniel.health.requests import Hints
from spaniel.hosts import Hosts, Politeness
from spaniel.net.http import RequestHeaders, RequestOptions
from spaniel.testing import FakeClock
from spaniel.url.allowlist import domain_rules
from spaniel.verdicts import Hop
from tests.health.plays import ELSEWHERE, elsewhere, fine, in_turn, needs_cookie, says, site, to
from tests.health.truth import PATIENT
from tests.health.world import Host, Play, Visit, open_world
from tests.net.harness import guard_with_a_hole

GET = PATIENT._replace(use_head=False)
FORBIDDEN = says(200, "User-agent: *\nCrawl-delay: 7\nDisallow: /secret\n", "Content-Type: text/plain")


async def test_every_hop_is_guarded() -> None:
    """The victim is on loopback, where only the first host is let through; with the guard open it is reached."""
    hosts = [Host("a.test", to("{elsewhere}/inside", 302)), Host(ELSEWHERE, elsewhere)]
    async with open_world(hosts) as world:
        ports, public = (world.http_port,), (str(world.resolver.names["a.test"]),)
        strict = world.door._replace(guard=guard_with_a_hole(world.resolver, ports, public))
        link = Link(world.url("a.test"))
        client = world.client(GET)
        client._door = strict
        refused = await client.check(link)
        assert (refused.code, refused.evidence.chain) == (Code.SSRF_BLOCKED, (Hop(link.url, 302),))
        assert world.hosts[ELSEWHERE].asked == []
        assert (await world.client(GET).check(link)).evidence.status == 200
        assert world.hosts[ELSEWHERE].asked == ["GET /inside"]


async def test_every_hop_is_held_to_the_domains_that_were_asked_for() -> None:
    async with open_world([Host("a.test", to("{elsewhere}/x")), Host(ELSEWHERE, elsewhere)]) as world:
        link = Link(world.url("a.test"))
        for rules in (domain_rules(("a.test",)), domain_rules(None, (ELSEWHERE,))):
            held = await world.client(GET._replace(domains=rules)).check(link)
            assert (held.code, held.evidence.method) == (Code.INVALID_HOST, "GET")
        assert world.hosts[ELSEWHERE].asked == []
        both = domain_rules(("a.test", ELSEWHERE))
        assert (await world.client(GET._replace(domains=both)).check(link)).evidence.status == 200


async def test_robots_are_heeded_at_each_hop_where_that_was_asked_for() -> None:
    pages = {"/robots.txt": FORBIDDEN, "/open": to("/secret"), "/secret": fine, "/fine": fine}
    async with open_world([Host("a.test", site(pages))]) as world:
        heeding = world.client(GET._replace(respect_robots=True))
        held = await heeding.check(Link(world.url("a.test", "/open")))
        assert (held.code, held.evidence.chain[0].status) == (Code.ROBOTS_DISALLOWED, 301)
        assert "GET /secret" not in world.hosts["a.test"].asked
        assert (await heeding.check(Link(world.url("a.test", "/fine")))).evidence.status == 200
        assert 7.0 in world.clock.slept  # Crawl-delay
        assert (await world.client(GET).check(Link(world.url("a.test", "/open")))).evidence.status == 200


async def test_robots_are_asked_by_the_name_that_is_sent() -> None:
    rules = says(200, "User-agent: checker\nDisallow: /\n\nUser-agent: *\nAllow: /\n", "Content-Type: text/plain")
    async with open_world([Host("a.test", site({"/robots.txt": rules, "/1": fine}))]) as world:
        link = Link(world.url("a.test", "/1"))
        for agent, code in (("checker/1.0", Code.ROBOTS_DISALLOWED), ("other/1.0", "")):
            options = GET._replace(respect_robots=True, request=RequestOptions(RequestHeaders(agent)))
            assert (await world.client(options).check(link)).code == code


async def test_redirects_end_at_their_limit() -> None:
    async with open_world([Host("a.test", to("/", 302))]) as world:
        for most in (1, 3):
            seen = await world.client(GET._replace(max_redirects=most)).check(Link(world.url("a.test", "/")))
            assert (seen.code, len(seen.evidence.chain)) == (Code.REDIRECT_LIMIT, most)
            assert seen.error == f"The page redirects more than {most} times"
            assert len(world.hosts["a.test"].heard) == most + 1
            world.hosts["a.test"].heard.clear()


async def test_of_a_name_that_nobody_knows_there_is_no_address() -> None:
    async with open_world([]) as world:
        seen = await world.client().check(Link(f"http://nobody.test:{world.http_port}/"))
    assert (seen.code, seen.cause) == (Code.DNS_FAILED, "nxdomain")
    assert (seen.evidence.address, seen.evidence.phase, seen.evidence.method) == ("", "dns", "")


def test_links_are_asked_in_these_ways_where_nobody_says_otherwise() -> None:
    usual = LinkOptions()
    assert usual.politeness == Politeness(at_once=4, delay_seconds=0.0, respect_delays=True)
    assert (usual.max_redirects, usual.seconds, usual.head_seconds, usual.content_seconds) == (10, 20, 10, 600)
    assert (usual.respect_robots, usual.soft_404, usual.use_head, usual.confirm_head) == (False, False, True, True)


async def test_each_hop_waits_for_its_turn() -> None:
    pages = {"/1": to("/2"), "/2": to("/3"), "/3": fine}
    async with open_world([Host("a.test", site(pages))]) as world:
        options = GET._replace(politeness=Politeness(at_once=1, delay_seconds=5.0))
        seen = await world.client(options).check(Link(world.url("a.test", "/1")))
    assert seen.evidence.status == 200
    assert world.clock.slept == [5.0, 5.0]


class Crowd:
    """How many are at a host at once."""

    def __init__(self) -> None:
        self.here = self.most = 0

    async def __call__(self, visit: Visit) -> None:
        self.here += 1
        self.most = max(self.most, self.here)
        await asyncio.sleep(0.02)
        self.here -= 1
        await fine(visit)


async def test_no_more_are_at_a_host_than_its_places() -> None:
    crowd = Crowd()
    async with open_world([Host("a.test", crowd)]) as world:
        client = world.client(GET._replace(politeness=Politeness(at_once=2)))
        seen = await asyncio.gather(*(client.check(Link(world.url("a.test", f"/{number}"))) for number in range(12)))
    assert {one.evidence.status for one in seen} == {200}
    assert crowd.most == 2


async def test_who_waits_in_line_is_sent_away_when_the_host_asks_for_time() -> None:
    async with open_world([Host("a.test", says(503, b"", "Retry-After: 3600"))]) as world:
        client = world.client(GET._replace(politeness=Politeness(at_once=1, respect_delays=True)))
        seen = await asyncio.gather(*(client.check(Link(world.url("a.test", f"/{number}"))) for number in range(5)))
        assert world.hosts["a.test"].asked == ["GET /0"]
        assert [one.retry_after for one in seen] == [3600] * 5
        assert [one.evidence.status for one in seen] == [503] * 5
        assert [one.evidence.method for one in seen] == ["GET", "", "", "", ""]
        world.clock.advance(3600)
        await client.check(Link(world.url("a.test", "/again")), Hints(attempts=1))
        assert world.hosts["a.test"].asked == ["GET /0", "GET /again"]


async def test_a_wish_is_left_alone_where_delays_are_not_heeded() -> None:
    async with open_world([Host("a.test", in_turn(says(429, b"", "Retry-After: 60"), fine))]) as world:
        client = world.client(GET._replace(politeness=Politeness(respect_delays=False)))
        assert (await client.check(Link(world.url("a.test")))).retry_after == 60
        assert (await client.check(Link(world.url("a.test")))).evidence.status == 200


def cookies(host: Host) -> list[str | None]:
    return [request.header("cookie") for request in host.heard]


async def test_a_cookie_goes_back_to_who_set_it_once_it_is_needed_and_is_forgotten() -> None:
    async with open_world([Host("a.test", needs_cookie())]) as world:
        client = world.client(GET)
        for _ in range(2):
            seen = await client.check(Link(world.url("a.test", "/docs/page")))
            assert (seen.evidence.status, [hop.status for hop in seen.evidence.chain]) == (200, [302])
        assert cookies(world.hosts["a.test"]) == [None, "seen=yes; b=2", None, "seen=yes; b=2"]


async def test_no_cookie_leaves_its_origin() -> None:
    """Each sets one for the other, over and over: whoever sent them about would show them where they were not set."""
    away = to("{elsewhere}/set?http://a.test:{port}/", 302, "Set-Cookie: mine=1")
    async with open_world([Host("a.test", away), Host(ELSEWHERE, elsewhere)]) as world:
        seen = await world.client(GET).check(Link(world.url("a.test")))
        assert seen.code == Code.REDIRECT_LIMIT
        assert set(cookies(world.hosts["a.test"])) == {None, "mine=1"}
        assert set(cookies(world.hosts[ELSEWHERE])) <= {None, "seen=yes"}


async def test_a_cookie_that_cannot_be_sent_is_left_out() -> None:
    bad = (
        "Set-Cookie: ä=1",
        "Set-Cookie: =x",
        "Set-Cookie: bare",
        f"Set-Cookie: long={'x' * 2045}",
        "Set-Cookie: ok=1",
    )
    async with open_world([Host("a.test", in_turn(to("/", 302, *bad), fine))]) as world:
        seen = await world.client(GET).check(Link(world.url("a.test", "/")))
        assert seen.evidence.status == 200
        assert cookies(world.hosts["a.test"]) == [None, "ok=1"]


async def test_the_longest_cookie_is_sent() -> None:
    value = "x" * 2044
    async with open_world([Host("a.test", in_turn(to("/", 302, f"Set-Cookie: long={value}"), fine))]) as world:
        await world.client(GET).check(Link(world.url("a.test", "/")))
        assert cookies(world.hosts["a.test"]) == [None, f"long={value}"]


async def test_no_host_is_given_more_cookies_than_it_could_need() -> None:
    many = [f"Set-Cookie: c{number}=1" for number in range(30)]
    async with open_world([Host("a.test", in_turn(to("/", 302, *many), fine))]) as world:
        await world.client(GET).check(Link(world.url("a.test", "/")))
        sent = cookies(world.hosts["a.test"])[1]
    assert sent is not None
    assert sent.count("=") == 8


async def test_evidence_says_how_a_verdict_was_come_by() -> None:
    clock = FakeClock(datetime(2026, 11, 16, 12, tzinfo=UTC))
    async with open_world([Host("a.test", site({"/1": to("/2", 308), "/2": fine}))], clock) as world:
        seen = await world.client(GET).check(Link(world.url("a.test", "/1")))
        evidence = seen.evidence
        assert evidence.chain == (Hop(world.url("a.test", "/1"), 308),)
        assert evidence.final_url == world.url("a.test", "/2")
        assert evidence.address == world.resolver.names["a.test"]
    assert (evidence.method, evidence.status, evidence.phase, evidence.attempts) == ("GET", 200, "", 1)
    assert (evidence.at, evidence.seconds, seen.at) == ("2026-11-16T12:00:00Z", 0.0, clock.time())


def over_to(name: str) -> Play:
    """A redirect to a host by its own scheme."""

    async def play(visit: Visit) -> None:
        await visit.say(301, b"", f"Location: {visit.world.url(name)}")

    return play


async def test_of_all_certificates_on_the_way_the_first_to_end_counts() -> None:
    hosts = [
        Host("plain.test", over_to("ending.test")),
        Host("before.test", over_to("good.test"), "ending"),
        Host("after.test", over_to("ending.test"), "good"),
        Host("ending.test", fine, "ending"),
        Host("good.test", fine, "good"),
        Host("back.test", over_to("bare.test"), "good"),
        Host("bare.test", fine),
    ]
    async with open_world(hosts) as world:
        client, now = world.client(GET), world.clock.time()
        ends = {name: (await client.check(Link(world.url(name)))).certificate_ends for name in world.hosts}
    soon = {name for name, end in ends.items() if end is not None and end - now < 6 * 86_400}
    assert soon == {"plain.test", "before.test", "after.test", "ending.test"}
    assert {name for name, end in ends.items() if end is None} == {"bare.test"}


async def test_the_headers_are_those_of_whoever_asks() -> None:
    options = LinkOptions(RequestOptions(RequestHeaders("checker/1.0"), more={"X-Asked": "yes"}))
    async with open_world([Host("a.test", needs_cookie())]) as world:
        await world.client(options).check(Link(world.url("a.test", "/docs/page")))
        heard = world.hosts["a.test"].heard
    assert {request.header("user-agent") for request in heard} == {"checker/1.0"}
    assert {request.header("x-asked") for request in heard} == {"yes"}
    assert isinstance(world.door.hosts, Hosts)
