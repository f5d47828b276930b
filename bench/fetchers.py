"""Spaniel and its peers as workers: `python fetchers.py NAME PORT FOLDER`, then a line with a concurrency for each run.

Each has a process of its own, and some an environment of its own, so only the standard library is imported here.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

Get = Callable[[str], Awaitable[str | bytes]]
AGENT = "forge-webfetch/1.0"
COUNT = iter(range(1 << 60))
FOLDER = sys.argv[3] if len(sys.argv) > 3 else ""


@asynccontextmanager
async def spaniel() -> AsyncIterator[Get]:
    """Guard, robots.txt, limits, chunks with token counts, and the page cache written: all as shipped."""
    from ipaddress import ip_address

    from spaniel.app.client import Spaniel
    from spaniel.app.settings import from_data

    here = [ip_address("127.0.0.1")]

    class Here:
        async def resolve(self, _host: str) -> Sequence[Any]:
            return here

    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [int(sys.argv[2])]}
    data = {"cache_dir": f"{FOLDER}/cache", "security": security, "browser": {"enabled": False}}  # as the others: HTTP
    settings = from_data({"tools": {"webfetch": data}}, "bench")
    async with Spaniel(settings, Here()) as client:

        async def get(url: str) -> str:
            return (await client.fetch(url.replace("127.0.0.1", "bench.example"))).markdown

        yield get


@asynccontextmanager
async def aiohttp() -> AsyncIterator[Get]:
    """The limit: the bytes, and nothing done with them."""
    from aiohttp import ClientSession

    async with ClientSession() as session:

        async def get(url: str) -> bytes:
            async with session.get(url) as response:
                return await response.read()

        yield get


@asynccontextmanager
async def crawl4ai() -> AsyncIterator[Get]:
    os.environ |= {"CRAWL4AI_NO_CLOUD_NOTICE": "1", "HOME": FOLDER, "CRAWL4_AI_BASE_DIRECTORY": FOLDER}
    from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig
    from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy

    config = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, verbose=False)
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy(), verbose=False) as crawler:

        async def get(url: str) -> str:
            return str((await crawler.arun(url, config=config)).markdown)

        yield get


@asynccontextmanager
async def mcp_server_fetch() -> AsyncIterator[Get]:
    from mcp_server_fetch.server import fetch_url

    async def get(url: str) -> str:
        return str((await fetch_url(url, AGENT, allow_private_ips=True))[0])

    yield get


@asynccontextmanager
async def _in_threads(work: Callable[[str], str]) -> AsyncIterator[Get]:
    """A peer that is not asynchronous, as its users run it."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(32) as threads:
        yield lambda url: loop.run_in_executor(threads, work, url)


def trafilatura() -> Any:
    from trafilatura import extract, fetch_url
    from trafilatura.settings import use_config

    config = use_config()
    config.set("DEFAULT", "SSRF_PROTECTION", "off")  # the pages are on loopback
    return _in_threads(lambda url: extract(fetch_url(url, config=config), url=url, output_format="markdown") or "")


def markitdown() -> Any:
    from markitdown import MarkItDown

    made = MarkItDown()
    return _in_threads(lambda url: str(made.convert(url).text_content))


FETCHERS: dict[str, Callable[[], Any]] = {
    "spaniel": spaniel,
    "trafilatura": trafilatura,
    "crawl4ai": crawl4ai,
    "markitdown": markitdown,
    "mcp-server-fetch": mcp_server_fetch,
    "aiohttp": aiohttp,
}


def cpu() -> float:
    """Seconds of this process and of those it has run."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


async def run_once(get: Get, urls: Sequence[str], concurrency: int) -> dict[str, float]:
    left = iter(urls)
    empty = 0

    async def worker() -> None:
        nonlocal empty
        for url in left:
            try:
                found = await get(f"{url}?{next(COUNT)}")  # an uncached page
                empty += not found
            except Exception as error:  # noqa: BLE001  a peer's failure is a result, and is shown
                empty += 1
                sys.stderr.write(f"{type(error).__name__}: {error}\n"[:200])

    used, began = cpu(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    seconds, used = time.perf_counter() - began, cpu() - used
    return {"seconds": seconds, "cpu": used, "empty": empty, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


async def work(name: str, urls: Sequence[str]) -> None:
    async with FETCHERS[name]() as get:
        await get(urls[0])
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await run_once(get, urls, int(line))), flush=True)


if __name__ == "__main__":
    urls = [f"http://127.0.0.1:{sys.argv[2]}/{number}.html" for number in range(int(sys.argv[4]))]
    asyncio.run(work(sys.argv[1], urls))
