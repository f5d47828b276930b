"""When a host is given up: it does not answer, it asks us to wait too long or too often, or its time is over.

The pages that are left get records that say so. What was learnt through a redirect of another site (`led`) counts for
such redirects only: else a site could close another one for a whole run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import (
    BATCH_CRAWL_DELAY_SECONDS,
    BATCH_HOST_SECONDS,
    BATCH_RETRY_AFTER_SECONDS,
    BATCH_TOTAL_SECONDS,
)
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterable

GIVEN_UP = "host_given_up"  # the cause in an error of a page that was not requested, since its host was given up
NEVER, NO_LIMIT = float("-inf"), float("inf")
FIRST_PAUSE = 5.0  # seconds of a host that is overloaded and does not say how long (FG-22)


class HostLimits(NamedTuple):
    """When a run gives a host up, and how long the run may take. All but the counts in seconds."""

    failures: int = 5  # in a row: no address, no connection, or one that was closed without an answer
    pause: float = 30.0  # before it is tried once more; 0: it is not
    retry_after: float = BATCH_RETRY_AFTER_SECONDS.default  # that a host may ask for with Retry-After
    crawl_delay: float = BATCH_CRAWL_DELAY_SECONDS.default  # that a robots.txt may ask for
    host_time: float = BATCH_HOST_SECONDS.default  # from a host's first page on; 0: no limit
    total_time: float = BATCH_TOTAL_SECONDS.default  # for the whole run; 0: no limit
    all_waits: float = NO_LIMIT  # that a host may ask for in one run, together; a Crawl-delay may not be longer, either
    first_pause: float = FIRST_PAUSE  # where it asks us to wait and does not say how long; it doubles
    strikes: int = 7  # answers in a row that ask us to wait, with a pause after each
    gives_up_busy: bool = True  # a host that has so many strikes is given up; otherwise they are counted anew


class Breaker:
    """Counts failures host by host; hosts that answer are not remembered."""

    def __init__(self, limits: HostLimits) -> None:
        self._limits = limits
        self._failed: dict[tuple[str, bool], int] = {}
        self._paused: dict[tuple[str, bool], float] = {}  # until when; the requests that fail meanwhile began before

    def answered(self, host: str, *, led: bool) -> None:
        if self._failed:
            self._failed.pop((host, led), None)
            self._paused.pop((host, led), None)

    def failed(self, host: str, now: float, *, led: bool) -> float | None:
        """The pause that the host needs now. `infinity`: it is given up."""
        key = host, led
        if now < self._paused.get(key, NEVER):
            return None
        failed = self._failed[key] = self._failed.get(key, 0) + 1
        if failed < self._limits.failures:
            return None
        if failed > self._limits.failures or not self._limits.pause:
            return float("inf")
        self._paused[key] = now + self._limits.pause
        return self._limits.pause

    def failing(self) -> set[str]:
        return {host for host, _ in self._failed}

    def hand_over(self, host: str, now: float) -> list[tuple[bool, int, float]]:
        """What is known of a host, which is forgotten here: led, how many failed in a row, seconds of pause."""
        return [
            (led, failed, self._paused.pop((host, led), NEVER) - now)
            for led in (False, True)
            if (failed := self._failed.pop((host, led), 0))
        ]

    def take_over(self, host: str, failures: Iterable[tuple[bool, int, float]], now: float) -> None:
        for led, failed, pause in failures:
            self._failed[host, led] = max(failed, self._failed.get((host, led), 0))
            self._paused[host, led] = max(now + pause, self._paused.get((host, led), NEVER))

    def error(self, host: str, code: str, *, led: bool) -> SpanielError:
        """What is said of the pages that are left of a host that was given up."""
        failed = self._failed.pop((host, led), 0)
        self._paused.pop((host, led), None)
        own = Code.DNS_FAILED if code == Code.DNS_FAILED else Code.NETWORK
        return SpanielError(
            own, host=host, error=f"{host} could not be reached {failed} times in a row; not tried", cause=GIVEN_UP
        )


def wait_too_long(host: str, status: int, seconds: float, limit: float) -> SpanielError:
    """Of a host that asks for a longer wait than a run should last (FG-46)."""
    return SpanielError(
        Code.HTTP_4XX if status == 429 else Code.HTTP_5XX,
        status=status,
        status_text=f"for another page of {host}, with a wait of {seconds:.0f} s, more than {limit:.0f} s; not tried",
        retry_after=str(round(seconds)),
        limit="spaniel.batch.max_retry_after_seconds",
        cause=GIVEN_UP,
    )


def asked_too_often(host: str, status: int, times: int) -> SpanielError:
    """Of a host that answers nothing but "not now"."""
    return SpanielError(
        Code.HTTP_4XX if status == 429 else Code.HTTP_5XX,
        status=status,
        status_text=f"for other pages of {host} {times} times in a row; not tried",
        cause=GIVEN_UP,
    )


def crawl_delay_too_long(host: str, seconds: float, limit: float) -> SpanielError:
    return _over(
        host,
        f"robots.txt of {host} asks for a Crawl-delay of {seconds:g} s, more than {limit:g} s; not tried",
        "spaniel.batch.max_crawl_delay_seconds",
        crawl_delay=seconds,
    )


def host_time_over(host: str, limit: float) -> SpanielError:
    return _over(host, f"the {limit:g} s for {host} were over; not tried", "--host-time")


def total_time_over(limit: float) -> SpanielError:
    return _over(None, f"the {limit:g} s for the whole run were over; not tried", "--total-time")


def _over(host: str | None, reason: str, limit: str, **details: object) -> SpanielError:
    return SpanielError(Code.TIMEOUT, reason=reason, limit=limit, host=host, cause=GIVEN_UP, **details)
