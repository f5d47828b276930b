"""What the sessions share: a long page on loopback, a settings file that lets the server in, the server's command."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

PARTS = 300
NEEDLE = "The lighthouse keeper at Skerryvore kept a tame otter named Bosun."
HTML = "<!doctype html><title>The long book</title><main>" + "".join(
    f"<h2>Part {n}</h2><p>{f'Sentence {n} of a long book about rivers and stones. ' * 40}"
    f"{NEEDLE if n == 217 else ''}</p>"
    for n in range(1, PARTS + 1)
)  # fmt: skip


class Scene(NamedTuple):
    """Where the page is, and how the server is started."""

    url: str
    command: str
    args: list[str]
    requests: list[str]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests.append(self.path)  # type: ignore[attr-defined]
        body = HTML.encode() if self.path == "/book" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def scene(*options: str) -> Iterator[Scene]:
    """`python session.py PYTHON`: the Python that Spaniel is installed for, which need not be this one."""
    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        requests: list[str] = []
        server.requests = requests  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
        config = Path(folder, "spaniel.toml")
        config.write_text(
            f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.security]\nblock_loopback = false\n'
            f"allow_insecure_overrides = true\nallowed_ports = [{server.server_port}]\n",
            encoding="utf-8",
        )
        args = ["-m", "spaniel", "mcp", "-q", "--config", str(config), *options]
        yield Scene(f"http://127.0.0.1:{server.server_port}/book", sys.argv[1], args, requests)
        server.shutdown()


def told(what: str) -> None:
    print(f"  {what}")
