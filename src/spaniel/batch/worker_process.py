"""A worker as a process of its own: messages on standard input and output, logs on standard error.

It ends when its input does: with the coordinator at the latest, however that ended.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from spaniel.batch.frames import LENGTH, decode, frame
from spaniel.batch.messages import READY
from spaniel.batch.worker import RemoteHosts, Worker, for_the_journey, opener, parts_for
from spaniel.clock import SystemClock
from spaniel.net.sockets import raise_descriptors


def main() -> None:
    """The first message says how to fetch: a module, a function in it, and what it is given."""
    out = os.dup(1)
    os.dup2(2, 1)  # whoever prints must not speak in our place
    raise_descriptors()
    asyncio.run(_serve(out))


async def _serve(out: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", 0))
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(out, "wb", 0))

    def send(word: str, *values: Any) -> None:
        if not transport.is_closing():  # the coordinator has gone: nobody listens
            transport.write(frame(for_the_journey(word, *values)))

    where, wiring = await _message(reader)
    hosts = RemoteHosts(send, SystemClock())
    async with opener(where)(wiring, hosts) as fetch:
        worker = Worker(fetch, hosts, send, parts_for(wiring, send))
        send(READY)
        try:
            while True:
                worker.receive(*await _message(reader))
        except (EOFError, ConnectionError):
            await worker.close()
    if not transport.is_closing():
        transport.abort()


async def _message(reader: asyncio.StreamReader) -> Any:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return decode(await reader.readexactly(length))
