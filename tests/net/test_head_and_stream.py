"""One hop without its body, and one whose body goes elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import tracemalloc

import pytest

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Target
from spaniel.net.http import RequestOptions
from spaniel.url import Url, parse
from tests.net.harness import Harness, open_harness
from tests.net.servers import Wire, answer, answering, serve

PIECE = bytes(range(256)) * 256  # 64 KiB


async def vetted(harness: Harness, href: str) -> tuple[Url, Target, Deadline]:
    url, deadline = parse(href), Deadline(20)
    return url, await harness.services.guard.vet(url, deadline), deadline


async def test_a_head_ends_where_the_head_does_whatever_length_it_announces() -> None:
    async def behave(wire: Wire) -> None:
        while request := await wire.request():
            assert request.method == "HEAD"
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nX-Kind: otter\r\n\r\n")

    async with serve(behave) as server, open_harness(server) as harness:
        for _ in range(3):
            page = await harness.services.http.head(*await vetted(harness, server.url()))
            assert (page.status, page.headers["x-kind"], page.body) == (200, "otter", b"")
        assert server.connections == 1  # it is kept


@pytest.mark.parametrize("status", [301, 404, 405, 503])
async def test_a_head_brings_every_status_and_its_location(status: int) -> None:
    sent = answer(status, b"", "Location: /there")
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        page = await harness.services.http.head(*await vetted(harness, server.url()))
        assert (page.status, page.headers["location"]) == (status, "/there")
        assert (page.location is None) is (status != 301)


async def test_gigabytes_are_hashed_in_the_memory_of_a_few_pieces() -> None:
    """A tenth of one, by default; it is the growth that counts, and it does not depend on the size."""
    count = 1600

    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (count * len(PIECE)))
        for _ in range(count):
            await wire.send(PIECE)

    async with serve(behave) as server, open_harness(server) as harness:
        digest = hashlib.sha256()
        where = await vetted(harness, server.url())
        tracemalloc.start()
        page = await harness.services.http.stream(*where, digest.update, RequestOptions(max_bytes=1 << 40))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    expected = hashlib.sha256()
    for _ in range(count):
        expected.update(PIECE)
    assert (page.status, page.body) == (200, b"")
    assert digest.hexdigest() == expected.hexdigest()
    assert peak < 16 << 20


async def test_a_streamed_body_is_decoded_and_counted_like_any_other() -> None:
    sent = answer(200, gzip.compress(PIECE * 10), "Content-Encoding: gzip")
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        taken = bytearray()
        await harness.services.http.stream(*await vetted(harness, server.url()), taken.extend)
        assert taken == PIECE * 10
        with pytest.raises(SpanielError) as refused:
            await harness.services.http.stream(
                *await vetted(harness, server.url()), taken.extend, RequestOptions(max_bytes=len(PIECE))
            )
        assert str(refused.value.code) == "response_too_large"
        cut = bytearray()
        options = RequestOptions(max_bytes=len(PIECE) + 7, cut=True)
        await harness.services.http.stream(*await vetted(harness, server.url()), cut.extend, options)
        assert cut == (PIECE * 2)[: len(PIECE) + 7]


async def test_a_body_of_many_pieces_is_put_together_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.net.http.MAX_PIECES", 3)
    pieces = [bytes([number]) * 1000 for number in range(10)]

    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
        for piece in pieces:
            await wire.send(piece)
            await asyncio.sleep(0.01)

    async with serve(behave) as server, open_harness(server) as harness:
        assert (await harness.get(server.url())).body == b"".join(pieces)


async def test_an_error_page_is_not_poured_out_and_a_broken_body_is_an_error() -> None:
    async with (
        serve(answering(answer(404, b"an excuse"))) as missing,
        serve(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")) as broken,
        open_harness(missing, broken) as harness,
    ):
        taken: list[bytes] = []
        page = await harness.services.http.stream(*await vetted(harness, missing.url()), taken.append)
        assert (page.status, taken) == (404, [])
        with pytest.raises(SpanielError) as refused:
            await harness.services.http.stream(*await vetted(harness, broken.url()), taken.append)
        assert str(refused.value.code) == "network"
