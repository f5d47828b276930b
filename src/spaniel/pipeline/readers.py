"""Where a page is read: directly, in a thread, or in a process that the deadline can kill.

Reading holds the interpreter's lock, so everything else in this process waits for it. A usual page takes a few
milliseconds and is read directly. One that may take longer is read in another process: other fetches continue, and
a page that exceeds its time or memory, or crashes its parser, affects no other. Formats that only such a process may
read (PDF, with a parser written in C) always go there, or are refused.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.outcome import logged
from spaniel.pipeline.reading_process import LENGTHS, WORN, packed, understood
from spaniel.reading import read_as
from spaniel.reading.kinds import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, TypeVar

    from spaniel.reading import Document
    from spaniel.reading.kinds import ContentKind, DetectedKind
    from spaniel.reading.parts import PageParts

    T = TypeVar("T")


log = logging.getLogger("spaniel.fetch")


class ReadingLimit(NamedTuple):
    """Bytes and tags of a page. Measured: a tag takes up to 8 microseconds, a byte of text 0.07.

    Other formats have other costs: `reading/kinds.py` says how many tags each is worth.
    """

    size: int
    tags: int

    def allows(self, body: bytes, row: ContentKind) -> bool:
        return len(body) <= self.size and sum(map(body.count, row.costly)) * row.cost <= self.tags


class ReadingLimits(NamedTuple):
    """Up to these sizes a page is read directly, and in a thread; a larger one in a process."""

    at_once: ReadingLimit = ReadingLimit(256 << 10, 4_000)  # 40 ms for the slowest
    in_a_thread: ReadingLimit = ReadingLimit(1 << 20, 10_000)  # 80 ms; one page in twelve has more


AMONG_OTHERS = ReadingLimits()
# A batch worker is a process already, and its loop may block: a third of a second for the slowest page costs
# less than a second process beside each worker, and leaves the other cores to the other workers.
ALONE = ReadingLimits(ReadingLimit(4 << 20, 40_000), ReadingLimit(4 << 20, 40_000))
PHASE = "extract"
PAGES = 500  # pages per process: bounds leaks
IDLE_SECONDS = 60.0
START_SECONDS = 20.0
DYING_SECONDS = 2.0
# The child gets its module paths from this process, not from the working folder or a variable.
COMMAND = "import sys; sys.path += sys.argv[1:]; from spaniel.pipeline.reading_process import main; main()"
FOREIGN = ("turbohtml", "ada_url", "msgspec", "pypdfium2", "pypdfium2_raw", "pypdfium2_cfg")  # what reading imports


class Readers:
    """Reads pages. Close it, or use it as `async with Readers() as readers:`."""

    def __init__(self, processes: int | None = None, limits: ReadingLimits = AMONG_OTHERS) -> None:
        self._limits = limits
        count = processes or os.cpu_count() or 1
        self._places = asyncio.Semaphore(count)
        self._places_apart = asyncio.Semaphore(
            count
        )  # a pool of their own, so that two that hang do not block long pages
        self._idle: list[Child] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._thread = ThreadPoolExecutor(1, "spaniel-reader")
        self._can_start = True

    async def read(
        self,
        body: bytes,
        kind: DetectedKind,
        url: str | None,
        deadline: Deadline,
        *,
        walls: bool = False,
        parts: PageParts | None = None,
    ) -> Document:
        """Like `reading.read_as`, stopped by the deadline."""
        row = BY_NAME[kind.reader]
        if not row.apart and self._limits.at_once.allows(body, row):
            document = read_as(kind, body, url, walls=walls, parts=parts)
        else:
            with deadline.guarding(PHASE):
                document = await self._read_long(body, kind, url, deadline, walls, parts)
        return logged(document, url) if document.failures else document

    async def _read_long(
        self,
        body: bytes,
        kind: DetectedKind,
        url: str | None,
        deadline: Deadline,
        walls: bool,
        parts: PageParts | None,
    ) -> Document:
        row = BY_NAME[kind.reader]
        if row.apart or (self._can_start and not self._limits.in_a_thread.allows(body, row)):
            async with self._places_apart if row.apart else self._places:
                if (child := await self._take()) is not None:
                    job = {"reader": kind.reader, "charset": kind.charset, "url": url, "walls": walls, "parts": parts}
                    return await self._hand_over(child, {**job, "apart": row.apart, "seconds": deadline.left()}, body)
        if row.apart:
            raise SpanielError(Code.EXTRACTION_FAILED, error="no process can be started to read it in")
        task = partial(read_as, kind, body, url, walls=walls, parts=parts)
        return await asyncio.get_running_loop().run_in_executor(self._thread, task)

    async def _take(self) -> Child | None:
        """A process waiting for a page, or None if none can be started."""
        while self._idle:
            child = self._idle.pop()
            child.wake()
            if child.lives():
                return child
        try:
            return await Child.start()
        except (OSError, EOFError, TimeoutError, NotImplementedError) as error:
            self._can_start = False
            log.warning("no process for reading (%s): long pages are read in a thread", type(error).__name__)
            return None

    async def _hand_over(self, child: Child, job: dict[str, Any], body: bytes) -> Document:
        try:
            head, text = await child.ask(job, body)
        except BaseException:  # deadline, cancellation or crash: the next page gets a new process
            await child.kill()
            raise
        if head.get(WORN):
            await child.kill()
        elif child.pages < PAGES:
            self._idle.append(child)
            child.rest(IDLE_SECONDS, self._retire)
        else:
            self._retire(child)
        return understood(head, text)

    def _retire(self, child: Child) -> None:
        if child in self._idle:
            self._idle.remove(child)
        task = asyncio.get_running_loop().create_task(child.kill())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """The caller must have ended all reading before."""
        for child in list(self._idle):
            child.wake()
            self._retire(child)
        await asyncio.gather(*self._ending)
        self._thread.shutdown()

    async def __aenter__(self) -> Readers:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Child:
    """One process of `pipeline/reading_process.py`. It ends when its input is closed, at the latest with us."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._timer: asyncio.TimerHandle | None = None
        self._crashed = False
        self.pages = 0

    @classmethod
    async def start(cls) -> Child:
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        child = cls(
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", COMMAND, *module_places()),
                stdin=pipe,
                stdout=pipe,
                stderr=nowhere,
                limit=1 << 20,
                start_new_session=True,  # Ctrl-C is for this process, which ends its children
            )
        )
        try:
            async with asyncio.timeout(START_SECONDS):
                await child._message()
        except BaseException:
            await child.kill()
            raise
        return child

    async def ask(self, job: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        self.pages += 1
        sink = self._process.stdin
        if sink is None:
            raise EOFError
        try:
            sink.write(packed(job, body))
            await sink.drain()
            return await self._message()
        except (OSError, EOFError) as error:
            self._crashed = True
            raise SpanielError(
                Code.EXTRACTION_FAILED, error="the process that read it ended", cause="process"
            ) from error

    async def _message(self) -> tuple[dict[str, Any], bytes]:
        source = self._process.stdout
        if source is None:
            raise EOFError
        size, length = LENGTHS.unpack(await source.readexactly(LENGTHS.size))
        head: dict[str, Any] = json.loads(await source.readexactly(size))
        return head, await source.readexactly(length)

    def lives(self) -> bool:
        return self._process.returncode is None

    def rest(self, seconds: float, retire: Callable[[Child], None]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, retire, self)

    def wake(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def kill(self) -> None:
        if self._crashed:  # it is dead or exiting; a signal now could hide its exit status
            with suppress(TimeoutError):
                async with asyncio.timeout(DYING_SECONDS):
                    await self._process.wait()
        if self.lives():
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()


def module_places() -> list[str]:
    """The folders of Spaniel and of what reading imports."""
    found: dict[str, None] = {}
    for name in ("spaniel", *FOREIGN):
        spec = find_spec(name)
        for package in (spec.submodule_search_locations or ()) if spec else ():
            found[os.path.dirname(os.path.abspath(package))] = None
    return list(found)


DOCUMENT_SECONDS = 120.0  # for one document
CLOSING_SECONDS = 5.0


class BlockingReaders:
    """`Readers` for synchronous code, one document at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="spaniel-readers", daemon=True)
        self._thread.start()
        self._readers = self._run(_opened(), CLOSING_SECONDS)

    def read(self, body: bytes, kind: DetectedKind, url: str | None, seconds: float = DOCUMENT_SECONDS) -> Document:
        """Like `reading.read_as`; `timeout` if it takes longer."""
        return self._run(self._read(body, kind, url, seconds), None)

    async def _read(self, body: bytes, kind: DetectedKind, url: str | None, seconds: float) -> Document:
        return await self._readers.read(body, kind, url, Deadline(seconds))  # the deadline starts in the loop

    def close(self) -> None:
        self._run(self._readers.close(), CLOSING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], seconds: float | None) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except BaseException:  # Ctrl-C: the document and its process are given up
            future.cancel()
            raise


async def _opened() -> Readers:
    return Readers()


def blocking_readers() -> BlockingReaders:
    """The readers of this process."""
    return _of_process(os.getpid())  # a forked process has neither the thread nor the children


@cache
def _of_process(_pid: int) -> BlockingReaders:
    readers = BlockingReaders()
    atexit.register(readers.close)
    return readers
