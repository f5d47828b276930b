"""What is to be fetched, and the attempts at it so far."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spaniel.pipeline.outcome import LeftOut
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from spaniel.errors import SpanielError
    from spaniel.pipeline.outcome import Attempt, Found
    from spaniel.pipeline.page_types import BlockedPage
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import FetchedPage, FetchOptions
    from spaniel.pipeline.stale import Revalidated, StaleEntry
    from spaniel.reading import Document
    from spaniel.url import Canonical, Url


NOTHING: Mapping[str, object] = MappingProxyType({})


class FetchTask(NamedTuple):
    """A page that is wanted, and how the profile goes about it."""

    url: Url
    canonical: Canonical
    request: Request
    way: FetchOptions
    fallback_names: tuple[str, ...]  # of the profile's ladder
    kinds: tuple[str, ...]  # of content that the profile reads
    profile: str = ""  # its name
    profile_file: str = ""  # where it is from; empty: it is shipped
    stale: StaleEntry | None = None  # a stored copy whose time is over

    @property
    def is_upgraded(self) -> bool:
        """Whether HTTP was asked for, and the policy made HTTPS of it (FG-13)."""
        return self.url.scheme == "https" and self.canonical.original.strip().lower().startswith("http://")


class FetchResult(NamedTuple):
    """A page as a rung brought it, and what was understood of it."""

    fetched: FetchedPage
    document: Document
    fetched_at: datetime
    rendering_method: str
    notes: tuple[str, ...]
    fallback: str = "http"  # that brought it
    reader: str = "html"  # the kind of content that it was read as
    signals: Mapping[str, object] = NOTHING  # what the site says about its use
    blocked: BlockedPage | None = None  # it is not the page that was asked for
    proof: Revalidated | None = None  # that the errand's held copy is still right: nothing was read again


class Attempts:
    """What has come of the rungs so far: the best page, or why there is none."""

    __slots__ = ("attempts", "best", "earlier_refusal", "found", "left_out", "task")

    def __init__(self, task: FetchTask) -> None:
        self.task = task
        self.attempts: list[Attempt] = []
        self.left_out: list[LeftOut] = []
        self.best: FetchResult | None = None
        self.found: Found | None = None  # the best, as it is stored
        self.earlier_refusal: SpanielError | None = None  # what the site said earlier, where it was not asked for that

    @property
    def refusal(self) -> SpanielError | None:
        """Why there is no page: the site's last word, since a 404 after a 500 is the better news of the two."""
        return None if self.best is not None or self.found is not None else self.failure

    @property
    def failure(self) -> SpanielError | None:
        """The site's last word, by which the rungs judge that make up for it."""
        own = self._last_at_site()
        return own.error if own is not None else self.earlier_refusal

    @property
    def last_url(self) -> Url:
        """Where the site's last word came from: a redirect may have led to another host."""
        own = self._last_at_site()
        return split(own.url) if own is not None else self.task.url

    def at_site(self) -> list[Attempt]:
        """The attempts that asked the page's own site."""
        return [attempt for attempt in self.attempts if not attempt.elsewhere]

    def skip(self, fallback: str, why: str) -> None:
        self.left_out.append(LeftOut(fallback, why, len(self.attempts)))

    def _last_at_site(self) -> Attempt | None:
        own = self.at_site()
        return own[-1] if own else None
