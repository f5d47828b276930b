"""Content measured as it comes: after redirects, decoded, guarded and polite at every hop, in little memory."""

from __future__ import annotations

import asyncio
import hashlib
import tracemalloc
import zlib

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import RequestOptions
from spaniel.pipeline.retrieve import ANY_SIZE, FetchOptions, Measured, measure
from spaniel.testing import Site, redirect, text
from spaniel.url.parsing import parse
from tests.loopback import rooms_for

PIECE, PIECES = b"0123456789abcdef" * 4096, 512  # 32 MiB


async def measured(site: Site, path: str, way: FetchOptions | None = None) -> Measured:
    async with rooms_for(site) as services:
        way = way or FetchOptions(RequestOptions(max_bytes=ANY_SIZE))
        return await measure(parse(site.url(path)), services.door, Deadline(20), way)


@pytest.mark.req("DB-07")
async def test_length_hash_and_type_are_measured_after_redirects() -> None:
    end = text("hello", headers={"Content-Type": "Text/Plain; x=1"})
    async with Site({"/a": redirect("/b", 301), "/b": redirect("/c"), "/c": end}) as site:
        found = await measured(site, "/a")
    assert (found.length, found.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    assert (found.content_type, found.page.url.path, len(found.chain)) == ("text/plain", "/c", 2)


@pytest.mark.req("DB-07")
async def test_a_body_that_comes_packed_is_measured_as_it_is_meant() -> None:
    packed = 200, {"Content-Encoding": "gzip", "Content-Type": "x/y"}, zlib.compress(b"hello" * 1000, wbits=31)
    async with Site({"/a": packed}) as site:
        found = await measured(site, "/a")
    assert (found.length, found.sha256) == (5000, hashlib.sha256(b"hello" * 1000).hexdigest())


class LargeSite(Site):
    """It writes /large piece by piece, for it is not to be in memory here either."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET /large "):
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for _ in range(PIECES):
                writer.write(PIECE)
                await writer.drain()
        else:
            writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()


async def test_a_large_body_is_never_in_memory() -> None:
    async with LargeSite({}) as site:
        tracemalloc.start()
        try:
            found = await measured(site, "/large")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (found.length, found.sha256) == (len(PIECE) * PIECES, hashlib.sha256(PIECE * PIECES).hexdigest())
    assert peak < len(PIECE) * PIECES // 4


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/gone", Code.HTTP_4XX),
        ("/loop", Code.REDIRECT_LIMIT),
        ("/private", Code.ROBOTS_DISALLOWED),
        ("/meta", Code.SSRF_BLOCKED),
    ],
)
async def test_what_is_refused_on_the_way_is_refused(path: str, code: Code) -> None:
    pages = {
        "/robots.txt": text("User-agent: *\nDisallow: /secret\n"),
        "/loop": redirect("/loop"),
        "/private": redirect("/secret"),
        "/secret": text("x"),
        "/meta": redirect("http://169.254.169.254/"),
        "/fine": text("x"),
    }
    async with Site({**pages}) as site:
        with pytest.raises(SpanielError) as caught:
            await measured(site, path)
        assert caught.value.code is code
        assert site.requests["/secret"] == 0
        assert (await measured(site, "/fine")).length == 1  # the control


async def test_a_body_without_end_ends_with_the_deadline_or_the_cap() -> None:
    async with Site({"/a": (200, {}, b"x" * 5000)}) as site:
        with pytest.raises(SpanielError) as caught:
            await measured(site, "/a", FetchOptions(RequestOptions(max_bytes=4999)))
    assert caught.value.code is Code.RESPONSE_TOO_LARGE
