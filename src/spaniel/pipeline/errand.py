"""What is to be fetched, and what has come of it so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from spaniel.errors import SpanielError
    from spaniel.pipeline.held import Held, Proof
    from spaniel.pipeline.outcome import Attempt, Found
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import Retrieved, Way
    from spaniel.reading import Document
    from spaniel.url import Canonical, Url


class Errand(NamedTuple):
    """A page that is wanted, and how the profile goes about it."""

    url: Url
    canonical: Canonical
    request: Request
    way: Way
    rungs: tuple[str, ...]  # of the profile's ladder
    kinds: tuple[str, ...]  # of content that the profile reads
    held: Held | None = None  # a stored copy whose time is over


class Brought(NamedTuple):
    """A page as a rung brought it, and what was understood of it."""

    retrieved: Retrieved
    document: Document
    fetched_at: datetime
    rendering_method: str
    notes: tuple[str, ...]
    proof: Proof | None = None  # that the errand's held copy is still right: nothing was read again


class Ascent:
    """What has come of the rungs so far: the best page, or why there is none."""

    __slots__ = ("attempts", "best", "errand", "found")

    def __init__(self, errand: Errand) -> None:
        self.errand = errand
        self.attempts: list[Attempt] = []
        self.best: Brought | None = None
        self.found: Found | None = None  # the best, as it is stored

    @property
    def refusal(self) -> SpanielError | None:
        """Why there is no page: what came of the first rung, since the others were only to make up for it."""
        return None if self.best or self.found or not self.attempts else self.attempts[0].error
