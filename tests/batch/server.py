"""A web server on loopback that writes down every request, in a process of its own: `python -m tests.batch.server LOG`.

Any name is one of its hosts. A line of the log is: host, path, when the request came, when the answer began to go.
Paths say what is answered: `/ok…` a page, `/to?URL` a redirect, `/slow` after a second, `/busy` 429 the first time,
`/fail` 500, `/echo` the request itself, `/shell` a page that a script would fill, `/cookies` two of them, `/big` 3 MB.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
import time
from urllib.parse import unquote

PAGE = (
    b"<!doctype html><title>A page</title><article><h1>Footprints</h1><p>"
    + b"The river in spring carries more water than anybody remembers. " * 12
    + b"</p></article>"
)
OTHERS = {
    "/shell": ("", b"<!doctype html><title>A shell</title><div id=root></div><script src=/app.js></script>"),
    "/cookies": ("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: gzip\r\n", gzip.compress(PAGE)),
    "/big": ("", PAGE + b"<p>A word. " * 300_000),
}


class Server:
    def __init__(self, log: str, pause: float) -> None:
        self._log = open(log, "w", buffering=1, encoding="utf-8")  # noqa: SIM115  open as long as the process
        self._pause = pause
        self._busy: set[str] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                came, path, host, head = time.monotonic(), line.split()[1].decode(), "", [line]
                while (field := await reader.readline()).strip():
                    head.append(field)
                    if field.lower().startswith(b"host:"):
                        host = field[5:].strip().decode().rpartition(":")[0]
                status, headers, body = await self.answer(host, path, b"".join(head) + field)
                gone = time.monotonic()  # before it can be there: a busy machine makes no pause look shorter
                begins = f"HTTP/1.1 {status} S\r\nContent-Type: text/html; charset=utf-8\r\n{headers}"
                writer.write(f"{begins}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
                self._log.write(f"{host} {path} {came:.6f} {gone:.6f}\n")
        except (ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    async def answer(self, host: str, path: str, request: bytes) -> tuple[int, str, bytes]:
        if path == "/robots.txt":
            return 200, "", b"User-agent: *\nCrawl-delay: 1\n" if host.startswith("slow-robots") else b""
        if self._pause:
            await asyncio.sleep(self._pause)
        if path.startswith("/to?"):
            return 302, f"Location: {unquote(path[4:])}\r\n", b""
        if path.startswith("/slow"):
            await asyncio.sleep(1)
        if path.startswith("/busy") and path not in self._busy:
            self._busy.add(path)
            return 429, "Retry-After: 1\r\n", b""
        if path.startswith(("/gone", "/fail")):
            return 404 if path.startswith("/gone") else 500, "", b""
        if path.startswith("/echo"):
            return 200, "", PAGE + b"<pre>" + request + b"</pre>"
        return 200, *next((found for name, found in OTHERS.items() if path.startswith(name)), ("", PAGE))


async def _listen(server: Server) -> list[asyncio.Server]:
    """On four addresses with one port; where another process has it on one of them, with another port."""
    while True:
        opened = [await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1024)]
        port = opened[0].sockets[0].getsockname()[1]
        try:
            for number in range(2, 5):
                opened += [await asyncio.start_server(server.serve, f"127.0.0.{number}", port, backlog=1024)]
        except OSError:
            for each in opened:
                each.close()
        else:
            return opened


async def main() -> None:
    server = Server(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    listening = await _listen(server)
    print(listening[0].sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until its parent has ended
    for each in listening:
        each.close()


if __name__ == "__main__":
    asyncio.run(main())
