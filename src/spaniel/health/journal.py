"""What a run has heard, written down before it is told. Where it cannot be written, the run goes on and says so."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.health.history import Answer, History
    from spaniel.health.links import Checked
    from spaniel.verdicts import Past

    T = TypeVar("T")

ALIVE_SECONDS = 10.0  # between signs of life


class _Entry(NamedTuple):
    checked: Checked
    answer: Answer | None  # None for what is told and was not asked


class Journal:
    """Writes by a thread, so that another run's transaction holds up nobody; what comes meanwhile is one lot."""

    def __init__(self, history: History | None, run: int = 0) -> None:
        self._history, self._run = history, run
        self._pending: list[_Entry] = []
        self._writing: asyncio.Task[None] | None = None
        self._written: asyncio.Future[None] | None = None  # of all that is pending
        self._life: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "spaniel-health")
        self.tell: Callable[[Checked], None] = lambda _: None
        self.trouble = ""  # why nothing is written down

    def open(self, tell: Callable[[Checked], None]) -> None:
        self.tell = tell
        if self._history is not None:
            self._life = asyncio.create_task(self._show_life())

    async def close(self) -> None:
        if self._life is not None:
            self._life.cancel()
        await self.flush()
        self._thread.shutdown()

    async def flush(self) -> None:
        """Until all that was added is told."""
        while self._writing is not None:
            await asyncio.shield(self._writing)  # whoever waits may be stopped; what was heard is written all the same

    @property
    def is_kept(self) -> bool:
        """Whether anything is written down."""
        return self._history is not None

    @property
    def waiting(self) -> int:
        return len(self._pending)

    def add(self, checked: Checked, answer: Answer | None) -> asyncio.Future[None] | None:
        """To be told, and where there is an answer, written down before; the future waits for that."""
        if self._history is None and not self._pending:
            self.tell(checked)
            return None
        self._pending.append(_Entry(checked, answer))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        if answer is None:
            return None
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        return self._written

    async def _write(self) -> None:
        while self._pending:
            lot, self._pending = self._pending, []
            written, self._written = self._written, None
            answers = [entry.answer for entry in lot if entry.answer is not None]
            if answers and self._history is not None:
                await self._do(self._history.note, self._run, answers)
            for entry in lot:
                self.tell(entry.checked)
            if written is not None and not written.done():
                written.set_result(None)
        self._writing = None

    async def stop(self) -> None:
        """The run ends before its end, and may go on later."""
        if self._history is not None:
            await self._do(self._history.stop, self._run)

    async def settle(self, *, network: bool) -> None:
        if (history := self._history) is not None:
            await self._do(lambda: history.settle(self._run, network=network))

    def pasts(self, urls: Sequence[tuple[str, str]]) -> dict[str, Past]:
        """What is known of some URLs, which are given with their hosts."""
        if self._history is None:
            return {}
        try:
            return self._history.pasts(urls)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)
            return {}

    async def _do(self, work: Callable[..., T], *given: object) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(*given))
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._history, self.trouble = None, trouble_with(error)

    async def _show_life(self) -> None:
        """Nobody else may go on with a run that is alive, even if it waits for a slow host."""
        while self._history is not None:
            await asyncio.sleep(ALIVE_SECONDS)
            if self._history is not None:
                await self._do(self._history.note, self._run, [])


def trouble_with(error: Exception) -> str:
    """What is wrong with a history, for people."""
    where = getattr(error, "filename", None)
    told = getattr(error, "strerror", None) or str(error)
    return f"{where}: {told}" if where else told
