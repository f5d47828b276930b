"""Turns at hosts: the one authority of a run, whoever asks. Every request of every worker begins with a turn.

A redirect leads wherever it likes, and so does an archive; were each worker to space only its own requests, two of them
might meet at one host. So they all ask here. The pause begins when a turn ends, not when it began: the way of a
message to a worker, or of a first connection to its host, then makes no pause shorter than the server sees it.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING

from spaniel.hosts.hosts import ASK_FOR_TIME, FIRST_PAUSE, LED_WAIT, LONGEST_PAUSE, MOST_STRIKES

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.hosts.rules import Rule, Rules

__all__ = ["ASK_FOR_TIME", "MOST_STRIKES", "Turns"]

MOST_KNOWN = 20_000  # hosts that something is remembered of
NEVER = float("-inf")


class _Host:
    __slots__ = ("asked_for", "busy", "crawl_delay", "lanes", "not_before", "rule", "strikes", "waiting")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.lanes = [NEVER] * rule.per_host  # when each of the idle ones may be used again: a heap
        self.busy = 0
        self.not_before = NEVER  # by Retry-After, or because it is overloaded
        self.crawl_delay = 0.0
        self.strikes = 0  # answers in a row that ask for time
        self.waiting: deque[Callable[[], None]] = deque()
        self.asked_for = ""  # why it waits, for people

    @property
    def delay(self) -> float:
        return max(self.rule.delay, self.crawl_delay)

    def free_at(self) -> float:
        """When the next request may begin, if nobody else waits; a busy lane is guessed to be free at once."""
        if not self.lanes:
            return self.not_before
        return max(max(self.lanes) if self.crawl_delay else self.lanes[0], self.not_before)

    def has_room(self) -> bool:
        """Whoever asks for pauses in its robots.txt is visited by one alone."""
        return not self.busy if self.crawl_delay else bool(self.lanes)

    def is_worth_keeping(self, now: float) -> bool:
        return bool(self.busy or self.waiting or self.free_at() > now)


class Turns:
    """Grants turns in the order in which they were asked for. `later(moment, do)` is how it waits."""

    def __init__(
        self, politeness: Rules, clock: Callable[[], float], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._politeness, self._clock, self._later = politeness, clock, later
        self._hosts: dict[str, _Host] = {}

    def ask(self, host: str, grant: Callable[[], None]) -> None:
        """`grant` is called when it is time: perhaps at once, never twice. Each grant ends with `leave`."""
        known = self._know(host)
        known.waiting.append(grant)
        self._let_in(host, known)

    def withdraw(self, host: str, grant: Callable[[], None]) -> bool:
        """Whether somebody was still waiting, and does so no more."""
        known = self._hosts.get(host)
        if known is None or grant not in known.waiting:
            return False
        known.waiting.remove(grant)
        return True

    def leave(self, host: str) -> None:
        """The answer is there, or there will be none."""
        known = self._know(host)
        known.busy -= 1
        heapq.heappush(known.lanes, self._clock() + known.delay)
        if known.waiting:
            self._let_in(host, known)

    def answered(self, host: str) -> None:
        """With anything but a wish for time."""
        if (known := self._hosts.get(host)) is not None:
            known.strikes = 0

    def asked_for_time(self, host: str, status: int, retry_after: float | None, *, led: bool = False) -> int:
        """A host that asks for time gets it, also where it does not say how much. Returns how often it did so in a
        row; requests that were under way at one time count once, and those that another site led there do not."""
        known = self._know(host)
        pause = retry_after or min(FIRST_PAUSE * 2.0**known.strikes, LONGEST_PAUSE)
        if led:
            pause = min(pause, LED_WAIT)
        elif known.not_before <= self._clock():
            known.strikes += 1
        self.pause(host, pause, f"answered {status}")
        return known.strikes

    def pause(self, host: str, seconds: float, why: str) -> None:
        """Leave a host alone for a while."""
        known = self._know(host)
        known.not_before = max(known.not_before, self._clock() + seconds)
        known.asked_for = why

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self._know(host).crawl_delay = seconds

    def ready_at(self, host: str) -> float:
        """When a request that was asked for now would begin, as far as can be told."""
        known = self._hosts.get(host)
        if known is None:
            return NEVER
        free = known.free_at()
        ahead = len(known.waiting) + (known.busy if not known.lanes else 0)
        return max(free, self._clock()) + ahead * known.delay / known.rule.per_host if ahead else free

    def places(self, host: str) -> int:
        """How many requests may be under way at a host."""
        known = self._hosts.get(host)
        if known is None:
            return self._politeness.of(host).per_host
        return 1 if known.crawl_delay else known.rule.per_host

    def has_pauses(self, host: str) -> bool:
        """Whether its requests have to be spaced."""
        known = self._hosts.get(host)
        return (self._politeness.of(host).delay if known is None else known.delay) > 0

    def reason(self, host: str) -> str:
        """Why a host is waited for."""
        known = self._hosts.get(host)
        if known is None:
            return ""
        if known.not_before > self._clock():
            return known.asked_for
        return f"Crawl-delay {known.crawl_delay:g} s" if known.crawl_delay > known.rule.delay else "pause"

    def _let_in(self, host: str, known: _Host) -> None:
        now = self._clock()
        while known.waiting and known.has_room():
            if (at := known.free_at()) > now:
                self._later(at, lambda: self._let_in(host, known))
                return
            heapq.heappop(known.lanes)
            known.busy += 1
            known.waiting.popleft()()

    def _know(self, host: str) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= MOST_KNOWN:
                self._forget()
            known = self._hosts[host] = _Host(self._politeness.of(host))
        return known

    def _forget(self) -> None:
        """Whoever is idle and past its pause; the frontier bounds how many are not."""
        now = self._clock()
        for name in [name for name, known in self._hosts.items() if not known.is_worth_keeping(now)]:
            del self._hosts[name]
