"""`spaniel serve` as a real process, and a site on loopback for it.

It needs nothing but Python's own library: other projects' clients, in an environment without Spaniel, use it too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

START_SECONDS = 120.0  # on a busy machine
STOP_SECONDS = 60.0
Reply = tuple[int, dict[str, str], bytes]
Page = Reply | Callable[[], Reply]

OTTERS = (
    "<html lang=en><head><title>Otters - a site</title><meta name=description content='About otters'></head><body>"
    "<nav><a href=/menu>Menu</a></nav><article><h1>Otters</h1><p>Otters are back at the weir, on their own. "
    "<a href='/second?a=1'>Second page</a> <img src=/otter.png alt=Otter></p><p class=note>A note beside the text, "
    "which says a little more about the weir and its otters.</p></article>"
    "<footer>Foot of the page</footer></body></html>"
)


def html(body: str, status: int = 200) -> Reply:
    return status, {"Content-Type": "text/html; charset=utf-8"}, body.encode()


def numbered(number: object) -> Reply:
    """A page that differs from every other number's."""
    return html(
        f"<title>Page {number}</title><article><h1>Page {number}</h1><p>The text of page {number}.</p></article>"
    )


class Web:
    """A site whose pages may be changed while it runs; `requests` counts them by path and query."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: Counter[str] = Counter()
        self.seen: list[dict[str, str]] = []
        self.port: int = server.server_port
        self._lock = Lock()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def reply(self, path: str, headers: dict[str, str]) -> Reply:
        with self._lock:
            self.requests[path] += 1
            self.seen.append(headers)
        page = self.pages.get(path.partition("?")[0], (404, {}, b""))
        return page() if callable(page) else page


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024
    web: Web

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that left."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, fields, body = self.server.web.reply(self.path, headers)
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815  as http.server calls it

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def web(pages: dict[str, Page] | None = None) -> Iterator[Web]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.web = Web(server)
        usual: dict[str, Page] = {
            "/otters": html(OTTERS), "/second": html(OTTERS.replace("Otters", "Second")), "/busy": html("busy", 503),
        }  # fmt: skip
        server.web.pages = usual | (pages or {})
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.web
        server.shutdown()


class Program(NamedTuple):
    """A server that runs, as a process of its own."""

    base: str
    process: subprocess.Popen[bytes]
    complaints: Path  # its standard error

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def memory(self) -> int:
        """Its resident bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_serving(self) -> bool:
        with urllib.request.urlopen(f"{self.base}/healthz", timeout=30) as answer:  # noqa: S310
            return bool(answer.status == 200)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)


def settings(folder: Path, ports: Sequence[int], serve: str = "", webfetch: str = "") -> Path:
    """A settings file that lets the server in to these ports of loopback."""
    file = folder / "spaniel.toml"
    file.write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n{webfetch}\n'
        "[tools.webfetch.security]\nblock_loopback = false\n"
        f"allow_insecure_overrides = true\nallowed_ports = {list(ports)}\n"
        f'[spaniel.serve]\njobs_folder = "{folder}/jobs"\n{serve}\n',
        encoding="utf-8",
    )
    return file


def start(
    folder: Path, config: Path, *options: str, python: str = sys.executable, port: int = 0, token: str = ""
) -> Program:
    """A server that takes requests. The caller stops it."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SPANIEL_"))}
    known["HOME"] = str(folder)
    if token:
        known["SPANIEL_SERVE_TOKEN"] = token
    complaints = folder / f"stderr-{time.monotonic_ns()}.txt"
    command = [python, "-m", "spaniel", "serve", "--port", str(port), "--config", str(config), *options]
    with open(complaints, "wb") as file:
        process = subprocess.Popen(command, env=known, stdin=subprocess.DEVNULL, stderr=file)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        said = complaints.read_text()
        if "serving on " in said:
            base = said.partition("serving on ")[2].split()[0].rstrip("/")
            return Program(base, process, complaints)
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise AssertionError(f"the server did not start: {complaints.read_text()}")


@contextmanager
def program(config: Path, *options: str, **more: str) -> Iterator[Program]:
    """A server that runs until the end of the block."""
    running = start(config.parent, config, *options, **more)  # type: ignore[arg-type]
    try:
        yield running
    finally:
        if running.process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                running.stop()
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()
