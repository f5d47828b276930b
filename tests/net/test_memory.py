"""Memory: no answer, however it is made, takes four times the cap."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest

from tests.net.measure import begin_anew, resident
from tests.net.servers import Wire, answer, serve

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[2]
CAP = 5 * 1024 * 1024
BIG = 12 * CAP
OK = b"HTTP/1.1 200 OK\r\n"
WIDEST = (
    "/br-24"  # a window of 16 MiB, which brotli fills before it gives anything: RFC 7932 allows it, some servers use it
)


def twice(encode: Callable[[bytes], bytes]) -> bytes:
    return encode(encode(bytes(BIG)))


def zstd_of(window: int) -> Callable[[bytes], bytes]:
    return lambda body: zstd.compress(body, options={zstd.CompressionParameter.window_log: window})


def br_of(window: int) -> Callable[[bytes], bytes]:
    return lambda body: bytes(brotli.compress(body, quality=2, lgwin=window))


def bombs() -> dict[str, bytes]:
    """Each grows to twelve times the cap, if it is let."""
    return {
        "/gzip": answer(200, gzip.compress(bytes(BIG)), "Content-Encoding: gzip"),
        "/deflate": answer(200, zlib.compress(bytes(BIG)), "Content-Encoding: deflate"),
        "/br": answer(200, br_of(23)(bytes(BIG)), "Content-Encoding: br"),
        WIDEST: answer(200, br_of(24)(bytes(BIG)), "Content-Encoding: br"),
        "/zstd": answer(200, zstd_of(23)(bytes(BIG)), "Content-Encoding: zstd"),
        "/gzip-gzip": answer(200, twice(gzip.compress), "Content-Encoding: gzip, gzip"),
        "/br-br": answer(200, twice(br_of(22)), "Content-Encoding: br, br"),
        "/zstd-zstd": answer(200, twice(zstd_of(22)), "Content-Encoding: zstd, zstd"),
        "/plain": OK + b"\r\n" + bytes(2 * CAP),
    }


def bloated() -> dict[str, bytes]:
    """Headers as many and as long as they may be, and more."""
    line = b"y" * 32_000
    return {
        "/headers": OK + b"".join(b"X-%d: %s\r\n" % (i, line) for i in range(120)) + b"Content-Length: 0\r\n\r\n",
        "/one-header": OK + (b"X: " + line + b"\r\n") * 120 + b"Content-Length: 0\r\n\r\n",
        "/longer": OK + (b"X: " + b"y" * 65_000 + b"\r\n") * 250 + b"Content-Length: 0\r\n\r\n",
        "/too-many": OK + (b"X: " + line + b"\r\n") * 2_000 + b"Content-Length: 0\r\n\r\n",
    }


@pytest.mark.req("FR-WF-10e")
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak is read in /proc")
async def test_no_answer_takes_four_times_the_cap() -> None:
    answers = bombs() | bloated()

    async def behave(wire: Wire) -> None:
        while (request := await wire.request()) is not None:
            if request.target == "/tiny-chunks":
                await wire.send(OK + b"Transfer-Encoding: chunked\r\n\r\n")
                await wire.pour(b"2\r\nxy\r\n" * 5_000)
            await wire.send(answers.get(request.target, answer(200, b"first")))

    async with serve(behave) as server:
        paths = ["/first", *answers, "/tiny-chunks", "/first"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.net.measure"),
            *map(server.url, paths),
            cwd=ROOT,
            env=os.environ
            | {"MALLOC_MMAP_THRESHOLD_": "131072"},  # what is freed is given back: no row weighs the last
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await process.communicate()
    weighed = [json.loads(line) for line in said.splitlines()]
    assert [row["path"] for row in weighed] == paths[1:]
    for row in weighed:
        most = 4 * CAP + (1 << 21) * (row["path"] == WIDEST)
        assert row["grew"] < most, f"{row['path']} took {row['grew'] / CAP:.1f} times the cap"
        right = {"/headers": "0 bytes", "/one-header": "0 bytes", "/first": "5 bytes"}
        right |= {"/longer": "network", "/too-many": "network"}
        also = ("timeout",) if row["path"] == "/tiny-chunks" else ()
        assert row["ended"] in (right.get(row["path"], "response_too_large"), *also), row


@pytest.mark.req("FR-WF-10e")
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak is read in /proc")
def test_the_scales_can_tell() -> None:
    """The positive control: a process that does swallow the bomb is seen to."""
    bomb = gzip.compress(bytes(BIG))
    begin_anew()
    before = resident("VmRSS")
    assert len(gzip.decompress(bomb)) == BIG
    assert resident("VmHWM") - before > 4 * CAP
