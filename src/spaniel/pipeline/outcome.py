"""How a fetch ended: a page or a refusal, and what was tried. Answers, records and verdicts are views of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from spaniel.errors import SpanielError
    from spaniel.pipeline.stored import StoredPage
    from spaniel.pipeline.trace import TraceStep

CACHE_HIT = "cache_hit"
NO_TEXT = "no_text"


class Attempt(NamedTuple):
    """One rung that was climbed, and what came of it."""

    rung: str
    url: str  # where it ended
    error: SpanielError | None  # None: it brought a page
    status: int | None
    chain: tuple[str, ...]  # the URLs before
    phase: str  # what was under way when it ended
    ms: float

    @property
    def outcome(self) -> str:
        return str(self.error.code) if self.error else "ok"


class Found(NamedTuple):
    """A page, when it was fetched, and how."""

    page: StoredPage
    fetched_at: datetime
    rendering_method: str
    picture: bytes | None = None  # PNG, where one was asked for


class Outcome(NamedTuple):
    """Either `found` or `refusal` is there."""

    requested_url: str  # as it was asked for, credentials aside
    canonical_url: str | None = None  # None: it is no URL to the profile's policy
    found: Found | None = None
    refusal: SpanielError | None = None
    attempts: tuple[Attempt, ...] = ()
    served_at: datetime | None = None  # of what came from the cache
    steps: Sequence[TraceStep] = ()

    @property
    def cache_hit(self) -> bool:
        return self.served_at is not None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is to be known about the page, in the order in which it arose (D2-05)."""
        notes = list(self.found.page.notes) if self.found else []
        if self.found and not self.found.page.markdown.strip():
            notes.append(NO_TEXT)  # nothing is silently empty (D2-33)
        if self.cache_hit:
            notes.append(CACHE_HIT)
        return tuple(notes)

    @property
    def final_url(self) -> str | None:
        if self.found is not None:
            return self.found.page.final_url
        return self.attempts[-1].url if self.attempts else self.canonical_url

    @property
    def chain(self) -> tuple[str, ...]:
        if self.found is not None:
            return tuple(self.found.page.chain)
        return self.attempts[-1].chain if self.attempts else ()

    @property
    def status(self) -> int | None:
        """What the server answered at the end, if it did."""
        if self.found is not None:
            return self.found.page.status
        return self.attempts[-1].status if self.attempts else None

    @property
    def content_hash(self) -> str | None:
        return (self.found.page.content_hash or None) if self.found else None

    def require(self) -> Found:
        """The page; the refusal is raised where there is none."""
        if self.found is None:
            raise self.refusal or AssertionError("an outcome is a page or a refusal")
        return self.found
