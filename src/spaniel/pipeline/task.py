"""One fetch in progress: its task, the expired copy of the page, and the attempts so far."""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.errors import Code
from spaniel.net.redirects import HTTPS_DOWNGRADE
from spaniel.pipeline.outcome import CacheInfo, FoundPage, LeftOut
from spaniel.pipeline.retrieve import NOT_MODIFIED, conditional_for
from spaniel.reading.document import Document, Metadata
from spaniel.robots.gate import FAIL_OPEN_NOTE
from spaniel.url.value import split

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from spaniel.cache import CacheEntry, CacheKey
    from spaniel.errors import SpanielError
    from spaniel.net.http import Page
    from spaniel.pipeline.outcome import Attempt, StoredPage
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import Conditional, FetchedPage, FetchOptions
    from spaniel.url import Canonical, Url


STALE_COPY = "stale_copy"
STALE = "stale"
# The server, or the network, has a problem. It has not said that the page is gone or forbidden.
UNREACHABLE = frozenset({Code.HTTP_5XX, Code.TIMEOUT, Code.NETWORK, Code.DNS_FAILED, Code.ROBOTS_UNAVAILABLE})
HOP_NOTES = frozenset({HTTPS_DOWNGRADE, FAIL_OPEN_NOTE})
METADATA = tuple(field.name for field in fields(Metadata))
DISTRUSTED = frozenset({"certificate", "tls"})  # causes of `network` that do not go away by waiting


class StaleEntry(NamedTuple):
    """A copy past its lifetime. It may be revalidated, or used when the site does not respond."""

    key: CacheKey
    entry: CacheEntry
    page: StoredPage
    ttl: timedelta
    asked: str | None = None  # the class that the request names

    @property
    def conditional(self) -> Conditional | None:
        """The conditional request; None without validators, as for rendered pages."""
        return conditional_for(self.page.final_url, self.entry.etag, self.entry.last_modified)

    @property
    def document(self) -> Document:
        """The document as it was read, without notes about the earlier fetch's hops."""
        page = self.page
        known = {name: page.metadata.get(name) for name in METADATA}
        notes = tuple(note for note in page.notes if note not in HOP_NOTES)
        fields = page.title, page.language
        return Document(page.markdown, *fields, metadata=Metadata(**known), notes=notes, signals=page.signals)

    def revalidated_by(self, page: Page, method: str) -> str | None:
        """How a response shows that the copy is still valid (FG-40, FG-41): `not_modified` (304), or `unchanged` (200,
        the same bytes). None if it does not.

        Links were resolved against its URL, and its type chose the reader, so both must be the same.
        """
        if page.url.href != self.page.final_url or method != self.key.rendering_method:
            return None
        if page.status == NOT_MODIFIED:
            return "not_modified"
        same = (
            len(page.body) == self.page.content_length
            and page.headers.get("content-type", "") == self.page.content_type
            and sha256(page.body).hexdigest() == self.page.content_hash
        )
        return "unchanged" if same else None

    def replaces(self, refusal: SpanielError | None, now: datetime) -> bool:
        """Whether it may be used after this failure."""
        if refusal is None or refusal.code not in UNREACHABLE or now - self.entry.fetched_at > 2 * self.ttl:
            return False
        answered = refusal.code is Code.NETWORK and "status" in refusal.details  # a response, but not a page
        return not answered and refusal.details.get("cause") not in DISTRUSTED

    def found(self, how: str) -> FoundPage:
        """The copy as a result."""
        entry = self.entry
        page = msgspec.structs.replace(self.page, freshness=self.asked) if self.asked else self.page
        cache_info = CacheInfo(entry.fetched_at, self.ttl.total_seconds() / 3600, entry.etag, entry.last_modified, how)
        return FoundPage(page, entry.fetched_at, self.key.rendering_method, cache_info=cache_info)


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


class Attempts:
    """The results so far: the best page, or why there is none."""

    __slots__ = ("attempts", "best", "earlier_refusal", "found", "left_out", "task")

    def __init__(self, task: FetchTask) -> None:
        self.task = task
        self.attempts: list[Attempt] = []
        self.left_out: list[LeftOut] = []
        self.best: FetchedPage | None = None
        self.found: FoundPage | None = None  # the best page as stored
        self.earlier_refusal: SpanielError | None = None  # the host's answer to an earlier fetch, if it asked to wait

    @property
    def refusal(self) -> SpanielError | None:
        """Why there is no page: the last failure at the site; a 404 after a 500 is more useful."""
        return None if self.best is not None or self.found is not None else self.failure

    @property
    def failure(self) -> SpanielError | None:
        """The last failure at the page's own site, which decides whether other fallbacks apply."""
        own = self.at_site()
        return own[-1].error if own else self.earlier_refusal

    @property
    def last_url(self) -> Url:
        """The URL of the last attempt at the site: a redirect may have led to another host."""
        own = self.at_site()
        return split(own[-1].url) if own else self.task.url

    def at_site(self) -> list[Attempt]:
        """The attempts at the page's own site."""
        return [attempt for attempt in self.attempts if not attempt.elsewhere]

    def skip(self, fallback: str, why: str) -> None:
        self.left_out.append(LeftOut(fallback, why, len(self.attempts)))
