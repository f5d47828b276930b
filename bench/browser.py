"""The browser: a small app rendered in a new context each time, beside playwright and crawl4ai on the same Chromium."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness import title, wanted
from spaniel.browser.find import find_path
from spaniel.browser.launch import launch
from spaniel.browser.renderer import Renderer
from spaniel.browser.rendering import BrowserSettings, RenderRequest
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Guard, Security, Target
from spaniel.url import Url, parse

if TYPE_CHECKING:
    from spaniel.browser.cdp import CdpConnection
    from spaniel.net.addresses import Address

PAGES = 20  # for each contender in a round
ROUNDS = 3
CONCURRENCIES = (1, 4, 8)
WORDS = "The otter swims in the river and eats fish. "
APP = """
const got = await fetch('/api'); const items = await got.json();
document.getElementById('root').innerHTML = '<main><h1>Otters</h1>' + items.map((i) =>
  `<section class=card><h2>${i.title}</h2><p>${i.text}</p></section>`).join('') + '</main>';
"""
API = "[" + ",".join(f'{{"title": "Otter {n}", "text": "{WORDS * 5}"}}' for n in range(60)) + "]"
SHELL = (
    "<!doctype html><title>App</title><link rel=stylesheet href=/s.css><div id=root></div><img src=/i.png>"
    "<script type=module src=/app.js></script>"
)
FILES = {
    "/": ("text/html", SHELL),
    "/app.js": ("text/javascript", APP),
    "/s.css": ("text/css", ".card { padding: 1em; display: flex } .hidden { display: none }"),
    "/api": ("application/json", API),
}

LAST = "Otter 59"  # what is there when all is
Page = Callable[[str], Awaitable[str]]


def run() -> None:
    try:
        path = find_path()
    except Exception as error:  # noqa: BLE001  a machine without Chromium has nothing to measure
        title(f"The browser: left out ({error})")
        return
    with subprocess.Popen([sys.executable, "-m", "bench.browser"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
        try:
            asyncio.run(_compare(path, url))
            asyncio.run(_memory(path, url))
            asyncio.run(_launches(path))
        finally:
            server.kill()


async def _compare(path: str, url: str) -> None:
    async with AsyncExitStack() as stack:
        contenders: dict[str, Page] = {"spaniel": await stack.enter_async_context(_spaniel(path, url))}
        playwright = await stack.enter_async_context(_playwright(path))
        contenders |= {f"playwright {until}": _playwright_page(playwright, until) for until in ("load", "networkidle")}
        contenders |= await stack.enter_async_context(_crawl4ai(path))
        for name, page in contenders.items():
            shown = await page(url)
            print(f"  {name}: {'whole' if LAST in shown else 'WITHOUT its content'}")
        for at_once in CONCURRENCIES:
            await _round(contenders, url, at_once)


async def _round(contenders: dict[str, Page], url: str, at_once: int) -> None:
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    empty = dict.fromkeys(contenders, 0)
    names = list(contenders)
    for number in range(ROUNDS):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            rate, without = await _rate(contenders[name], url, at_once)
            rates[name].append(rate)
            empty[name] += without
    title(f"Pages a second, a new context each, {at_once} at once")
    found = {name: statistics.median(each) for name, each in rates.items()}
    for name, rate in found.items():
        spread = f"({min(rates[name]):.2f} to {max(rates[name]):.2f})"
        print(f"  {name:24} {rate:6.2f}   {spread}   {empty[name]} of {ROUNDS * PAGES} empty")
    wanted("empty pages of spaniel", empty["spaniel"], most=0)
    if at_once == 1:
        wanted("spaniel / playwright networkidle", found["spaniel"] / found["playwright networkidle"], least=3)
    else:
        wanted("spaniel / playwright load", found["spaniel"] / found["playwright load"], least=1)


async def _rate(page: Page, url: str, at_once: int) -> tuple[float, int]:
    """Pages a second, and how many came without their content."""
    left = iter(range(PAGES))
    empty = 0

    async def work() -> None:
        nonlocal empty
        for _ in left:
            empty += LAST not in await page(url)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return PAGES / (time.perf_counter() - start), empty


class _Here:
    async def resolve(self, _host: str) -> list[Address]:
        return [ip_address("127.0.0.1")]


async def _anyone(_url: Url, _target: Target, /) -> str | None:
    return None


@asynccontextmanager
async def _spaniel(path: str, url: str) -> AsyncIterator[Page]:
    """Guard, both walls, the wait for rest, hidden text taken away: all that a fetch does in the browser."""
    port = parse(url).effective_port
    guard = Guard(_Here(), Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=(port,)))
    renderer = Renderer(guard, BrowserSettings(chromium_path=path))

    async def page(url: str) -> str:
        target = await guard.vet(parse(url), Deadline(10))
        return (await renderer.render(RenderRequest(parse(url), target, _anyone))).body.decode()

    try:
        yield page
    finally:
        await renderer.close()


@asynccontextmanager
async def _playwright(path: str) -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path)
        yield browser
        await browser.close()


def _playwright_page(browser: Any, until: str) -> Page:
    async def page(url: str) -> str:
        context = await browser.new_context()
        try:
            tab = await context.new_page()
            await tab.goto(url, wait_until=until)
            return str(await tab.content())
        finally:
            await context.close()

    return page


@asynccontextmanager
async def _crawl4ai(path: str) -> AsyncIterator[dict[str, Page]]:
    """It downloads a browser of its own; so it is given a running one, by a port."""
    try:
        from crawl4ai import AsyncWebCrawler, BrowserConfig, CacheMode, CrawlerRunConfig
    except ImportError:
        print("  crawl4ai: not installed")
        yield {}
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tempfile.mkdtemp(prefix="bench-crawl4ai-")
    command = [path, "--headless", "--no-sandbox", f"--user-data-dir={home}", f"--remote-debugging-port={port}"]
    chromium = subprocess.Popen(  # noqa: ASYNC220
        command, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        await asyncio.sleep(2)
        browser = BrowserConfig(cdp_url=f"http://127.0.0.1:{port}", verbose=False, create_isolated_context=True)
        settings = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, wait_until="networkidle", verbose=False)
        async with AsyncWebCrawler(config=browser) as crawler:

            async def page(url: str) -> str:
                return str((await crawler.arun(url, config=settings)).html)

            yield {"crawl4ai networkidle": page}
    finally:
        os.killpg(chromium.pid, 9)
        chromium.wait()
        shutil.rmtree(home, ignore_errors=True)


async def _memory(path: str, url: str) -> None:
    """What Chromium holds with pages open, each in a context of its own, shared pages divided among those who share."""
    title("Memory (PSS) of Chromium")
    process = await launch(path)
    try:
        sizes = {0: _pss(process.pid)}
        for opened in range(1, 9):
            await _open_page(process.cdp, url)
            sizes[opened] = _pss(process.pid)
        print(f"  idle {sizes[0]:.0f} MB; with 8 pages {sizes[8]:.0f} MB: {(sizes[8] - sizes[1]) / 7:.0f} MB a page")
    finally:
        await process.close()


async def _open_page(wire: CdpConnection, url: str) -> None:
    context = await wire.call("Target.createBrowserContext", proxyServer="direct://", proxyBypassList="<-loopback>")
    await wire.call("Target.createTarget", url=url, browserContextId=context["browserContextId"])
    await asyncio.sleep(0.5)


def _pss(leader: int) -> float:
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_bytes().rpartition(b")")[2].split()[3]) == leader:
                rollup = (stat.parent / "smaps_rollup").read_text()
                total += int(rollup.partition("\nPss:")[2].split()[0])
        except (OSError, ValueError, IndexError):
            continue
    return total / 1024


async def _launches(path: str) -> None:
    from playwright.async_api import async_playwright

    title("Launch, ms (median of five, in turn)")
    ours: list[float] = []
    theirs: list[float] = []
    async with async_playwright() as playwright:
        for _ in range(5):
            start = time.perf_counter()
            process = await launch(path)
            ours.append(time.perf_counter() - start)
            await process.close()
            start = time.perf_counter()
            browser = await playwright.chromium.launch(executable_path=path)
            theirs.append(time.perf_counter() - start)
            await browser.close()
    print(f"  spaniel {statistics.median(ours) * 1000:.0f}   playwright {statistics.median(theirs) * 1000:.0f}")


async def _serve() -> None:
    """The app, from a process of its own."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                kind, body = FILES.get(line.split()[1].decode(), ("text/plain", ""))
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write((head + body).encode())
        except (ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
