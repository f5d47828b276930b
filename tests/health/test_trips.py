"""One trip: what is kept of each hop for the next and for the evidence, and how a host is treated on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spaniel.errors import Code
from spaniel.health.links import Link
from spaniel.health.requests import LinkClient
from spaniel.hosts import Hosts, Politeness
from spaniel.hosts.hosts import USUAL
from spaniel.testing import FakeClock
from spaniel.verdicts import Hop
from tests.health.plays import fine, in_turn, says, site, to
from tests.health.test_following import FORBIDDEN, GET, cookies
from tests.health.world import CLOSED_ADDRESS, Host, open_world
from tests.hosts.virtual import wait_of

if TYPE_CHECKING:
    from spaniel.hosts.hosts import HostTurn
    from spaniel.net.deadline import Deadline


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("a=b=c; Path=/", "a=b=c"),
        ("  a=1  ; Secure", "a=1"),
        ("a=", "a="),
        ("a=1;b=2", "a=1"),
        ("a=\x01", None),
        ("\x01=a", None),
        ("a=é", None),
        ("=a", None),
        ("a", None),
    ],
)
async def test_a_cookie_is_sent_as_it_was_set_or_not_at_all(field: str, sent: str | None) -> None:
    async with open_world([Host("a.test", in_turn(to("/", 302, f"Set-Cookie: {field}"), fine))]) as world:
        await world.client(GET).check(Link(world.url("a.test", "/")))
        assert cookies(world.hosts["a.test"]) == [None, sent]


async def test_of_one_host_eight_cookies_are_kept_and_the_last_word_of_each_counts() -> None:
    fields = [f"Set-Cookie: c{number}={number}" for number in range(7)]
    first, second = to("/", 302, *fields, "Set-Cookie: c0=new", "Set-Cookie: last=1"), to("/", 302, "Set-Cookie: x=1")
    async with open_world([Host("a.test", in_turn(first, second, fine))]) as world:
        await world.client(GET).check(Link(world.url("a.test", "/")))
        kept = "; ".join(["c0=new", *(f"c{number}={number}" for number in range(1, 7)), "last=1"])
        assert cookies(world.hosts["a.test"]) == [None, kept, kept]


async def test_a_cookie_is_not_sent_to_a_page_that_did_not_ask_for_it() -> None:
    pages = {"/1": to("/2", 302, "Set-Cookie: a=1"), "/2": fine}
    async with open_world([Host("a.test", site(pages))]) as world:
        await world.client(GET).check(Link(world.url("a.test", "/1")))
        assert cookies(world.hosts["a.test"]) == [None, None]


async def test_a_fragment_is_no_part_of_where_a_redirect_leads() -> None:
    back = to("/1#again", 302, "Set-Cookie: a=1")
    async with open_world([Host("a.test", in_turn(back, fine))]) as world:
        seen = await world.client(GET).check(Link(world.url("a.test", "/1")))
        assert seen.evidence.final_url == world.url("a.test", "/1")
        assert seen.evidence.chain == (Hop(world.url("a.test", "/1"), 302),)
        assert cookies(world.hosts["a.test"]) == [None, "a=1"]  # it is the same page


async def test_where_nobody_answers_the_address_is_the_one_that_was_tried() -> None:
    hosts = [Host("a.test", to("http://b.test:{port}/", 302)), Host("b.test", fine, where=CLOSED_ADDRESS)]
    async with open_world(hosts) as world:
        seen = await world.client(GET).check(Link(world.url("a.test")))
        assert (seen.code, seen.cause, seen.evidence.address) == (Code.NETWORK, "refused", CLOSED_ADDRESS)
        assert (seen.evidence.status, len(seen.evidence.chain)) == (302, 1)


async def test_of_a_redirect_to_nowhere_the_redirect_is_told() -> None:
    async with open_world([Host("a.test", to("http://nobody.test:{port}/", 302))]) as world:
        seen = await world.client(GET).check(Link(world.url("a.test")))
        assert (seen.code, seen.evidence.phase) == (Code.DNS_FAILED, "dns")
        assert seen.evidence.address == world.resolver.names["a.test"]
        assert seen.evidence.chain == (Hop(world.url("a.test"), 302),)


async def test_a_host_that_asked_for_time_is_not_asked_at_all_not_even_for_its_rules() -> None:
    pages = {"/robots.txt": says(404), "/1": says(503, b"", "Retry-After: 600"), "/2": fine}
    async with open_world([Host("a.test", site(pages))]) as world:
        politeness = Politeness(at_once=4, respect_delays=True)
        assert (
            await world.client(GET._replace(politeness=politeness)).check(Link(world.url("a.test", "/1")))
        ).retry_after == 600
        held = await world.client(GET._replace(politeness=politeness, respect_robots=True)).check(
            Link(world.url("a.test", "/2"))
        )
        assert (held.code, held.evidence.status, held.evidence.method) == (Code.HTTP_5XX, 503, "")
        assert (held.retry_after, held.evidence.address) == (600, "")
        assert world.hosts["a.test"].asked == ["GET /1"]


class Recording(Hosts):
    """How others behave here."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.seen: list[Politeness] = []

    def turn(
        self,
        where: str,
        deadline: Deadline,
        politeness: Politeness = USUAL,
        *,
        led: bool = False,
        shared: bool = False,
    ) -> HostTurn:
        self.seen.append(politeness)
        return super().turn(where, deadline, politeness, led=led, shared=shared)


@pytest.mark.parametrize(("own", "spacing"), [(0.0, 7.0), (9.0, 9.0)])
async def test_a_turn_is_spaced_as_the_host_asks_and_its_wait_is_nobodys_fault(own: float, spacing: float) -> None:
    pages = {"/robots.txt": FORBIDDEN, "/1": fine}
    async with open_world([Host("a.test", site(pages))]) as world:
        hosts = Recording(world.clock)
        options = GET._replace(respect_robots=True, politeness=Politeness(3, own, respect_delays=True))
        seen = await LinkClient(world.door._replace(hosts=hosts), world.clock, options).check(
            Link(world.url("a.test", "/1"))
        )
        assert seen.evidence.status == 200
        polite = Politeness(3, own, respect_delays=True, waits_count=False, waits_for_retry_after=False)
        assert hosts.seen[-1] == polite
        assert wait_of(hosts, "a.test", polite) == spacing


async def test_a_redirect_is_the_answer_where_none_is_to_be_followed() -> None:
    async with open_world([Host("a.test", to("/2", 302))]) as world:
        seen = await world.client(GET._replace(max_redirects=0)).check(Link(world.url("a.test")))
        assert (seen.evidence.status, seen.evidence.chain, seen.code) == (302, (), "")
