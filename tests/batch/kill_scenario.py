"""A run that writes as fast as it can, to be killed by tests/batch/test_kills.py.

Supervisor, worker, scheduler, store and part files are the real ones; only the pages come from nowhere, so that most of
the time is spent where a kill could do harm. The worker runs inside the supervisor, so that both are killed at once; or
workers are processes, which are forked with their modules loaded, and listed in the file `workers`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from spaniel.batch import worker
from spaniel.batch.launching import Launched
from spaniel.batch.local import BatchRun
from spaniel.batch.outputs.warc import Capture, note_capture
from spaniel.batch.records import Fetch, Record
from spaniel.batch.supervisor import Pace, Processes
from spaniel.batch.worker import Service
from spaniel.hosts import Hosts
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.pipeline.record import Extraction
from tests.batch.harness import order

FORKED = multiprocessing.get_context("forkserver")
AT = datetime(2026, 1, 2, tzinfo=UTC)


def _append(path: str, line: str) -> None:
    with open(path, "a", encoding="ascii") as file:
        file.write(line)


@asynccontextmanager
async def open_fetcher(wiring: Mapping[str, Any], _: Hosts) -> AsyncIterator[Fetch]:
    if wiring:  # a worker that dies again and again before it is ready ends the run, so it is listed now
        _append(wiring["listed"], f"{os.getpid()}\n")

    async def fetch(url: str) -> Record:
        await asyncio.sleep(0)
        note_capture(Capture(url, 200, "OK", [], b"footprints " * 100, AT))
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


class ForkedWorker:
    """As a `Popen` of a worker."""

    def __init__(self) -> None:
        input_end, to_worker = os.pipe()
        from_worker, output_end = os.pipe()
        self.stdin, self.stdout = os.fdopen(to_worker, "wb", 0), os.fdopen(from_worker, "rb", 0)
        ends = Connection(input_end, writable=False), Connection(output_end, readable=False)
        self._process = FORKED.Process(target=_work, args=ends)
        self._process.start()
        for end in ends:
            end.close()
        self.kill = self._process.kill
        self.wait = self._process.join


def _work(input_end: Connection, output_end: Connection) -> None:
    os.dup2(input_end.fileno(), 0)
    os.dup2(output_end.fileno(), 1)
    input_end.close()
    output_end.close()
    worker.main(f"{__name__}:open_fetcher")


class Forked(Launched):
    def take(self) -> Any:
        return ForkedWorker()


def run(urls: str, output: str, workers: int = 0) -> None:
    """`workers`: how many processes; 0: one worker inside this one."""
    rules = HostRules(HostRule(1 if workers else 64, 0.0))
    with BatchRun(output) as batch:
        batch.resume(order(Path(urls), warc="a test"))
        listed = os.path.join(os.path.dirname(output), "workers")
        crew = Processes("", {"listed": listed}, Forked("")) if workers else Inside()
        batch.fetch(crew, Pace(workers or 1, 64, rules))
        assert os.path.exists(output)
