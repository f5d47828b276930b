"""A thread beside the event loop that writes the cache: not more than one, since the index has one lock."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Writer:
    """Close it, or use it as a context manager; what is under way is waited for."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "spaniel-writer")

    async def write(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
