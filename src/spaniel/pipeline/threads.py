"""Two threads beside the event loop: one reads large pages, one writes the cache.

Not more: reading holds the interpreter's lock and writing the index's, so others would only wait, each with an arena of
memory of its own.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Threads:
    """Close it, or use it as a context manager; what is under way is waited for."""

    def __init__(self) -> None:
        self._reader = ThreadPoolExecutor(1, "spaniel-reader")
        self._writer = ThreadPoolExecutor(1, "spaniel-writer")

    async def read(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reader, work, *args)

    async def write(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, work, *args)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.shutdown()
        self._writer.shutdown()
