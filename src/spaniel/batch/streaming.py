"""A run inside a program: records as values, as they come."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from spaniel.batch.coordinator import Coordinator, Pace
from spaniel.batch.done import Done
from spaniel.batch.progress import Progress
from spaniel.batch.records import whole_record
from spaniel.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from spaniel.batch.crew import Crew
    from spaniel.batch.outputs.remote_parts import Wrote
    from spaniel.batch.plan import Plan
    from spaniel.batch.ports import Item, Record
    from spaniel.clock import Clock

AHEAD = 64  # records that wait for whoever reads them, before nothing more is begun


class _Waiting:
    """Records that nobody has read yet."""

    def __init__(self) -> None:
        self.records: deque[dict[str, object]] = deque()
        self.news = asyncio.Event()

    @property
    def is_behind(self) -> bool:
        return len(self.records) >= AHEAD

    is_idle, by_workers = True, False

    def put_part(self, part: Wrote, ordinals: list[int], failed: Sequence[str] = ()) -> None:
        """Nobody writes any here."""

    def shared(self, record: Record) -> Record:
        return record

    def put(self, item: Item, shared: Record, captured: bytes = b"", failed: str = "") -> None:  # noqa: ARG002  for files
        self.records.append(whole_record(item, shared))
        self.news.set()


async def stream(
    plan: Plan, crew: Crew, pace: Pace, clock: Clock | None = None
) -> AsyncGenerator[dict[str, object], None]:
    """Fetch a plan, and give out its records. Whoever leaves early ends the run."""
    waiting, clock = _Waiting(), clock or SystemClock()
    progress = Progress(0, 0, clock.monotonic)
    run = asyncio.create_task(Coordinator(plan, Done(), crew, waiting, progress, pace, clock).run())
    run.add_done_callback(lambda _: waiting.news.set())
    try:
        while not (run.done() and not waiting.records):
            await waiting.news.wait()
            waiting.news.clear()
            while waiting.records:
                yield waiting.records.popleft()
        await run
    finally:
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
