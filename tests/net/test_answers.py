"""Answers that no server should give: each is one typed error, in time, and the next request is served."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from tests.net.harness import open_harness
from tests.net.servers import Behaviour, Wire, answer, answering, serve

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ABC = b"3\r\nabc\r\n0\r\n\r\n"

MALFORMED: dict[str, bytes] = {
    "HTTP/0.9": b"<html>hello</html>",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "an HTTP/2 frame": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "every byte there is": bytes(range(256)) * 10,
    "nothing": b"",
    "half a header": OK + b"Content-Le",
    "four digits of status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "two digits of status": b"HTTP/1.1 20 OK\r\n\r\n",
    "an unknown version": b"HTTP/9.9 200 OK\r\n\r\n",
    "NUL in a header": OK + b"X: a\0b\r\n\r\n",
    "NUL in a header's name": OK + b"X\0: b\r\n\r\n",
    "CR in a header": OK + b"X: a\rSet-Cookie: b\r\n\r\n",
    "a header without a colon": OK + b"X\r\n\r\n",
    "10 MB of header": OK + b"X: " + b"a" * 10_000_000 + b"\r\n\r\n",
    "10 MB of a header's name": OK + b"a" * 10_000_000 + b": X\r\n\r\n",
    "10 MB of reason": b"HTTP/1.1 200 " + b"a" * 10_000_000 + b"\r\n\r\n",
    "100,000 headers": OK + b"".join(b"X-%d: y\r\n" % i for i in range(100_000)) + b"\r\n",
    "a length that is negative": OK + b"Content-Length: -1\r\n\r\nabc",
    "a length with a sign": OK + b"Content-Length: +3\r\n\r\nabc",
    "a length in hexadecimal": OK + b"Content-Length: 0x3\r\n\r\nabc",
    "a length that is empty": OK + b"Content-Length:\r\n\r\nabc",
    "a length of 5,000 digits": OK + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\nabc",
    "a length of 5,000 zeros and a three": OK + b"Content-Length: " + b"0" * 5_000 + b"3\r\n\r\nabc",
    "a length of 2^64": OK + b"Content-Length: 18446744073709551616\r\n\r\nabc",
    "a list of lengths": OK + b"Content-Length: 3, 3\r\n\r\nabc",
    "the same length twice": OK + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "two lengths": OK + b"Content-Length: 3\r\nContent-Length: 2\r\n\r\nabc",
    "a length, then chunked": OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + ABC,
    "chunked, then a length": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + ABC,
    "a body shorter than its length": OK + b"Content-Length: 10\r\n\r\nabc",
    "a body longer than its length": OK + b"Content-Length: 2\r\n\r\nabc",
    "a transfer coding that was not asked for": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + ABC,
    "a transfer coding instead of chunked": OK + b"Transfer-Encoding: gzip\r\n\r\nabc",
    "a transfer coding after chunked": OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + ABC,
    "chunked twice": OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + ABC,
    "nearly chunked": OK + b"Transfer-Encoding: xchunked\r\n\r\n" + ABC,
    "an invalid chunk size": CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n",
    "a chunk size that is negative": CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n",
    "a chunk size with a prefix": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk size of 2^72": CHUNKED + b"fffffffffffffffff0\r\nabc",
    "a chunk longer than its size": CHUNKED + b"3\r\nabcd0\r\n\r\n",
    "a chunk cut short": CHUNKED + b"5\r\nabc",
    "no last chunk": CHUNKED + b"3\r\nabc\r\n",
    "a line break in a chunk extension": CHUNKED + b"3;a\nb\r\nabc\r\n0\r\n\r\n",
    "a length among the trailers": CHUNKED + b"3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n",
    "10 MB of trailers": CHUNKED + b"3\r\nabc\r\n0\r\n" + b"X: y\r\n" * 1_600_000,
    "a trailer of 10 MB": CHUNKED + b"3\r\nabc\r\n0\r\nX: " + b"y" * 10_000_000,
    "an unknown encoding": answer(200, b"abc", "Content-Encoding: compress"),
    "three encodings": answer(200, b"abc", "Content-Encoding: gzip, gzip, gzip"),
    "three encodings in three headers": answer(200, b"abc", *["Content-Encoding: gzip"] * 3),
    "an encoding of 10 k characters": answer(200, b"abc", "Content-Encoding: " + "a" * 10_000),
    "an encoding that is not there": answer(200, b"abc", "Content-Encoding: gzip"),
    "an encoding cut short": answer(200, gzip.compress(b"abc")[:-1], "Content-Encoding: gzip"),
}


@pytest.mark.req("FR-WF-10", "NFR-WF-REL-03", "FR-WF-19")
@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_answer_is_a_network_error(sent: bytes) -> None:
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        await harness.refuses(server.url(), "network")
        assert len(server.heard) == server.connections <= 2  # aiohttp asks again where there was no answer at all
        assert await server.all_closed()


HARMLESS: dict[str, bytes] = {
    "a length": OK + b"Content-Length: 3\r\n\r\nabc",
    "chunked": CHUNKED + ABC,
    "chunked in another case": OK + b"transfer-encoding: Chunked\r\n\r\n" + ABC,
    "chunked over HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + ABC,
    "one-byte chunks": CHUNKED + b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n",
    "chunk extensions": CHUNKED + b"3;a=b;" + b"c" * 30_000 + b"\r\nabc\r\n0;x\r\n\r\n",
    "trailers": CHUNKED + b"3\r\nabc\r\n0\r\nX: y\r\nLocation: /x\r\n\r\n",
    "a body that ends with the connection": OK + b"\r\nabc",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
    "a folded header": OK + b"X: a\r\n b\r\nContent-Length: 3\r\n\r\nabc",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc",
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n" + answer(200, b"abc"),
    "twenty times 100": b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + answer(200, b"abc"),
    "an upgrade that was not requested": answer(200, b"abc", "Connection: upgrade", "Upgrade: websocket"),
    "a hundred headers": answer(200, b"abc", *(f"X-{i}: {'y' * 100}" for i in range(100))),
    "a header of 30 k": answer(200, b"abc", "Content-Security-Policy: " + "y" * 30_000),
    "two encodings in two headers": answer(
        200, gzip.compress(gzip.compress(b"abc")), "Content-Encoding: gzip", "Content-Encoding: GZIP"
    ),
    "the encoding 'identity'": answer(200, b"abc", "Content-Encoding: identity, "),
}


@pytest.mark.req("FR-WF-10", "FR-WF-10c")
@pytest.mark.parametrize("sent", HARMLESS.values(), ids=HARMLESS)
async def test_an_unusual_but_whole_answer_is_read(sent: bytes) -> None:
    """The positive control: the refusals above are not refusals of everything."""
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        assert (await harness.fetch(server.url())).page.body == b"abc"
        assert await server.all_closed()
        await harness.still_serves()


@pytest.mark.req("D2-27")
@pytest.mark.parametrize("status", [99, 101, 204, 205, 206, 226 + 74, 304, 305, 306, 399, 600, 999])
async def test_a_status_without_a_code_of_its_own_is_network_with_the_status(status: int) -> None:
    sent = f"HTTP/1.1 {status:03} Odd\r\nConnection: upgrade\r\nUpgrade: x\r\nLocation: /x\r\n\r\n".encode()
    async with serve(answering(sent)) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "network")
        assert error.details["status"] == status
        assert len(server.heard) == 1


@pytest.mark.req("D2-27", "FR-WF-07a")
@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
async def test_a_redirect_without_location_is_network_with_the_status(status: int) -> None:
    async with serve(answering(answer(status, b"where?"))) as server, open_harness(server) as harness:
        assert (await harness.refuses(server.url(), "network")).details["status"] == status


@pytest.mark.req("D2-27", "FR-WF-18")
@pytest.mark.parametrize(
    ("status", "code"), [(400, "http_4xx"), (404, "http_4xx"), (499, "http_4xx"), (500, "http_5xx"), (599, "http_5xx")]
)
async def test_a_refusing_status_has_its_code_and_nothing_of_the_body(status: int, code: str) -> None:
    async with serve(answering(answer(status, b"a page of excuses"))) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), code)
        assert error.details == {"status": status, "status_text": "Status"}


@pytest.mark.req("D2-27")
@pytest.mark.parametrize(("status", "code"), [(429, "http_4xx"), (503, "http_5xx")])
async def test_too_many_requests_tells_when_to_come_back(status: int, code: str) -> None:
    async with serve(answering(answer(status, b"", "Retry-After: 120"))) as server, open_harness(server) as harness:
        assert (await harness.refuses(server.url(), code)).details["retry_after"] == "120"


@pytest.mark.req("NFR-WF-SEC-06", "D2-27")
async def test_what_a_server_says_of_itself_cannot_write_on_the_terminal() -> None:
    said = "HTTP/1.1 404 \x1b]0;pwned\x07\x9b31m\u202e\r\nRetry-After: \x1b[2J\r\n\r\n".encode()
    async with serve(answering(said)) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "http_4xx")
        assert "pwned" in str(error.details["status_text"])
        assert str(error.details["status_text"]).isprintable()
        assert str(error.details["retry_after"]).isprintable()


@pytest.mark.req("FR-WF-10e", "IT-WF-HTTP-04", "T-WF-INFRA-02")
@pytest.mark.parametrize("length", [5 * 1024 * 1024 + 1, 10**10, 2**64 - 1])
async def test_an_announced_length_over_the_cap_is_refused_before_the_body(length: int) -> None:
    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(OK + b"Content-Length: %d\r\n\r\n" % length)
        await wire.reader.read()  # no byte of the body was sent: the header decides

    async with serve(behave) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), "response_too_large")
        assert error.details == {"size": length, "max_bytes": 5 * 1024 * 1024}
        # aiohttp reads 2^64 - 1 as "no body" and keeps the connection, for this same server and pin only
        assert length == 2**64 - 1 or await server.all_closed()


def poured(head: bytes, data: bytes) -> Behaviour:
    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(head)
        await wire.pour(data)

    return behave


EMPTY_MEMBERS = gzip.compress(b"") * 3_000
ENDLESS: dict[str, tuple[Behaviour, tuple[str, ...]]] = {
    "body": (poured(OK + b"\r\n", b"x" * 65_536), ("response_too_large",)),
    "chunks": (poured(CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n"), ("response_too_large",)),
    "one-byte chunks": (poured(CHUNKED, b"1\r\nx\r\n" * 10_000), ("response_too_large", "timeout")),
    "chunk extension": (poured(CHUNKED + b"3;", b"x" * 65_536), ("network",)),
    "chunks of one byte with huge extensions": (
        poured(CHUNKED, b"1;" + b"x" * 65_536 + b"\r\nx\r\n"),
        ("network",),
    ),
    "headers": (poured(OK, b"X: y\r\n" * 10_000), ("network",)),
    "header": (poured(OK + b"X: ", b"y" * 65_536), ("network",)),
    "trailers": (poured(CHUNKED + b"3\r\nabc\r\n0\r\n", b"X: y\r\n" * 10_000), ("network",)),
    "100 Continue": (poured(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000), ("timeout", "network")),
    "early hints": (poured(b"", b"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" * 1_000), ("timeout", "network")),
    "empty gzip members": (
        poured(OK + b"Content-Encoding: gzip\r\n\r\n", EMPTY_MEMBERS),
        ("response_too_large", "timeout"),
    ),
    "line breaks before the answer": (poured(b"", b"\r\n" * 10_000), ("timeout", "network")),
}


@pytest.mark.req("FR-WF-10e", "FR-WF-10a")
@pytest.mark.parametrize(("behaviour", "codes"), ENDLESS.values(), ids=ENDLESS)
async def test_an_answer_without_end_is_ended_here(behaviour: Behaviour, codes: tuple[str, ...]) -> None:
    async with serve(behaviour) as server, open_harness(server) as harness:
        error = await harness.refuses(server.url(), codes, 1.0 if "timeout" in codes else 30.0)
        assert error.details.get("max_bytes", 5 * 1024 * 1024) == 5 * 1024 * 1024
        assert await server.all_closed()


@pytest.mark.req("NFR-WF-REL-03", "FR-WF-19")
@pytest.mark.parametrize("pause", [0.0, 0.05])
@pytest.mark.parametrize(
    "head",
    [b"", b"Content-Length: 100\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: br\r\n"],
    ids=["until the end", "length", "chunked", "encoded"],
)
async def test_a_connection_that_breaks_in_the_body_brings_nothing(head: bytes, pause: float) -> None:
    async def behave(wire: Wire) -> None:
        await wire.request()
        await wire.send(OK + head + b"\r\n3\r\nabc\r\n")
        await asyncio.sleep(pause)
        wire.reset()

    async with serve(behave) as server, open_harness(server) as harness:
        await harness.refuses(server.url(), "network")
