"""What asking again costs: the CPU of a fresh fetch, of a 200 with the same bytes, of a 304, and of a hit."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from bench.harness import interleave, title, wanted
from bench.pages import pages
from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.pipeline.profile import load
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, FakeResolver, Reply, Site, settings_for

ROUNDS = 5
HOSTS, AT_ONCE = 8, 16  # as many as the profile lets in at once: two at each host
ASKED = {  # by the name of the case, which its answers must have too
    "new": Request("", no_cache=True),
    "unchanged": Request("", max_age=0),
    "not_modified": Request("", max_age=0),
    "hit": Request(""),
}


class Pages(Site):
    """The same pages under a path for each case; those of one case are known by a tag, and answered with a 304."""

    def __init__(self) -> None:
        super().__init__({})
        self._pages = [(body, f'"{sha256(body).hexdigest()[:16]}"') for body in kept_pages()]

    def reply(self, path: str) -> Reply | None:
        _, case, number = path.split("/") if path.count("/") == 2 else ("", "", "")
        if not number:
            return None
        body, tag = self._pages[int(number)]
        fields = {"Content-Type": "text/html; charset=utf-8"}
        if case == "not_modified":
            fields |= {"ETag": tag, "Last-Modified": "Wed, 01 Jan 2025 10:00:00 GMT"}
            if self.seen[-1].get("if-none-match") == tag:
                return 304, fields, b""
        return 200, fields, body


def kept_pages() -> list[bytes]:
    """Those that may be kept: a page that says otherwise is fetched each time."""
    return [body for body in pages() if b"noarchive" not in body.lower()]


def run() -> None:
    made = kept_pages()
    mean = statistics.mean(map(len, made)) / 1e3
    title(f"asking again: {len(made)} pages of {mean:.0f} KB, {AT_ONCE} at once; profile ingest")
    with serving() as port, tempfile.TemporaryDirectory(prefix="spaniel-bench-") as folder, asyncio.Runner() as runner:
        cpu = runner.run(_measured(port, folder, len(made)))
    for name, seconds in cpu.items():
        print(f"  {name:<13} {seconds * 1e3:7.3f} ms of CPU a page {seconds / cpu['new']:7.3f} of a fresh fetch")
    wanted("a 304 against a fresh fetch", cpu["not_modified"] / cpu["new"], most=0.1)


async def _measured(port: int, folder: str, count: int) -> dict[str, float]:
    """Median CPU seconds of a page. Each case is a thread's, so that the loop that fetches stays where it is."""
    clock = FakeClock()
    loop = asyncio.get_running_loop()
    async with _client(port, folder, clock) as spaniel:

        async def fetch_one(case: str, number: int, places: asyncio.Semaphore) -> None:
            async with places:
                url = f"http://bench{number % HOSTS}.example:{port}/{case}/{number}"
                kept = (await spaniel.outcome(ASKED[case]._replace(url=url))).require().cache_info
            assert kept is not None
            assert kept.how in (case, "new"), kept

        async def fetch_all(case: str) -> None:
            clock.advance(1)
            places = asyncio.Semaphore(AT_ONCE)
            await asyncio.gather(*(fetch_one(case, number, places) for number in range(count)))

        def timed(case: str) -> Callable[[], None]:
            return lambda: asyncio.run_coroutine_threadsafe(fetch_all(case), loop).result()

        for case in ASKED:
            await fetch_all(case)
        cases = {case: timed(case) for case in ASKED}
        cpu = await asyncio.to_thread(interleave, cases, ROUNDS, _cpu)
    return {name: seconds / count for name, seconds in cpu.items()}


def _cpu() -> float:
    """Seconds of this process, and of those of its children that read long pages."""
    return time.process_time() + sum(map(_cpu_of_reader, _children()))


def _children() -> list[str]:
    found: list[str] = []
    with suppress(OSError):  # a system that does not say: those pages are for free then
        for thread in Path("/proc/self/task").iterdir():
            found += (thread / "children").read_text().split()
    return found


def _cpu_of_reader(process: str) -> float:
    try:
        if "reading_process" not in Path(f"/proc/{process}/cmdline").read_text():
            return 0.0
        ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0.0
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def _client(port: int, folder: str, clock: FakeClock) -> AsyncIterator[Spaniel]:
    site = Site({})
    site.port = port
    settings = settings_for(site, cache=folder, browser={"enabled": False})
    profile = load("ingest")._replace(page_types=False)
    async with Engine(settings, FakeResolver(), clock) as engine, Spaniel(engine=engine, profile=profile) as spaniel:
        yield spaniel


@contextmanager
def serving() -> Iterator[int]:
    """The site in a process of its own: its time is not the client's."""
    command = [sys.executable, "-m", "bench.revalidation"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield int(server.stdout.readline())
        finally:
            server.terminate()


async def _serve() -> None:
    async with Pages() as site:
        print(site.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)  # until the other side has gone


if __name__ == "__main__":
    asyncio.run(_serve())
