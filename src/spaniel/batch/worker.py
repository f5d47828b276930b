"""A worker: fetches what it is told to, and asks the coordinator for a turn before each of its requests."""

from __future__ import annotations

import asyncio
import logging
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
    REFUSE,
    REST,
    RISE,
    UNANSWERED,
    WAKE,
    WROTE,
)
from spaniel.batch.outputs.remote_parts import RemoteParts
from spaniel.batch.ports import Item
from spaniel.batch.records import ending_of, line_of, refused, tail_of, unexpected
from spaniel.batch.turns import ASK_FOR_TIME
from spaniel.errors import Code, SpanielError
from spaniel.hosts import Asked, host_of
from spaniel.hosts.retry_after import seconds_until
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from spaniel.batch.ports import Columns, Fetch, Record
    from spaniel.clock import Clock
    from spaniel.hosts import Politeness
    from spaniel.net.deadline import Deadline

    Send = Callable[..., None]  # a word and its values

log = logging.getLogger("spaniel.batch")

MOST_KNOWN = 100_000  # hosts without HTTPS that are remembered
_fetching: ContextVar[int] = ContextVar("fetching")  # the task that a request is made for


class _Fetch:
    """What is remembered of a fetch that is under way."""

    __slots__ = ("asked", "risen")

    def __init__(self) -> None:
        self.asked: dict[str, tuple[float, int]] = {}  # by origin: until when it is to wait, and by which status
        self.risen: asyncio.Event | None = None  # while it rests


class RemoteHosts:
    """What the pipeline asks about hosts, answered by the coordinator: all workers share one set of politeness."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send, self.clock = send, clock
        self._turns: dict[int, _Turn] = {}
        self._last = 0
        self._http_only: set[str] = set()
        self._fetches: dict[int, _Fetch] = {}

    def turn(self, where: str, deadline: Deadline, politeness: Politeness, *, led: bool = False) -> _Turn:  # noqa: ARG002  the run's own hold here
        return _Turn(self, host_of(where), deadline, _fetching.get(None), led=led)

    def shared_turn(self, where: str, deadline: Deadline) -> _Turn:
        """For a request that several fetches may wait for: it is never parked with one of them."""
        return _Turn(self, host_of(where), deadline, None)

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None:
        """Only of those who ask for time: what else was answered is part of the record."""
        if status not in ASK_FOR_TIME:
            return
        seconds = seconds_until(headers.get("retry-after"), self.clock.now())
        if seconds and (fetch := self._fetches.get(_fetching.get(0))) is not None:
            fetch.asked[where] = self.clock.monotonic() + seconds, status
        self._send(ANSWERED, host_of(where), status, seconds, led)

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None:
        """A host that gives no answer too often is given up by the run."""
        self._send(UNANSWERED, host_of(where), str(error.code), led)

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self._send(DELAY, host, seconds)

    def asked(self, where: str) -> Asked | None:
        """What this very fetch was asked for. The rest the coordinator knows: until it is over, no turn comes."""
        fetch = self._fetches.get(_fetching.get(0))
        if fetch is None or where not in fetch.asked:
            return None
        until, status = fetch.asked[where]
        left = until - self.clock.monotonic()
        return Asked(status, left) if left > 0 else None

    async def wait(self, where: str, deadline: Deadline, politeness: Politeness) -> None:
        """By waiting for the turn."""

    def set_http_only(self, host: str) -> None:
        """Known here alone: a host's pages go to the worker that owns it."""
        if len(self._http_only) < MOST_KNOWN:
            self._http_only.add(host)

    def is_http_only(self, host: str) -> bool:
        return host in self._http_only

    async def rest(self, seconds: float) -> None:
        """Wait before the next request, and leave one's place to others meanwhile."""
        number = _fetching.get(0)
        if (fetch := self._fetches.get(number)) is None:
            await self.clock.sleep(seconds)
            return
        risen = fetch.risen = asyncio.Event()
        self._send(REST, number)
        sleep = asyncio.ensure_future(self.clock.sleep(seconds))
        rise = asyncio.ensure_future(risen.wait())  # before its time, where its host has been given up
        try:
            await asyncio.wait((sleep, rise), return_when=asyncio.FIRST_COMPLETED)
            if not risen.is_set():
                self._send(WAKE, number)
                await rise
        finally:
            sleep.cancel()
            rise.cancel()
            fetch.risen = None

    def rise(self, number: int) -> None:
        """There is a place again."""
        fetch = self._fetches.get(number)
        if fetch is not None and fetch.risen is not None:
            fetch.risen.set()

    def begin_fetch(self, number: int) -> None:
        self._fetches[number] = _Fetch()

    def forget(self, number: int) -> None:
        """The fetch has ended."""
        self._fetches.pop(number, None)

    def go(self, number: int) -> None:
        """A turn has come. Where nobody waits for it any more, it is over at once."""
        turn = self._turns.get(number)
        if turn is None or turn.place.done():
            self._send(LEAVE, number, False)
        else:
            turn.place.set_result(None)

    def refuse(self, number: int, code: str, details: Mapping[str, object]) -> None:
        """No turn will come."""
        turn = self._turns.get(number)
        if turn is not None and not turn.place.done():
            turn.place.set_exception(SpanielError(Code(code), **details))

    def waits_for(self, number: int) -> tuple[int, str] | None:
        """Which fetch waits for a turn, and at which host."""
        turn = self._turns.get(number)
        return None if turn is None or turn.task is None or turn.place.done() else (turn.task, turn.host)

    def begin(self, turn: _Turn) -> None:
        self._last += 1
        turn.number = self._last
        self._turns[turn.number] = turn
        self._send(ASK, turn.number, turn.host, turn.task, turn.led)

    def end(self, turn: _Turn, *, was_granted: bool, was_answered: bool = False) -> None:
        del self._turns[turn.number]
        if was_granted:
            self._send(LEAVE, turn.number, was_answered)


class WorkerClock:
    """The worker's own; whoever waits by it has no place meanwhile."""

    def __init__(self, hosts: RemoteHosts) -> None:
        self._hosts = hosts
        self.now, self.monotonic = hosts.clock.now, hosts.clock.monotonic

    async def sleep(self, seconds: float) -> None:
        await self._hosts.rest(seconds)


class _Turn:
    __slots__ = ("_deadline", "_has_place", "_hosts", "host", "led", "number", "place", "task")

    place: asyncio.Future[None]

    def __init__(
        self, hosts: RemoteHosts, host: str, deadline: Deadline, task: int | None, *, led: bool = False
    ) -> None:
        self._hosts, self.host, self._deadline, self.task, self.led = hosts, host, deadline, task, led
        self.number = 0
        self._has_place = False

    async def __aenter__(self) -> None:
        """The wait is the run's, not the page's: its deadline stands still."""
        self.place = asyncio.get_running_loop().create_future()
        self._hosts.begin(self)
        self._deadline.phase = "queue"
        try:
            with self._deadline.held():
                await self.place
        except BaseException:
            granted = self.place.done() and not self.place.cancelled() and self.place.exception() is None
            self._hosts.end(self, was_granted=granted)
            raise
        self._has_place = True

    async def again(self) -> None:
        """The request is to be sent once more: to the server that is another one, with a turn of its own."""
        self._has_place = False
        self._hosts.end(self, was_granted=True)
        await self.__aenter__()

    async def __aexit__(self, *raised: object) -> None:
        if self._has_place:
            self._has_place = False
            self._hosts.end(self, was_granted=True, was_answered=not any(raised) and self.task is not None)


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
        elif word == REFUSE:
            self._hosts.refuse(*values)
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
        self._hosts.begin_fetch(number)
        taken = captures.begin()
        try:
            record = await self._fetch(url)
            self._done(number, record, items, await captures.packed(taken))
        except asyncio.CancelledError:
            if number in self._parked:
                self._send(PARKED, number, self._parked[number])
                return
            raise
        except Exception as error:
            log.exception("unexpected_error url=%s", split(url).redacted)  # a bug costs its page, not the run
            self._done(number, refused(url, unexpected(error)), items, b"")
        finally:
            del self._tasks[number]
            self._parked.pop(number, None)
            self._hosts.forget(number)

    def _done(self, number: int, record: Record, items: list[tuple[int, str, Columns]], captured: bytes) -> None:
        ending = ending_of(record)
        if self._parts is not None and items:
            tail = tail_of(record)
            lines = [line_of(Item(*item), tail) for item in items]
            self._send(DONE, number, ending, None, captured)
            self._parts.add(lines, number)
        else:
            self._send(DONE, number, ending, record, captured)


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
