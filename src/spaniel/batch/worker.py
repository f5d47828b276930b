"""A worker: one engine, one `Hosts`, one scheduler over the shards that it was given.

It fetches pages as tasks, and appends their records to part files of its own; no message is needed for that. Only a
request to a host that another worker owns takes a lease there, through the supervisor.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
from collections import deque
from contextlib import closing, suppress
from functools import partial
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from spaniel.batch import channel as say
from spaniel.batch.outputs import warc
from spaniel.batch.outputs.remote_parts import RemoteWriter
from spaniel.batch.planning import shard_of
from spaniel.batch.records import ending_of, line_of, refusal_of, refused, tail_of, unexpected
from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically
from spaniel.hosts import Hosts
from spaniel.hosts.hosts import HostState
from spaniel.hosts.limits import HostLimits, total_time_over
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.hosts.scheduler import Scheduler
from spaniel.net.deadline import Deadline
from spaniel.net.sockets import raise_descriptors
from spaniel.runs.parts import PartWriter, Result
from spaniel.runs.store import Shard, Shards
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.records import Fetch, Record
    from spaniel.clock import Clock
    from spaniel.hosts.scheduler import Lease
    from spaniel.runs.store import Item, Task

    Send = Callable[..., None]  # a word and its values

log = logging.getLogger("spaniel.batch")

STATUS_SECONDS = 0.25
BEHIND_SECONDS = 0.05  # between two checks whether the writer has caught up
NO_LIMIT = 1e9  # seconds
OK = 200  # any status of a host that answers
LONGEST_PAUSE = 30.0  # seconds before a worker begins that replaces another one
AHEAD = 64  # records that a program has not read, before nothing more is begun
SLOWEST = 5  # hosts of a worker that are reported
WAITING = 5


class Results(Protocol):
    """Where the records of a worker go."""

    def put(self, result: Result) -> None: ...

    @property
    def is_behind(self) -> bool:
        """Whether it has more than it can take at the moment."""


class Worker:
    """The fetches of one process."""

    def __init__(  # noqa: PLR0913, PLR0917  what a worker is made of
        self,
        shards: Shards,
        scheduler: Scheduler[Task],
        fetch: Fetch,
        results: Results,
        begun: TaskFile | None = None,
        suspects: frozenset[int] = frozenset(),
        blamed: frozenset[int] = frozenset(),
    ) -> None:
        """`suspects`: tasks that were under way when a worker died; they are tried one at a time. `blamed`: those that
        were tried alone when it died again."""
        self._shards, self._scheduler, self._fetch, self._results = shards, scheduler, fetch, results
        self._begun, self._suspects, self._blamed, self._alone = begun, suspects, blamed, asyncio.Lock()
        self._waiting: set[asyncio.Task[None]] = set()  # for the writer
        self._refusing: list[asyncio.Task[None]] = []
        self.fetched = 0  # fetches that ended
        self.on_begin: Callable[[], object] | None = None  # called once, with the first page

    async def run(self) -> bool:
        """Until every item has its record, or the scheduler is stopped; whether all have. Cancelled, it leaves what is
        under way."""
        self._refusing = [asyncio.create_task(self._refuse_lines(shard)) for shard in self._shards]
        try:
            is_whole = await self._scheduler.run(self._work)
            await asyncio.gather(*self._refusing)
        finally:
            for task in (*self._refusing, *self._waiting):
                task.cancel()
            await asyncio.gather(*self._refusing, *self._waiting, return_exceptions=True)
        return is_whole

    def add(self, shard: Shard) -> None:
        """Work on one more shard."""
        self._shards.add(shard)
        self._refusing.append(asyncio.create_task(self._refuse_lines(shard)))
        self._scheduler.extend(shard.hosts())

    async def _room(self) -> None:
        while self._results.is_behind:  # noqa: ASYNC110  a thread's own count
            await asyncio.sleep(BEHIND_SECONDS)

    def _pause(self) -> None:
        """Begin nothing more until what was fetched is written."""
        if not self._waiting:
            self._scheduler.pause()
            task = asyncio.create_task(self._room())
            self._waiting.add(task)
            task.add_done_callback(self._continue)

    def _continue(self, task: asyncio.Task[None]) -> None:
        self._waiting.discard(task)
        if not task.cancelled():
            self._scheduler.resume()

    async def _refuse_lines(self, shard: Shard) -> None:
        """Records of lines that are not URLs."""
        for item, why in shard.refused():
            self._put(shard.number, [item], refused(None, refusal_of(why)), item.ordinal)
            await self._room()
            await asyncio.sleep(0)

    async def _work(self, lease: Lease[Task]) -> None:
        task = lease.item
        if self.on_begin is not None:
            asyncio.get_running_loop().call_soon(self.on_begin)
            self.on_begin = None
        if lease.refusal is not None:
            await self._answer(task, refused(task.url, lease.refusal))
        elif task.ordinal in self._blamed:
            error = SpanielError(Code.INTERNAL, error="the process that fetched this page ended, twice")
            await self._answer(task, refused(task.url, error))
        elif task.ordinal in self._suspects:
            lease.leave()
            async with self._alone:
                await lease.come_back()
                await self._fetch_page(task, alone=True)
        else:
            await self._fetch_page(task)

    async def _fetch_page(self, task: Task, *, alone: bool = False) -> None:
        slot = self._begun.begin(task, alone=alone) if self._begun is not None else 0
        try:
            url, schemes = task.url, self._schemes(task)
            if True in schemes:  # HTTPS is tried first all the same (FG-45)
                url = f"http{url.removeprefix('https')}"
            is_over_http = await self._fetch_and_answer(task, url, is_mixed=len(schemes) > 1)
            if is_over_http:  # an item that asked for HTTPS does not get a page that came without
                await self._fetch_and_answer(task, task.url, over_http=False)
        finally:
            if self._begun is not None:
                self._begun.end(slot)

    async def _fetch_and_answer(
        self, task: Task, url: str, *, is_mixed: bool = False, over_http: bool | None = None
    ) -> bool:
        """Whether the page came without TLS, and was recorded only for the items that asked so."""
        taken = warc.begin_captures()
        try:
            record = await self._fetch(url)
            captured = await warc.packed_captures(taken)
            only_http = is_mixed and ending_of(record).http_only
            await self._answer(task, record, captured, over_http=True if only_http else over_http)
        except Exception as error:
            log.exception("unexpected_error url=%s", split(url).redacted)  # a bug costs its page, not the run
            only_http = False
            await self._answer(task, refused(url, unexpected(error)), over_http=over_http)
        self.fetched += 1
        return only_http

    def _schemes(self, task: Task) -> set[bool]:
        """Whether items of a page over HTTPS were given with HTTP: all, none, or some of them."""
        if not task.url.startswith("https://"):
            return set()
        found = {is_over_http(task.first)}
        for block in self._copies(task):
            found.update(map(is_over_http, block))
        return found

    def _copies(self, task: Task) -> Iterator[list[Item]]:
        after = -1
        while task.copies and (block := self._shards[task.shard].copies(task, after)):
            yield block
            after = block[-1].ordinal

    async def _answer(
        self, task: Task, record: Record, captured: bytes = b"", *, over_http: bool | None = None
    ) -> None:
        """The records of every item with this URL. `over_http`: only of those that gave that scheme, or of the others.

        What came over the wire goes with the first of them.
        """
        if not task.copies:
            self._put(task.shard, [task.first], record, task.ordinal, captured)
            return

        def is_wanted(item: Item) -> bool:
            return over_http is None or is_over_http(item) == over_http

        waiting = [] if self._shards[task.shard].is_done(task.ordinal) or not is_wanted(task.first) else [task.first]
        for block in self._copies(task):
            self._put(task.shard, waiting, record, None, captured if waiting else b"")
            captured = b"" if waiting else captured
            waiting = list(filter(is_wanted, block))
            await self._room()
        self._put(task.shard, waiting, record, None if over_http else task.ordinal, captured)

    def _put(self, shard: int, items: list[Item], record: Record, closed: int | None, captured: bytes = b"") -> None:
        if not items and closed is None and not captured:
            return
        tail, code = tail_of(record), ending_of(record).code
        lines, done = [], []
        for item in items:
            try:
                line, own = line_of(item, tail), code
            except Exception as error:
                log.exception("unexpected_error ordinal=%d", item.ordinal)  # a bug costs its record, not the run
                other = refused(cast("str | None", record.get("canonical_url")), unexpected(error))
                line, own = line_of(item._replace(columns={}), tail_of(other)), str(Code.INTERNAL)
            lines.append(line)
            done.append((item.ordinal, own))
        self._results.put(Result(shard, lines, done, [] if closed is None else [closed], captured))
        if self._results.is_behind:
            self._pause()


def is_over_http(item: Item) -> bool:
    return item.raw[:7].lower() == "http://"


class TaskFile:
    """What a worker is working on, read by the supervisor after it has died. It is never synced."""

    _SLOT = struct.Struct("<qii")  # ordinal + 1, shard, whether it is tried alone

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
        self._free: list[int] = []
        self._slots = 0

    def begin(self, task: Task, *, alone: bool) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot, self._slots = self._slots, self._slots + 1
        os.pwrite(self._file, self._SLOT.pack(task.id, task.shard, alone), slot * self._SLOT.size)
        return slot

    def end(self, slot: int) -> None:
        os.pwrite(self._file, self._SLOT.pack(0, 0, False), slot * self._SLOT.size)
        self._free.append(slot)

    def close(self) -> None:
        os.close(self._file)

    @classmethod
    def read(cls, path: str) -> list[tuple[int, bool]]:
        """Ordinals of tasks, and whether each was tried alone."""
        with suppress(FileNotFoundError), open(path, "rb") as file:
            data = file.read()
            whole = len(data) - len(data) % cls._SLOT.size
            return [(ordinal - 1, bool(alone)) for ordinal, _, alone in cls._SLOT.iter_unpack(data[:whole]) if ordinal]
        return []


class OpenFetcher(Protocol):
    """Opens what a worker fetches with. `wiring` is plain data, since it travels to another process."""

    def __call__(self, wiring: Mapping[str, Any], hosts: Hosts, /) -> AbstractAsyncContextManager[Fetch]: ...


def opener(where: str) -> OpenFetcher:
    """By its name: `module:function`."""
    module, _, name = where.partition(":")
    return cast("OpenFetcher", getattr(import_module(module), name))


class ForeignHosts:
    """Leases: turns at hosts that other workers own."""

    def __init__(self, send: Send, owns: Callable[[str], bool]) -> None:
        self._send, self.owns = send, owns
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[None]] = {}
        self._held: dict[str, deque[int]] = {}

    async def take(self, host: str, *, led: bool) -> None:
        number = next(self._numbers)
        granted = self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(say.TAKE, number, host, led)
        try:
            await granted
        except asyncio.CancelledError:
            self._send(say.RELEASE, number, False)
            raise
        finally:
            del self._asked[number]
        self._held.setdefault(host, deque()).append(number)

    def release(self, host: str, *, answered: bool) -> None:
        held = self._held[host]
        self._send(say.RELEASE, held.popleft(), answered)
        if not held:
            del self._held[host]

    def report(self, kind: str, host: str, *values: object) -> None:
        self._send(say.REPORT, host, kind, values)

    def granted(self, number: int) -> None:
        if (asked := self._asked.get(number)) is not None and not asked.done():
            asked.set_result(None)

    def denied(self, number: int, code: str, details: Mapping[str, Any]) -> None:
        if (asked := self._asked.get(number)) is not None and not asked.done():
            asked.set_exception(SpanielError(Code(code), **details))


class Lender:
    """Gives turns at our own hosts to other workers."""

    def __init__(self, hosts: Hosts, send: Send) -> None:
        self._hosts, self._send = hosts, send
        self._lent: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._granted: dict[tuple[int, int], asyncio.Future[bool]] = {}

    def take(self, worker: int, number: int, host: str, led: bool) -> None:
        key = worker, number
        task = self._lent[key] = asyncio.create_task(self._lend(worker, number, host, led))
        task.add_done_callback(lambda _: self._lent.pop(key, None))

    def release(self, worker: int, number: int, answered: bool) -> None:
        """`answered`: the host did; that it asked to wait, or was not reached, is reported apart."""
        if (granted := self._granted.get((worker, number))) is not None:
            if not granted.done():
                granted.set_result(answered)
        elif (task := self._lent.get((worker, number))) is not None:
            task.cancel()  # it is not waited for any more

    async def close(self) -> None:
        tasks = list(self._lent.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _lend(self, worker: int, number: int, host: str, led: bool) -> None:
        try:
            async with self._hosts.turn(host, Deadline(NO_LIMIT), led=led, shared=True):
                released = asyncio.get_running_loop().create_future()
                self._granted[worker, number] = released
                self._send(say.GRANTED, worker, number)
                if await released:
                    self._hosts.answered(host, OK, {}, led=led)
        except SpanielError as error:
            self._send(say.DENIED, worker, number, str(error.code), error.details)
        finally:
            self._granted.pop((worker, number), None)


class RunHosts(Hosts):
    """The hosts of one worker of several. What is learnt of a host whose pages are spread is sent to the others."""

    def __init__(self, brief: Mapping[str, Any], send: Send, clock: Clock) -> None:
        self._brief, self._send = brief, send
        self.owned = set(brief["owned"])  # shards
        usual = HostRule(*brief["rules"][0])
        by_domain = {domain: HostRule(*rule) for domain, rule in brief["rules"][1].items()}
        self._spread_rule = usual if brief["is_spread"] and usual.delay == 0 else None
        self._share = usual.per_host // brief["workers"]
        self._slow: set[str] = set()  # hosts that are spread, and ask for delays
        self.leases = ForeignHosts(send, self.owns)
        rules = _SharedRules(usual, by_domain, self) if self._spread_rule else HostRules(usual, by_domain)
        self._named = HostRules(usual, by_domain)
        several = brief["workers"] > 1
        super().__init__(
            clock, rules=rules, limits=HostLimits(*brief["limits"]), foreign=self.leases if several else None
        )
        self.lender = Lender(self, send)

    def is_spread(self, host: str) -> bool:
        """Whether each worker asks a host on its own, with a share of the places there."""
        return (
            self._spread_rule is not None
            and self._share > 0
            and host not in self._slow
            and self._named.of(host) == self._spread_rule
        )

    def owns(self, host: str) -> bool:
        return self.is_spread(host) or self.is_home(host)

    def is_home(self, host: str) -> bool:
        return shard_of(host, self._brief["shard_count"]) in self.owned

    def share(self, host: str, rule: HostRule) -> HostRule:
        if not self.is_spread(host):
            return rule
        others = self._brief["workers"] - 1
        return rule._replace(per_host=rule.per_host - others * self._share if self.is_home(host) else self._share)

    def asked_to_wait(self, where: str, status: int, seconds: float | None, *, led: bool = False) -> None:
        super().asked_to_wait(where, status, seconds, led=led)
        self._inform_others(where, "asked_to_wait", where, status, seconds, led)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        super().set_crawl_delay(host, seconds)
        if seconds and self.is_spread(host):
            self._inform_others(host, "set_crawl_delay", host, seconds)
            self._slow.add(host)

    def give_up(self, host: str, error: SpanielError, *, led: bool = False) -> None:
        is_new = self.given_up(host, led=led) is None
        super().give_up(host, error, led=led)
        if is_new:
            self._inform_others(host, "give_up", host, str(error.code), error.details, led)

    def _inform_others(self, where: str, method: str, *values: object) -> None:
        if self._brief["workers"] > 1 and self.is_spread(split(where).host if "://" in where else where):
            self._send(say.LEARNT, method, values)

    def learn(self, method: str, values: list[Any]) -> None:
        """What another worker has learnt of a host."""
        if method == "asked_to_wait":
            where, status, seconds, *led = values  # what is reported of a lease was met through a redirect
            Hosts.asked_to_wait(self, where, status, seconds, led=led[0] if led else True)
        elif method == "set_crawl_delay":
            Hosts.set_crawl_delay(self, *values)
            self._slow.add(values[0])
        elif method == "give_up":
            host, code, details, led = values
            Hosts.give_up(self, host, SpanielError(Code(code), **details), led=led)
        elif method == "unanswered":
            where, code = values
            self.unanswered(where, SpanielError(Code(code)), led=True)


class _SharedRules(HostRules):
    """Rules with a share of the places where a host is spread over workers."""

    def __init__(self, usual: HostRule, by_domain: Mapping[str, HostRule], hosts: RunHosts) -> None:
        super().__init__(usual, by_domain)
        self._sharing = hosts

    def of(self, host: str) -> HostRule:
        return self._sharing.share(host, super().of(host))


class _Relayed:
    """Results that are sent to the supervisor: there are too many, too, where those that were sent wait."""

    def __init__(self, writer: PartWriter, is_behind: Callable[[], bool]) -> None:
        self._writer, self._is_behind = writer, is_behind
        self.put = writer.put

    @property
    def is_behind(self) -> bool:
        return self._writer.is_behind or self._is_behind()


class Service:
    """A worker as its supervisor knows it: begun with a brief, spoken to by messages."""

    def __init__(self, brief: Mapping[str, Any], send: Send, is_behind: Callable[[], bool] | None = None) -> None:
        """`is_behind`: whether the results that were sent wait; they are sent where the worker cannot write itself."""
        self._brief, self._send, self._clock, self._is_behind = brief, send, SystemClock(), is_behind
        self._hosts = RunHosts(brief, send, self._clock)
        self._scheduler: Scheduler[Task] | None = None
        self._worker: Worker | None = None
        self._writer: PartWriter | None = None
        self._is_stopping = False
        self._over = total_time_over(brief["over"]) if brief["over"] else None
        self._received: dict[str, Callable[..., None]] = {
            say.STOP: self._stop,
            say.OVER: self._end_time,
            say.TAKE: self._hosts.lender.take,
            say.RELEASE: self._hosts.lender.release,
            say.GRANTED: self._hosts.leases.granted,
            say.DENIED: self._hosts.leases.denied,
            say.LEARNT: self._hosts.learn,
            say.ASSIGN: self._assign,
            say.NO_MORE: self._no_more,
        }

    def receive(self, word: str, *values: Any) -> None:
        self._received[word](*values)

    def _stop(self) -> None:
        self._is_stopping = True
        if self._scheduler is not None:
            self._scheduler.stop()

    def _end_time(self, limit: float) -> None:
        self._over = total_time_over(limit)
        if self._scheduler is not None:
            self._scheduler.give_up_all(self._over)

    def _no_more(self) -> None:
        if self._scheduler is not None:
            self._scheduler.no_more()

    def _assign(self, numbers: list[int], files: Mapping[str, bytes], hosts: list[Any]) -> None:
        self._hosts.owned.update(numbers)
        for state in hosts:
            self._hosts.take_over(HostState(*state))
        try:
            write_shards(self._brief["folder"], files)
            for number in numbers:
                shard = Shard.open(self._brief["folder"], number)
                shard.lock()
                if self._worker is not None:
                    self._worker.add(shard)
        except (SpanielError, OSError) as error:
            self._send(say.FAILED, *why_unwritable(error))

    async def run(self, open_fetcher: OpenFetcher) -> None:
        """Work until everything is done, report that, and then lend turns until it is cancelled."""
        try:
            await self._run(open_fetcher)
        except SpanielError as error:
            self._send(say.FAILED, *why_unwritable(error))
            await asyncio.Event().wait()

    async def _run(self, open_fetcher: OpenFetcher) -> None:
        brief = self._brief
        opened = [Shard.open(brief["folder"], number) for number in brief["shards"]]
        for shard in sorted(opened, key=lambda each: each.number):  # in one order: two that wait never wait in a circle
            await asyncio.to_thread(shard.lock)
        shards = Shards(opened, None if brief["is_spread"] else partial(shard_of, shards=brief["shard_count"]))
        begun = TaskFile(brief["tasks"]) if brief["tasks"] else None
        try:
            async with open_fetcher(brief["wiring"], self._hosts) as fetch:
                # In the place of one that died, it does not know when hosts were asked last.
                await self._clock.sleep(min(brief["pause"], LONGEST_PAUSE))
                self._send(say.READY)
                self._writer = self._open_writer(shards)
                try:
                    await self._work(shards, fetch, self._writer, begun)
                finally:
                    await close_writer(self._writer)
                self._report()
                if self._writer.error is None:
                    self._send(say.DONE)
                await asyncio.Event().wait()
        finally:
            await self._hosts.lender.close()
            shards.close()
            if begun is not None:
                begun.close()

    async def _work(self, shards: Shards, fetch: Fetch, writer: PartWriter, begun: TaskFile | None) -> None:
        more = partial(self._send, say.WANT) if self._brief["takes_more"] else None
        jobs = self._brief["jobs"]
        self._scheduler = Scheduler(shards, self._hosts, self._clock, at_once=jobs, moves=True, more=more)
        if self._is_stopping:
            self._scheduler.stop()
        if self._over is not None:
            self._scheduler.give_up_all(self._over)
        suspects, blamed = (frozenset(self._brief[name]) for name in ("suspects", "blamed"))
        results = _Relayed(writer, self._is_behind) if self._is_behind else writer
        self._worker = Worker(shards, self._scheduler, fetch, results, begun, suspects, blamed)
        self._worker.on_begin = self._report
        reporting = asyncio.create_task(self._report_often())
        try:
            await self._worker.run()
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)

    def _open_writer(self, shards: Shards) -> PartWriter:
        loop = asyncio.get_running_loop()

        def failed(error: Exception) -> None:
            loop.call_soon_threadsafe(self._send, say.FAILED, *why_unwritable(error))

        relay = None if self._is_behind is None else partial(loop.call_soon_threadsafe, self._send, say.RESULTS)
        if self._brief["parts"]:
            return RemoteWriter(self._brief["parts"], shards, self._brief["endings"], failed, relay)
        return PartWriter(shards, self._brief["endings"], failed, relay)

    async def _report_often(self) -> None:
        while True:
            await asyncio.sleep(STATUS_SECONDS)
            self._report()

    def _report(self) -> None:
        if self._writer is None or self._worker is None or self._scheduler is None:
            return
        times = self._hosts.times
        self._send(
            say.STATUS,
            {
                "records": dict(self._writer.committed),
                "parts": [(*part, size) for part, size in list(self._writer.parts.items())],
                "fetched": self._worker.fetched,
                "under_way": self._scheduler.under_way,
                "waiting": [tuple(each) for each, _ in zip(self._scheduler.waiting(), range(WAITING), strict=False)],
                "slowest": [tuple(slow) for slow in times.slowest(SLOWEST)] if times else [],
            },
        )


async def close_writer(writer: PartWriter) -> None:
    """Until all is committed, also if the task is cancelled meanwhile: shards must not be unlocked before that."""
    closing = asyncio.ensure_future(asyncio.to_thread(writer.close))
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing
        raise


def write_shards(folder: str, files: Mapping[str, bytes]) -> None:
    """Copies of shards, by the names of their files."""
    for name, data in files.items():
        write_atomically(os.path.join(folder, name), data)


def why_unwritable(error: Exception) -> tuple[str, str]:
    """Why nothing can be written, and which option that is about."""
    if isinstance(error, SpanielError):
        return str(error.details.get("reason", error.message)), str(error.details.get("field", "-o"))
    if isinstance(error, OSError):
        return f"cannot be written: {error.strerror}", "-o"
    return f"{type(error).__name__}: {error}", ""


def main(where: str) -> None:
    """A worker as a process: messages on standard input and output, logs on standard error.

    It ends when its input does: with the supervisor at the latest, however that ended. `where` names what opens the
    fetcher."""
    out = os.dup(1)
    os.dup2(2, 1)  # what is printed must not be taken for messages
    raise_descriptors()
    open_fetcher = opener(where)  # which loads all that fetching needs, while the supervisor plans
    with suppress(EOFError):  # there is no brief: the run has ended before it began
        asyncio.run(_serve(out, open_fetcher))


async def _serve(out: int, open_fetcher: OpenFetcher) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", 0))
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(out, "wb", 0))

    def send(word: str, *values: Any) -> None:
        if not transport.is_closing():  # the supervisor has gone
            transport.write(say.frame((word, *values)))

    service = Service(await say.read_message(reader), send)

    async def listen() -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                service.receive(*await say.read_message(reader))

    working, listening = asyncio.create_task(service.run(open_fetcher)), asyncio.create_task(listen())
    await asyncio.wait((working, listening), return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    working.cancel()
    results = await asyncio.gather(working, listening, return_exceptions=True)
    if not transport.is_closing():
        transport.abort()
    if isinstance(results[0], Exception):
        raise results[0]


class _Waiting:
    """Records that are not read yet."""

    def __init__(self) -> None:
        self.records: deque[dict[str, Any]] = deque()
        self.news = asyncio.Event()

    @property
    def is_behind(self) -> bool:
        return len(self.records) >= AHEAD

    def put(self, result: Result) -> None:
        self.records.extend(map(msgspec.json.decode, result.lines))
        self.news.set()


async def stream(
    folder: str, open_fetcher: OpenFetcher, wiring: Mapping[str, Any], hosts: Hosts, jobs: int, clock: Clock
) -> AsyncGenerator[dict[str, Any], None]:
    """A run inside a program: fetch a plan of one shard, and give out its records. To leave early ends the run."""
    waiting = _Waiting()
    with closing(Shards([Shard.open(folder, 0)])) as shards:
        async with open_fetcher(wiring, hosts) as fetch:
            scheduler = Scheduler(shards, hosts, clock, at_once=jobs, moves=True)
            run = asyncio.create_task(Worker(shards, scheduler, fetch, waiting).run())
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
