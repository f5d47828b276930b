"""Of some bodies the beginning is enough: the rest is not transferred. Of others all is taken, up to the cap."""

from __future__ import annotations

import gzip
import random

import pytest

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import Beginning, RequestOptions
from spaniel.reading.kinds import may_be_cut
from spaniel.url import parse
from tests.net.harness import Harness, open_harness
from tests.net.servers import Wire, answer, answering, serve

SIZE, CAP = 50_000, 200_000
OPTIONS = RequestOptions(max_bytes=CAP, beginning=Beginning(SIZE, may_be_cut))
TEXT = random.Random(1).randbytes(400_000).hex().encode()  # 800,000 bytes that no encoding makes small
HTML, JSON, PDF = "Content-Type: text/html", "Content-Type: application/json", "Content-Type: application/pdf"


async def body_of(harness: Harness, href: str, options: RequestOptions = OPTIONS) -> bytes:
    url, deadline = parse(href), Deadline(30)
    page = await harness.services.http.get(url, await harness.services.guard.vet(url, deadline), deadline, options)
    return page.body


def sent(body: bytes, coding: str, *fields: str) -> bytes:
    """An answer with its length, in chunks, or encoded."""
    if coding == "length":
        return answer(200, body, *fields)
    if coding == "gzip":
        return answer(200, gzip.compress(body), "Content-Encoding: gzip", *fields)
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(part), part) for at in range(0, len(body), 7777) if (part := body[at : at + 7777])
    )
    return answer(200, chunks + b"0\r\n\r\n", "Transfer-Encoding: chunked", *fields, length=False)


@pytest.mark.req("FG-26")
@pytest.mark.parametrize("coding", ["length", "chunked", "gzip"])
async def test_of_a_text_the_beginning_is_taken_however_long_it_says_it_is(coding: str) -> None:
    async with serve(answering(sent(TEXT, coding, HTML))) as server, open_harness(server) as harness:
        assert await body_of(harness, server.url()) == TEXT[:SIZE]
        assert await server.all_closed()  # what was not read cannot be skipped


@pytest.mark.req("FG-26")
@pytest.mark.parametrize("coding", ["length", "chunked", "gzip"])
@pytest.mark.parametrize("size", [0, SIZE - 1, SIZE])
async def test_a_short_text_is_whole(coding: str, size: int) -> None:
    async with serve(answering(sent(TEXT[:size], coding, HTML))) as server, open_harness(server) as harness:
        assert await body_of(harness, server.url()) == TEXT[:size]


@pytest.mark.req("FG-26")
@pytest.mark.parametrize("coding", ["length", "chunked", "gzip"])
@pytest.mark.parametrize(
    ("start", "fields"),
    [(b'{"a": "', [JSON]), (b"%PDF-1.7 ", [PDF]), (b"%PDF-1.7 ", [HTML]), (b"[", []), (b"\x89PNG", [])],
)
async def test_other_bodies_are_taken_whole_or_refused(coding: str, start: bytes, fields: list[str]) -> None:
    whole = start + TEXT[: CAP - len(start)]
    async with serve(answering(sent(whole, coding, *fields))) as server, open_harness(server) as harness:
        assert await body_of(harness, server.url()) == whole
    async with serve(answering(sent(start + TEXT, coding, *fields))) as server, open_harness(server) as harness:
        with pytest.raises(SpanielError) as caught:
            await body_of(harness, server.url())
        assert caught.value.code == "response_too_large"


async def test_a_beginning_that_is_larger_than_the_cap_changes_nothing() -> None:
    options = RequestOptions(max_bytes=1000, beginning=Beginning(SIZE, may_be_cut))
    async with serve(answering(sent(TEXT, "chunked", HTML))) as server, open_harness(server) as harness:
        with pytest.raises(SpanielError) as caught:
            await body_of(harness, server.url(), options)
        assert caught.value.code == "response_too_large"


@pytest.mark.req("FG-26")
async def test_the_rest_is_not_transferred() -> None:
    """A server that would go on for ever, and counts what it got rid of."""
    poured = 0

    async def behave(wire: Wire) -> None:
        nonlocal poured
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while poured < 1 << 30:
            await wire.send(TEXT)
            poured += len(TEXT)

    async with serve(behave) as server, open_harness(server) as harness:
        assert await body_of(harness, server.url()) == TEXT[:SIZE]
        assert await server.all_closed()
    assert poured < 64 << 20  # what buffers hold


@pytest.mark.req("FG-26")
@pytest.mark.parametrize("step", [1, 3, 511])
async def test_the_first_bytes_decide_in_whatever_pieces_they_come(step: int) -> None:
    async def behave(wire: Wire) -> None:
        await wire.request()
        body = b"%PDF-1.7 " + TEXT[:100_000]
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body))
        for at in range(0, 20, step):
            await wire.send(body[at : at + step])
        await wire.send(body[len(range(0, 20, step)) * step :])

    async with serve(behave) as server, open_harness(server) as harness:
        assert await body_of(harness, server.url()) == b"%PDF-1.7 " + TEXT[:100_000]
