"""Readers for whoever has no event loop: a file at hand, read where a hostile one harms nobody.

The loop runs in a thread of its own, so that this works wherever it is called from, and lives as long as the process:
the next document finds the process that read the last one.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from functools import cache
from typing import TYPE_CHECKING

from spaniel.net.deadline import Deadline
from spaniel.pipeline.readers import Readers

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    from spaniel.reading import Document

    T = TypeVar("T")

SECONDS = 120.0  # for one document
CLOSING_SECONDS = 5.0


class BlockingReaders:
    """`Readers`, one document after the other."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="spaniel-readers", daemon=True)
        self._thread.start()
        self._readers = self._run(_opened(), CLOSING_SECONDS)

    def read(self, body: bytes, content_type: str | None, url: str | None, seconds: float = SECONDS) -> Document:
        """As `reading.read`; `timeout` where it takes longer."""
        return self._run(self._read(body, content_type, url, seconds), None)

    async def _read(self, body: bytes, content_type: str | None, url: str | None, seconds: float) -> Document:
        return await self._readers.read(body, content_type, url, None, Deadline(seconds))

    def close(self) -> None:
        self._run(self._readers.close(), CLOSING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], seconds: float | None) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except BaseException:  # Ctrl-C: what is being read is given up, and its process with it
            future.cancel()
            raise


async def _opened() -> Readers:
    return Readers()


def blocking_readers() -> BlockingReaders:
    """Those of this process."""
    return _of_process(os.getpid())  # a fork has neither the thread nor the children


@cache
def _of_process(_pid: int) -> BlockingReaders:
    readers = BlockingReaders()
    atexit.register(readers.close)
    return readers
