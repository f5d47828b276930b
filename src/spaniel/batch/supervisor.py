"""The supervisor of a run: starts workers, restarts those that die, passes leases on, adds up status, collects output.

Everything happens on one event loop. Workers are processes here, or actors of a Ray cluster (`ray_workers`).
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, deque
from functools import partial
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from spaniel.batch import channel as say
from spaniel.batch.planning import shard_of
from spaniel.batch.worker import TaskFile
from spaniel.defaults import BATCH_JOBS
from spaniel.errors import Code, SpanielError
from spaniel.hosts.limits import Limits
from spaniel.hosts.rules import Rules
from spaniel.runs.store import PAGE_OK, Shard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spaniel.batch.launching import Launched, Process
    from spaniel.batch.progress import Progress
    from spaniel.runs.parts import Collector

    Hear = Callable[..., None]  # the worker's number, a word, its values
    Brief = Callable[[int], dict[str, Any]]  # what a worker is to do, each time that it is started

GONE = "gone"  # of a worker that has died
DEAD_STARTS = 3  # in a row, after which a worker is not started again
END_SECONDS = 5.0
COLLECT_SECONDS = 0.5
TASK_FILE = "worker-{}.tasks"


class Pace(NamedTuple):
    """How many at once, how politely, and how long."""

    workers: int = 1
    jobs: int = BATCH_JOBS.default  # pages under way in each worker
    rules: Rules = Rules()
    limits: Limits = Limits()


class Workers(Protocol):
    """Workers by their numbers."""

    is_remote: bool  # whether they cannot write into the folder of the run

    async def start(self, count: int, hear: Hear, brief: Brief) -> None:
        """Start them; from then on `hear` gets what they say."""

    def tell(self, worker: int, word: str, *values: Any) -> None: ...

    async def close(self) -> None: ...


class Supervisor:
    """One run over shards that are planned, from the first page to the last record."""

    def __init__(  # noqa: PLR0913, PLR0917  what a run is made of
        self,
        folder: str,
        shards: Mapping[int, int],
        shard_count: int,
        workers: Workers,
        collector: Collector,
        progress: Progress,
        pace: Pace,
        endings: Mapping[str, str],
        *,
        is_spread: bool = False,
        parts: str = "",
    ) -> None:
        """`shards`: those that are not done, with the number of their pages."""
        self._folder, self._shard_count, self._workers = folder, shard_count, workers
        self._collector, self._progress, self._pace = collector, progress, pace
        self._endings, self._is_spread, self._parts = endings, is_spread, parts
        count = max(1, min(pace.workers, len(shards)))
        self._given = assign(shards, count)
        self._owners = _owners(self._given, shard_count)
        self._members = [_Member() for _ in range(count)]
        self._suspects: set[int] = set()  # tasks that were under way when a worker died
        self._blamed: set[int] = set()  # of them: under way alone when it died again
        self._leases: dict[tuple[int, int], int] = {}  # who holds or waits for a lease, and its owner
        self._news = asyncio.Event()
        self._is_stopping = False
        self._failure: SpanielError | None = None
        self._parts_known: dict[tuple[int, str, int], int] = {}
        self._heard: dict[str, Callable[..., None]] = {
            say.READY: lambda _worker: None,
            say.STATUS: self._status,
            say.DONE: self._done,
            say.FAILED: self._failed,
            say.TAKE: self._take,
            say.RELEASE: self._release,
            say.GRANTED: self._granted,
            say.DENIED: self._denied,
            say.REPORT: self._report,
            say.LEARNT: self._learnt,
            GONE: self._gone,
        }
        progress.watch(lambda: [member.status for member in self._members])

    async def run(self) -> bool:
        """Fetch all; whether all was done. Cancelled, it ends workers at once."""
        limit, timer = self._pace.limits.total_time, None
        collecting = asyncio.create_task(self._collect_often())
        try:
            if limit:
                timer = asyncio.get_running_loop().call_later(limit, self._tell_all, say.OVER, limit)
            await self._workers.start(len(self._members), self._hear, self._brief)
            while self._failure is None and not all(member.is_done for member in self._members):
                await self._news.wait()
                self._news.clear()
        finally:
            if timer is not None:
                timer.cancel()
            collecting.cancel()
            await self._workers.close()
            await asyncio.gather(collecting, return_exceptions=True)
        if self._failure is not None:
            raise self._failure
        return not self._is_stopping

    def stop(self) -> None:
        """Begin nothing more, and finish what is under way."""
        self._is_stopping = True
        self._tell_all(say.STOP)

    def _tell_all(self, word: str, *values: Any) -> None:
        for number in range(len(self._members)):
            self._workers.tell(number, word, *values)

    def _brief(self, worker: int) -> dict[str, Any]:
        """What a worker is to do; the same again when it is restarted, but for what is known of the pages by then."""
        pace = self._pace
        mine = self._members[worker]
        mine.is_done = False
        return {
            "folder": self._folder,
            "tasks": os.path.join(self._folder, TASK_FILE.format(worker)),
            "shards": self._given[worker],
            "owned": [shard for shard, owner in self._owners.items() if owner == worker],
            "shard_count": self._shard_count,
            "workers": len(self._members),
            "jobs": pace.jobs,
            "rules": pace.rules.as_data(),
            "limits": tuple(pace.limits._replace(total_time=0.0)),
            "is_spread": self._is_spread,
            "endings": dict(self._endings),
            "parts": self._parts,
            "suspects": sorted(self._suspects),
            "blamed": sorted(self._blamed),
        }

    async def _collect_often(self) -> None:
        """Append what workers have committed to the output."""
        while True:
            await asyncio.sleep(COLLECT_SECONDS)
            try:
                await asyncio.to_thread(self._collector.collect, dict(self._parts_known))
            except SpanielError as error:
                self.fail(error)
                return

    def fail(self, error: SpanielError) -> None:
        self._failure = self._failure or error
        self._news.set()

    # what workers say

    def _hear(self, worker: int, word: str, *values: Any) -> None:
        self._heard[word](worker, *values)
        self._news.set()

    def _status(self, worker: int, status: dict[str, Any]) -> None:
        self._members[worker].status = status
        for *part, size in status["parts"]:
            self._parts_known[tuple(part)] = size  # type: ignore[index]

    def _done(self, worker: int) -> None:
        self._members[worker].is_done = True

    def _failed(self, _worker: int, why: str = "", field: str = "") -> None:
        text = why or "workers cannot be started; what they say is above"
        ours = SpanielError(Code.INTERNAL, error=text)
        self.fail(SpanielError(Code.BAD_ARGS, field=field, reason=text) if field else ours)

    def _gone(self, worker: int) -> None:
        """A worker has died: what it was working on is tried again, each page alone."""
        self._progress.workers_lost += 1
        member = self._members[worker]
        self._progress.keep(member.status)
        member.status = {}
        for ordinal, was_alone in TaskFile.read(os.path.join(self._folder, TASK_FILE.format(worker))):
            (self._blamed if was_alone else self._suspects).add(ordinal)
        for (holder, number), owner in list(self._leases.items()):
            if holder == worker:
                self._release(holder, number, False)
            elif owner == worker:  # it does not know of the lease any more
                self._workers.tell(holder, say.GRANTED, number)
        if self._is_stopping:
            member.is_done = True

    # leases of hosts

    def _owner_of(self, host: str) -> int:
        return self._owners[shard_of(host, self._shard_count)]

    def _take(self, worker: int, number: int, host: str, led: bool) -> None:
        owner = self._leases[worker, number] = self._owner_of(host)
        self._workers.tell(owner, say.TAKE, worker, number, host, led)

    def _release(self, worker: int, number: int, answered: bool) -> None:
        owner = self._leases.pop((worker, number), None)
        if owner is not None:
            self._workers.tell(owner, say.RELEASE, worker, number, answered)

    def _granted(self, _owner: int, worker: int, number: int) -> None:
        self._workers.tell(worker, say.GRANTED, number)

    def _denied(self, _owner: int, worker: int, number: int, code: str, details: Mapping[str, Any]) -> None:
        self._leases.pop((worker, number), None)
        self._workers.tell(worker, say.DENIED, number, code, details)

    def _report(self, _worker: int, host: str, method: str, values: Sequence[Any]) -> None:
        self._workers.tell(self._owner_of(host), say.LEARNT, method, values)

    def _learnt(self, worker: int, method: str, values: Sequence[Any]) -> None:
        for other in range(len(self._members)):
            if other != worker:
                self._workers.tell(other, say.LEARNT, method, values)


class _Member:
    """What is known of a worker."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {}
        self.is_done = False


def assign(shards: Mapping[int, int], workers: int) -> list[list[int]]:
    """Shards for each worker, about as many pages for each: the largest first, to the worker that has the least."""
    given: list[list[int]] = [[] for _ in range(workers)]
    loads = [(0, worker) for worker in range(workers)]  # a heap
    for number in sorted(shards, key=shards.__getitem__, reverse=True):
        load, worker = loads[0]
        given[worker].append(number)
        heapreplace(loads, (load + shards[number] + 1, worker))
    return given


def _owners(given: list[list[int]], shards: int) -> dict[int, int]:
    """The worker that owns each shard, also those without pages: redirects lead to hosts of theirs."""
    owners = {shard: number % len(given) for number, shard in enumerate(range(shards))}
    owners.update({shard: worker for worker, mine in enumerate(given) for shard in mine})
    return owners


async def keep_alive(
    number: int, live: Callable[[], Awaitable[bool]], hear: Hear, is_closing: Callable[[], bool]
) -> None:
    """Let a worker live again and again. `live` returns whether it was ever ready. If this fails, which is a bug, the
    run ends rather than waits for ever."""
    dead_starts = 0
    try:
        while dead_starts < DEAD_STARTS:
            was_ready = await live()
            if is_closing():
                return
            hear(number, GONE)
            dead_starts = 0 if was_ready else dead_starts + 1
        hear(number, say.FAILED)
    except Exception as error:  # noqa: BLE001
        hear(number, say.FAILED, f"{type(error).__name__}: {error}")


class Processes:
    """Each worker is a process."""

    is_remote = False

    def __init__(self, where: str, wiring: Mapping[str, object], launched: Launched | None = None) -> None:
        """`launched`: processes for `where` that wait already."""
        from spaniel.batch.launching import Launched

        self._wiring, self._launched = wiring, launched or Launched(where)
        self._pipes: list[asyncio.WriteTransport | None] = []
        self._processes: list[Process | None] = []
        self._ready: list[bool] = []
        self._watches: list[asyncio.Task[None]] = []
        self._closing = False

    async def start(self, count: int, hear: Hear, brief: Brief) -> None:
        self._pipes, self._processes, self._ready = [None] * count, [None] * count, [False] * count
        self._watches = [
            asyncio.create_task(
                keep_alive(number, partial(self._live, number, hear, brief), hear, lambda: self._closing)
            )
            for number in range(count)
        ]

    def tell(self, worker: int, word: str, *values: Any) -> None:
        pipe = self._pipes[worker] if self._pipes else None
        if pipe is not None and not pipe.is_closing():  # asyncio complains of what is written to a process that ends
            pipe.write(say.frame((word, *values)))

    async def close(self) -> None:
        """They end when their input does. One that does not is killed, and one that still loads has nothing to finish."""
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

    async def _live(self, number: int, hear: Hear, brief: Brief) -> bool:
        """One life of a worker; whether it ever worked."""
        if self._closing:
            return False
        process = self._processes[number] = self._launched.take()
        self._ready[number] = False
        try:
            loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 20)
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
            pipe, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
            self._pipes[number] = pipe
            pipe.write(say.frame({**brief(number), "wiring": self._wiring}))
            while True:
                message = await say.read_message(reader)
                self._ready[number] = True
                hear(number, *message)
        except (EOFError, ConnectionError):
            pass
        finally:
            if (pipe := self._pipes[number]) is not None and not pipe.is_closing():
                pipe.abort()
            self._pipes[number] = self._processes[number] = None
            process.kill()
            await asyncio.to_thread(process.wait)
        return self._ready[number]
