"""Hosts, shared by all fetches of an engine: places, spacing, what `Crawl-delay` and `Retry-After` said, HTTP-only.

Places and spacing belong to a host. What `Retry-After` said belongs to an origin: another port is another server.
Where a method takes `where`, that is an origin (`https://example.com:8443`), or a host for all of its origins.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import AT_ONE_HOST, MAX_WAIT_SECONDS
from spaniel.errors import Code, SpanielError
from spaniel.hosts.memory import NOTHING, WEEK
from spaniel.hosts.retry_after import seconds_until
from spaniel.url.registrable import same_owner
from spaniel.url.value import DEFAULT_PORTS, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from spaniel.clock import Clock
    from spaniel.hosts.memory import Known, Memory
    from spaniel.net.deadline import Deadline
    from spaniel.url.value import Url

MOST_KNOWN = 10_000  # hosts that are remembered for what they said
MOST_ORIGINS = 8  # of a host
ASK_FOR_TIME = {429: "Too Many Requests", 503: "Service Unavailable"}
NEVER = float("-inf")
FRESH = 1.0  # seconds for which what other processes know is not looked up again
RECENT = 60.0  # seconds for which the last visit is remembered
LED_WAIT = 300.0  # seconds for which a wait counts at a host that was learnt through another site's redirect
GIVEN_UP = "host_given_up"  # the cause in an error of a page that was not asked for, since its host was given up


def led_by_another(chain: Iterable[str], url: Url) -> bool:
    """Whether a redirect of another site led to this URL: what is learnt there was not what the user asked for."""
    return any(not _same_site(split(hop), url) for hop in chain)


def _same_site(one: Url, other: Url) -> bool:
    usual = DEFAULT_PORTS.values()
    ports = {one.effective_port, other.effective_port}
    return (len(ports) == 1 or ports.issubset(usual)) and (one.host == other.host or same_owner(one.host, other.host))


def host_of(where: str) -> str:
    return split(where).host if "://" in where else where


class Manners(NamedTuple):
    """How a profile's fetches behave at a host."""

    at_once: int = AT_ONE_HOST
    spacing_seconds: float = 0.0  # between the beginnings of two requests
    heeds_delays: bool = False  # whether Crawl-delay and Retry-After are waited for
    longest_wait: float = float(MAX_WAIT_SECONDS.default)  # seconds; a host that asks for more is not asked at all
    waits_count: bool = True  # whether a wait for a place or for its time is on the clock of whoever waits


class Asked(NamedTuple):
    """A host asked to be left alone."""

    status: int  # with which it said so
    seconds: float  # that are left

    def refusal(self) -> SpanielError:
        """What the host would say again: nobody asks it."""
        code = Code.HTTP_4XX if self.status == 429 else Code.HTTP_5XX
        return SpanielError(
            code,
            status=self.status,
            status_text=ASK_FOR_TIME.get(self.status, ""),
            retry_after=str(math.ceil(self.seconds)),
            reason="the host asked to be left alone; it was not asked again",
        )


class _Waiting(NamedTuple):
    at_once: int  # with how many others at the most
    place: asyncio.Future[None]


class _Host:
    __slots__ = ("asked", "began", "crawl_delay", "here", "http_only_until", "waiting")

    def __init__(self) -> None:
        self.here = 0
        self.waiting: deque[_Waiting] = deque()
        self.began = NEVER  # when the last request began, or will
        self.asked: dict[str, tuple[float, int]] = {}  # by origin: until when by Retry-After, and with which status
        self.crawl_delay = 0.0
        self.http_only_until = NEVER

    def let_in(self) -> None:
        """First come, first served."""
        while self.waiting and self.here < self.waiting[0].at_once:
            place = self.waiting.popleft().place
            if not place.done():
                self.here += 1
                place.set_result(None)

    def longest(self, where: str) -> tuple[float, int]:
        """Until when an origin asked to be left alone, and with which status; of a host, the longest."""
        if not self.asked:
            return NEVER, 0
        if "://" in where:
            return self.asked.get(where, (NEVER, 0))
        return max(self.asked.values())

    def is_worth_keeping(self, now: float) -> bool:
        """Whether anything is known that the next visitor would miss."""
        busy = self.here or self.waiting
        until = max(self.began + RECENT, self.http_only_until, *(until for until, _ in self.asked.values()))
        return bool(busy or self.crawl_delay or until > now)


class Hosts:
    """By name. One that nobody is at, and of which nothing is known, is forgotten.

    What hosts asked for and lack is told to other processes, and learnt from them, where there is a `memory`.
    """

    def __init__(self, clock: Clock, memory: Memory | None = None) -> None:
        self._clock, self._memory = clock, memory
        self._hosts: dict[str, _Host] = {}
        self._told: dict[str, tuple[float, Known]] = {}  # by other processes, and until when that is fresh

    def turn(self, where: str, deadline: Deadline, manners: Manners, *, led: bool = False) -> HostTurn:  # noqa: ARG002  for a run
        """A turn at a host: the block is entered when there is a place and it is time."""
        return HostTurn(self._know(host_of(where)), self._clock, deadline, manners, where)

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None:
        """Remember what an origin asked for with an answer. `led`: another site's redirect led to it."""
        if status not in ASK_FOR_TIME or "retry-after" not in headers:
            return
        seconds = seconds_until(headers["retry-after"], self._clock.now())
        if not seconds:
            return
        if led:
            seconds = min(seconds, LED_WAIT)
        known, until = self._know(host_of(where)), self._clock.monotonic() + seconds
        if until <= known.longest(where)[0]:
            return
        if len(known.asked) >= MOST_ORIGINS:
            known.asked.pop(min(known.asked, key=lambda origin: known.asked[origin][0]))
        known.asked[where] = until, status
        if self._memory is not None:
            now = self._wall()
            self._memory.asked_for_time(where, now + seconds, status, now)

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None:
        """An attempt ended without an answer of the host. A run counts these; a single fetch does not."""

    def told_crawl_delay(self, host: str, seconds: float) -> None:
        self._know(host).crawl_delay = seconds

    def told_http_only(self, host: str) -> None:
        """HTTPS failed there and HTTP worked. It is asked for HTTPS again after a week."""
        self._know(host).http_only_until = self._clock.monotonic() + WEEK
        if self._memory is not None:
            self._memory.lacks_https(host, self._wall())

    def is_http_only(self, host: str) -> bool:
        known = self._hosts.get(host)
        if known is not None and known.http_only_until > self._clock.monotonic():
            return True
        return self._told_of(host).http_only_until > self._wall()

    def asked(self, where: str) -> Asked | None:
        """What an origin said, to this process or to another, when it asked us to wait; None if that is over."""
        known, status, seconds = self._hosts.get(host_of(where)), 0, 0.0
        if self._memory is None and (known is None or not known.asked):
            return None  # as of nearly all hosts
        if known is not None and known.asked:
            until, status = known.longest(where)
            seconds = until - self._clock.monotonic()
        for origin in (where,) if "://" in where else (where, f"https://{where}", f"http://{where}"):
            if (told := self._told_of(origin)).not_before:
                left = told.not_before - self._wall()
                if left > seconds:
                    status, seconds = told.status, left
        return Asked(status, seconds) if seconds > 0 else None

    async def heed(self, where: str, deadline: Deadline, manners: Manners) -> None:
        """Wait for as long as an origin asked. Where nobody waits that long, this is refused at once."""
        if not manners.heeds_delays or (asked := self.asked(where)) is None:
            return
        if asked.seconds > min(manners.longest_wait, deadline.left()):
            raise asked.refusal()
        deadline.phase = "queue"
        await self._clock.sleep(asked.seconds)

    def wait_seconds(self, host: str, manners: Manners) -> float:
        """How long a request that began now would have to wait for its time; places aside."""
        known = self._hosts.get(host)
        return 0.0 if known is None else max(0.0, _begin_at(known, manners, host) - self._clock.monotonic())

    def _told_of(self, host: str) -> Known:
        """What other processes have heard of a host, but for the last second."""
        if self._memory is None:
            return NOTHING
        now = self._clock.monotonic()
        found = self._told.get(host)
        if found is None or now >= found[0]:
            if len(self._told) >= MOST_KNOWN:
                self._told.clear()
            found = self._told[host] = now + FRESH, self._memory.look(host, self._wall())
        return found[1]

    def _wall(self) -> float:
        return self._clock.now().timestamp()

    def _know(self, host: str) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= MOST_KNOWN:
                self._forget_some()
            known = self._hosts[host] = _Host()
        return known

    def _forget_some(self) -> None:
        """Whoever is idle; where all are worth keeping, those that were met first and have nobody there."""
        now = self._clock.monotonic()
        idle = [name for name, known in self._hosts.items() if not known.is_worth_keeping(now)]
        spare = idle or [name for name, known in self._hosts.items() if not (known.here or known.waiting)]
        for name in spare[: MOST_KNOWN // 4]:
            del self._hosts[name]


class HostTurn:
    """A class: a generator made into a context manager takes three times as long."""

    __slots__ = ("_clock", "_deadline", "_known", "_manners", "_where")

    def __init__(self, known: _Host, clock: Clock, deadline: Deadline, manners: Manners, where: str) -> None:
        self._known, self._clock, self._deadline, self._manners = known, clock, deadline, manners
        self._where = where

    def begin_at_once(self) -> bool:
        """Whether there is a place and it is time: then the turn has begun. Else it is to be waited for."""
        known, now = self._known, self._clock.monotonic()
        if known.here >= self._manners.at_once or known.waiting or _begin_at(known, self._manners, self._where) > now:
            return False
        known.here += 1
        known.began = now
        return True

    async def __aenter__(self) -> None:
        if not self.begin_at_once():
            await self.wait()

    async def wait(self) -> None:
        """Until there is a place, and then for its time."""
        known, manners = self._known, self._manners
        if known.here >= manners.at_once or known.waiting:
            with self._waiting():
                await self._queue()
        else:
            known.here += 1
        now = self._clock.monotonic()
        begin = max(now, _begin_at(known, manners, self._where))
        known.began = begin  # taken before the wait, so that two never begin at one moment
        if begin > now:
            with self._waiting():
                await self._wait(begin - now)

    def _waiting(self) -> AbstractContextManager[None]:
        return nullcontext() if self._manners.waits_count else self._deadline.held()

    async def _queue(self) -> None:
        known = self._known
        mine = _Waiting(self._manners.at_once, asyncio.get_running_loop().create_future())
        known.waiting.append(mine)
        self._deadline.phase = "queue"
        try:
            await mine.place
        except BaseException:
            if mine.place.done() and not mine.place.cancelled():
                known.here -= 1  # the place came too late
            else:
                with suppress(ValueError):  # whoever was cancelled with us has let us in already, in vain
                    known.waiting.remove(mine)
            known.let_in()
            raise

    async def _wait(self, seconds: float) -> None:
        self._deadline.phase = "queue"
        try:
            await self._clock.sleep(seconds)
        except BaseException:
            self.leave()
            raise

    async def again(self) -> None:
        """The request is to be sent once more: to the server that is another one, which waits for its time."""
        self.leave()
        try:
            await self.__aenter__()
        except BaseException:
            self._known.here += 1  # `__aexit__` leaves
            raise

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        self._known.here -= 1
        self._known.let_in()


def _begin_at(known: _Host, manners: Manners, where: str) -> float:
    """When a request may begin by spacing and, where the profile heeds them, by the host's own wishes."""
    if not manners.heeds_delays:
        return known.began + manners.spacing_seconds
    return max(known.began + max(manners.spacing_seconds, known.crawl_delay), known.longest(where)[0])
