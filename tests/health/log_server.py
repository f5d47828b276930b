"""Hosts on loopback that log every request, in a separate process: `python -m tests.health.log_server LOG PAUSE`.

They are 127.0.0.1 to 127.0.0.8, at one port. A line of the log is: host, method, path, time of the request, time of the
response. The path selects the response: `/ok…` a page, `/to?URL` a redirect, `/busy…` a 429, `/never…` none; otherwise
a 404.
"""

from __future__ import annotations

import asyncio
import sys
import time
from urllib.parse import unquote

HOSTS = 8
PAGE = b"<!doctype html><title>A page</title><p>The river in spring carries more water than ever before.</p>"


class Server:
    def __init__(self, log: str, pause: float) -> None:
        self._log = open(log, "w", buffering=1, encoding="utf-8")  # noqa: SIM115  open as long as the process
        self._pause = pause

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        try:
            while line := await reader.readline():
                came = time.monotonic()
                method, path = line.decode().split()[:2]
                while (await reader.readline()).strip():
                    pass
                await asyncio.sleep(self._pause)
                self._log.write(f"{host} {method} {path} {came:.6f} {time.monotonic():.6f}\n")
                await self._answer(writer, method, path)
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, method: str, path: str) -> None:
        status, fields, body = 404, "", b"nothing here"
        if path.startswith("/never"):
            await asyncio.Event().wait()
        if path.startswith("/ok"):
            status, body = 200, PAGE
        if path.startswith("/busy"):
            status, fields = 429, "Retry-After: 100\r\n"
        if path.startswith("/to?"):
            status, fields = 301, f"Location: {unquote(path[4:])}\r\n"
        head = f"HTTP/1.1 {status} S\r\nContent-Type: text/html\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + (b"" if method == "HEAD" else body))
        await writer.drain()


async def listen(server: Server) -> tuple[int, list[asyncio.Server]]:
    """Listen at one port of all hosts. If another process uses it at one of them, try another port."""
    for _ in range(50):
        opened = [await asyncio.start_server(server.serve, "127.0.0.1", 0)]
        port = opened[0].sockets[0].getsockname()[1]
        try:
            for number in range(2, HOSTS + 1):
                opened += [await asyncio.start_server(server.serve, f"127.0.0.{number}", port)]
        except OSError:
            for each in opened:
                each.close()
            continue
        return port, opened
    raise OSError("no port is free at all hosts")


async def main() -> None:
    port, opened = await listen(Server(sys.argv[1], float(sys.argv[2])))
    print(port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until the parent process ends
    for each in opened:
        each.close()


if __name__ == "__main__":
    asyncio.run(main())
