"""Places on the wire, taken when a request begins and not before: whoever waits for a host holds none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.hosts import host_of
from spaniel.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spaniel.errors import SpanielError
    from spaniel.hosts import Asked, Hosts, Manners
    from spaniel.hosts.hosts import HostTurn
    from spaniel.net.deadline import Deadline


class Places:
    """Hosts as the door knows them, with so many requests at once in all; and what a run asks of them."""

    def __init__(self, hosts: Hosts, manners: Manners, jobs: int) -> None:
        self._hosts, self._manners = hosts, manners
        self._usual = manners._replace(heeds_delays=False)
        self._places = Slots(jobs)
        self._tell: Callable[[], None] = _nobody
        self._spacing: dict[str, float] = {}  # where a host's Crawl-delay asks for more than our own manners

    def turn(self, where: str, deadline: Deadline, manners: Manners, *, led: bool = False) -> _Turn:  # noqa: ARG002  for a batch
        host = host_of(where)
        if manners.spacing_seconds > self._manners.spacing_seconds:
            self._spacing[host] = manners.spacing_seconds
        if manners.spacing_seconds and self._hosts.wait_seconds(host, manners) > 0:
            self._tell()
        return _Turn(self._hosts.turn(host, deadline, manners), self._places, deadline)

    def has_room(self, count: int = 1) -> bool:
        return self._places.has_room(count)

    def when_waiting(self, call: Callable[[], None]) -> None:
        self._tell = call

    def wait_seconds(self, host: str) -> float:
        """Until a request may begin, by spacing and Crawl-delay."""
        if not self._usual.spacing_seconds and not self._spacing:
            return 0.0
        spacing = self._spacing.get(host)
        manners = self._usual if spacing is None else self._usual._replace(spacing_seconds=spacing)
        return self._hosts.wait_seconds(host, manners)

    def asked_seconds(self, host: str) -> float:
        """For which a host asked to be left alone, this program or another."""
        asked = self._hosts.asked(host)
        return 0.0 if asked is None else asked.seconds

    def told_crawl_delay(self, host: str, seconds: float) -> None:
        self._hosts.told_crawl_delay(host, seconds)

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None:
        self._hosts.answered(where, status, headers, led=led)

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None:
        self._hosts.unanswered(where, error, led=led)

    def asked(self, where: str) -> Asked | None:
        return self._hosts.asked(where)

    async def heed(self, where: str, deadline: Deadline, manners: Manners) -> None:
        await self._hosts.heed(where, deadline, manners)

    def told_http_only(self, host: str) -> None:
        self._hosts.told_http_only(host)

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
        if not self._turn.begin_at_once():
            await self._turn.wait()
        if self._places.take():
            return
        try:
            with self._deadline.held():
                await self._places.wait()
        except BaseException:
            self._turn.leave()
            raise

    async def again(self) -> None:
        """The request is to be sent once more: it waits for its time, and keeps its place."""
        with self._deadline.held():
            await self._turn.again()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()
        self._turn.leave()
