"""What mcp-server-fetch does with four hostile servers on this machine; for docs/explanation/benchmarks.md.

Run it in an environment that has mcp-server-fetch: `python tools/fetch_servers.py`. Everything stays on loopback: the name
that changes its address is a table in this process. What Spaniel does in these cases is proved by its tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import sys
import threading
import time
import zlib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

PAUSES = 15  # of five seconds each, in one response
BOMB_BYTES = 500_000_000
lookups: Counter[str] = Counter()
real_lookup = socket.getaddrinfo


class Server(BaseHTTPRequestHandler):
    """An internal server, a slow one and a bomb."""

    def do_GET(self) -> None:
        if self.path == "/bomb":
            self._reply(200, bomb(), "Content-Encoding", "gzip")
        elif self.path == "/slow":
            self._reply(200, b"", "Connection", "close")
            for _ in range(PAUSES):
                time.sleep(5)
                self.wfile.write(b"x")
        elif self.path == "/robots.txt":
            self._reply(404, b"", "Content-Length", "0")
        else:
            self._reply(200, b"<html><p>The secret of the internal server.</p></html>", "Connection", "close")

    def _reply(self, status: int, body: bytes, name: str, value: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """No log."""


def bomb() -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b"a" * 1_000_000) for _ in range(BOMB_BYTES // 1_000_000)) + packer.flush()


def lookup(host: object, port: object, *rest: object, **more: object) -> object:
    """A name server in this process: `rebind.test` is public at first, and then this machine."""
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name != "rebind.test":
        return real_lookup(host, port, *rest, **more)  # type: ignore[arg-type]
    lookups[name] += 1
    address = "93.184.215.14" if lookups[name] % 2 else "127.0.0.1"
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, int(str(port or 0))))]


async def attempt(url: str, *, local: bool = False) -> str:
    from mcp_server_fetch.server import fetch_url

    started = time.monotonic()
    try:
        content, _ = await fetch_url(url, "test", force_raw=True, allow_private_ips=local)
        result = f"fetched {len(content):,} characters: {content[:60]!r}"
    except Exception as error:  # noqa: BLE001  whatever happens is the result
        result = f"{type(error).__name__}: {str(error)[:110]}"
    return f"{time.monotonic() - started:5.1f} s  {result}"


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


async def main(port: int) -> None:
    here = f"http://127.0.0.1:{port}"
    print(f"mcp-server-fetch {version('mcp-server-fetch')}, Python {sys.version.split()[0]}")
    print("private address    ", await attempt(f"{here}/secret"))
    print("name that rebinds  ", await attempt(f"http://rebind.test:{port}/secret"))
    print(f"a response of {5 * PAUSES} s", await attempt(f"{here}/slow", local=True))
    before = memory()
    print("500 MB as gzip     ", await attempt(f"{here}/bomb", local=True))
    print(f"memory: {before} MB before, {memory()} MB at its peak")


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    socket.getaddrinfo = lookup  # type: ignore[assignment]
    asyncio.run(main(server.server_address[1]))
