"""A site for `bench.batch`: `python batch_site.py FOLDER HOSTS` serves FOLDER/*.html at 127.0.0.1, 127.0.0.2, …

`/cpu` tells how many CPU seconds it has used: it runs on the same cores as those who fetch.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path


def answer(status: str, kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


PAGES = {
    f"/{file.name}".encode(): answer("200 OK", "text/html; charset=utf-8", file.read_bytes())
    for file in Path(sys.argv[1]).glob("*.html")
}
NONE = answer("404 Not Found", "text/plain", b"")


class Site(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._came = transport, b""

    def data_received(self, data: bytes) -> None:
        self._came += data
        while b"\r\n\r\n" in self._came:
            head, _, self._came = self._came.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].partition(b"?")[0]
            page = (
                answer("200 OK", "text/plain", b"%f" % time.process_time())
                if path == b"/cpu"
                else PAGES.get(path, NONE)
            )
            self._transport.write(page)  # type: ignore[attr-defined]


async def main() -> None:
    loop = asyncio.get_running_loop()
    first = await loop.create_server(Site, "127.0.0.1", 0, backlog=1024)
    port = first.sockets[0].getsockname()[1]
    for number in range(2, int(sys.argv[2]) + 1):
        await loop.create_server(Site, f"127.0.0.{number}", port, backlog=1024)
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
