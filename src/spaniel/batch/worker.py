"""A worker: fetches what it is told to, and asks the coordinator for a turn before each of its requests."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from spaniel.batch import captures
from spaniel.batch.messages import (
    ANSWERED,
    ASK,
    DELAY,
    DONE,
    DROP,
    FAILED,
    FETCH,
    GO,
    LEAVE,
    PARK,
    PARKED,
    REST,
    RISE,
    WAKE,
    WROTE,
)
from spaniel.batch.outputs.remote_parts import RemoteParts
from spaniel.batch.ports import Item
from spaniel.batch.records import ending_of, line_of, refused, tail_of
from spaniel.batch.turns import ASK_FOR_TIME
from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError
from spaniel.hosts.retry_after import seconds_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.ports import Columns, Fetch, Record
    from spaniel.clock import Clock
    from spaniel.hosts import Manners
    from spaniel.net.deadline import Deadline

    Send = Callable[..., None]  # a word and its values

MOST_KNOWN = 100_000  # hosts without HTTPS that are remembered
_fetching: ContextVar[int] = ContextVar("fetching")  # the task that a request is made for


class RemoteHosts:
    """What the pipeline asks about hosts, answered by the coordinator: all workers share one set of manners."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send, self._clock = send, clock
        self._turns: dict[int, _Turn] = {}
        self._last = 0
        self._http_only: set[str] = set()
        self._reached: set[int] = set()  # fetches that were answered since they last rested
        self._rests: dict[int, asyncio.Future[None]] = {}

    def turn(self, host: str, deadline: Deadline, manners: Manners) -> _Turn:  # noqa: ARG002  the run's own hold here
        self._last += 1
        return _Turn(self, self._last, host, deadline, _fetching.get(None))

    def shared_turn(self, host: str, deadline: Deadline) -> _Turn:
        """For a request that several fetches may wait for: it is never parked with one of them."""
        self._last += 1
        return _Turn(self, self._last, host, deadline, None)

    def answered(self, host: str, status: int, headers: Mapping[str, str]) -> None:
        """Only of those who ask for time: what else was answered is part of the record."""
        self._reached.add(_fetching.get(0))
        if status in ASK_FOR_TIME:
            self._send(ANSWERED, host, status, seconds_until(headers.get("retry-after"), self._clock.now()))

    def told_crawl_delay(self, host: str, seconds: float) -> None:
        self._send(DELAY, host, seconds)

    def asked(self, host: str) -> None:
        """What a host asked for is the coordinator's to know: until it is over, no turn comes."""

    async def heed(self, host: str, deadline: Deadline, manners: Manners) -> None:
        """By waiting for the turn."""

    def told_http_only(self, host: str) -> None:
        """Known here alone: a host's pages go to the worker that owns it."""
        if len(self._http_only) < MOST_KNOWN:
            self._http_only.add(host)

    def is_http_only(self, host: str) -> bool:
        return host in self._http_only

    async def rest(self, seconds: float) -> None:
        """Wait before the next request, and leave one's place to others meanwhile."""
        if not (task := _fetching.get(0)):
            await asyncio.sleep(seconds)
            return
        risen = self._rests[task] = asyncio.get_running_loop().create_future()
        self._send(REST, task, task in self._reached)
        self._reached.discard(task)
        try:
            await asyncio.sleep(seconds)
            self._send(WAKE, task)
            await risen
        finally:
            del self._rests[task]

    def rise(self, task: int) -> None:
        """There is a place again."""
        if (risen := self._rests.get(task)) is not None and not risen.done():
            risen.set_result(None)

    def forget(self, task: int) -> None:
        """The fetch has ended."""
        self._reached.discard(task)

    def go(self, number: int) -> None:
        """A turn has come. Where nobody waits for it any more, it is over at once."""
        turn = self._turns.get(number)
        if turn is None or turn.place.done():
            self._send(LEAVE, number)
        else:
            turn.place.set_result(None)

    def waits_for(self, number: int) -> tuple[int, str] | None:
        """Which fetch waits for a turn, and at which host."""
        turn = self._turns.get(number)
        return None if turn is None or turn.task is None or turn.place.done() else (turn.task, turn.host)

    def begin(self, turn: _Turn) -> None:
        self._turns[turn.number] = turn
        self._send(ASK, turn.number, turn.host, turn.task)

    def end(self, turn: _Turn, *, was_granted: bool) -> None:
        del self._turns[turn.number]
        if was_granted:
            self._send(LEAVE, turn.number)


class WorkerClock(SystemClock):
    """The machine's own; whoever waits by it has no place meanwhile."""

    def __init__(self, hosts: RemoteHosts) -> None:
        self._hosts = hosts

    async def sleep(self, seconds: float) -> None:
        await self._hosts.rest(seconds)


class _Turn:
    __slots__ = ("_deadline", "_hosts", "host", "number", "place", "task")

    def __init__(self, hosts: RemoteHosts, number: int, host: str, deadline: Deadline, task: int | None) -> None:
        self._hosts, self.number, self.host, self._deadline, self.task = hosts, number, host, deadline, task
        self.place: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> None:
        """The wait is the run's, not the page's: its deadline stands still."""
        self._hosts.begin(self)
        self._deadline.phase = "queue"
        try:
            with self._deadline.held():
                await self.place
        except BaseException:
            self._hosts.end(self, was_granted=self.place.done() and not self.place.cancelled())
            raise

    async def __aexit__(self, *_: object) -> None:
        self._hosts.end(self, was_granted=True)


class Worker:
    """The fetches of one process."""

    def __init__(self, fetch: Fetch, hosts: RemoteHosts, send: Send, parts: RemoteParts | None = None) -> None:
        self._fetch, self._hosts, self._send, self._parts = fetch, hosts, send, parts
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._parked: dict[int, str] = {}

    def receive(self, word: str, *values: Any) -> None:
        if word == FETCH:
            number, url, items = values
            self._tasks[number] = asyncio.create_task(self._work(number, url, items))
        elif word == GO:
            self._hosts.go(values[0])
        elif word == PARK:
            self._park(self._hosts.waits_for(values[0]))
        elif word == RISE:
            self._hosts.rise(values[0])
        elif word == DROP:
            self._park((values[0], ""))

    async def close(self) -> None:
        """End what is under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _park(self, waits: tuple[int, str] | None) -> None:
        """Its turn would come too late: the page goes back, to be fetched when the host has time for it."""
        if waits is not None and waits[0] in self._tasks:
            task, host = waits
            self._parked[task] = host
            self._tasks[task].cancel()

    async def _work(self, number: int, url: str, items: list[tuple[int, str, Columns]]) -> None:
        _fetching.set(number)
        taken = captures.begin()
        try:
            record = await self._record(url)
            captured = await captures.packed(taken)
        except asyncio.CancelledError:
            if number in self._parked:
                self._send(PARKED, number, self._parked[number])
                return
            raise
        else:
            ending = ending_of(record)
            if self._parts is not None and items and not ending.asks_for_time:  # those are tried again, perhaps
                tail = tail_of(record)
                self._send(DONE, number, ending, None, captured)
                self._parts.add([line_of(Item(*item), tail) for item in items], number)
            else:
                self._send(DONE, number, ending, record, captured)
        finally:
            del self._tasks[number]
            self._parked.pop(number, None)
            self._hosts.forget(number)

    async def _record(self, url: str) -> Record:
        try:
            return await self._fetch(url)
        except Exception as error:  # noqa: BLE001  a bug costs its page, not the run
            return refused(url, SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}"))


class OpenFetcher(Protocol):
    """Opens what a worker fetches with. `wiring` is plain data, since it travels to another process."""

    def __call__(self, wiring: Mapping[str, Any], hosts: RemoteHosts, /) -> AbstractAsyncContextManager[Fetch]: ...


def opener(where: str) -> OpenFetcher:
    """By its name: `module:function`."""
    module, _, name = where.partition(":")
    return cast("OpenFetcher", getattr(import_module(module), name))


def for_the_journey(word: str, *values: Any) -> tuple[Any, ...]:
    """A message as it goes to another process: its record is JSON there, which nobody need read again."""
    if word != DONE:
        return word, *values
    number, ending, record, captured = values
    return word, number, ending, None if record is None else tail_of(record), captured


def parts_for(wiring: Mapping[str, Any], send: Send) -> RemoteParts | None:
    """Where a worker writes records itself; None where the coordinator does."""
    if not (place := wiring.get("parts")):
        return None

    def failed(why: str) -> None:
        send(FAILED, f"put this right, then go on with --resume: {why}", "--parts")

    return RemoteParts(place, "worker", lambda part, numbers: send(WROTE, part, numbers), failed)
