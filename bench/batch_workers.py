"""What a run costs beyond reading its pages, what the second worker costs, and what a plan costs.

nginx serves the pages at many addresses of loopback. Contenders take turns; the CPU of each is that of all its
processes. Two workers are compared with two independent runs over half the list each, at the same time: the two have
nothing in common, so that nothing is faster on these cores.
"""

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bench.fetch import _await
from bench.harness import child_cpu, title, wanted
from bench.pages import pages

ROUNDS, COUNT = 5, 3000
HOSTS = 200  # addresses; with a page at a time at each
SMALL = b"<!doctype html><title>Small</title><article><h1>Footprints</h1><p>" + b"The river in spring carries. " * 60
PLANNED, SHARDS = 1_000_000, 100
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; events {{ worker_connections 4096; }}
http {{
  access_log off; types {{ text/html html; }} charset utf-8; keepalive_requests 1000000; open_file_cache max=1000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen {port} backlog=4096; root {folder}/site; }}
}}
"""


class Cost(NamedTuple):
    """Of a run: seconds, CPU seconds, CPU seconds of the server."""

    seconds: float
    cpu: float
    server: float


def run() -> None:
    if (nginx := nginx_path()) is None:
        print("  (no nginx here, which these figures need)")
        return
    for name, made in (("small pages", [SMALL] * 60), ("large pages", pages())):
        with tempfile.TemporaryDirectory() as folder, serving(nginx, made, Path(folder)) as site:
            compare(name, made, site)
    plan()


def compare(name: str, made: list[bytes], site: Site) -> None:
    mean = statistics.mean(map(len, made))
    title(f"{COUNT:,} {name} ({mean / 1e3:.0f} KB) from {HOSTS} hosts; {ROUNDS} rounds in turn")
    urls = [f"http://127.0.{1 + n % HOSTS}.1:{site.port}/{n % 60}.html?{n}" for n in range(COUNT)]
    contenders = {
        "without a run": [(urls, 0)],
        "1 worker": [(urls, 1)],
        "2 workers": [(urls, 2)],
        "2 independent runs": [(urls[0::2], 1), (urls[1::2], 1)],  # of other hosts each
    }
    costs: dict[str, list[Cost]] = {who: [] for who in contenders}
    read = []
    for number in range(ROUNDS):
        order = list(contenders)[number % 4 :] + list(contenders)[: number % 4]
        for who in order:
            costs[who].append(site.cost(contenders[who]))
        read.append(reading(made) * COUNT / 1000)
    for who, found in costs.items():
        middle = Cost(*map(statistics.median, zip(*found, strict=True)))
        print(f"  {who:20} {COUNT / middle.seconds:7.0f} pages/s {middle.cpu:7.2f} CPU s, server {middle.server:5.2f}")
    pairs = list(zip(costs["2 workers"], costs["2 independent runs"], strict=True))
    shares = [independent.seconds / two.seconds for two, independent in pairs]
    wanted("2 workers / 2 independent runs, median of rounds", statistics.median(shares), least=0.95)
    print("  rounds: " + " ".join(f"{share:.2f}" for share in shares))
    wanted("the same by CPU seconds", statistics.median(other.cpu / two.cpu for two, other in pairs), least=0.95)
    beyond = [one.cpu / alone.cpu - 1 for one, alone in zip(costs["1 worker"], costs["without a run"], strict=True)]
    wanted("CPU beyond fetching and reading, percent", 100 * statistics.median(beyond), most=5)
    print(f"  rounds: {' '.join(f'{each:.1%}' for each in beyond)}; reading alone: {statistics.median(read):.2f} CPU s")


class Site(NamedTuple):
    port: int
    folder: Path
    process: int

    def cost(self, runs: Sequence[tuple[Sequence[str], int]]) -> Cost:
        """Of runs at the same time, each a list of URLs and a number of workers; 0: the same fetches without a run."""
        lines = [self.command(number, urls, workers) for number, (urls, workers) in enumerate(runs)]
        used, server, began = child_cpu(), cpu_of(self.process), time.perf_counter()
        running = [subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for line in lines]
        codes = [process.wait() for process in running]
        cost = Cost(time.perf_counter() - began, child_cpu() - used, cpu_of(self.process) - server)
        assert set(codes) <= {0, 1}, codes  # 1: some pages are nothing but scripts
        return cost

    def command(self, number: int, urls: Sequence[str], workers: int) -> list[str]:
        listed, out = self.folder / f"urls-{number}.txt", self.folder / f"out-{number}.jsonl"
        listed.write_text("\n".join(urls))
        settings = self.folder / "spaniel.toml"
        settings.write_text(
            f'[tools.webfetch]\ncache_dir = "{self.folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
            "[tools.webfetch.security]\nblock_loopback = false\nallow_insecure_overrides = true\n"
            f"allowed_ports = [{self.port}]\n",
            encoding="utf-8",
        )
        if not workers:
            return [sys.executable, "-m", "bench.batch_workers", str(listed), str(out), str(settings)]
        line = [sys.executable, "-m", "spaniel", "batch", str(listed), "-o", str(out), "--overwrite", "-q"]
        pace = ["--delay", "0", "--per-host", "1", "--jobs", "64"]
        return [*line, "--config", str(settings), "--workers", str(workers), *pace]


def plan() -> None:
    """A million URLs into a hundred shards, and a run of one of them that fetches nothing."""
    title(f"plan of {PLANNED:,} URLs for {SHARDS} machines")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "urls.txt").open("w") as file:
            file.writelines(f"https://www.site{n * 7919 % 50_000}.com/articles/{n}?page=1\n" for n in range(PLANNED))
        base = [sys.executable, "-m", "spaniel", "batch"]
        made = weighed([*base, "plan", f"{folder}/urls.txt", "-o", f"{folder}/plan", "--shards", str(SHARDS), "-q"])
        wanted("CPU seconds", made.cpu, most=18)
        wanted("MB of memory", made.memory / 1e6, most=100)
        size = sum(file.stat().st_size for file in (folder / "plan").iterdir())
        part = weighed([*base, f"{folder}/plan", "--shard", f"7/{SHARDS}", "--dry-run", "-o", f"{folder}/out.jsonl"])
        print(f"  the plan has {size / 1e6:.0f} MB; one of its shards: {part.cpu:.2f} CPU s")
        direct = weighed([*base, f"{folder}/urls.txt", "--dry-run", "-o", f"{folder}/out.jsonl"])
        print(f"  the plan of a run on one machine: {direct.cpu:.1f} CPU s, {direct.memory / 1e6:.0f} MB")


class Weight(NamedTuple):
    cpu: float
    memory: int  # bytes


def weighed(line: list[str]) -> Weight:
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, line
    return Weight(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


async def fetch_all(urls: list[str], file: BinaryIO, settings: str) -> None:
    """The fetches of a worker and its lines, without plan, scheduler, store and supervisor."""
    from spaniel.app.batch_wiring import PROFILE, limits, wiring
    from spaniel.app.batching import open_fetcher
    from spaniel.app.settings import load
    from spaniel.batch.records import line_of, tail_of
    from spaniel.clock import SystemClock
    from spaniel.hosts import Hosts
    from spaniel.hosts.rules import HostRule, HostRules
    from spaniel.runs.store import Item

    given = load(settings)
    hosts = Hosts(SystemClock(), rules=HostRules(HostRule(1, 0.0)), limits=limits(given))
    # As the scheduler does it: one at a time at a host, 64 in all.
    by_host: dict[str, list[str]] = {}
    for url in urls:
        by_host.setdefault(url.split("/")[2], []).append(url)
    waiting = list(by_host.values())
    async with open_fetcher(wiring(given, PROFILE, logs=(0, True)), hosts) as fetch:

        async def work() -> None:
            while waiting:
                for url in waiting.pop():
                    file.write(line_of(Item(0, url), tail_of(await fetch(url))))

        await asyncio.gather(*(work() for _ in range(64)))


def reading(made: list[bytes]) -> float:
    """CPU seconds for 1,000 pages in one process: what no way of fetching can save."""
    from spaniel.reading import read

    began = time.process_time()
    for page in made:
        read(page, "text/html; charset=utf-8", "http://a.example/", ("html", "text"))
    return (time.process_time() - began) * 1000 / len(made)


def nginx_path() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(nginx: str, made: list[bytes], folder: Path) -> Iterator[Site]:
    site = folder / "site"
    site.mkdir()
    for number, page in enumerate(made):
        (site / f"{number}.html").write_bytes(page)
    (site / "robots.txt").write_text("User-agent: *\nDisallow: /closed\n", encoding="ascii")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
    line = [nginx, "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _await(port)
            yield Site(port, folder, server.pid)
        finally:
            server.terminate()


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as lines:
        asyncio.run(fetch_all(Path(sys.argv[1]).read_text(encoding="utf-8").split(), lines, sys.argv[3]))
