"""The supervisor of a run: starts workers, restarts those that die, passes leases on, adds up status, collects output.

It assigns shards to workers, and further ones to a worker that has nothing left to begin. The supervisor owns the hosts
of a shard that is not assigned: it gives turns there to redirects of all workers, and later hands over what it knows.
Everything happens on one event loop. Workers are processes here, or actors of a Ray cluster (`ray_workers`).
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from spaniel.batch import channel
from spaniel.batch.planning import shard_of
from spaniel.batch.worker import RunHosts, TaskFile, close_writer, why_unwritable
from spaniel.clock import SystemClock
from spaniel.defaults import BATCH_JOBS
from spaniel.errors import Code, SpanielError
from spaniel.hosts.limits import HostLimits, total_time_over
from spaniel.hosts.rules import HostRules
from spaniel.runs.parts import CAPTURES, RECORDS, PartWriter, Result
from spaniel.runs.store import Shard, Shards

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from spaniel.batch.launching import Launched, Process
    from spaniel.batch.progress import Progress
    from spaniel.hosts.hosts import HostState
    from spaniel.runs.parts import Collector

    Receive = Callable[..., bool]  # a worker, a word, its values; whether it should wait before it sends more
    Brief = Callable[[int], dict[str, Any]]  # what a worker is to do, each time that it is started

SUPERVISOR = -1  # as an owner of hosts
LEAST_PAGES = 1000  # that are assigned together, where there are enough for all workers
GONE = "gone"  # of a worker that has died
DEAD_STARTS = 3  # in a row, after which a worker is not started again
END_SECONDS = 5.0
COLLECT_SECONDS = 0.5
TASK_FILE = "worker-{}.tasks"
MOST_FUTILE = 10  # workers in a row that died with nothing done and nothing under way


class Pace(NamedTuple):
    """How many at once, how politely, and how long."""

    workers: int = 1
    jobs: int = BATCH_JOBS.default  # pages under way in each worker
    rules: HostRules = HostRules()
    limits: HostLimits = HostLimits()


class Workers(Protocol):
    """Workers by their numbers."""

    is_remote: bool  # whether they cannot write into the folder of the run

    async def start(self, count: int, receive: Receive, brief: Brief) -> None:
        """Start them; from then on `receive` gets what they channel."""

    def send(self, worker: int, word: str, *values: Any) -> None: ...

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
        """`shards`: those that are not done, with the number of their pages, in the order of assignment."""
        self._folder, self._shard_count, self._workers = folder, shard_count, workers
        self._collector, self._progress, self._pace = collector, progress, pace
        self._endings, self._is_spread, self._parts = endings, is_spread, parts
        count = max(1, min(pace.workers, len(shards)))
        self._members = [_Member() for _ in range(count)]
        self._given: list[list[int]] = [[] for _ in range(count)]  # the shards of each worker
        self._pages, self._unassigned = shards, list(shards)
        self._owners: dict[int, int] = {}  # the worker that owns the hosts of a shard, if not the supervisor does
        self._wanting: dict[int, list[int]] = {}  # shards that a worker gets when leases there have ended
        if is_spread:  # a host is in all shards, so workers have all of theirs from the beginning
            self._given = assign(shards, count)
            self._owners = _owners(self._given, shard_count)
            self._unassigned.clear()
        own = {"owned": (), "shard_count": shard_count, "workers": 1, "is_spread": False}
        own |= {"rules": pace.rules.as_data(), "limits": self._limits}
        self._hosts = RunHosts(own, self._receive_own, SystemClock())
        self._suspects: set[int] = set()  # tasks that were under way when a worker died
        self._blamed: set[int] = set()  # of them: under way alone when it died again
        self._leases: dict[tuple[int, int], _Lease] = {}  # by who holds or waits for it
        self._news, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self._is_stopping = False
        self._over: float | None = None  # the time for the run, once it is over
        self._failure: SpanielError | None = None
        self._parts_known: dict[tuple[int, str, int], int] = {}
        self._handlers: dict[str, Callable[..., None]] = {
            channel.READY: self._ready,
            channel.STATUS: self._status,
            channel.DONE: self._done,
            channel.FAILED: self._failed,
            channel.TAKE: self._take,
            channel.RELEASE: self._release,
            channel.GRANTED: self._granted,
            channel.DENIED: self._denied,
            channel.REPORT: self._report,
            channel.LEARNT: self._learnt,
            channel.WANT: self._want,
            channel.RESULTS: self._results,
            GONE: self._gone,
        }
        self._writer: PartWriter | None = None
        self._shards = Shards(Shard.open(folder, number) for number in shards) if workers.is_remote else None
        self._futile = 0  # lives of workers that ended for no known reason
        progress.watch(lambda: [member.status for member in self._members])

    async def run(self) -> bool:
        """Fetch all; whether all was done. Cancelled, it ends workers at once."""
        limit, timer = self._pace.limits.total_time, None
        if self._shards is not None:
            for shard in self._shards:
                shard.lock()
            self._writer = PartWriter(self._shards, self._endings, self._cannot_write)
        collecting = asyncio.create_task(self._collect_often())
        try:
            if limit:
                timer = asyncio.get_running_loop().call_later(limit, self._end_time, limit)
            for worker in range(len(self._members)):
                self._under_way(worker)  # of an earlier run
                self._assign(worker, self._choose())
            await self._workers.start(len(self._members), self._receive, self._brief)
            while self._failure is None and not all(member.is_done for member in self._members):
                await self._news.wait()
                self._news.clear()
        finally:
            if timer is not None:
                timer.cancel()
            collecting.cancel()
            await self._workers.close()
            await self._hosts.lender.close()
            if self._writer is not None:
                await close_writer(self._writer)
            if self._shards is not None:
                self._shards.close()
            await asyncio.gather(collecting, return_exceptions=True)
        if self._failure is not None:
            raise self._failure
        return not self._is_stopping

    def _end_time(self, limit: float) -> None:
        self._over = limit
        self._hosts.close(total_time_over(limit))
        self._send_all(channel.OVER, limit)

    def stop(self) -> None:
        """Begin nothing more, and finish what is under way."""
        self._is_stopping = True
        self._send_all(channel.STOP)

    def _send_all(self, word: str, *values: Any) -> None:
        for number in range(len(self._members)):
            self._workers.send(number, word, *values)

    def _brief(self, worker: int) -> dict[str, Any]:
        """What a worker is to do; the same again when it is restarted, but for what is known of the pages by then."""
        pace = self._pace
        mine = self._members[worker]
        mine.is_done = self._is_stopping
        mine.lives += 1
        beside: dict[str, Any] = {}
        if self._writer is not None:
            self._writer.flush()  # what a worker before it has sent is not fetched again
            beside = {"shard_files": self._copies(self._given[worker]), "folder_id": os.stat(self._folder).st_ino}
        return beside | {
            "folder": self._folder,
            "tasks": os.path.join(self._folder, TASK_FILE.format(worker)),
            "shards": self._given[worker],
            "owned": [shard for shard, owner in self._owners.items() if owner == worker],
            "shard_count": self._shard_count,
            "workers": len(self._members),
            "jobs": pace.jobs,
            "rules": pace.rules.as_data(),
            "limits": self._limits,
            "takes_more": not self._is_spread,
            "is_spread": self._is_spread,
            "endings": dict(self._endings),
            "parts": self._parts,
            "suspects": sorted(self._suspects),
            "blamed": sorted(self._blamed),
            "over": self._over,
            "pause": pace.rules.longest_delay() if mine.lives > 1 else 0.0,
        }

    @property
    def _limits(self) -> tuple[float, ...]:
        return tuple(self._pace.limits._replace(total_time=0.0))

    def _copies(self, shards: Iterable[int]) -> dict[str, bytes]:
        """The files of shards, for workers that cannot read them here."""
        if self._shards is None:
            return {}
        return {f"{self._shards[number].name}.sqlite3": self._shards[number].copy() for number in shards}

    async def _collect_often(self) -> None:
        """Append what workers have committed to the output."""
        while True:
            await asyncio.sleep(COLLECT_SECONDS)
            try:
                known = self._parts_known if self._writer is None else self._writer.parts
                await asyncio.to_thread(self._collector.collect, dict(known))
            except Exception as error:  # noqa: BLE001  whatever it is, the run must not continue without its output
                self._failed(0, *why_unwritable(error))
                return

    def fail(self, error: SpanielError) -> None:
        self._failure = self._failure or error
        self._news.set()

    # messages of workers

    def _receive(self, worker: int, word: str, *values: Any) -> bool:
        self._handlers[word](worker, *values)
        self._news.set()
        return self._writer is not None and self._writer.is_behind

    def _results(
        self, _worker: int, shard: int, written: Mapping[str, list[bytes]], done: list[Any], closed: list[int]
    ) -> None:
        """Of a worker that cannot write here."""
        if self._writer is not None:
            captured = b"".join(written.get(CAPTURES, ()))
            self._writer.put(Result(shard, written.get(RECORDS, []), done, closed, captured))

    def _cannot_write(self, error: Exception) -> None:
        self._loop.call_soon_threadsafe(self._failed, 0, *why_unwritable(error))

    def _status(self, worker: int, status: dict[str, Any]) -> None:
        self._members[worker].status = status
        for shard, kind, number, size in status["parts"]:
            self._parts_known[shard, kind, number] = size

    def _ready(self, worker: int) -> None:
        """One that takes the place of another knows nothing of the leases that were asked for or given."""
        self._members[worker].is_ready = True
        for (holder, number), lease in self._leases.items():
            if lease.owner == worker:
                self._workers.send(worker, channel.TAKE, holder, number, lease.host, lease.led)

    def _done(self, worker: int) -> None:
        self._members[worker].is_done = True

    def _failed(self, _worker: int, why: str = "", field: str = "") -> None:
        text = why or "workers cannot be started; see their output above"
        ours = SpanielError(Code.INTERNAL, error=text)
        self.fail(SpanielError(Code.BAD_ARGS, field=field, reason=text) if field else ours)

    def _gone(self, worker: int) -> None:
        """A worker has died: what it was working on is tried again, each page alone."""
        self._progress.workers_lost += 1
        member = self._members[worker]
        did_something = bool(member.status.get("records"))
        self._progress.keep(member.status)
        member.status = {}
        under_way = self._under_way(worker)
        for ordinal, was_alone in under_way:
            (self._blamed if was_alone else self._suspects).add(ordinal)
        self._futile = 0 if under_way or did_something else self._futile + 1
        if self._futile >= MOST_FUTILE:
            self._failed(worker, "workers end again and again; see their output above")
        member.is_ready = False
        self._unassigned += self._wanting.pop(worker, ())
        for holder, number in list(self._leases):
            if holder == worker:
                self._release(holder, number, False)
        if self._is_stopping:
            member.is_done = True

    def _under_way(self, worker: int) -> list[tuple[int, bool]]:
        """What a worker was working on, which is forgotten with this."""
        path = os.path.join(self._folder, TASK_FILE.format(worker))
        found = TaskFile.read(path)
        with suppress(FileNotFoundError):
            os.unlink(path)
        return found

    # shards

    def _want(self, worker: int) -> None:
        """A worker has nothing left to begin."""
        shards = self._choose()
        if not shards:
            self._workers.send(worker, channel.NO_MORE)
            return
        self._wanting[worker] = shards
        for (holder, number), lease in self._leases.items():
            if lease.shard in shards and not lease.is_granted:
                self._hosts.lender.release(holder, number, answered=False)  # the new owner grants it
        self._assign_free()

    def _choose(self) -> list[int]:
        """The next shards to be assigned: one, or several small ones."""
        chosen: list[int] = []
        pages = 0
        while self._unassigned and not self._is_stopping and pages < LEAST_PAGES:
            chosen.append(self._unassigned.pop(0))
            pages += self._pages[chosen[-1]]
            if pages * len(self._members) > sum(self._pages[shard] for shard in self._unassigned):
                break
        return chosen

    def _assign_free(self) -> None:
        """Assign what workers wait for, once no turn of the supervisor's is out there."""
        busy = {lease.shard for lease in self._leases.values() if lease.owner == SUPERVISOR and lease.is_granted}
        for worker, shards in list(self._wanting.items()):
            if busy.isdisjoint(shards):
                del self._wanting[worker]
                hosts = self._assign(worker, shards)
                self._workers.send(worker, channel.ASSIGN, shards, self._copies(shards), hosts)
                for (holder, number), lease in self._leases.items():
                    if lease.shard in shards:
                        lease.owner = worker
                        self._workers.send(worker, channel.TAKE, holder, number, lease.host, lease.led)

    def _assign(self, worker: int, shards: list[int]) -> list[HostState]:
        self._given[worker] += shards
        self._owners |= dict.fromkeys(shards, worker)
        return self._hosts.hand_over(lambda host: shard_of(host, self._shard_count) in shards)

    # leases of hosts

    def _take(self, worker: int, number: int, host: str, led: bool) -> None:
        shard = shard_of(host, self._shard_count)
        lease = self._leases[worker, number] = _Lease(self._owners.get(shard, SUPERVISOR), shard, host, led)
        if lease.owner == SUPERVISOR:
            if not any(shard in shards for shards in self._wanting.values()):
                self._hosts.lender.take(worker, number, host, led)
        elif self._members[lease.owner].is_ready:
            self._workers.send(lease.owner, channel.TAKE, worker, number, host, led)

    def _release(self, worker: int, number: int, answered: bool) -> None:
        lease = self._leases.pop((worker, number), None)
        if lease is None:
            return
        if lease.owner == SUPERVISOR:
            self._hosts.lender.release(worker, number, answered)
            self._loop.call_soon(self._assign_free)  # when the turn has ended
        else:
            self._workers.send(lease.owner, channel.RELEASE, worker, number, answered)

    def _receive_own(self, word: str, *values: Any) -> None:
        """What the supervisor's own hosts channel."""
        if word in (channel.GRANTED, channel.DENIED):
            self._receive(SUPERVISOR, word, *values)

    def _granted(self, _owner: int, worker: int, number: int) -> None:
        if (lease := self._leases.get((worker, number))) is not None:
            lease.is_granted = True
        self._workers.send(worker, channel.GRANTED, number)

    def _denied(self, _owner: int, worker: int, number: int, code: str, details: Mapping[str, Any]) -> None:
        self._leases.pop((worker, number), None)
        self._workers.send(worker, channel.DENIED, number, code, details)

    def _report(self, _worker: int, host: str, method: str, values: Sequence[Any]) -> None:
        owner = self._owners.get(shard_of(host, self._shard_count), SUPERVISOR)
        if owner == SUPERVISOR:
            self._hosts.learn(method, list(values))
        else:
            self._workers.send(owner, channel.LEARNT, method, values)

    def _learnt(self, worker: int, method: str, values: Sequence[Any]) -> None:
        for other in range(len(self._members)):
            if other != worker:
                self._workers.send(other, channel.LEARNT, method, values)


@dataclass
class _Lease:
    """A turn at a host that another worker or the supervisor owns, which is waited for or held."""

    owner: int
    shard: int
    host: str
    led: bool
    is_granted: bool = False


class _Member:
    """What is known of a worker."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {}
        self.is_ready = self.is_done = False
        self.lives = 0


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
    number: int, live: Callable[[], Awaitable[bool]], receive: Receive, is_closing: Callable[[], bool]
) -> None:
    """Let a worker live again and again. `live` returns whether it was ever ready. If this fails, which is a bug, the
    run ends rather than waits for ever."""
    dead_starts = 0
    try:
        while dead_starts < DEAD_STARTS:
            was_ready = await live()
            if is_closing():
                return
            receive(number, GONE)
            dead_starts = 0 if was_ready else dead_starts + 1
        receive(number, channel.FAILED)
    except Exception as error:  # noqa: BLE001
        receive(number, channel.FAILED, f"{type(error).__name__}: {error}")


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

    async def start(self, count: int, receive: Receive, brief: Brief) -> None:
        self._pipes, self._processes, self._ready = [None] * count, [None] * count, [False] * count
        self._watches = [
            asyncio.create_task(
                keep_alive(number, partial(self._live, number, receive, brief), receive, lambda: self._closing)
            )
            for number in range(count)
        ]

    def send(self, worker: int, word: str, *values: Any) -> None:
        pipe = self._pipes[worker] if self._pipes else None
        if pipe is not None and not pipe.is_closing():  # asyncio complains of what is written to a process that ends
            pipe.write(channel.frame((word, *values)))

    async def close(self) -> None:
        """They end when their input does. One that does not is killed, and so is one that is still loading."""
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

    async def _live(self, number: int, receive: Receive, brief: Brief) -> bool:
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
            pipe.write(channel.frame({**brief(number), "wiring": self._wiring}))
            while True:
                message = await channel.read_message(reader)
                self._ready[number] = True
                receive(number, *message)
        except (EOFError, ConnectionError):
            pass
        finally:
            if (open_pipe := self._pipes[number]) is not None and not open_pipe.is_closing():
                open_pipe.abort()
            self._pipes[number] = self._processes[number] = None
            process.kill()
            await asyncio.to_thread(process.wait)
        return self._ready[number]
