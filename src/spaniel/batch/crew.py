"""The workers of a run: processes that are started, spoken to, and replaced when they die."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from spaniel.batch.frames import LENGTH, decode, frame
from spaniel.batch.launching import Launched
from spaniel.batch.messages import FAILED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.batch.launching import Process

    Hear = Callable[..., bool]  # the worker's number, a word, its values; whether it should speak more slowly

GONE = "gone"  # what is heard of a worker that has died; FAILED: of one that cannot be started
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

    def __init__(self, count: int, where: str, wiring: Mapping[str, object], launched: Launched | None = None) -> None:
        """`launched`: processes for `where` that wait already."""
        self._count, self._wiring, self._launched = count, frame(wiring), launched or Launched(where)
        self._pipes: list[asyncio.WriteTransport | None] = [None] * count
        self._processes: list[Process | None] = [None] * count
        self._ready = [False] * count
        self._watches: list[asyncio.Task[None]] = []
        self._closing = False

    async def start(self, hear: Hear) -> None:
        self._watches = [
            watched(number, partial(self._live, number, hear), hear, lambda: self._closing)
            for number in range(self._count)
        ]

    def tell(self, worker: int, word: str, *values: Any) -> None:
        pipe = self._pipes[worker]
        if pipe is not None and not pipe.is_closing():  # asyncio complains of what is said to those who end
            pipe.write(frame((word, *values)))

    async def close(self) -> None:
        """They end when their input does. Who does not is killed, and who still loads has nothing to finish."""
        self._closing = True
        for pipe, process, is_ready in zip(self._pipes, self._processes, self._ready, strict=True):
            if pipe is not None and is_ready:
                pipe.close()
            elif process is not None:
                process.kill()
        if self._watches:
            await asyncio.wait(self._watches, timeout=END_SECONDS)
        for process in self._processes:
            if process is not None:
                process.kill()
        await asyncio.gather(*self._watches, return_exceptions=True)

    async def _live(self, number: int, hear: Hear) -> bool:
        """One life of a worker; whether it ever worked."""
        if self._closing:
            return False
        process = self._processes[number] = self._launched.take()
        self._ready[number] = False
        try:
            reader, self._pipes[number] = await self._connected(process)
            while True:
                message = await _message(reader)
                self._ready[number] = True
                if hear(number, *message):
                    await asyncio.sleep(BREAK_SECONDS)  # what else it says waits in the pipe, not in memory
        except (EOFError, ConnectionError):
            pass
        finally:
            if (pipe := self._pipes[number]) is not None and not pipe.is_closing():
                pipe.abort()
            self._pipes[number] = self._processes[number] = None
            process.kill()
            await asyncio.to_thread(process.wait)
        return self._ready[number]

    async def _connected(self, process: Process) -> tuple[asyncio.StreamReader, asyncio.WriteTransport]:
        """What it says, and where it is spoken to; it has been told how to fetch."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 20)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
        pipe, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        pipe.write(self._wiring)
        return reader, pipe


async def _message(reader: asyncio.StreamReader) -> Any:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return decode(await reader.readexactly(length))
