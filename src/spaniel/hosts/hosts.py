"""Hosts: the one authority of a process over when and how a host is asked.

Concurrency, delays, `Crawl-delay`, `Retry-After`, backoff, giving up, and which hosts lack HTTPS. Every request begins
with a turn. An engine has one `Hosts`; each call says how polite it is (`Politeness`). A run over many URLs of many
hosts gives `rules`, which hold for every request instead, and `limits`, by which a host is given up.

Places and delays belong to a host. What `Retry-After` said belongs to an origin: another port is another server. Where
a method takes `where`, that is an origin (`https://example.com:8443`), or a host for all of its origins.
`led`: another site's redirect led to the host. What is learnt so never closes the host for others.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from spaniel.defaults import AT_ONE_HOST, MAX_WAIT_SECONDS
from spaniel.errors import Code, SpanielError
from spaniel.hosts.answer_times import AnswerTimes
from spaniel.hosts.limits import Breaker, asked_too_often, crawl_delay_too_long, wait_too_long
from spaniel.hosts.memory import NOTHING, WEEK
from spaniel.hosts.retry_after import seconds_until
from spaniel.url.hostlists import same_owner
from spaniel.url.value import DEFAULT_PORTS, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from spaniel.clock import Clock
    from spaniel.hosts.limits import HostLimits
    from spaniel.hosts.memory import Known, Memory
    from spaniel.hosts.rules import HostRules
    from spaniel.net.deadline import Deadline
    from spaniel.url.value import Url

MOST_KNOWN = 20_000  # hosts that are remembered for what they said
MOST_ORIGINS = 8  # of a host
ASK_FOR_TIME = {429: "Too Many Requests", 503: "Service Unavailable"}
NEVER = float("-inf")
FRESH = 1.0  # seconds for which what other processes know is not looked up again
RECENT = 60.0  # seconds for which the last visit is remembered
LED_WAIT = 300.0  # seconds for which a wait counts at a host that was learnt through another site's redirect
LONGEST_PAUSE = 300.0  # of a host that is overloaded and does not say how long (FG-22)
SAME_WISH = 1.0  # seconds: answers of one moment that ask us to wait round differently, and count once


def led_by_another(chain: Iterable[str], url: Url) -> bool:
    """Whether a redirect of another site led to this URL: what is learnt there was not what the user asked for."""
    return any(not _same_site(split(hop), url) for hop in chain)


def _same_site(one: Url, other: Url) -> bool:
    usual = DEFAULT_PORTS.values()
    ports = {one.effective_port, other.effective_port}
    return (len(ports) == 1 or ports.issubset(usual)) and (one.host == other.host or same_owner(one.host, other.host))


@lru_cache(maxsize=4096)
def host_of(where: str) -> str:
    return split(where).host if "://" in where else where


class Politeness(NamedTuple):
    """How the requests of one call behave at a host."""

    at_once: int = AT_ONE_HOST
    # Between the beginnings of two requests; where there is one at a time, from the end of a request to the next.
    delay_seconds: float = 0.0
    respect_delays: bool = False  # whether Crawl-delay and Retry-After are waited for
    longest_wait: float = float(MAX_WAIT_SECONDS.default)  # seconds; a host that asks for more is not asked at all
    waits_count: bool = True  # whether a wait for a place or for its time is on the clock of the request
    waits_for_retry_after: bool = True  # in a turn; a link check waits between links instead


USUAL = Politeness()


class AskedToWait(NamedTuple):
    """A host asked us to wait."""

    status: int  # of that answer
    seconds: float  # that are left

    def refusal(self) -> SpanielError:
        """The host would answer the same again, so it is not asked."""
        code = Code.HTTP_4XX if self.status == 429 else Code.HTTP_5XX
        return SpanielError(
            code,
            status=self.status,
            status_text=ASK_FOR_TIME.get(self.status, ""),
            retry_after=str(math.ceil(self.seconds)),
            reason="the host asked to be left alone; it was not asked again",
        )


class Foreign(Protocol):
    """Hosts that another worker of the run owns: requests to them take a turn there."""

    def owns(self, host: str) -> bool:
        """Whether this worker does."""

    async def take(self, host: str, *, led: bool) -> None:
        """Until the owner gives the turn; raises where the owner has given the host up."""

    def release(self, host: str, *, answered: bool) -> None: ...

    def report(self, kind: str, host: str, *values: object) -> None:
        """What was learnt there, for the owner: the name of a method of `Hosts`, and what it takes."""


class RunPlace(Protocol):
    """What a request that has to wait holds: one of the places of a run."""

    def may_move(self, host: str, seconds: float) -> bool:
        """Whether the item goes back and waits in the host's queue; then its task is being cancelled."""

    def leave(self) -> None:
        """Others may have the place while the request waits."""

    async def come_back(self) -> None:
        """Wait for a place."""

    def take_back(self) -> None:
        """Continue at once, since there will be no request."""


current_place: ContextVar[RunPlace | None] = ContextVar("current_place", default=None)


class HostState(NamedTuple):
    """What a process knows of a host, as plain data for another one. Times are in seconds from now: negative ones are
    over."""

    host: str
    began: float
    ended: float
    lanes: list[float]
    asked: dict[str, tuple[float, int]]
    paused: float
    why_paused: str
    strikes: int
    crawl_delay: float
    failures: Sequence[tuple[bool, int, float]] = ()  # led, how many in a row, pause
    refusals: Sequence[tuple[bool, str, Mapping[str, Any]]] = ()  # of a host that was given up: led, code, details


class _Waiter:
    __slots__ = ("led", "place", "politeness", "where")

    def __init__(self, politeness: Politeness, where: str, *, led: bool) -> None:
        self.politeness, self.where, self.led = politeness, where, led
        self.place: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Host:
    __slots__ = (
        *("alarm", "alarm_at", "asked", "began", "busy", "crawl_delay", "ended", "http_only_until", "lanes", "name"),
        *("paused_until", "politeness", "strikes", "waited", "waiting", "waits_until", "why_paused"),
    )

    def __init__(self, name: str, politeness: Politeness | None) -> None:
        self.name = name
        self.politeness = politeness  # by the rules of a run; None: the one of each call
        self.busy = 0
        self.waiting: deque[_Waiter] = deque()
        self.began = self.ended = NEVER  # when the last request began, and when one ended last
        self.lanes: list[float] = []  # by rules: when each lane that rests may be used again; a heap
        self.asked: dict[str, tuple[float, int]] = {}  # by origin: until when by Retry-After, and with which status
        self.paused_until = NEVER  # since it is overloaded, or was not reached
        self.why_paused = ""
        self.strikes = 0  # answers in a row that ask us to wait
        self.waited = 0.0  # seconds in this run, because it asked us to
        self.waits_until = NEVER  # when the last of them are over
        self.crawl_delay = 0.0
        self.http_only_until = NEVER
        self.alarm: asyncio.Task[None] | None = None  # for the first that waits
        self.alarm_at = NEVER

    def longest(self, where: str) -> tuple[float, int]:
        """Until when an origin asked us to wait, and with which status; of a host, the longest."""
        if not self.asked:
            return NEVER, 0
        if "://" in where:
            return max(self.asked.get(where, (NEVER, 0)), self.asked.get(self.name, (NEVER, 0)))
        return max(self.asked.values())

    def delay(self, politeness: Politeness) -> float:
        return max(politeness.delay_seconds, self.crawl_delay if politeness.respect_delays else 0.0)

    def most(self, politeness: Politeness) -> int:
        """A host that asks for pauses in its robots.txt is asked by one at a time."""
        return 1 if self.crawl_delay and politeness.respect_delays else politeness.at_once

    def begin_at(self, politeness: Politeness, where: str, now: float) -> float:
        """When a request may begin, if there is a place."""
        at, delay = self.paused_until, self.delay(politeness)
        if delay:
            if self.most(politeness) == 1:
                at = max(at, self.began + delay, self.ended + delay)
            elif self.politeness is None:
                at = max(at, self.began + delay)
            else:
                while self.lanes and self.lanes[0] <= now:
                    heappop(self.lanes)
                if self.busy + len(self.lanes) >= politeness.at_once and self.lanes:
                    at = max(at, self.lanes[0])
        if self.asked and politeness.respect_delays and politeness.waits_for_retry_after:
            at = max(at, self.longest(where)[0])
        return at

    def state(self, now: float) -> HostState:
        return HostState(
            self.name,
            self.began - now,
            self.ended - now,
            [at - now for at in self.lanes],
            {where: (until - now, status) for where, (until, status) in self.asked.items()},
            self.paused_until - now,
            self.why_paused,
            self.strikes,
            self.crawl_delay,
        )

    def learn(self, state: HostState, now: float) -> None:
        """Of two that know something, the one that is more careful is right."""
        self.began, self.ended = max(self.began, state.began + now), max(self.ended, state.ended + now)
        for lane in state.lanes:
            heappush(self.lanes, lane + now)
        for where, (seconds, status) in state.asked.items():
            self.asked[where] = max(self.asked.get(where, (NEVER, 0)), (seconds + now, status))
        if state.paused + now > self.paused_until:
            self.paused_until, self.why_paused = state.paused + now, state.why_paused
        self.strikes, self.crawl_delay = max(self.strikes, state.strikes), max(self.crawl_delay, state.crawl_delay)

    def is_worth_keeping(self, now: float) -> bool:
        """Whether anything is known that the next request needs."""
        busy = self.busy or self.waiting
        until = max(
            self.began + RECENT,
            *(self.ended + self.crawl_delay, self.http_only_until, self.paused_until),
            *(until for until, _ in self.asked.values()),
            *self.lanes,
        )
        return bool(busy or self.crawl_delay or self.strikes or until > now)


class Hosts:
    """By name. A host without requests, of which nothing is known, is forgotten.

    What hosts asked for and lack is written for other processes, and read from them, where there is a `memory`.
    """

    def __init__(
        self,
        clock: Clock,
        memory: Memory | None = None,
        *,
        rules: HostRules | None = None,
        limits: HostLimits | None = None,
        foreign: Foreign | None = None,
        parent: Hosts | None = None,
    ) -> None:
        self.clock, self._memory, self._rules, self.limits, self._foreign = clock, memory, rules, limits, foreign
        self._parent = parent
        self._hosts: dict[str, _Host] = {}
        self._elsewhere: dict[str, Known] = {}  # known to other processes
        self._elsewhere_until = NEVER  # for which that is fresh
        self._breaker = Breaker(limits) if limits else None
        self._given_up: dict[tuple[str, bool], SpanielError] = {}
        self._closed: SpanielError | None = None
        self._listeners: list[Callable[[str, SpanielError], object]] = []
        self.times = AnswerTimes() if rules else None  # for people who watch a run

    def for_run(self, rules: HostRules, limits: HostLimits) -> Hosts:
        """For a run with rules and limits of its own. What hosts ask for is known to both."""
        return Hosts(self.clock, rules=rules, limits=limits, parent=self)

    # turns

    def turn(
        self,
        where: str,
        deadline: Deadline,
        politeness: Politeness = USUAL,
        *,
        led: bool = False,
        shared: bool = False,
    ) -> HostTurn:
        """A turn at a host: the block is entered when there is a place and it is time.

        `shared`: for a request that several fetches wait for, such as robots.txt: it does not move with one of them.
        """
        host = host_of(where)
        if self._foreign is not None and not self._foreign.owns(host):
            return ForeignTurn(self, self._know(host), deadline, where, led=led, shared=shared, foreign=self._foreign)
        known = self._know(host)
        return HostTurn(self, known, deadline, known.politeness or politeness, where, led=led, shared=shared)

    def ready_at(self, where: str, politeness: Politeness = USUAL) -> float:
        """When a request that is asked for now would begin, as far as is known."""
        host = host_of(where)
        if self.limits is not None:
            self._learn_elsewhere(host, host)
        known = self._hosts.get(host)
        if known is None:
            return NEVER
        politeness, now = known.politeness or politeness, self.clock.monotonic()
        at = known.begin_at(politeness, where, now)
        if at > now and self.limits is not None and not self._may_wait(known, at, now, self.limits.all_waits):
            return now
        delay, most = known.delay(politeness), known.most(politeness)
        ahead = len(known.waiting) + (known.busy if known.busy >= most else 0)
        return max(at, now) + ahead * delay / most if ahead and delay else at

    def _learn_elsewhere(self, where: str, host: str) -> None:
        """What others know that a host asked for; a run waits for it as for what it was asked itself."""
        status, seconds = self._asked_elsewhere(where)
        if seconds > 0:
            known, until = self._know(host), self.clock.monotonic() + seconds
            if until > known.longest(where)[0]:
                known.asked[where] = until, status

    def _may_wait(self, known: _Host, at: float, now: float, limit: float) -> bool:
        """Whether a host may make us wait so long; else it is given up. A wait counts once, however many requests it
        concerns."""
        if limit == math.inf:
            return True
        asked, status = known.longest(known.name)
        until = max(asked, known.paused_until)
        more = until - max(now, known.waits_until)
        if more > 0:
            if known.waited + more > limit:
                self.give_up(known.name, wait_too_long(known.name, status or 429, until - now, limit))
                return False
            known.waited, known.waits_until = known.waited + more, until
        if at > now + limit and known.crawl_delay > limit:
            self.give_up(known.name, crawl_delay_too_long(known.name, known.crawl_delay, limit))
            return False
        return True

    def places(self, host: str, politeness: Politeness = USUAL) -> int:
        """How many requests may be under way at a host."""
        if self._rules is None and not politeness.respect_delays:
            return politeness.at_once
        known = self._hosts.get(host)
        if known is None:
            return politeness.at_once if self._rules is None else self._rules.of(host).per_host
        return known.most(known.politeness or politeness)

    def reason(self, host: str) -> str:
        """Why a host is waited for."""
        known, now = self._hosts.get(host), self.clock.monotonic()
        if known is None:
            return ""
        until, status = known.longest(host)
        if until > now and until >= known.paused_until:
            return f"answered {status}"
        if known.paused_until > now:
            return known.why_paused
        own = known.politeness.delay_seconds if known.politeness else 0.0
        return f"Crawl-delay {known.crawl_delay:g} s" if known.crawl_delay > own else "pause"

    # what is learnt of a host

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None:
        """An origin answered: it may have asked us to wait."""
        if status not in ASK_FOR_TIME:
            if self.limits is not None:
                self._recovered(host_of(where), led=led)
            return
        seconds = seconds_until(headers.get("retry-after"), self.clock.now())
        if seconds or self.limits is not None:
            self.asked_to_wait(where, status, seconds, led=led)

    def asked_to_wait(self, where: str, status: int, seconds: float | None, *, led: bool = False) -> None:
        """A host asked for so many seconds; a run also waits where it does not say how many (FG-22)."""
        host = host_of(where)
        if self._foreign is not None and not self._foreign.owns(host):
            self._foreign.report("asked_to_wait", host, where, status, seconds)
        known, now = self._know(host), self.clock.monotonic()
        limits = self.limits
        if limits is not None:
            self._recovered(host, led=led, reached=True)
            until = max(known.paused_until, known.longest(where)[0])
            is_new = until <= now  # requests that were under way count once
            if is_new and not led and known.strikes + 1 >= limits.strikes and not limits.gives_up_busy:
                known.strikes = 0
                return
            if not seconds and (is_new or limits.gives_up_busy):
                pause = min(limits.first_pause * 2.0**known.strikes, LONGEST_PAUSE)
                self._pause(known, now + pause, f"answered {status}")
            elif not is_new and not limits.gives_up_busy and (seconds or 0.0) <= until - now + SAME_WISH:
                return
            known.strikes += is_new and not led
        if seconds:
            self._remember(known, where, min(seconds, LED_WAIT) if led else seconds, status)
        if limits is not None and not led:
            if seconds is not None and seconds > limits.retry_after:
                self.give_up(host, wait_too_long(host, status, seconds, limits.retry_after))
            elif known.strikes >= limits.strikes:
                self.give_up(host, asked_too_often(host, status, known.strikes))

    def _remember(self, known: _Host, where: str, seconds: float, status: int) -> None:
        until = self.clock.monotonic() + seconds
        if until <= known.longest(where)[0]:
            return
        if len(known.asked) >= MOST_ORIGINS:
            known.asked.pop(min(known.asked, key=lambda origin: known.asked[origin][0]))
        known.asked[where] = until, status
        if self._parent is not None:
            self._parent.asked_to_wait(where, status, seconds)
        if self._memory is not None:
            now = self._wall()
            self._memory.asked_for_time(where, now + seconds, status, now)

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None:
        """An attempt ended without an answer of the host. A run counts these; a single fetch does not."""
        if self._breaker is None:
            return
        host, now = host_of(where), self.clock.monotonic()
        if self._foreign is not None and not self._foreign.owns(host):
            self._foreign.report("unanswered", host, where, str(error.code))
            return
        pause = self._breaker.failed(host, now, led=led)
        if pause == math.inf:
            self.give_up(host, self._breaker.error(host, error.code, led=led), led=led)
        elif pause is not None:
            self._pause(self._know(host), now + pause, "not reached")

    def recovered(self, host: str) -> None:
        """A request to it ended with anything else than a wish to wait or silence."""
        self._recovered(host, led=False)

    def _recovered(self, host: str, *, led: bool, reached: bool = False) -> None:
        """It answered; with `reached`, if only to ask us to wait."""
        if self._breaker is not None:
            self._breaker.answered(host, led=led)
        known = self._hosts.get(host)
        if known is not None and not reached and not led:
            known.strikes = 0

    def _pause(self, known: _Host, until: float, why: str) -> None:
        if until > known.paused_until:
            known.paused_until, known.why_paused = until, why

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        """What robots.txt asks for; a run gives up a host that asks for too much."""
        if self._foreign is not None and not self._foreign.owns(host):
            self._foreign.report("set_crawl_delay", host, host, seconds)
        if self.limits is not None and seconds > self.limits.crawl_delay:
            self.give_up(host, crawl_delay_too_long(host, seconds, self.limits.crawl_delay))
        else:
            self._know(host).crawl_delay = seconds

    def crawl_delay(self, host: str) -> float:
        known = self._hosts.get(host)
        return 0.0 if known is None else known.crawl_delay

    def set_http_only(self, host: str) -> None:
        """HTTPS failed there and HTTP worked. It is asked for HTTPS again after a week."""
        self._know(host).http_only_until = self.clock.monotonic() + WEEK
        if self._memory is not None:
            self._memory.lacks_https(host, self._wall())

    def is_http_only(self, host: str) -> bool:
        known = self._hosts.get(host)
        if known is not None and known.http_only_until > self.clock.monotonic():
            return True
        return self._known_elsewhere().get(host, NOTHING).http_only_until > self._wall()

    def asked(self, where: str) -> AskedToWait | None:
        """What an origin said, to this process or to another, when it asked us to wait; None if that is over."""
        host, status, seconds = host_of(where), 0, 0.0
        if self.limits is not None:
            self._learn_elsewhere(where, host)
        else:
            status, seconds = self._asked_elsewhere(where)
        known = self._hosts.get(host)
        if known is not None and known.asked:
            until, own_status = known.longest(where)
            if (own := until - self.clock.monotonic()) >= seconds:
                status, seconds = own_status, own
        return AskedToWait(status, seconds) if seconds > 0 else None

    def _asked_elsewhere(self, where: str) -> tuple[int, float]:
        """Status and seconds, as other processes and the other runs of this one know."""
        if self._parent is not None:
            asked = self._parent.asked(where)
            return (0, 0.0) if asked is None else (asked.status, asked.seconds)
        status, seconds = 0, 0.0
        if self._memory is not None and (elsewhere := self._known_elsewhere()):
            for origin in (where,) if "://" in where else (where, f"https://{where}", f"http://{where}"):
                if (other := elsewhere.get(origin)) is not None:
                    left = other.not_before - self._wall()
                    if left > seconds:
                        status, seconds = other.status, left
        return status, seconds

    async def wait(self, where: str, deadline: Deadline, politeness: Politeness) -> None:
        """Wait as long as an origin asked; refused at once where that is too long. In a run, the turn waits."""
        if self._rules is not None or not politeness.respect_delays or (asked := self.asked(where)) is None:
            return
        if asked.seconds > min(politeness.longest_wait, deadline.left()):
            raise asked.refusal()
        deadline.phase = "queue"
        place = current_place.get()
        if place is not None:
            place.leave()
        try:
            await self.clock.sleep(asked.seconds)
        finally:
            if place is not None:
                place.take_back()

    # giving up

    def give_up(self, host: str, error: SpanielError, *, led: bool = False) -> None:
        """No more requests to a host: who waits for it is refused. `led`: only those whom other sites lead there."""
        if (host, led) in self._given_up:
            return
        if len(self._given_up) >= MOST_KNOWN:
            del self._given_up[next(iter(self._given_up))]
        self._given_up[host, led] = error
        known = self._hosts.get(host)
        for waiter in list(known.waiting) if known else ():
            if waiter.led == led and not waiter.place.done():
                waiter.place.set_exception(error)
        if not led:
            for listener in self._listeners:
                listener(host, error)

    def given_up(self, host: str, *, led: bool = False) -> SpanielError | None:
        """Why nothing more is asked of a host."""
        return self._closed or (self._given_up.get((host, led)) if self._given_up else None)

    def on_give_up(self, call: Callable[[str, SpanielError], object]) -> None:
        """`call(host, error)` whenever a host is given up."""
        self._listeners.append(call)

    def close(self, error: SpanielError) -> None:
        """No more turns at all: the time for the run is over."""
        self._closed = error
        for known in self._hosts.values():
            for waiter in list(known.waiting):
                if not waiter.place.done():
                    waiter.place.set_exception(error)

    # the owner of a host changes

    def hand_over(self, is_wanted: Callable[[str], bool]) -> list[HostState]:
        """What is known of hosts, for the process that owns them from now on; it is forgotten here."""
        now, found = self.clock.monotonic(), []
        given_up = {host for host, _ in self._given_up}
        failing = self._breaker.failing() if self._breaker else set()
        for host in filter(is_wanted, [*self._hosts, *((given_up | failing) - self._hosts.keys())]):
            known = self._hosts.pop(host, None) or _Host(host, None)
            refusals = [
                (led, str(error.code), error.details)
                for led in (False, True)
                if (error := self._given_up.pop((host, led), None)) is not None
            ]
            failures = self._breaker.hand_over(host, now) if self._breaker else []
            if refusals or failures or known.is_worth_keeping(now):
                found.append(known.state(now)._replace(failures=failures, refusals=refusals))
        return found

    def take_over(self, state: HostState) -> None:
        """What the owner before knew of a host."""
        now = self.clock.monotonic()
        self._know(state.host).learn(state, now)
        if self._breaker is not None:
            self._breaker.take_over(state.host, state.failures, now)
        for led, code, details in state.refusals:
            self.give_up(state.host, SpanielError(Code(code), **details), led=led)

    # waiting for a turn

    def enter(self, known: _Host, politeness: Politeness, where: str) -> bool:
        """Whether there is a place and it is time: then it is taken."""
        now = self.clock.monotonic()
        if known.busy >= known.most(politeness) or known.waiting or known.begin_at(politeness, where, now) > now:
            return False
        known.busy += 1
        known.began = now
        return True

    def leave(self, known: _Host, began: float) -> None:
        """A turn is over."""
        now = self.clock.monotonic()
        known.busy -= 1
        known.ended = now
        if (own := known.politeness) is not None:
            if (delay := known.delay(own)) and own.at_once > 1:
                heappush(known.lanes, now + delay)
            if self.times is not None:
                self.times.took(known.name, now - began)
        if known.waiting:
            self.let_in(known)

    def let_in(self, known: _Host) -> None:
        """First come, first served."""
        now = self.clock.monotonic()
        while known.waiting:
            first = known.waiting[0]
            if not first.place.done():
                if known.busy >= known.most(first.politeness):
                    return
                if (at := known.begin_at(first.politeness, first.where, now)) > now:
                    self._wake_at(known, at)
                    return
                known.busy += 1
                known.began = now
                first.place.set_result(None)
            known.waiting.popleft()
        if known.alarm is not None:
            known.alarm.cancel()
            known.alarm = None

    def _wake_at(self, known: _Host, at: float) -> None:
        if known.alarm is not None:
            if known.alarm_at <= at:
                return  # it looks again then
            known.alarm.cancel()
        known.alarm_at = at
        known.alarm = asyncio.create_task(self._ring(known, at))

    async def _ring(self, known: _Host, at: float) -> None:
        await self.clock.sleep(max(0.0, at - self.clock.monotonic()))
        known.alarm = None
        self.let_in(known)

    # memory

    def _known_elsewhere(self) -> dict[str, Known]:
        """What other processes know of hosts, but for the last second."""
        if self._memory is not None and (now := self.clock.monotonic()) >= self._elsewhere_until:
            self._elsewhere_until = now + FRESH
            self._elsewhere = self._memory.snapshot(self._wall())
        return self._elsewhere

    def _wall(self) -> float:
        return self.clock.now().timestamp()

    def _know(self, host: str) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= MOST_KNOWN:
                self._forget_some()
            own = None
            if self._rules is not None:
                rule = self._rules.of(host)
                own = Politeness(rule.per_host, rule.delay, respect_delays=True, waits_count=False)
            known = self._hosts[host] = _Host(host, own)
        return known

    def _forget_some(self) -> None:
        """Those of which nothing is known; where something is known of all, the oldest without requests."""
        now = self.clock.monotonic()
        idle = [name for name, known in self._hosts.items() if not known.is_worth_keeping(now)]
        spare = idle or [name for name, known in self._hosts.items() if not (known.busy or known.waiting)]
        for name in spare[: MOST_KNOWN // 4]:
            del self._hosts[name]


class HostTurn:
    """A class: a generator made into a context manager takes three times as long."""

    __slots__ = ("_began", "_deadline", "_hosts", "_is_in", "_known", "_led", "_politeness", "_shared", "_where")

    def __init__(  # noqa: PLR0913  what a turn is made of
        self,
        hosts: Hosts,
        known: _Host,
        deadline: Deadline,
        politeness: Politeness,
        where: str,
        *,
        led: bool,
        shared: bool,
    ) -> None:
        self._hosts, self._known, self._deadline, self._politeness = hosts, known, deadline, politeness
        self._where, self._led, self._shared = where, led, shared
        self._is_in = False
        self._began = NEVER

    async def __aenter__(self) -> None:
        hosts = self._hosts
        if (error := hosts.given_up(self._known.name, led=self._led)) is not None:
            raise error
        if not hosts.enter(self._known, self._politeness, self._where):
            await self._wait()
        self._is_in = True
        if hosts.times is not None:
            self._began = hosts.clock.monotonic()

    async def _wait(self) -> None:
        """Until there is a place at the host and it is time. Meanwhile others may have the place in the run."""
        self._deadline.phase = "queue"
        place = None if self._shared else current_place.get()
        counts: AbstractContextManager[None] = (
            nullcontext() if self._politeness.waits_count else self._deadline.paused()
        )
        with counts:
            if place is None:
                await self._queue(None)
                return
            place.leave()
            try:
                await self._queue(place)
            except BaseException:
                place.take_back()
                raise
            try:
                await place.come_back()
            except BaseException:
                self._out()
                raise

    async def _queue(self, place: RunPlace | None) -> None:
        hosts, known = self._hosts, self._known
        mine = _Waiter(self._politeness, self._where, led=self._led)
        known.waiting.append(mine)
        if known.waiting[0] is mine:
            hosts.let_in(known)
        if place is not None and not mine.place.done():
            place.may_move(known.name, hosts.ready_at(self._where, self._politeness) - hosts.clock.monotonic())
        try:
            await mine.place
        except BaseException:
            if mine.place.done() and not mine.place.cancelled() and mine.place.exception() is None:
                known.busy -= 1  # the place came too late
            else:
                with suppress(ValueError):  # a turn that ended at the same moment has passed it over already
                    known.waiting.remove(mine)
            hosts.let_in(known)
            raise

    async def again(self) -> None:
        """The request is to be sent once more: to the server that is another one, which waits for its time."""
        await self.__aexit__()
        await self.__aenter__()

    async def __aexit__(self, *raised: object) -> None:
        if self._is_in:
            self._is_in = False
            self._out(answered=not any(raised))

    def _out(self, *, answered: bool = False) -> None:  # noqa: ARG002  a foreign host's owner wants to know
        self._hosts.leave(self._known, self._began)


class ForeignTurn(HostTurn):
    """A turn at a host that another worker owns."""

    __slots__ = ("_foreign",)

    def __init__(  # noqa: PLR0913
        self,
        hosts: Hosts,
        known: _Host,
        deadline: Deadline,
        where: str,
        *,
        led: bool,
        shared: bool,
        foreign: Foreign,
    ) -> None:
        super().__init__(hosts, known, deadline, Politeness(waits_count=False), where, led=led, shared=shared)
        self._foreign = foreign

    async def __aenter__(self) -> None:
        if (error := self._hosts.given_up(self._known.name, led=self._led)) is not None:
            raise error
        await self._wait()
        self._is_in = True

    async def _queue(self, _: RunPlace | None) -> None:
        await self._foreign.take(self._known.name, led=self._led)

    def _out(self, *, answered: bool = False) -> None:
        self._foreign.release(self._known.name, answered=answered)
