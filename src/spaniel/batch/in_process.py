"""One worker in the very process of the coordinator, which needs all that a worker loads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from spaniel.batch.messages import READY
from spaniel.batch.worker import RemoteHosts, Worker
from spaniel.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.crew import Hear
    from spaniel.batch.ports import Fetch
    from spaniel.batch.worker import OpenFetcher
    from spaniel.clock import Clock


class InProcess:
    """For programs that want records, not files."""

    def __init__(self, open_fetcher: OpenFetcher, wiring: Mapping[str, object], clock: Clock | None = None) -> None:
        self._open, self._wiring, self._clock = open_fetcher, wiring, clock or SystemClock()
        self._opened: AbstractAsyncContextManager[Fetch] | None = None
        self._worker: Worker | None = None

    async def start(self, hear: Hear) -> None:
        loop = asyncio.get_running_loop()

        def send(word: str, *values: Any) -> None:
            loop.call_soon(hear, 0, word, *values)  # as from afar: nobody is spoken to while they speak

        hosts = RemoteHosts(send, self._clock)
        self._opened = self._open(self._wiring, hosts)
        self._worker = Worker(await self._opened.__aenter__(), hosts, send)
        send(READY)

    def tell(self, worker: int, word: str, *values: Any) -> None:  # noqa: ARG002  there is but one
        if self._worker is not None:
            self._worker.receive(word, *values)

    async def close(self) -> None:
        if self._worker is not None:
            await self._worker.close()
        if self._opened is not None:
            await self._opened.__aexit__(None, None, None)
