"""Several requests at once at one host, where somebody says so: as many as they say, after the first two alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spaniel.app.checking import address_of
from spaniel.errors import SpanielError
from spaniel.health.documents.mentions import Mention
from spaniel.health.filters import web_address
from spaniel.health.links import Link, Place
from spaniel.health.run import CheckResult, RunOptions
from spaniel.testing import FakeClock
from spaniel.url.parsing import parse
from tests.health.test_run import World, all_of, busy, host_of, links_at, ok, run_over, verdicts_of


@pytest.mark.req("DB-09")
@pytest.mark.parametrize("per_host", [1, 2, 7])
async def test_as_many_as_one_may_and_each_link_once(per_host: int) -> None:
    links = links_at(hosts=3, each=40)
    world = World(lambda link, _: ok(link), turns=5)
    run = run_over(links, world, RunOptions(at_once=64), at_once=per_host)
    assert verdicts_of(await all_of(run)) == {link.url: "ok" for link in links}
    assert set(world.asked.values()) == {1}
    assert set(world.most_here.values()) == {per_host}
    assert run.is_whole


async def test_the_first_links_of_a_host_are_asked_alone() -> None:
    """They show whether HEAD can be believed: asked all at once, each would have to be asked again by GET."""
    seen: list[tuple[str, int]] = []

    class Watching(World):
        async def check(self, link: Link, past: object, attempts: int) -> CheckResult:
            seen.append((link.url, self.here[host_of(link.url)]))
            return await super().check(link, past, attempts)  # type: ignore[arg-type]

    world = Watching(lambda link, _: ok(link), turns=5)
    await all_of(run_over(links_at(hosts=1, each=9), world, RunOptions(at_once=9), at_once=9))
    assert [others for _, others in seen[:2]] == [0, 0]
    assert max(others for _, others in seen) == 7


@pytest.mark.req("FG-22")
@pytest.mark.parametrize("patient", [True, False], ids=["it says how long", "it does not"])
async def test_what_several_hear_at_once_is_one_wait(patient: bool) -> None:
    """Eight links come back with the same wish: counted eight times it would be more than a host may ask for."""
    links, clock = links_at(hosts=1, each=10), FakeClock()
    late = {link.url for link in links[2:]}
    world = World(
        lambda link, n: busy(link, 30 if patient else 0) if n == 1 and link.url in late else ok(link), turns=5
    )
    results = await all_of(run_over(links, world, RunOptions(at_once=8), at_once=8, clock=clock))
    assert Counter(verdicts_of(results).values()) == {"ok": 10}
    assert sum(clock.slept) <= 120


@pytest.mark.req("FG-46")
async def test_a_host_that_asks_for_too_much_is_left_alone_by_all() -> None:
    world = World(lambda link, _: busy(link, 3600) if int(link.url[-1]) > 1 else ok(link), turns=5)
    links = links_at(hosts=1, each=10)
    results = await all_of(run_over(links, world, RunOptions(at_once=4), at_once=4))
    assert Counter(verdicts_of(results).values()) == {"ok": 2, "rate-limited": 8}
    assert world.asked.total() <= 2 + 4


async def test_other_hosts_come_first() -> None:
    """Five askers have five hosts: nobody need go to one where another is already."""
    world = World(lambda link, _: ok(link), turns=5)
    await all_of(run_over(links_at(hosts=40, each=12), world, RunOptions(at_once=5), at_once=5))
    assert set(world.asked.values()) == {1}
    crowded = [host for host, most in world.most_here.items() if most > 1]
    assert len(crowded) <= 5, "but for the last ones, when nothing else is left"


PIECES = st.sampled_from(
    [
        *("http://", "https://", "ftp:", "a.org", "A.org", "xn--a.org", "a.b.c.org", "a-.org", "1.2.3.4", "a..org"),
        *(":80", ":443", ":8080", ":0", ":99999", "/", "/./", "/x", "?q=1&r", "#f", "%41", "é", "..", "//", "@", " "),
    ]
)


@example("http://a.org:80/x")
@example("https://a.org:443/x")
@example("http://a.org:443/x")
@given(st.lists(PIECES, max_size=6).map("".join))
def test_the_quick_way_to_an_address_is_the_long_one(text: str) -> None:
    asked, host = address_of()(text)
    try:
        url = parse(text)._replace(fragment=None)
    except SpanielError:
        with pytest.raises(SpanielError):
            parse(asked)
    else:
        assert (asked, host) == (url.href, url.host)


@example("http://a.org:80/x")
@example("https://a.org/x#")
@given(st.lists(PIECES, max_size=6).map("".join))
def test_so_is_the_one_from_a_document(text: str) -> None:
    try:
        written = parse(text).href
    except SpanielError:
        written = text.strip()
    found = web_address(Mention(text, Place(""), 0, len(text), "bare"))
    assert found is None or found == (written.partition("#")[0], written.partition("#")[2])
