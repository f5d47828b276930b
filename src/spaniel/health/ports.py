"""What a run needs of others, and what it is told to keep to."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import CHECK_CONTENT_SECONDS, CHECK_HOST_WAIT_SECONDS, CHECK_JOBS

if TYPE_CHECKING:
    from spaniel.health.links import Checked, Link
    from spaniel.verdicts import Past


class Heard(IntEnum):
    """How far a request to a host came: of several, the highest counts."""

    NO_LOOKUP_ANSWER = -2  # its name was looked up, and no name server answered
    SILENT = -1  # it has no name that could be looked up, and did not answer
    LOOKUP_ANSWER = 0  # an address, or that there is none; nothing else came
    ANSWER = 1  # from the host itself, if only to refuse a connection


class HostCounts(NamedTuple):
    """Hosts that were asked, by how far the best request to each came."""

    asked: int = 0
    reached: int = 0  # ANSWER
    looked_up: int = 0  # LOOKUP_ANSWER
    unanswered: int = 0  # NO_LOOKUP_ANSWER

    def with_one(self, heard: int) -> HostCounts:
        return HostCounts(
            self.asked + 1,
            self.reached + (heard >= Heard.ANSWER),
            self.looked_up + (heard == Heard.LOOKUP_ANSWER),
            self.unanswered + (heard == Heard.NO_LOOKUP_ANSWER),
        )

    @property
    def had_network(self) -> bool:
        """LH-01: no host and no lookup answered, or, where some hosts were reached, most of four or more lookups
        failed without an answer. An NXDOMAIN is an answer."""
        if not self.asked:
            return True
        if not self.reached:
            return self.looked_up > 0
        return self.asked < FEW_HOSTS or self.unanswered * 2 <= self.asked


FEW_HOSTS = 4  # fewer than these say nothing of the network, once one of them answers


class Looked(NamedTuple):
    """What one look at a link brought."""

    checked: Checked
    heard: Heard | None  # how far the request came; None where nobody was asked
    retry_after: float | None = None  # seconds that the host asked for; 0 where it asked and did not say how long
    head_differs: bool = False  # HEAD and GET disagreed


class Looks(Protocol):
    """Asks for a link, once, and says what may be said of it."""

    async def look(self, link: Link, past: Past, attempts: int) -> Looked: ...  # that were made before


class HostDelays(Protocol):
    """What is known of hosts."""

    def ready_at(self, host: str, /) -> float: ...  # by delays and Crawl-delay

    def asked_seconds(self, host: str, /) -> float: ...  # by Retry-After

    def crawl_delay(self, host: str, /) -> float: ...

    def places(self, host: str, /) -> int: ...  # requests that may be under way there


class RunOptions(NamedTuple):
    at_once: int = CHECK_JOBS.default  # links that are under way, without those that wait for a host
    link_seconds: float = 60.0  # for one link, however its host behaves
    content_seconds: float = CHECK_CONTENT_SECONDS.default  # for one whose content is asserted, of any size
    host_patience: float = CHECK_HOST_WAIT_SECONDS.default  # seconds that a host may ask for in a run
    total_seconds: float = 0.0  # for the run; 0: as long as it takes
