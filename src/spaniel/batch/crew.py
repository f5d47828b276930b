"""The workers of a run: processes that are started, spoken to, and replaced when they die."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from spaniel.batch.frames import LENGTH, decode, frame
from spaniel.batch.messages import FAILED, READY
from spaniel.batch.worker import RemoteHosts, Worker
from spaniel.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.ports import Fetch
    from spaniel.batch.worker import OpenFetcher

    Hear = Callable[..., bool]  # the worker's number, a word, its values; whether it should speak more slowly

GONE = "gone"  # what is heard of a worker that has died; FAILED: of one that cannot be started
COMMAND = "import sys; sys.path[:] = sys.argv[1:]; from spaniel.batch.worker_process import main; main()"
DEAD_STARTS = 3  # in a row, after which nobody tries again
END_SECONDS = 5.0
BREAK_SECONDS = 0.05  # before a worker is listened to again while what it brought is not written yet


class Crew(Protocol):
    """Workers by their numbers."""

    async def start(self, hear: Hear) -> None:
        """Start them; from then on `hear` is told what they say."""

    def tell(self, worker: int, word: str, *values: Any) -> None: ...

    async def close(self) -> None: ...


async def keep_alive(
    live: Callable[[], Awaitable[bool]], hear: Callable[[str], object], is_closing: Callable[[], bool]
) -> None:
    """Let a worker live again and again. A life tells whether the worker was ever ready."""
    dead_starts = 0
    while dead_starts < DEAD_STARTS:
        was_ready = await live()
        if is_closing():
            return
        hear(GONE)
        dead_starts = 0 if was_ready else dead_starts + 1
    hear(FAILED)


def watched(
    number: int, live: Callable[[], Awaitable[bool]], hear: Hear, is_closing: Callable[[], bool]
) -> asyncio.Task[None]:
    """The lives of a worker. If looking after them fails, which is a bug, the run ends rather than waits for ever."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            hear(number, FAILED, f"{type(error).__name__}: {error}")

    task = asyncio.create_task(keep_alive(live, partial(hear, number), is_closing))
    task.add_done_callback(ended)
    return task


class Processes:
    """Each worker is a process."""

    def __init__(self, count: int, where: str, wiring: Mapping[str, object]) -> None:
        self._count, self._first = count, frame((where, wiring))
        self._pipes: list[asyncio.StreamWriter | None] = [None] * count
        self._processes: list[asyncio.subprocess.Process | None] = [None] * count
        self._watches: list[asyncio.Task[None]] = []
        self._closing = False

    async def start(self, hear: Hear) -> None:
        self._watches = [
            watched(number, partial(self._live, number, hear), hear, lambda: self._closing)
            for number in range(self._count)
        ]

    def tell(self, worker: int, word: str, *values: Any) -> None:
        pipe = self._pipes[worker]
        if pipe is not None:
            pipe.write(frame((word, *values)))

    async def close(self) -> None:
        """They end when their input does; who does not is killed."""
        self._closing = True
        for pipe in self._pipes:
            if pipe is not None:
                pipe.close()
        if self._watches:
            await asyncio.wait(self._watches, timeout=END_SECONDS)
        for process in self._processes:
            if process is not None and process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
        await asyncio.gather(*self._watches, return_exceptions=True)

    async def _live(self, number: int, hear: Hear) -> bool:
        """One life of a worker; whether it ever worked."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", COMMAND, *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 20,
            start_new_session=True,  # a Ctrl-C is for the coordinator, which lets them finish
        )
        assert process.stdin is not None  # noqa: S101  asked for above
        assert process.stdout is not None  # noqa: S101
        self._processes[number], self._pipes[number] = process, process.stdin
        was_ready = False
        try:
            process.stdin.write(self._first)
            while True:
                message = await _message(process.stdout)
                was_ready = True
                if hear(number, *message):
                    await asyncio.sleep(BREAK_SECONDS)  # what else it says waits in the pipe, not in memory
        except (EOFError, ConnectionError):
            pass
        finally:
            self._pipes[number] = None
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        return was_ready


class InProcess:
    """One worker in this very process: for programs that want records, not files."""

    def __init__(self, open_fetcher: OpenFetcher, wiring: Mapping[str, object]) -> None:
        self._open, self._wiring = open_fetcher, wiring
        self._opened: AbstractAsyncContextManager[Fetch] | None = None
        self._worker: Worker | None = None

    async def start(self, hear: Hear) -> None:
        loop = asyncio.get_running_loop()

        def send(word: str, *values: Any) -> None:
            loop.call_soon(hear, 0, word, *values)  # as from afar: nobody is spoken to while they speak

        hosts = RemoteHosts(send, SystemClock())
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


async def _message(reader: asyncio.StreamReader) -> Any:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return decode(await reader.readexactly(length))
