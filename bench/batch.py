"""Many pages: `spaniel batch` with one and two workers beside its peers, over a site on loopback with eight hosts.

Each contender is a command that reads a list of URLs and writes a file of JSON lines with the Markdown of each page;
its CPU is that of all its processes. Pauses are off for everybody; robots.txt is read by those who do. The site runs on
the same cores, so two workers cannot be twice as fast as one where there are two: the ceiling is printed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from bench.fetch import _python_for
from bench.harness import child_cpu, title, wanted
from bench.pages import pages

HERE = Path(__file__).resolve().parent
PEERS, SITE = HERE / "batch_peers.py", HERE / "batch_site.py"
COUNT, ROUNDS = 2000, 3  # pages; so many that starting, some tenths of a second, does not decide
PEERS_COUNT = 120  # pages that a peer fetches: it would take minutes else
PATIENCE = 8.0  # CPU seconds of a run above which a peer has one round only
HOSTS = 8


class Figure(NamedTuple):
    """For 1,000 pages: CPU seconds, seconds, CPU seconds of the site; and how many had no text."""

    cpu: float
    seconds: float
    site: float
    without_text: int


def run() -> None:
    made = pages()
    with tempfile.TemporaryDirectory() as name, serving(made, Path(name)) as (port, mean):
        folder = Path(name)
        many = f"{COUNT:,} pages (peers {PEERS_COUNT}) of {mean / 1e3:.0f} KB from {HOSTS} hosts"
        title(f"{many} into JSON lines; {ROUNDS} rounds in turn")
        figures: dict[str, list[Figure]] = {}
        for number in range(ROUNDS):
            for who in CONTENDERS:
                if number and figures[who] and figures[who][0].cpu * PEERS_COUNT / 1000 > PATIENCE:
                    continue  # once is enough to see
                figures.setdefault(who, []).extend(measured(who, port, folder))
        show({who: found for who, found in figures.items() if found})
        print(f"  reading alone, in one process: {reading(made):.2f} CPU s / 1,000 pages on this machine today")


CONTENDERS = {
    "spaniel, 1 worker": ("spaniel", 1),
    "spaniel, 2 workers": ("spaniel", 2),
    "scrapy + trafilatura": ("scrapy", 1),
    "the same, 2 processes": ("scrapy", 2),
    "trafilatura": ("trafilatura", 1),
    "trafilatura, 2 processes": ("trafilatura", 2),
    "crawl4ai arun_many": ("crawl4ai", 1),
}


def measured(who: str, port: int, folder: Path) -> list[Figure]:
    """One run; none where the peer cannot be had."""
    peer, processes = CONTENDERS[who]
    count = COUNT if peer == "spaniel" else PEERS_COUNT
    urls = [f"http://127.0.0.{1 + n % HOSTS}:{port}/{n % 60}.html?{n}" for n in range(count)]
    out = folder / "out.jsonl"
    try:
        lines = commands(peer, processes, urls, port, folder, out)
    except (OSError, subprocess.CalledProcessError):
        print(f"  ({who} cannot be installed here)")
        return []
    used, site, began = child_cpu(), site_cpu(port), time.perf_counter()
    with (folder / "log").open("w") as log:
        running = [subprocess.Popen(line, stdout=log, stderr=log) for line in lines]
        codes = [process.wait() for process in running]
    seconds, used, site = time.perf_counter() - began, child_cpu() - used, site_cpu(port) - site
    if any(code not in (0, 1) for code in codes):  # 1: some pages are nothing but scripts, which Spaniel says
        told = (folder / "log").read_text(errors="replace").strip().splitlines()
        print(f"  ({who} does not run: {told[-1][:120] if told else codes})")
        return []
    files = [out] if peer == "spaniel" else [folder / f"out-{n}.jsonl" for n in range(processes)]
    records = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    with_text = sum(bool(record.get("markdown")) for record in records)
    return [Figure(used * 1000 / count, seconds * 1000 / count, site * 1000 / count, count - with_text)]


def site_cpu(port: int) -> float:
    with urlopen(f"http://127.0.0.1:{port}/cpu", timeout=60) as told:
        return float(told.read())


def commands(peer: str, processes: int, urls: list[str], port: int, folder: Path, out: Path) -> list[list[str]]:
    if peer != "spaniel":
        lists = []
        for number in range(processes):
            lists.append(folder / f"urls-{number}.txt")
            lists[-1].write_text("\n".join(urls[number::processes]))
        python = _python_for(peer)
        return [
            [python, "-P", str(PEERS), peer, str(each), str(folder / f"out-{n}.jsonl")] for n, each in enumerate(lists)
        ]
    (folder / "urls.txt").write_text("\n".join(urls))
    settings = folder / "spaniel.toml"
    settings.write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
        "[tools.webfetch.security]\nblock_loopback = false\nallow_insecure_overrides = true\n"
        f"allowed_ports = [{port}]\n",
        encoding="utf-8",
    )
    line = [sys.executable, "-m", "spaniel", "batch", str(folder / "urls.txt"), "-o", str(out), "--overwrite", "-q"]
    return [[*line, "--config", str(settings), "--workers", str(processes), "--delay", "0", "--per-host", "8"]]


def show(figures: dict[str, list[Figure]]) -> None:
    middle = {who: Figure(*map(statistics.median, zip(*found, strict=True))) for who, found in figures.items()}
    print(f"  {'':26} {'CPU s / 1,000 pages':>20} {'pages / s':>10}  without text")
    for who, found in middle.items():
        print(f"  {who:26} {found.cpu:20.2f} {1000 / found.seconds:10.1f}  {int(found.without_text) or ''}")
    own, two = middle["spaniel, 1 worker"], middle["spaniel, 2 workers"]
    wanted("CPU seconds for 1,000 pages, start and journal included", own.cpu, most=8)
    wanted("pages a second with two workers / with one", own.seconds / two.seconds, least=1.8)
    cores = len(os.sched_getaffinity(0))
    most = min(2.0, own.seconds * cores / (two.cpu + two.site))
    print(f"  (at most {most:.2f} on {cores} cores that also serve the site: {two.cpu:.2f} + {two.site:.2f} CPU s)")
    if (peer := "scrapy + trafilatura") in middle:
        wanted("pages per CPU second / scrapy + trafilatura's", middle[peer].cpu / own.cpu, least=8)


def reading(made: list[bytes]) -> float:
    """A yardstick: what no way of fetching can save."""
    from spaniel.reading import read

    began = time.process_time()
    for page in made:
        read(page, "text/html; charset=utf-8", "http://a.example/", ("html", "text"))
    return (time.process_time() - began) * 1000 / len(made)


@contextmanager
def serving(made: list[bytes], folder: Path) -> Iterator[tuple[int, float]]:
    """The site in a process of its own; its port, and the mean size of a page."""
    for number, page in enumerate(made):
        (folder / f"{number}.html").write_bytes(page)
    line = [sys.executable, str(SITE), str(folder), str(HOSTS)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as site:
        assert site.stdout
        try:
            yield int(site.stdout.readline()), statistics.mean(map(len, made))
        finally:
            site.kill()
