"""A worker as a process of its own: messages on standard input and output, logs on standard error.

It ends when its input does: with the coordinator at the latest, however that ended.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from spaniel.batch.frames import LENGTH, decode, frame
from spaniel.batch.messages import READY
from spaniel.batch.worker import RemoteHosts, Worker, for_the_journey, opener, parts_for
from spaniel.clock import SystemClock
from spaniel.net.sockets import raise_descriptors

if TYPE_CHECKING:
    from spaniel.batch.worker import OpenFetcher


def main(where: str) -> None:
    """`where` names what opens the fetcher; the first message is what that is given."""
    out = os.dup(1)
    os.dup2(2, 1)  # whoever prints must not speak in our place
    raise_descriptors()
    open_fetcher = opener(where)  # which loads all that fetching needs, while the coordinator plans
    with suppress(EOFError):  # nobody told us anything: the run has ended before it began
        asyncio.run(_serve(out, open_fetcher))


async def _serve(out: int, open_fetcher: OpenFetcher) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", 0))
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(out, "wb", 0))

    def send(word: str, *values: Any) -> None:
        if not transport.is_closing():  # the coordinator has gone: nobody listens
            transport.write(frame(for_the_journey(word, *values)))

    wiring = await _message(reader)
    hosts = RemoteHosts(send, SystemClock())
    async with open_fetcher(wiring, hosts) as fetch:
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
