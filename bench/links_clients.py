"""Two contenders of `bench.links`: `python -m bench.links_clients NAME FILE` asks for the head of each URL in it.

`door` is what Spaniel's checker goes by: guard, resolver, one deadline for each link. `aiohttp` is a bare loop.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

JOBS = 64


async def each(urls: list[str], ask: Callable[[str], Awaitable[int]]) -> None:
    left = iter(urls)

    async def work() -> None:
        for url in left:
            status = await ask(url)
            assert status == 200

    await asyncio.gather(*(work() for _ in range(JOBS)))


async def door(urls: list[str]) -> None:
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Guard, Security
    from spaniel.net.http import Http
    from spaniel.net.resolver import CachingResolver, SystemResolver
    from spaniel.url import parse

    ports = tuple({parse(url).effective_port for url in urls[:1000]})
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    guard = Guard(CachingResolver(SystemResolver()), security)
    async with Http() as http:

        async def head(text: str) -> int:
            url, deadline = parse(text), Deadline(20)
            with deadline.guarding("start"):
                return (await http.head(url, await guard.vet(url, deadline), deadline)).status

        await each(urls, head)


async def aiohttp(urls: list[str]) -> None:
    from aiohttp import ClientSession

    async with ClientSession() as session:

        async def head(url: str) -> int:
            async with session.head(url) as response:
                return response.status

        await each(urls, head)


if __name__ == "__main__":
    contender = {"door": door, "aiohttp": aiohttp}[sys.argv[1]]
    asyncio.run(contender(Path(sys.argv[2]).read_text(encoding="utf-8").split()))
