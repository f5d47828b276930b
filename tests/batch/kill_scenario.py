"""A run that writes as fast as it can, to be killed by tests/batch/test_kills.py.

Coordinator, plan, writer and journal are the real ones; only the pages come from nowhere, so that most of the time
is spent where a kill could do harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spaniel.batch import captures
from spaniel.batch.coordinator import Pace
from spaniel.batch.in_process import InProcess
from spaniel.batch.local import Run
from spaniel.batch.outputs.warc import Capture
from spaniel.batch.ports import Fetch, Record
from spaniel.batch.worker import RemoteHosts, for_the_journey
from spaniel.hosts.rules import Rule, Rules
from spaniel.pipeline.record import Extraction
from tests.batch.harness import order

AT = datetime(2026, 1, 2, tzinfo=UTC)


@asynccontextmanager
async def open_fetcher(_: Mapping[str, Any], __: RemoteHosts) -> AsyncIterator[Fetch]:
    async def fetch(url: str) -> Record:
        await asyncio.sleep(0)
        captures.note(Capture(url, 200, "OK", [], b"footprints " * 100, AT))
        extraction = Extraction(status=200, extraction_method="html")
        return {"extraction": extraction, "final_url": url, "markdown": "footprints " * 2000}

    yield fetch


class Encoded(InProcess):
    """Sends records as a process does."""

    async def start(self, hear: Any) -> None:
        await super().start(lambda worker, *said: hear(worker, *for_the_journey(*said)))


def run(urls: str, output: str) -> None:
    with Run(output) as batch:
        batch.resume(order(Path(urls), warc="a test"))
        batch.fetch(Encoded(open_fetcher, {}), Pace(1, 64, Rules(Rule(64, 0.0))))
