"""How a link is asked: by which method, how far, and what is learnt about its host on the way."""

from __future__ import annotations

import hashlib
import tracemalloc

import pytest

from spaniel.health.hops import LinkOptions
from spaniel.health.links import Link
from spaniel.health.pages import KEPT, SPARE, Needs, needs_of
from spaniel.health.requests import Hints, LinkClient, Observation
from spaniel.net.deadline import Deadline
from spaniel.reading import Document, read, read_as
from spaniel.reading.kinds import DetectedKind
from spaniel.verdicts import ANYTHING, Expected
from tests.health.plays import PAGE, WORDS, by_method, fine, html, in_turn, missing, reset, says, site, to
from tests.health.truth import PATIENT
from tests.health.world import Host, HungUpError, Play, Visit, World, open_world

PIECE, PIECES = b"0123456789abcdef" * 4096, 512  # 32 MiB
THREE = {"/d/1": fine, "/d/2": fine, "/d/3": fine}


async def ask(client: LinkClient, world: World, *paths: str) -> list[int | None]:
    return [(await client.check(Link(world.url("a.test", path)))).evidence.status for path in paths]


def heard(world: World) -> list[str]:
    """Requests; a name that nobody has given is written as `?`."""
    return [f"{line[:-32]}?" if len(line) > 36 else line for line in world.hosts["a.test"].asked]


async def observe(
    play: Play, link: Link, options: LinkOptions = PATIENT, hints: Hints | None = None
) -> tuple[Observation, list[str]]:
    """A link to /d/1 of a host that plays so, and what the host heard."""
    async with open_world([Host("a.test", play)]) as world:
        seen = await world.client(options).check(link._replace(url=world.url("a.test", "/d/1")), hints or Hints())
        return seen, heard(world)


async def test_head_is_enough_once_it_has_told_the_truth() -> None:
    async with open_world([Host("a.test", site(THREE))]) as world:
        assert await ask(world.client(PATIENT), world, "/d/1", "/d/2", "/d/3") == [200, 200, 200]
        # The first good answer is confirmed by GET; before the second, HEAD is tried with a page that cannot exist.
        assert heard(world) == ["HEAD /d/1", "GET /d/1", "HEAD /d/2", "HEAD /d/3"]


async def test_where_head_said_otherwise_get_is_asked_from_then_on() -> None:
    async with open_world([Host("a.test", site(THREE, head=says(405)))]) as world:
        client = world.client(PATIENT)
        first = await client.check(Link(world.url("a.test", "/d/1")))
        second = await client.check(Link(world.url("a.test", "/d/2")))
        assert heard(world) == ["HEAD /d/1", "GET /d/1", "GET /d/2"]
    assert (first.head_differs, second.head_differs) == (True, False)
    assert (first.evidence.attempts, second.evidence.attempts) == (2, 1)


@pytest.mark.parametrize(
    ("play", "differs"),
    [
        (fine, False), (missing, False), (by_method(fine, missing), True), (by_method(missing, fine), True),
        (by_method(reset, fine), True), (by_method(fine, says(500)), False), (by_method(fine, reset), False),
        (by_method(fine, says(429)), False), (by_method(missing, to("/x")), False),
    ],
)  # fmt: skip
async def test_what_is_remembered_of_head_is_what_it_said_of_the_same_page(play: Play, differs: bool) -> None:
    seen, _ = await observe(play, Link(""))
    assert seen.head_differs == differs


@pytest.mark.parametrize(
    ("link", "options", "hints"),
    [
        (Link("", expected=Expected(length=1)), PATIENT, Hints()),
        (Link("", expected=Expected(sha256="0" * 64)), PATIENT, Hints()),
        (Link("", expected=Expected(content_type="x/y")), PATIENT, Hints()),
        (Link("", fragments=("x",)), PATIENT, Hints()),
        (Link(""), PATIENT, Hints(head_differs=True)),
        (Link(""), PATIENT, Hints(attempts=1)),
        (Link(""), PATIENT._replace(use_head=False), Hints()),
    ],
)
async def test_get_is_asked_at_once_where_head_cannot_be_enough(link: Link, options: LinkOptions, hints: Hints) -> None:
    seen, asked = await observe(fine, link, options, hints)
    assert asked == ["GET /d/1"]
    assert (seen.evidence.method, seen.evidence.attempts) == ("GET", hints.attempts + 1)


async def test_whoever_trusts_head_asks_no_more_than_that() -> None:
    seen, asked = await observe(fine, Link(""), PATIENT._replace(confirm_head=False))
    assert (asked, seen.evidence.method) == (["HEAD /d/1"], "HEAD")


async def test_a_host_that_asks_for_time_is_not_asked_by_get_instead() -> None:
    seen, asked = await observe(says(429, b"", "Retry-After: 17"), Link(""))
    assert (asked, seen.retry_after, seen.evidence.status) == (["HEAD /d/1"], 17, 429)


async def test_a_record_that_asserts_a_redirect_is_not_followed() -> None:
    record = Link("", expected=Expected(content_type="X-301-Redirect", may_redirect=False))
    seen, asked = await observe(in_turn(to("/d/2"), to("/d/2")), record, PATIENT._replace(confirm_head=False))
    assert (seen.evidence.status, seen.evidence.chain, asked) == (301, (), ["HEAD /d/1"])


class Pouring:
    """A body of any size, or without end, and how much of it went out."""

    def __init__(self, pieces: int | None) -> None:
        self.pieces, self.sent, self.kind = pieces, 0, "text/plain"

    async def __call__(self, visit: Visit) -> None:
        await visit.wire.send(f"HTTP/1.1 200 OK\r\nContent-Type: {self.kind}\r\nConnection: close\r\n\r\n".encode())
        if visit.request.method == "HEAD":
            raise HungUpError
        while self.pieces is None or self.sent < self.pieces * len(PIECE):
            await visit.wire.send(PIECE)
            self.sent += len(PIECE)
        raise HungUpError


@pytest.mark.req("DB-07")
async def test_a_large_body_is_hashed_in_the_memory_of_its_beginning() -> None:
    expected = Expected(sha256=hashlib.sha256(PIECE * PIECES).hexdigest())
    tracemalloc.start()
    try:
        seen, _ = await observe(Pouring(PIECES), Link("", expected=expected))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen.content is not None
    assert (seen.content.length, seen.content.sha256) == (len(PIECE) * PIECES, expected.sha256)
    assert peak < KEPT + (8 << 20) < len(PIECE) * PIECES


@pytest.mark.parametrize(
    ("link", "most"),
    [(Link(""), 0), (Link("", fragments=("x",)), KEPT), (Link("", expected=Expected(length=9)), SPARE)],
)
async def test_a_body_without_end_is_taken_no_further_than_needed(link: Link, most: int) -> None:
    pouring = Pouring(None)
    seen, _ = await observe(pouring, link, PATIENT._replace(use_head=False))
    assert seen.evidence.status == 200
    assert pouring.sent < most + (24 << 20)  # the system's buffers at both ends
    if seen.content is not None:
        assert (seen.content.length, seen.content.is_whole, seen.content.sha256) == (SPARE, False, "")


@pytest.mark.parametrize("kind", ["image/png", "application/zip", "video/mp4"])
async def test_nothing_is_taken_of_what_says_nothing(kind: str) -> None:
    pouring = Pouring(None)
    pouring.kind = kind
    seen, _ = await observe(pouring, Link(""))
    assert (seen.evidence.status, seen.content_type) == (200, kind)
    assert pouring.sent < 16 << 20  # the system's buffers at both ends


async def test_a_host_whose_head_is_not_plain_is_asked_by_get_once_for_each_link() -> None:
    wall = by_method(in_turn(fine, fine, fine, says(403)), fine)
    async with open_world([Host("a.test", wall)]) as world:
        assert await ask(world.client(PATIENT), world, "/d/1", "/d/2", "/d/3", "/d/4") == [200, 200, 200, 200]
        assert heard(world)[2:] == ["HEAD /d/2", "HEAD /d/3", "GET /d/3", "GET /d/4"]


def test_so_much_of_a_body_is_taken_at_the_most() -> None:
    assert needs_of(ANYTHING, reads=False) == Needs(False, False, 256 << 10)
    assert needs_of(ANYTHING, reads=True) == Needs(False, True, 2 << 20)
    assert needs_of(Expected(sha256="x"), reads=False) == Needs(True, True, 1 << 40)
    assert needs_of(Expected(length=5), reads=False) == Needs(True, True, 8 << 20)
    assert needs_of(Expected(length=5 << 20), reads=True) == Needs(True, True, 10 << 20)
    assert KEPT == 2 << 20


async def test_a_page_is_measured_as_it_is_meant_and_its_text_besides() -> None:
    seen, _ = await observe(fine, Link("", expected=Expected(length=1)))
    assert seen.content is not None
    assert (seen.content.length, seen.content.sha256) == (len(PAGE), hashlib.sha256(PAGE).hexdigest())
    text = read(PAGE, "text/html", None).markdown
    assert seen.content.text_sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert seen.content_type == "text/html"


class Reader:
    """PageReader where it was handed a page."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def read(self, body: bytes, kind: DetectedKind, url: str | None, deadline: Deadline) -> Document:
        self.sizes.append(len(body))
        assert deadline.left() > 0
        return read_as(kind, body, url)


async def test_long_pages_are_read_where_they_hold_up_nobody() -> None:
    reader = Reader()
    long = f"<h1>Long</h1><p>{WORDS * 1000}</p>"
    async with open_world([Host("a.test", site({"/short": fine, "/long": html(long)}))]) as world:
        client = LinkClient(world.door, world.clock, PATIENT, reader)
        assert await ask(client, world, "/short", "/long") == [200, 200]
        assert reader.sizes == [len(PAGE)]  # the second was asked by HEAD alone
        seen = await client.check(Link(world.url("a.test", "/long"), expected=Expected(length=3)))
        assert reader.sizes == [len(PAGE), len(long)]
        by_thread = await world.client(PATIENT).check(Link(world.url("a.test", "/long"), expected=Expected(length=3)))
    assert seen.content == by_thread.content
    assert seen.content is not None
    assert seen.content.text_sha256


@pytest.mark.parametrize("url", ["", "mailto:a@b.test", "http://", "http://[::1", "javascript:x", "http://0x7f.1/"])
async def test_what_is_no_url_is_an_observation_too(url: str) -> None:
    async with open_world([]) as world:
        seen = await world.client().check(Link(url))
    assert seen.code.startswith("invalid_")
    assert seen.error
    assert (seen.evidence.method, seen.evidence.status) == ("", None)
    assert seen.evidence.at.endswith("Z")
