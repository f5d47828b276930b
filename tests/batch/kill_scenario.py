"""A run that writes as fast as it can, to be killed: `python -m tests.batch.kill_scenario URLS OUT`.

Coordinator, plan, writer and journal are the real ones; only the pages come from nowhere, so that most of the time
is spent where a kill could do harm.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from spaniel.batch.coordinator import Pace
from spaniel.batch.crew import InProcess
from spaniel.batch.local import Run
from spaniel.batch.politeness import Politeness, Rule
from spaniel.batch.ports import Fetch, Record
from spaniel.batch.records import tail_of
from spaniel.batch.worker import RemoteHosts
from spaniel.pipeline.record import Extraction
from tests.batch.harness import order


@asynccontextmanager
async def open_fetcher(_: Mapping[str, Any], __: RemoteHosts) -> AsyncIterator[Fetch]:
    async def fetch(url: str) -> Record:
        await asyncio.sleep(0)
        extraction = Extraction(status=200, extraction_method="html")
        return {"extraction": extraction, "final_url": url, "markdown": "footprints " * 2000}

    yield fetch


class Encoded(InProcess):
    """Sends records as a process does."""

    async def start(self, hear: Any) -> None:
        await super().start(lambda *said: hear(*said[:-1], tail_of(said[-1])) if said[1] == "done" else hear(*said))


def main() -> None:
    urls, output = sys.argv[1:]
    with Run(output) as run:
        run.resume(order(Path(urls)))
        run.fetch(Encoded(open_fetcher, {}), Pace(1, 64, Politeness(Rule(64, 0.0))))


if __name__ == "__main__":
    main()
