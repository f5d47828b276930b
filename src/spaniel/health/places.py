"""Places on the wire, taken when a request begins and not before: whoever waits for a host holds none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.hosts import host_of
from spaniel.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spaniel.errors import SpanielError
    from spaniel.hosts import Asked, Hosts, Politeness
    from spaniel.hosts.hosts import HostTurn
    from spaniel.net.deadline import Deadline


class Places:
    """Hosts as the door knows them, with so many requests at once in all; and what a run asks of them."""

    def __init__(self, hosts: Hosts, politeness: Politeness, jobs: int) -> None:
        self._hosts, self._politeness = hosts, politeness
        self._usual = politeness._replace(heeds_delays=False)
        self._places = Slots(jobs)
        self._tell: Callable[[], None] = _nobody
        self._spacing: dict[str, float] = {}  # where a host's Crawl-delay asks for more than our own politeness

    def turn(self, where: str, deadline: Deadline, politeness: Politeness, *, led: bool = False) -> _Turn:  # noqa: ARG002  for a batch
        host = host_of(where)
        if politeness.spacing_seconds > self._politeness.spacing_seconds:
            self._spacing[host] = politeness.spacing_seconds
        if politeness.spacing_seconds and self._hosts.wait_seconds(host, politeness) > 0:
            self._tell()
        return _Turn(self._hosts.turn(host, deadline, politeness), self._places, deadline)

    def has_room(self, count: int = 1) -> bool:
        return self._places.has_room(count)

    def when_waiting(self, call: Callable[[], None]) -> None:
        self._tell = call

    def wait_seconds(self, host: str) -> float:
        """Until a request may begin, by spacing and Crawl-delay."""
        if not self._usual.spacing_seconds and not self._spacing:
            return 0.0
        spacing = self._spacing.get(host)
        politeness = self._usual if spacing is None else self._usual._replace(spacing_seconds=spacing)
        return self._hosts.wait_seconds(host, politeness)

    def asked_seconds(self, host: str) -> float:
        """For which a host asked to be left alone, this program or another."""
        asked = self._hosts.asked(host)
        return 0.0 if asked is None else asked.seconds

    def set_crawl_delay(self, host: str, seconds: float) -> None:
        self._hosts.set_crawl_delay(host, seconds)

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None:
        self._hosts.answered(where, status, headers, led=led)

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None:
        self._hosts.unanswered(where, error, led=led)

    def asked(self, where: str) -> Asked | None:
        return self._hosts.asked(where)

    async def wait(self, where: str, deadline: Deadline, politeness: Politeness) -> None:
        await self._hosts.wait(where, deadline, politeness)

    def set_http_only(self, host: str) -> None:
        self._hosts.set_http_only(host)

    def is_http_only(self, host: str) -> bool:
        return self._hosts.is_http_only(host)


def _nobody() -> None:
    """Whoever waits may be anybody's concern, or nobody's."""


class _Turn:
    """A turn at a host, and then a place. That others have all places is not the fault of a link: its clock stands."""

    __slots__ = ("_deadline", "_places", "_turn")

    def __init__(self, turn: HostTurn, places: Slots, deadline: Deadline) -> None:
        self._turn, self._places, self._deadline = turn, places, deadline

    async def __aenter__(self) -> None:
        await self._turn.__aenter__()
        if self._places.take():
            return
        try:
            with self._deadline.held():
                await self._places.wait()
        except BaseException:
            await self._turn.__aexit__()
            raise

    async def again(self) -> None:
        """The request is to be sent once more: it waits for its time, and keeps its place."""
        with self._deadline.held():
            await self._turn.again()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()
        await self._turn.__aexit__()
