"""Blocking calls in a daemon thread, which does not keep the process from exiting."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Job = tuple["asyncio.Future[Any]", "Callable[[], Any]"]


class BlockingCalls:
    """One daemon thread that runs calls in order. asyncio's and anyio's own threads would be joined at exit."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        Thread(target=self._work, daemon=True).start()

    async def call(self, function: Callable[[], T]) -> T:
        """The function's result or exception. If the caller is cancelled, the call continues in its thread."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((future, function))
        return await future

    def _work(self) -> None:
        while True:
            future, function = self._jobs.get()
            result, error = None, None
            try:
                result = function()
            except OSError as raised:
                error = raised
            try:
                self._loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is closed
                return


def _settle(future: asyncio.Future[Any], result: object, error: OSError | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
