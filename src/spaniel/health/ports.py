"""What a run needs of others, and what it is told to keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.health.past import Past
    from spaniel.health.verdict import Checked, Link


class Looked(NamedTuple):
    """What one look at a link brought."""

    checked: Checked
    reached: bool | None  # whether any answer came from the link's host; None where it was not asked
    retry_after: float | None = None  # seconds that the host asked for; 0 where it asked and did not say how long
    head_differs: bool = False  # HEAD and GET disagreed


class Looks(Protocol):
    """Asks for a link, once, and says what may be said of it."""

    async def look(self, link: Link, past: Past, attempts: int) -> Looked: ...  # that were made before


class Patience(Protocol):
    """What is known of hosts."""

    def wait_seconds(self, host: str) -> float: ...  # by spacing and Crawl-delay

    def asked_seconds(self, host: str) -> float: ...  # by Retry-After

    def has_room(self, count: int = 1) -> bool: ...  # whether so many places on the wire are free

    def when_waiting(self, call: Callable[[], None]) -> None: ...  # whenever somebody begins to wait without a place


class RunOptions(NamedTuple):
    at_once: int = 128  # links that are under way, most of which may wait
    per_host: int = 1  # of one host
    link_seconds: float = 60.0  # for one link, however its host behaves
    content_seconds: float = 600.0  # for one whose content is asserted, of any size
    host_patience: float = 120.0  # seconds that a host may ask for in a run
    total_seconds: float = 0.0  # for the run; 0: as long as it takes
