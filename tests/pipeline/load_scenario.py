"""Two hundred hosts, some of them slow, some hostile; and a client that asks them all at once.

The client is a process of its own, so that nothing but Spaniel is weighed: `python -m tests.pipeline.load_scenario …`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path

from spaniel.app.client import Spaniel
from spaniel.app.settings import from_data
from spaniel.errors import SpanielError
from spaniel.robots import gate
from spaniel.testing import FakeResolver
from tests.net.measure import begin_anew, resident
from tests.net.servers import Server, Wire, answer, serve

ROOT = Path(__file__).resolve().parents[2]
CAP = 256 << 10
DESCRIPTORS = 1024  # what most systems give a process
HTML = "Content-Type: text/html; charset=utf-8"
FOUND = "404 Not Found"

Manner = Callable[[Wire, str], Awaitable[None]]


@cache
def the_bomb() -> bytes:
    return answer(200, gzip.compress(bytes(40 * CAP)), HTML, "Content-Encoding: gzip")


def page(path: str) -> bytes:
    words = f"This is the page {path} and it says so in every sentence of its text. " * 12
    body = f"<nav>menu</nav><main><h1>{path}</h1><p>{words}</p></main>"
    return f"<html><head><title>{path}</title></head><body>{body}".encode()


async def good(wire: Wire, path: str) -> None:
    await wire.send(answer(200, page(path), HTML))


async def slow(wire: Wire, path: str) -> None:
    await asyncio.sleep(0.7)
    await good(wire, path)


async def resetting(wire: Wire, _: str) -> None:
    wire.reset()


async def half(wire: Wire, _: str) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<html>half of it")
    wire.reset()


async def garbage(wire: Wire, _: str) -> None:
    await wire.send(bytes(range(256)) * 20)
    wire.writer.close()


async def endless(wire: Wire, _: str) -> None:
    await wire.send(f"HTTP/1.1 200 OK\r\n{HTML}\r\n\r\n".encode())
    await wire.pour(b"<p>more and more " * 500)


async def headers(wire: Wire, _: str) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    await wire.pour(b"X: y\r\n" * 500)


async def looping(wire: Wire, path: str) -> None:
    await wire.send(answer(302, b"", f"Location: {path}"))


async def inside(wire: Wire, _: str) -> None:
    await wire.send(answer(302, b"", "Location: http://10.0.0.1/"))


async def bombing(wire: Wire, _: str) -> None:
    await wire.send(the_bomb())


async def silent(wire: Wire, _: str) -> None:
    await wire.reader.read()


async def dripping(wire: Wire, _: str) -> None:
    await wire.send(f"HTTP/1.1 200 OK\r\n{HTML}\r\n\r\n".encode())
    await wire.drip(b"<p>drop</p>")


async def unwell(wire: Wire, _: str) -> None:
    await wire.send(answer(503))


# A manner, how many hosts of twenty have it, and how a fetch there ends.
MANNERS: tuple[tuple[Manner, int, set[str]], ...] = (
    (good, 7, {"ok"}),
    (slow, 2, {"ok"}),
    (resetting, 1, {"network"}),
    (half, 1, {"network"}),
    (garbage, 1, {"network"}),
    (endless, 1, {"response_too_large"}),
    (headers, 1, {"network"}),
    (looping, 1, {"redirect_limit"}),
    (inside, 1, {"ssrf_blocked"}),
    (bombing, 1, {"response_too_large"}),
    (silent, 1, {"timeout"}),
    (dripping, 1, {"timeout"}),
    (unwell, 1, {"http_5xx"}),
)
BY_TURN = [(manner, right) for manner, count, right in MANNERS for _ in range(count)]


def host(number: int) -> str:
    return f"h{number}.load.example"


def address(number: int) -> str:
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def behave(manner: Manner) -> Callable[[Wire], Awaitable[None]]:
    async def converse(wire: Wire) -> None:
        while (request := await wire.request()) is not None:
            if request.target == "/robots.txt":
                await wire.send(answer(404))
            else:
                await manner(wire, request.target)

    return converse


@asynccontextmanager
async def hosts(count: int) -> AsyncIterator[list[Server]]:
    """As many servers as hosts, each at an address of its own, all at one port."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serve(behave(BY_TURN[0][0]), address(0)))]
        for number in range(1, count):
            manner = BY_TURN[number % len(BY_TURN)][0]
            server = serve(behave(manner), address(number), port=servers[0].port)
            servers.append(await stack.enter_async_context(server))
        yield servers


async def ask_all(port: int, count: int, each: int, seconds: int, folder: Path) -> dict[str, object]:
    """In a process of its own: everything at once, then what has become of it."""
    command = [sys.executable, "-m", "tests.pipeline.load_scenario", *map(str, (port, count, each, seconds, folder))]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    fields: dict[str, object] = json.loads(said)
    return fields


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def client(port: int, count: int, each: int, seconds: int, folder: str) -> dict[str, object]:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [port, 80]}
    limits = {"timeout_seconds": seconds, "max_download_bytes": CAP}
    settings = from_data({"tools": {"webfetch": {"cache_dir": folder, "security": security, **limits}}}, "test")
    ends: Counter[str] = Counter()
    names = FakeResolver({host(number): address(number) for number in range(count)}, None)
    gate.SECONDS = seconds  # robots.txt has no shorter time here: how slow the machine is is not what is asked
    async with Spaniel(settings, names) as spaniel:

        async def ask(number: int, path: str) -> None:
            manner = BY_TURN[number % len(BY_TURN)][0].__name__
            try:
                found = await spaniel.fetch(f"http://{host(number)}:{port}{path}")
            except SpanielError as error:
                ends[f"{manner}: {error.code}"] += 1
            else:
                whole = found.title == path and found.markdown.count(f"the page {path} and") == 12
                ends[f"{manner}: {'ok' if whole else 'another page'}"] += 1

        await ask(0, "/first")
        begin_anew()
        before, open_before, began = resident("VmRSS"), descriptors(), time.monotonic()
        await asyncio.gather(*(ask(number, f"/page-{i}") for i in range(each) for number in range(count)))
        took, grew, most_open = time.monotonic() - began, resident("VmHWM") - before, descriptors()
        for number in range(0, count, len(BY_TURN)):
            await ask(number, "/next")
    left = await settled(open_before)
    return {"ends": ends, "seconds": took, "grew": grew, "open": [open_before, most_open, left[0]], "tasks": left[1]}


async def settled(open_before: int) -> tuple[int, int]:
    """Descriptors and tasks that are left: on a busy machine what is closed is gone a little later."""
    for _ in range(300):
        left = descriptors(), len(asyncio.all_tasks()) - 1
        if left[0] <= open_before and not left[1]:
            break
        await asyncio.sleep(0.1)
    return left


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    port, count, each, seconds = map(int, sys.argv[1:5])
    print(json.dumps(asyncio.run(client(port, count, each, seconds, sys.argv[5]))))
