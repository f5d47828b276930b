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
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from spaniel.batch import channel
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
    from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.records import Fetch, Record
    from spaniel.clock import Clock
    from spaniel.hosts.scheduler import Lease
    from spaniel.runs.store import Item, Task

    Send = Callable[..., None]  # a word and its values
    Relay = Callable[..., Coroutine[Any, Any, None]]  # likewise

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
        self._send(channel.TAKE, number, host, led)
        try:
            await granted
        except asyncio.CancelledError:
            self._send(channel.RELEASE, number, False)
            raise
        finally:
            del self._asked[number]
        self._held.setdefault(host, deque()).append(number)

    def release(self, host: str, *, answered: bool) -> None:
        held = self._held[host]
        self._send(channel.RELEASE, held.popleft(), answered)
        if not held:
            del self._held[host]

    def report(self, kind: str, host: str, *values: object) -> None:
        self._send(channel.REPORT, host, kind, values)

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
                self._send(channel.GRANTED, worker, number)
                if await released:
                    self._hosts.answered(host, OK, {}, led=led)
        except SpanielError as error:
            self._send(channel.DENIED, worker, number, str(error.code), error.details)
        finally:
            self._granted.pop((worker, number), None)


class RunHosts(Hosts):
    """The hosts of one worker of several. What is learnt of a host whose pages are spread is sent to the others."""

    def __init__(self, brief: Mapping[str, Any], send: Send, clock: Clock) -> None:
        self._brief, self._send = brief, send
        self.owned = set(brief["owned"])  # shards
        usual, by_domain = brief["rules"]
        self._named = HostRules(HostRule(*usual), {domain: HostRule(*rule) for domain, rule in by_domain.items()})
        self._share = self._named.usual.per_host // brief["workers"]
        self._slow: set[str] = set()  # hosts that are spread, and ask for delays
        self.leases = ForeignHosts(send, self.owns)
        foreign = self.leases if brief["workers"] > 1 else None
        super().__init__(clock, rules=_SharedRules(self), limits=HostLimits(*brief["limits"]), foreign=foreign)
        self.lender = Lender(self, send)

    def is_spread(self, host: str) -> bool:
        """Whether each worker asks a host on its own, with a share of the places there."""
        is_usual = self._share and host not in self._slow and self._named.of(host) == self._named.usual
        return bool(self._brief["is_spread"] and is_usual and not self._named.usual.delay)

    def owns(self, host: str) -> bool:
        return self.is_spread(host) or self._is_home(host)

    def _is_home(self, host: str) -> bool:
        return shard_of(host, self._brief["shard_count"]) in self.owned

    def rule_of(self, host: str) -> HostRule:
        rule, others = self._named.of(host), self._brief["workers"] - 1
        if not self.is_spread(host):
            return rule
        return rule._replace(per_host=rule.per_host - others * self._share if self._is_home(host) else self._share)

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
            self._send(channel.LEARNT, method, values)

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

    def __init__(self, hosts: RunHosts) -> None:
        super().__init__()
        self._sharing = hosts

    def of(self, host: str) -> HostRule:
        return self._sharing.rule_of(host)


class Service:
    """A worker as its supervisor knows it: begun with a brief, spoken to by messages."""

    def __init__(self, brief: Mapping[str, Any], send: Send, relay: Relay | None = None) -> None:
        """`relay`: sends results where the worker cannot write itself; it waits if too many have not arrived yet."""
        self._brief, self._send, self._relay, self._clock = brief, send, relay, SystemClock()
        self._hosts = RunHosts(brief, send, self._clock)
        self._received: dict[str, Callable[..., None]] = {}  # once it is ready
        self._early: list[tuple[Any, ...]] = []  # messages before that

    def receive(self, *message: Any) -> None:
        if not self._received:
            self._early.append(message)
        else:
            self._received[message[0]](*message[1:])

    def _listen(self, scheduler: Scheduler[Task], worker: Worker) -> None:
        hosts = self._hosts
        self._received = {
            channel.STOP: scheduler.stop,
            channel.OVER: lambda limit: scheduler.give_up_all(total_time_over(limit)),
            channel.TAKE: hosts.lender.take,
            channel.RELEASE: hosts.lender.release,
            channel.GRANTED: hosts.leases.granted,
            channel.DENIED: hosts.leases.denied,
            channel.LEARNT: hosts.learn,
            channel.ASSIGN: partial(self._assign, worker),
            channel.NO_MORE: scheduler.no_more,
        }
        for message in self._early:
            self.receive(*message)

    def _assign(self, worker: Worker, numbers: list[int], files: Mapping[str, bytes], hosts: list[Any]) -> None:
        self._hosts.owned.update(numbers)
        for state in hosts:
            self._hosts.take_over(HostState(*state))
        try:
            write_shards(self._brief["folder"], files)
            for number in numbers:
                shard = Shard.open(self._brief["folder"], number)
                shard.lock()
                worker.add(shard)
        except (SpanielError, OSError) as error:
            self._send(channel.FAILED, *why_unwritable(error))

    async def run(self, open_fetcher: OpenFetcher) -> None:
        """Work until everything is done, report that, and then lend turns until it is cancelled."""
        try:
            await self._run(open_fetcher)
        except SpanielError as error:
            self._send(channel.FAILED, *why_unwritable(error))
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
                await self._work(shards, fetch, begun)
                await asyncio.Event().wait()
        finally:
            await self._hosts.lender.close()
            shards.close()
            if begun is not None:
                begun.close()

    async def _work(self, shards: Shards, fetch: Fetch, begun: TaskFile | None) -> None:
        brief, send = self._brief, self._send
        more = partial(send, channel.WANT) if brief["takes_more"] else None
        scheduler = Scheduler(shards, self._hosts, self._clock, at_once=brief["jobs"], moves=True, more=more)
        writer = self._open_writer(shards)
        suspects, blamed = frozenset(brief["suspects"]), frozenset(brief["blamed"])
        worker = Worker(shards, scheduler, fetch, writer, begun, suspects, blamed)

        def report() -> None:
            send(channel.STATUS, self._status(scheduler, worker, writer))

        async def report_often() -> None:
            while True:
                await asyncio.sleep(STATUS_SECONDS)
                report()

        worker.on_begin = report
        self._listen(scheduler, worker)
        if brief["over"]:
            scheduler.give_up_all(total_time_over(brief["over"]))
        send(channel.READY)
        reporting = asyncio.create_task(report_often())
        try:
            await worker.run()
        finally:
            reporting.cancel()
            await close_writer(writer)
        report()
        if writer.error is None:
            send(channel.DONE)

    def _open_writer(self, shards: Shards) -> PartWriter:
        loop, relay, endings = asyncio.get_running_loop(), self._relay, self._brief["endings"]

        def failed(error: Exception) -> None:
            loop.call_soon_threadsafe(self._send, channel.FAILED, *why_unwritable(error))

        def relayed(*values: Any) -> None:
            assert relay is not None  # noqa: S101
            asyncio.run_coroutine_threadsafe(relay(channel.RESULTS, *values), loop).result()

        rest = shards, endings, failed, relayed if relay is not None else None
        return RemoteWriter(self._brief["parts"], *rest) if self._brief["parts"] else PartWriter(*rest)

    def _status(self, scheduler: Scheduler[Task], worker: Worker, writer: PartWriter) -> dict[str, Any]:
        times = self._hosts.times
        return {
            "records": dict(writer.committed),
            "parts": [(*part, size) for part, size in list(writer.parts.items())],
            "fetched": worker.fetched,
            "under_way": scheduler.under_way,
            "waiting": list(islice(scheduler.waiting(), WAITING)),
            "slowest": times.slowest(SLOWEST) if times else [],
        }


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
            transport.write(channel.frame((word, *values)))

    service = Service(await channel.read_message(reader), send)

    async def listen() -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                service.receive(*await channel.read_message(reader))

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
