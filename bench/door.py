"""The door: GETs a second beside raw aiohttp on the same server, and memory while a bomb is met."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import title, wanted

if TYPE_CHECKING:
    from spaniel.app.engine import Engine
    from spaniel.net.addresses import Address
    from spaniel.net.resolver import Resolver

GETS = 2_000
ROUNDS = 5
BOMB_BYTES = 1 << 30
CAP = 5 << 20


def run() -> None:
    throughput()
    bombs()


def throughput() -> None:
    """Guard, robots.txt and the one deadline are on; raw aiohttp has nothing of the kind."""
    with _server("page") as port:
        rates = asyncio.run(_rates(port))
    title("GETs a second, 10 KB page, loopback")
    for concurrency in (1, 64):
        raw, ours = (sorted(rates[name, concurrency])[ROUNDS // 2] for name in ("aiohttp", "spaniel"))
        print(f"  concurrency {concurrency:2}: aiohttp {raw:7,.0f}   spaniel {ours:7,.0f}")
        wanted(f"spaniel / aiohttp at {concurrency}", ours / raw, least=0.7)


async def _rates(port: int) -> dict[tuple[str, int], list[float]]:
    import aiohttp

    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.retrieve import retrieve
    from spaniel.url import parse

    here = [ip_address("127.0.0.1")]

    class Here:
        async def resolve(self, _host: str) -> list[Address]:
            return here

    rates: dict[tuple[str, int], list[float]] = {}
    async with _engine(port, Here()) as engine, aiohttp.ClientSession() as session:

        async def ours() -> None:
            found = await retrieve(parse(f"http://bench.example:{port}/page"), engine.services.door, Deadline(20))
            assert len(found.page.body) == 10_240

        async def raw() -> None:
            async with session.get(f"http://127.0.0.1:{port}/page") as response:
                assert len(await response.read()) == 10_240

        for _ in range(ROUNDS):
            for concurrency in (1, 64):
                for name, get in (("aiohttp", raw), ("spaniel", ours)):
                    rates.setdefault((name, concurrency), []).append(await _rate(get, concurrency))
    return rates


def _engine(port: int, resolver: Resolver | None = None) -> Engine:
    from spaniel.app.engine import Engine
    from spaniel.app.settings import from_data

    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [port]}
    return Engine(from_data({"tools": {"webfetch": {"security": security}}}, "bench"), resolver)


async def _rate(get: Callable[[], Awaitable[None]], concurrency: int) -> float:
    async def worker() -> None:
        for _ in range(GETS // concurrency):
            await get()

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return GETS // concurrency * concurrency / (time.perf_counter() - start)


def bombs() -> None:
    title(f"peak memory while a bomb of {BOMB_BYTES >> 20} MiB is met (cap {CAP >> 20} MiB)")
    for encoding in ("gzip", "deflate", "br", "zstd"):
        with _server(f"bomb:{encoding}") as port:
            done = subprocess.run(
                [sys.executable, "-m", "bench.door", str(port)], capture_output=True, text=True, check=True
            )
        outcome = json.loads(done.stdout)
        grown = outcome["grown"] / CAP
        wanted(f"{encoding}: {outcome['code']}, growth in caps", grown, most=4)


def _meet(port: int) -> None:
    """In a process of its own: fetch the bomb, say how it ended and how much the peak grew."""
    from spaniel.errors import SpanielError
    from spaniel.net.deadline import Deadline
    from spaniel.net.http import RequestOptions
    from spaniel.pipeline.retrieve import FetchOptions, retrieve
    from spaniel.url import parse

    async def fetch(path: str) -> str:
        async with _engine(port) as engine:
            try:
                way = FetchOptions(RequestOptions(max_bytes=CAP))
                await retrieve(parse(f"http://127.0.0.1:{port}{path}"), engine.services.door, Deadline(20), way)
            except SpanielError as error:
                return str(error.code)
        return "ok"

    asyncio.run(fetch("/small"))
    before = _peak()
    code = asyncio.run(fetch("/page"))
    print(json.dumps({"code": code, "grown": _peak() - before}))


def _peak() -> int:
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) * 1024 if found else 0


class _server:  # noqa: N801
    """A server in a process of its own, for the length of a block."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> int:
        command = [sys.executable, "-m", "bench.door", "serve", self._what]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()


def _bomb(encoding: str) -> bytes:
    zeros = bytes(1 << 20)
    if encoding == "br":
        import brotli

        packer = brotli.Compressor(quality=5)
        return b"".join(packer.process(zeros) for _ in range(BOMB_BYTES >> 20)) + bytes(packer.finish())
    if encoding == "zstd":
        from backports import zstd

        packed = zstd.ZstdCompressor()
        return b"".join(packed.compress(zeros) for _ in range(BOMB_BYTES >> 20)) + packed.flush()
    if encoding == "gzip":
        return gzip.compress(zeros, 9) * (BOMB_BYTES >> 20)
    deflate = zlib.compressobj(9)
    return b"".join(deflate.compress(zeros) for _ in range(BOMB_BYTES >> 20)) + deflate.flush()


async def _serve(what: str) -> None:
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    body = b"x" * 10_240
    if what.startswith("bomb:"):
        encoding = what.partition(":")[2]
        body, head = _bomb(encoding), f"{head}Content-Encoding: {encoding}\r\n"
    page = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    small = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"

    class Answer(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(page if data.startswith(b"GET /page") else small)

    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(_serve(sys.argv[2]))
    else:
        _meet(int(sys.argv[1]))
