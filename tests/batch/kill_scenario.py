"""A run that writes as fast as it can, to be killed by tests/batch/test_kills.py.

Supervisor, worker, scheduler, store and part files are the real ones; only the pages come from nowhere, so that most of
the time is spent where a kill could do harm. The worker is a thread of the same process, which is killed as a whole.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from spaniel.batch import captures
from spaniel.batch.local import BatchRun
from spaniel.batch.outputs.warc import Capture
from spaniel.batch.ports import Fetch, Record
from spaniel.batch.supervisor import Pace
from spaniel.batch.worker import Service
from spaniel.hosts import Hosts
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.pipeline.record import Extraction
from tests.batch.harness import order

AT = datetime(2026, 1, 2, tzinfo=UTC)


@asynccontextmanager
async def open_fetcher(_: Mapping[str, Any], __: Hosts) -> AsyncIterator[Fetch]:
    async def fetch(url: str) -> Record:
        await asyncio.sleep(0)
        captures.note(Capture(url, 200, "OK", [], b"footprints " * 100, AT))
        extraction = Extraction(status=200, extraction_method="html")
        return {"extraction": extraction, "final_url": url, "markdown": "footprints " * 2000}

    yield fetch


def _later(loop: asyncio.AbstractEventLoop, hear: Any, number: int, *said: Any) -> None:
    loop.call_soon(hear, number, *said)


class Inside:
    """A worker on the event loop of the supervisor."""

    is_remote = False

    async def start(self, count: int, hear: Any, brief: Any) -> None:
        loop = asyncio.get_running_loop()
        self._services = [
            Service({**brief(number), "wiring": {}}, partial(_later, loop, hear, number)) for number in range(count)
        ]
        self._tasks = [asyncio.create_task(service.run(open_fetcher)) for service in self._services]

    def send(self, worker: int, word: str, *values: Any) -> None:
        self._services[worker].receive(word, *values)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def run(urls: str, output: str) -> None:
    with BatchRun(output) as batch:
        batch.resume(order(Path(urls), warc="a test"))
        batch.fetch(Inside(), Pace(1, 64, HostRules(HostRule(64, 0.0))))
        assert os.path.exists(output)
