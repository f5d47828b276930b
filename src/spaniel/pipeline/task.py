"""The task of one fetch, and the attempts so far."""

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
    """A requested page, and how the profile fetches it."""

    url: Url
    canonical: Canonical
    request: Request
    way: FetchOptions
    fallback_names: tuple[str, ...]  # of the profile's fallbacks
    kinds: tuple[str, ...]  # kinds of content that the profile reads
    profile: str = ""  # its name
    profile_file: str = ""  # its file; empty: a built-in profile
    stale: StaleEntry | None = None  # an expired stored copy

    @property
    def is_upgraded(self) -> bool:
        """Whether the policy upgraded an HTTP URL to HTTPS (FG-13)."""
        return self.url.scheme == "https" and self.canonical.original.strip().lower().startswith("http://")


class FetchResult(NamedTuple):
    """A page as a fallback fetched it, and the document read from it."""

    fetched: FetchedPage
    document: Document
    fetched_at: datetime
    rendering_method: str
    notes: tuple[str, ...]
    fallback: str = "http"  # that fetched it
    reader: str = "html"  # the kind of content it was read as
    signals: Mapping[str, object] = NOTHING  # the site's usage signals
    blocked: BlockedPage | None = None  # set if it is not the requested page
    proof: Revalidated | None = None  # set if the task's stale copy is still valid: nothing was read again


class Attempts:
    """The results so far: the best page, or why there is none."""

    __slots__ = ("attempts", "best", "earlier_refusal", "found", "left_out", "task")

    def __init__(self, task: FetchTask) -> None:
        self.task = task
        self.attempts: list[Attempt] = []
        self.left_out: list[LeftOut] = []
        self.best: FetchResult | None = None
        self.found: Found | None = None  # the best page as stored
        self.earlier_refusal: SpanielError | None = None  # the host's answer to an earlier fetch, if it asked to wait

    @property
    def refusal(self) -> SpanielError | None:
        """Why there is no page: the last failure at the site; a 404 after a 500 is more useful."""
        return None if self.best is not None or self.found is not None else self.failure

    @property
    def failure(self) -> SpanielError | None:
        """The last failure at the page's own site, which decides whether other fallbacks apply."""
        own = self._last_at_site()
        return own.error if own is not None else self.earlier_refusal

    @property
    def last_url(self) -> Url:
        """The URL of the last attempt at the site: a redirect may have led to another host."""
        own = self._last_at_site()
        return split(own.url) if own is not None else self.task.url

    def at_site(self) -> list[Attempt]:
        """The attempts at the page's own site."""
        return [attempt for attempt in self.attempts if not attempt.elsewhere]

    def skip(self, fallback: str, why: str) -> None:
        self.left_out.append(LeftOut(fallback, why, len(self.attempts)))

    def _last_at_site(self) -> Attempt | None:
        own = self.at_site()
        return own[-1] if own else None
