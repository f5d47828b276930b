"""Whole fetches, from URL to Markdown, beside those of the peers: CPU, pages a second, memory, cold start."""

from __future__ import annotations

import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bench.fetchers import FETCHERS
from bench.harness import child_cpu, interleave, process, title, wanted
from bench.pages import pages

ROUNDS = 5
PATIENCE = 4.0  # CPU seconds of a run above which a peer has one round only
CONCURRENCIES = (1, 32)
WORKERS = Path(__file__).resolve().parent / "fetchers.py"
APART = {"crawl4ai": "crawl4ai>=0.9", "mcp-server-fetch": "mcp-server-fetch>=2025.4"}  # they pin what others need
Figures = dict[tuple[str, int], list[dict[str, float]]]


def run() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        made = pages()
        port = stack.enter_context(serving(made, Path(folder)))
        mean = statistics.mean(map(len, made)) / 1e3
        title(f"{len(made)} pages of {mean:.0f} KB, fetched and made Markdown; {ROUNDS} rounds in turn (1 of the slow)")
        workers = {}
        for name in FETCHERS:
            if worker := start(name, port, len(made), folder, stack):
                workers[name] = worker
        figures: Figures = {}
        for number in range(ROUNDS):
            names = list(workers)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                if number and figures[name, 1][0]["cpu"] > PATIENCE:
                    continue  # once is enough to see
                for concurrency in CONCURRENCIES:
                    figures.setdefault((name, concurrency), []).append(ask(workers[name], concurrency))
        show(figures, list(workers), len(made))
        cold(port, folder)


def show(figures: Figures, names: list[str], count: int) -> None:
    def median(name: str, concurrency: int, what: str) -> float:
        return statistics.median(figure[what] for figure in figures[name, concurrency])

    cpu = {(name, c): median(name, c, "cpu") * 1000 / count for name, c in figures}
    rate = {(name, c): count / median(name, c, "seconds") for name, c in figures}
    print(f"  {'':18} {'CPU s / 1,000 pages':>22} {'pages / s':>18} {'peak MB':>9}  failed")
    print(f"  {'concurrency':18} {1:>11}{32:>11} {1:>9}{32:>9}")
    peak = {}
    for name in names:
        peak[name] = max(figure["peak"] for c in CONCURRENCIES for figure in figures[name, c]) / 1024
        failed = int(max(figure["empty"] for c in CONCURRENCIES for figure in figures[name, c]))
        print(
            f"  {name:18} {cpu[name, 1]:11.2f}{cpu[name, 32]:11.2f} {rate[name, 1]:9.1f}{rate[name, 32]:9.1f}"
            f" {peak[name]:9.0f}  {failed or ''}"
        )
    wanted("CPU seconds for 1,000 pages", max(cpu["spaniel", c] for c in CONCURRENCIES), most=6)
    if "trafilatura" in names:
        for c in CONCURRENCIES:
            wanted(f"pages a second / trafilatura's, {c} at once", rate["spaniel", c] / rate["trafilatura", c], least=5)
    wanted("peak memory, MB", peak["spaniel"], most=120)


def cold(port: int, folder: str) -> None:
    """One page by a new process, its robots.txt asked for each time."""
    settings = Path(folder) / "spaniel.toml"
    settings.write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cold"\nrobots_cache_ttl_hours = 0\n[tools.webfetch.security]\n'
        f"block_loopback = false\nallow_insecure_overrides = true\nallowed_ports = [{port}]\n",
        encoding="utf-8",
    )
    url = f"http://127.0.0.1:{port}/0.html"
    fetch = [sys.executable, "-m", "spaniel", "fetch", "-q", "--config", str(settings), url]
    cases = {
        "bare Python": process([sys.executable, "-c", "pass"]),
        "spaniel fetch": process([*fetch[:-1], "--no-cache", url]),
        "spaniel fetch, cached": process(fetch),
    }
    for case in cases.values():
        with suppress(subprocess.CalledProcessError):
            case()
    took = interleave(cases, rounds=7, clock=child_cpu)
    title("cold: one page by a new process, CPU seconds")
    for name, seconds in took.items():
        print(f"  {name:24} {seconds:6.3f}   {seconds / took['bare Python']:5.1f} bare Python starts")
    wanted("cold spaniel fetch, CPU seconds", took["spaniel fetch"], most=0.4)


def start(name: str, port: int, count: int, folder: str, stack: ExitStack) -> subprocess.Popen[str] | None:
    """A worker that is ready to be asked; None where the peer cannot be had."""
    try:
        python = _python_for(name)
    except (OSError, subprocess.CalledProcessError):
        print(f"  ({name} cannot be installed here)")
        return None
    own = Path(folder) / name
    own.mkdir()
    worker = stack.enter_context(
        subprocess.Popen(
            [python, "-P", str(WORKERS), name, str(port), str(own), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(own / "log").open("w", encoding="utf-8"),
            text=True,
        )
    )
    stack.callback(worker.kill)
    assert worker.stdout
    for line in worker.stdout:  # some say other things first
        if line.strip() == "ready":
            return worker
    found = (own / "log").read_text(encoding="utf-8").strip().splitlines()
    print(f"  ({name} does not run: {found[-1][:120] if found else 'no output'})")
    return None


def ask(worker: subprocess.Popen[str], concurrency: int) -> dict[str, float]:
    assert worker.stdin
    assert worker.stdout
    worker.stdin.write(f"{concurrency}\n")
    worker.stdin.flush()
    while not (line := worker.stdout.readline()).startswith("{"):
        assert line, "the worker has gone"
    figures: dict[str, float] = json.loads(line)
    return figures


def _python_for(name: str) -> str:
    """Most peers stand beside us; some want other versions of what we use, and have an environment of their own."""
    if name not in APART:
        return sys.executable
    home = Path(sys.prefix) / "peers" / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"  (setting up {name} ...)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", APART[name]], check=True, capture_output=True)
        (home / "ready").touch()
    return str(python)


NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; events {{}}
http {{
  access_log off; types {{ text/html html; text/plain txt; }} charset utf-8; keepalive_requests 1000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {folder}/site; }}
}}
"""


@contextmanager
def serving(made: list[bytes], folder: Path) -> Iterator[int]:
    """nginx where there is one, else Python's own; either in a process of its own."""
    site = folder / "site"
    site.mkdir()
    for number, page in enumerate(made):
        (site / f"{number}.html").write_bytes(page)
    (site / "robots.txt").write_text("User-agent: *\nDisallow: /closed\n", encoding="ascii")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    if nginx := shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin"):
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
        command = [nginx, "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    else:
        print("  (no nginx: Python's own server; pages a second are its pages a second)")
        command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(site)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def _await(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("the server does not come up")
