"""`spaniel serve` beside a bare Starlette route with the same bytes, and a fetch through it beside one in Python.

Server CPU per request (user and system, of the server's processes) and requests a second, with wrk as the client.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

from bench.harness import title, wanted

ROUNDS, SECONDS, CONNECTIONS = 5, 3, 8
TEXT = "The river carries more water in spring than anyone remembers. " * 40
PAGE = f"<html lang=en><title>River</title><article><h1>River</h1>{f'<p>{TEXT}</p>' * 3}</article></html>".encode()
BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
body = open(sys.argv[2], "rb").read()
async def fixed(request):
    await request.body()
    return Response(body, media_type="application/json")
app = Starlette(routes=[Route("/api/fetch", fixed, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), http="httptools", loop="asyncio", log_level="error", access_log=False)
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


class Server:
    """A server in a process of its own, with the CPU of all its processes."""

    def __init__(self, command: list[str], port: int, environ: dict[str, str]) -> None:
        self.process = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
        self.port = port

    def cpu(self) -> float:
        pids = [self.process.pid]
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        pids += map(int, children)
        total = 0
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(40)


def load(port: int, script: str) -> int:
    """Requests that were answered in some seconds."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script, f"http://127.0.0.1:{port}/api/fetch"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in found:
        raise RuntimeError(found)
    return int(re.search(r"(\d+) requests in", found)[1])  # type: ignore[index]


def run() -> None:
    title("serve: cache hits beside a bare route with the same bytes")
    if shutil.which("wrk") is None:
        print("  wrk is not installed (Debian: apt install wrk)")
        return
    with ExitStack() as stack:
        site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=site.serve_forever, daemon=True).start()
        stack.callback(site.shutdown)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _run(stack, folder, site.server_address[1])


def _run(stack: ExitStack, folder: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}/river"
    (folder / "s.toml").write_text(
        "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
        f"allowed_ports = [{port}]\n[spaniel.serve]\nrequests_per_minute = 0\nconcurrent = 500\n"
    )
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "c"), "XDG_STATE_HOME": str(folder / "s")}
    (folder / "post.lua").write_text(
        f"wrk.method = 'POST'\nwrk.body = '{json.dumps({'url': url})}'\n"
        "wrk.headers['Content-Type'] = 'application/json'\n"
    )
    serve = [sys.executable, "-m", "spaniel", "serve", "-q", "--config", str(folder / "s.toml")]
    ours = Server([*serve, "--port", "18901"], 18901, environ)
    stack.callback(ours.stop)
    for _ in range(3):
        body = ask(18901, url)
    (folder / "body").write_bytes(body)
    (folder / "bare.py").write_text(BARE)
    bare = Server([sys.executable, str(folder / "bare.py"), "18902", str(folder / "body")], 18902, environ)
    stack.callback(bare.stop)
    ask(18902, url)
    contenders = {"bare": [bare], "spaniel": [ours]}
    costs, rates = _measure(contenders, str(folder / "post.lua"))
    for name in contenders:
        print(f"  {name:24} {rates[name]:8.0f} requests/s {costs[name] * 1e6:8.0f} µs of CPU each")
    wanted("requests a second of a bare route", rates["spaniel"] / rates["bare"], least=0.6)
    print(f"  CPU of a bare route / ours: {costs['bare'] / costs['spaniel']:.2f}")
    _fetches(url, folder, environ)


def _measure(contenders: dict[str, list[Server]], script: str) -> tuple[dict[str, float], dict[str, float]]:
    costs: dict[str, list[float]] = {name: [] for name in contenders}
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(ROUNDS):
        for name in list(contenders) if number % 2 else list(contenders)[::-1]:
            servers = contenders[name]
            before, began = sum(server.cpu() for server in servers), time.perf_counter()
            count = sum(load(server.port, script) for server in servers)
            costs[name].append((sum(server.cpu() for server in servers) - before) / count)
            rates[name].append(count / (time.perf_counter() - began))
    return {n: statistics.median(c) for n, c in costs.items()}, {n: statistics.median(r) for n, r in rates.items()}


def ask(port: int, url: str, **more: Any) -> bytes:
    for attempt in range(200):
        try:
            body = json.dumps({"url": url, **more}).encode()
            request = Request(f"http://127.0.0.1:{port}/api/fetch", body, {"Content-Type": "application/json"})
            with urlopen(request) as answer:  # noqa: S310  a server of ours
                return bytes(answer.read())
        except OSError:
            if attempt == 199:
                raise
            time.sleep(0.1)
    raise AssertionError


def _fetches(url: str, folder: Path, environ: dict[str, str]) -> None:
    """A fetch that is not cached: the CPU of the service's process beside that of a Python program."""
    title("serve: fetches beside Python's client")
    serve = [sys.executable, "-m", "spaniel", "serve", "-q", "--config", str(folder / "s.toml"), "--port", "18903"]
    server = Server(serve, 18903, environ)
    try:
        ask(18903, url)
        asyncio.run(_compare(url, folder, server))
    finally:
        server.stop()


async def _compare(url: str, folder: Path, server: Server) -> None:
    from spaniel import Spaniel

    served: list[float] = []
    direct: list[float] = []
    os.environ["XDG_CACHE_HOME"] = str(folder / "own")
    async with Spaniel.from_config(str(folder / "s.toml")) as client:
        await client.fetch(url)
        for _ in range(ROUNDS):
            before = server.cpu()
            for _ in range(200):
                await asyncio.to_thread(ask, 18903, url, no_cache=True)
            served.append((server.cpu() - before) / 200)
            start = time.process_time()
            for _ in range(200):
                await client.fetch(url, no_cache=True)
            direct.append((time.process_time() - start) / 200)
    through, own = statistics.median(served), statistics.median(direct)
    print(f"  through the service {through * 1e6:8.0f} µs, in Python {own * 1e6:8.0f} µs")
    wanted("CPU of a fetch through the service / in Python", through / own, most=1.1)


if __name__ == "__main__":
    run()
