"""One hop to the letter: which statuses bring a body, how much of it, what is refused, and what is sent."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping

import pytest

from spaniel.errors import SpanielError
from spaniel.net import http
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Target
from spaniel.net.http import (
    DEFAULT_OPTIONS,
    Beginning,
    CapturedExchange,
    Http,
    Page,
    RequestHeaders,
    RequestOptions,
    has_body,
)
from spaniel.url import Url, parse
from tests.net.harness import Harness, open_harness
from tests.net.servers import Wire, answer, answering, serve, silence

Where = tuple[Url, Target, Deadline]


async def where(harness: Harness, href: str) -> Where:
    url, deadline = parse(href), Deadline(30)
    return url, await harness.services.guard.vet(url, deadline), deadline


async def hop(said: bytes, options: RequestOptions = DEFAULT_OPTIONS, stream: bool = False) -> tuple[Page, bytes]:
    """The page of one answer, and what went into the sink of a stream."""
    taken = bytearray()
    async with serve(answering(said, close=False)) as server, open_harness(server) as harness:
        place = await where(harness, server.url())
        if stream:
            page = await harness.services.http.stream(*place, taken.extend, options)
        else:
            page = await harness.services.http.get(*place, options)
        assert server.heard[0].method == "GET"
    return page, bytes(taken)


async def refused(said: bytes, options: RequestOptions = DEFAULT_OPTIONS, stream: bool = False) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        await hop(said, options, stream)
    return caught.value


@pytest.mark.req("FR-WF-07a")
@pytest.mark.parametrize(
    ("status", "ok", "redirects"),
    [(200, True, False), (201, True, False), (203, True, False), (204, False, False), (205, False, False),
     (206, False, False), (207, True, False), (299, True, False), (300, False, False), (301, False, True),
     (302, False, True), (303, False, True), (304, False, False), (305, False, False), (306, False, False),
     (307, False, True), (308, False, True), (309, False, False), (400, False, False), (599, False, False)],
)  # fmt: skip
def test_what_a_status_means(status: int, ok: bool, redirects: bool) -> None:
    page = Page(parse("http://a.test/"), status, "", {"location": "/there"}, b"")
    assert (page.ok, has_body(status), page.location) == (ok, ok, "/there" if redirects else None)
    assert page._replace(headers={}).location is None


def test_below_200_there_is_no_page() -> None:
    assert not has_body(199)
    assert not has_body(100)


@pytest.mark.req("FR-WF-10b", "D2-11")
def test_the_defaults_are_the_documents() -> None:
    assert RequestHeaders().fields() == {
        "User-Agent": "forge-webfetch/1.0",
        "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1",
        "Accept-Encoding": "gzip, deflate, br",
    }
    assert (RequestOptions().max_bytes, RequestOptions().cut, RequestOptions().error_bytes) == (5_242_880, False, 0)
    assert RequestOptions().lines() == (
        b"User-Agent: forge-webfetch/1.0\r\nAccept: text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1\r\n"
        b"Accept-Encoding: gzip, deflate, br\r\n"
    )
    more = RequestOptions(RequestHeaders("a/1", "b", "c", "d"), more={"If-None-Match": '"x"', "Accept": "e"})
    assert more.lines() == (
        b'User-Agent: a/1\r\nAccept: e\r\nAccept-Encoding: c\r\nAccept-Language: d\r\nIf-None-Match: "x"\r\n'
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "taken"),
    [(200, None), (206, b""), (304, b""), (302, b""), (399, b""), (400, b"no"), (404, b"no"), (500, b"no"),
     (599, b"no"), (600, b"")],
)  # fmt: skip
async def test_of_an_error_so_much_is_taken_as_was_asked_for(status: int, taken: bytes | None, stream: bool) -> None:
    said = answer(status, b"" if status == 304 else b"not found")
    page, poured = await hop(said, DEFAULT_OPTIONS._replace(error_bytes=2), stream)
    if taken is None:
        assert (page.body, poured) == ((b"", b"not found") if stream else (b"not found", b""))
    else:
        assert (page.status, page.body, poured) == (status, taken, b"")
    assert (await hop(said, DEFAULT_OPTIONS, stream))[0].body == (b"not found" if taken is None and not stream else b"")


@pytest.mark.parametrize(
    ("status", "kind", "taken"),
    [(200, "text/html", b"be"), (299, "text/html", b"be"), (200, "image/png", b""), (302, "text/html", b""),
     (404, "image/png", b"be"), (206, "text/html", b"")],
)  # fmt: skip
async def test_a_glance_takes_the_beginning_of_pages_of_some_types(status: int, kind: str, taken: bytes) -> None:
    asked: list[str | None] = []

    def wanted(named: str | None) -> bool:
        asked.append(named)
        return named == "text/html"

    said = answer(status, b"beginning", f"Content-Type: {kind}")
    page, _ = await hop(said, DEFAULT_OPTIONS._replace(error_bytes=2, glance=wanted))
    assert (page.status, page.body, asked) == (status, taken, [kind])
    assert (await hop(said, DEFAULT_OPTIONS._replace(glance=wanted)))[0].body == b""


async def test_an_error_whose_body_hangs_has_three_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert http.ERROR_SECONDS == 3.0
    monkeypatch.setattr(http, "ERROR_SECONDS", 0.2)

    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 404 No\r\nContent-Length: 99\r\n\r\nabc")
        await silence(wire)

    async with serve(behave) as server, open_harness(server) as harness:
        page = await harness.services.http.get(
            *await where(harness, server.url()), DEFAULT_OPTIONS._replace(error_bytes=50)
        )
        assert (page.status, page.body) == (404, b"abc")
        assert await server.all_closed()


@pytest.mark.req("FR-WF-10e")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("coding", ["length", "chunked", "close", "gzip"])
async def test_a_body_may_be_as_large_as_the_cap_and_no_larger(coding: str, stream: bool) -> None:
    def said(size: int) -> bytes:
        body = b"x" * size
        if coding == "length":
            return answer(200, body)
        if coding == "gzip":
            return answer(200, gzip.compress(body), "Content-Encoding: gzip")
        if coding == "chunked":
            return answer(200, b"%x\r\n%b\r\n0\r\n\r\n" % (size, body), "Transfer-Encoding: Chunked", length=False)
        return answer(200, body, "Connection: close", length=False)

    async def ask(size: int, options: RequestOptions) -> bytes:
        taken = bytearray()
        async with serve(answering(said(size))) as server, open_harness(server) as harness:
            place = await where(harness, server.url())
            if not stream:
                return (await harness.services.http.get(*place, options)).body
            await harness.services.http.stream(*place, taken.extend, options)
            return bytes(taken)

    assert await ask(100, DEFAULT_OPTIONS._replace(max_bytes=100)) == b"x" * 100
    with pytest.raises(SpanielError) as caught:
        await ask(101, DEFAULT_OPTIONS._replace(max_bytes=100))
    assert str(caught.value.code) == "response_too_large"
    assert caught.value.details["max_bytes"] == 100
    assert caught.value.details["size"] == 101
    assert await ask(101, DEFAULT_OPTIONS._replace(max_bytes=100, cut=True)) == b"x" * 100


@pytest.mark.req("FR-WF-10e")
async def test_a_body_that_says_it_is_too_large_is_not_begun() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 101\r\n\r\n"  # and nothing follows
    for beginning in (None, Beginning(10, lambda kind, start: False), Beginning(200, lambda *_: True)):
        for stream in (False, True):
            options = DEFAULT_OPTIONS._replace(max_bytes=100, beginning=beginning)
            error = await refused(head, options, stream)
            assert str(error.code) == "response_too_large"


async def test_what_is_enough_is_asked_with_the_first_512_bytes() -> None:
    seen: list[tuple[str | None, bytes]] = []

    def enough(kind: str | None, start: bytes) -> bool:
        seen.append((kind, start))
        return True

    body = bytes(range(256)) * 8
    options = DEFAULT_OPTIONS._replace(beginning=Beginning(1000, enough))
    page, _ = await hop(answer(200, body, "Content-Type: x/y"), options)
    assert page.body == body[:1000]
    assert seen[-1] == ("x/y", body[:512])
    assert (await hop(answer(200, body[:1000], "Content-Type: x/y"), options))[0].body == body[:1000]
    never = DEFAULT_OPTIONS._replace(beginning=Beginning(1000, lambda *_: False))
    assert (await hop(answer(200, body), never))[0].body == body


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (["Transfer-Encoding: gzip, chunked"], "a transfer coding that was not asked for"),
        (["Location: /a", "Location: /b"], "two Location headers"),
    ],
)
async def test_a_head_that_can_be_read_in_two_ways_is_refused(fields: list[str], error: str) -> None:
    for stream in (False, True):
        status = 302 if "Location" in fields[0] else 200
        said = answer(status, b"0\r\n\r\n", *fields, length=False)
        failure = await refused(said, DEFAULT_OPTIONS, stream)
        assert str(failure.code) == "network"
        assert failure.details["error"] == error
        assert failure.details.get("status") == (302 if status == 302 else None)
    assert (await hop(answer(302, b"", "Location: /a")))[0].location == "/a"  # the control


@pytest.mark.parametrize(
    ("length", "right"), [(None, None), ("0", 0), ("12", 12), ("9" * 20, int("9" * 20)), ("007", 7)]
)
def test_a_length_is_a_number(length: str | None, right: int | None) -> None:
    assert http._content_length(length) == right


@pytest.mark.parametrize("length", ["", "-1", "+1", "1.0", "1, 1", "0x10", "٣", "9" * 21, "9" * 40, "²"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    with pytest.raises(SpanielError) as caught:
        http._content_length(length)
    assert caught.value.details["error"] == f"bad Content-Length '{length[:21]}'"


@pytest.mark.parametrize("field", ["User-Agent", "X-Mine"])
@pytest.mark.parametrize("value", ["a\nb", "ä", "a\x00"])
def test_a_header_that_cannot_be_sent_is_named(field: str, value: str) -> None:
    options = RequestOptions(RequestHeaders(value)) if field == "User-Agent" else RequestOptions(more={field: value})
    with pytest.raises(SpanielError) as caught:
        options.lines()
    assert (str(caught.value.code), caught.value.details["field"]) == ("bad_args", field)
    assert caught.value.details["reason"] == "a header holds printable ASCII only"


async def test_a_body_in_many_pieces_is_put_together_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_PIECES", 4)
    body = bytes(range(200))

    async def behave(wire: Wire) -> None:
        while await wire.request():
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n")
            for byte in body:
                await wire.send(bytes([byte]))
                await asyncio.sleep(0)
                await asyncio.sleep(0)

    async with serve(behave) as server, open_harness(server) as harness:
        page = await harness.services.http.get(*await where(harness, server.url()))
        assert page.body == body
        assert (page.status, page.reason, page.address, page.certificate_ends) == (200, "OK", "127.0.0.1", None)


async def test_who_observes_gets_each_page_with_what_crossed_the_wire() -> None:
    seen: list[tuple[Page, CapturedExchange]] = []
    options = DEFAULT_OPTIONS._replace(observe=lambda page, crossing: seen.append((page, crossing)))
    async with serve(answering(answer(200, b"page", "X-A: b"), close=False)) as server, open_harness(server) as harness:
        page = await harness.services.http.get(*await where(harness, server.url()), options)
    ((observed, crossing),) = seen
    assert observed == page
    assert ("X-A", "b") in crossing.answered
    assert ("User-Agent", "forge-webfetch/1.0") in crossing.asked
    assert crossing.whole


async def test_a_long_body_lets_others_have_their_turn() -> None:
    """A server that is faster than we are would otherwise keep everybody waiting, deadlines included."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    class Ready:
        """An exchange all of whose bytes are there."""

        left = 240

        async def read(self) -> bytes:
            self.left -= 1
            return b"x" if self.left >= 0 else b""

    counting = asyncio.create_task(count())
    await asyncio.sleep(0)
    before, taken = turns, bytearray()
    headers: Mapping[str, str] = {}
    await http._read_body(Ready(), headers, DEFAULT_OPTIONS, taken.extend)  # type: ignore[arg-type]
    assert len(taken) == 240
    assert turns - before == 15
    counting.cancel()


async def test_a_client_is_closed_with_its_block() -> None:
    async with serve(answering(answer(200, b"page"), close=False)) as server, open_harness(server) as harness:
        url, target, deadline = await where(harness, server.url())
        async with Http() as client:
            assert (await client.get(url, target, deadline)).body == b"page"
            assert server.open == 1
        assert await server.all_closed()
