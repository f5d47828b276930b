"""HEAD or GET: what each is believed, for how long it is waited for, and what is learnt of a host for the next link."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from spaniel.errors import Code
from spaniel.health import requests
from spaniel.health.links import Link
from spaniel.verdicts import Expected
from tests.health.plays import WORDS, by_method, fine, garble, hang, html, in_turn, missing, reset, says, site, to
from tests.health.test_asking import THREE, ask, heard, observe
from tests.health.truth import PATIENT
from tests.health.world import CLOSED_ADDRESS, Host, Play, Visit, open_world

SOFT = PATIENT._replace(soft_404=True)


@pytest.mark.parametrize(
    ("head", "is_good"), [(200, True), (204, True), (299, True), (300, False), (404, False), (500, False)]
)
async def test_any_success_of_head_is_a_good_answer(head: int, is_good: bool) -> None:
    trusting = PATIENT._replace(confirm_head=False)
    seen, asked = await observe(by_method(says(head), fine), Link(""), trusting)
    assert asked == (["HEAD /d/1"] if is_good else ["HEAD /d/1", "GET /d/1"])
    assert seen.evidence.status == (head if is_good else 200)
    assert seen.head_differs is not is_good


async def test_head_is_not_waited_for_longer_than_it_may_take() -> None:
    seen, asked = await observe(by_method(hang, fine), Link(""), PATIENT._replace(head_seconds=0.3))
    assert (asked[-1], seen.evidence.status, seen.head_differs) == ("GET /d/1", 200, True)


async def test_nor_longer_than_any_answer() -> None:
    options = PATIENT._replace(head_seconds=600, seconds=0.3)
    seen, _ = await asyncio.wait_for(observe(hang, Link(""), options), 60)
    assert (seen.code, seen.evidence.attempts) == (Code.TIMEOUT, 2)


@pytest.mark.parametrize("first", [missing, reset, says(500), says(405), to("http://nobody.test:{port}/", 302)])
async def test_bad_news_by_head_is_asked_again_by_get(first: Play) -> None:
    seen, asked = await observe(by_method(first, fine), Link(""))
    assert asked == ["HEAD /d/1", "GET /d/1"]
    assert (seen.evidence.status, seen.evidence.attempts) == (200, 2)


async def test_where_nothing_can_be_asked_nothing_is_tried_twice() -> None:
    async with open_world([Host("a.test", fine, where=CLOSED_ADDRESS)]) as world:
        client = world.client(PATIENT)
        nobody = await client.check(Link(f"http://nobody.test:{world.http_port}/"))
        assert (nobody.code, nobody.evidence.attempts, nobody.evidence.method) == (Code.DNS_FAILED, 1, "")
        port = await client.check(Link("http://a.test:1/"))
        assert (port.code, port.evidence.attempts) == (Code.PORT_BLOCKED, 1)
        refused = await client.check(Link(world.url("a.test")))
        assert (refused.code, refused.cause, refused.evidence.attempts) == (Code.NETWORK, "refused", 2)
        assert refused.evidence.method == "GET"


async def test_one_confirmation_by_get_is_enough_for_a_host() -> None:
    async with open_world([Host("a.test", fine)]) as world:
        await ask(world.client(PATIENT), world, "/d/1", "/d/2", "/d/3")
        assert heard(world) == ["HEAD /d/1", "GET /d/1", "HEAD /d/2", "HEAD /d/3"]


async def test_what_is_learnt_on_the_way_is_learnt_of_both_ends() -> None:
    hosts = [Host("a.test", to("http://b.test:{port}/x", 302)), Host("b.test", by_method(fine, missing))]
    async with open_world(hosts) as world:
        client = world.client(PATIENT)
        assert (await client.check(Link(world.url("a.test")))).head_differs
        for name in ("a.test", "b.test"):
            await client.check(Link(world.url(name, "/again")))
        assert [line.split()[0] for line in world.hosts["a.test"].asked] == ["HEAD", "GET", "GET"]
        assert "HEAD /again" not in world.hosts["b.test"].asked


async def test_an_assertion_that_head_cannot_fulfil_counts_only_for_its_own_kind_of_redirect() -> None:
    wants = Expected(content_type="X-302-Redirect", may_redirect=False)
    trusting = PATIENT._replace(confirm_head=False)
    for status, asked in ((302, ["HEAD /d/1"]), (301, ["HEAD /d/1", "GET /d/1"])):
        seen, requests = await observe(to("/d/2", status), Link("", expected=wants), trusting)
        assert (seen.evidence.status, seen.evidence.chain, requests) == (status, (), asked)


@pytest.mark.parametrize(
    ("play", "soft"),
    [
        (site(THREE), False),
        (html(f"<h1>Not here</h1><p>{WORDS}</p>"), True),
        (in_turn(fine, garble), None),
        (missing, None),
    ],
)
async def test_a_page_that_cannot_exist_is_compared_where_that_was_asked_for(play: Play, soft: bool | None) -> None:
    seen, asked = await observe(play, Link(""), SOFT)
    assert seen.soft_404 is soft
    assert asked == (["GET /d/1"] if play is missing else ["GET /d/1", "GET /d/?"])
    seen, asked = await observe(play, Link(""), PATIENT._replace(use_head=False))
    assert (seen.soft_404, asked) == (None, ["GET /d/1"])


async def test_there_is_nothing_to_compare_a_front_page_with() -> None:
    async with open_world([Host("a.test", fine)]) as world:
        seen = await world.client(SOFT).check(Link(world.url("a.test", "/")))
        assert (seen.soft_404, world.hosts["a.test"].asked) == (None, ["GET /"])


def slowly(pieces: int, seconds: float) -> Play:
    async def play(visit: Visit) -> None:
        await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % pieces)
        for _ in range(pieces):
            await asyncio.sleep(seconds)
            await visit.wire.send(b"x")

    return play


async def test_what_is_measured_may_take_long_as_long_as_it_comes() -> None:
    play, options = slowly(8, 0.8), PATIENT._replace(seconds=5, use_head=False)
    measured, _ = await observe(play, Link("", expected=Expected(length=8)), options)
    assert measured.content is not None
    assert (measured.content.length, measured.code) == (8, "")
    assert measured.content.sha256 == hashlib.sha256(b"x" * 8).hexdigest()
    whole = PATIENT._replace(seconds=5, content_seconds=0.5, use_head=False)
    for link, how in ((Link("", fragments=("x",)), options), (Link("", expected=Expected(length=8)), whole)):
        late, _ = await observe(play, link, how)
        assert (late.code, late.evidence.phase) == (Code.TIMEOUT, "body")


async def test_a_page_is_read_for_its_anchors_and_measured_only_where_that_is_asserted() -> None:
    seen, _ = await observe(fine, Link("", fragments=("top", "no-such-place")))
    assert [(fragment.name, fragment.found) for fragment in seen.fragments] == [("top", True), ("no-such-place", False)]
    assert seen.content is None
    seen, _ = await observe(fine, Link("", expected=Expected(length=1)))
    assert (seen.fragments, seen.content is None) == ((), False)


@pytest.mark.parametrize(
    ("head", "get", "differs"),
    [(200, 499, True), (200, 500, False), (200, 400, True), (404, 399, True), (404, 400, False), (404, 500, False)],
)
async def test_head_and_get_differ_where_one_says_yes_and_the_other_no(head: int, get: int, differs: bool) -> None:
    seen, _ = await observe(by_method(says(head), says(get)), Link(""))
    assert (seen.head_differs, seen.evidence.status) == (differs, get)


async def test_a_login_that_only_head_is_sent_to_is_none() -> None:
    """Also where HEAD is trusted; what was seen is remembered, and the next link is asked by GET."""
    pages = site(dict.fromkeys((*THREE, "/login"), fine))

    async def play(visit: Visit) -> None:
        astray = (visit.request.method, visit.path) == ("HEAD", "/d/3")
        await (to("/login", 302) if astray else pages)(visit)

    async with open_world([Host("a.test", play)]) as world:
        client = world.client(PATIENT)
        await ask(client, world, "/d/1", "/d/2")
        seen = await client.check(Link(world.url("a.test", "/d/3")))
        assert (seen.evidence.method, seen.evidence.chain, seen.head_differs) == ("GET", (), True)
        await ask(client, world, "/d/1")
        assert heard(world)[-3:] == ["HEAD /login", "GET /d/3", "GET /d/1"]


async def test_an_anchor_is_no_part_of_what_is_asked() -> None:
    async with open_world([Host("a.test", fine)]) as world:
        seen = await world.client(PATIENT).check(Link(world.url("a.test", "/d/1#part")))
        assert seen.evidence.final_url == world.url("a.test", "/d/1")


async def test_an_error_is_known_for_what_it_is_by_its_page() -> None:
    wall = html("<html><head><title>Just a moment...</title></head><body><p>Checking</p></body></html>", 403)
    seen, _ = await observe(wall, Link(""))
    assert (seen.evidence.status, seen.page_type) == (403, "challenge")


async def test_a_sibling_is_followed_to_where_it_leads() -> None:
    """Sites that lead whatever they do not have to one page say 200 there."""
    same = html(f"<h1>Not here</h1><p>{WORDS}</p>")

    async def play(visit: Visit) -> None:
        await (same if visit.path in ("/d/1", "/lost") else to("/lost", 302))(visit)

    seen, _ = await observe(play, Link(""), SOFT)
    assert seen.soft_404 is True


def test_what_is_exported_is_there() -> None:
    assert all(hasattr(requests, name) for name in requests.__all__)
