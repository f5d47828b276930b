"""A stored copy whose time is over: asked about, found to be still right, or served when nobody answers."""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.errors import Code
from spaniel.net.redirects import HTTPS_DOWNGRADE
from spaniel.pipeline.conditional import NOT_MODIFIED, conditional_for
from spaniel.pipeline.outcome import Found, Kept
from spaniel.reading.document import Document, Metadata
from spaniel.robots.gate import FAIL_OPEN_NOTE

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from spaniel.cache import CacheEntry, CacheKey
    from spaniel.errors import SpanielError
    from spaniel.net.http import Page
    from spaniel.pipeline.conditional import Conditional
    from spaniel.pipeline.stored import StoredPage

STALE_COPY = "stale_copy"
STALE = "stale"
# The server, or the way to it, is out of order. It has not said that the page is gone, or not for us.
UNREACHABLE = frozenset({Code.HTTP_5XX, Code.TIMEOUT, Code.NETWORK, Code.DNS_FAILED, Code.ROBOTS_UNAVAILABLE})
WAY_NOTES = frozenset({HTTPS_DOWNGRADE, FAIL_OPEN_NOTE})
METADATA = tuple(field.name for field in fields(Metadata))
DISTRUSTED = frozenset({"certificate", "tls"})  # causes of `network` that no waiting mends


class Held(NamedTuple):
    """A copy whose time is over. It may be found to be still right, or have to do in place of a page."""

    key: CacheKey
    entry: CacheEntry
    page: StoredPage
    ttl: timedelta
    asked: str | None = None  # the class that the request names

    @property
    def conditional(self) -> Conditional | None:
        """How to ask about it; None where it has nothing to be known by, as what scripts have made."""
        return conditional_for(self.page.final_url, self.entry.etag, self.entry.last_modified)

    @property
    def document(self) -> Document:
        """What was understood of it when it was read, less what concerned the way there."""
        page = self.page
        known = {name: page.metadata.get(name) for name in METADATA}
        notes = tuple(note for note in page.notes if note not in WAY_NOTES)
        told = page.title, page.language
        return Document(page.markdown, *told, metadata=Metadata(**known), notes=notes, signals=page.signals)

    def proved_by(self, page: Page, method: str) -> Proof | None:
        """Whether an answer shows that the copy is still right (FG-40, FG-41).

        Its links were resolved against its URL, and its kind was told by its type, so both must be the same.
        """
        if page.url.href != self.page.final_url or method != self.key.rendering_method:
            return None
        if page.status == NOT_MODIFIED:
            return Proof(self, "not_modified")
        same = (
            len(page.body) == self.page.content_length
            and page.headers.get("content-type", "") == self.page.content_type
            and sha256(page.body).hexdigest() == self.page.content_hash
        )
        return Proof(self, "unchanged") if same else None

    def stands_in_for(self, refusal: SpanielError | None, now: datetime) -> bool:
        """Whether it is better than nothing."""
        if refusal is None or refusal.code not in UNREACHABLE or now - self.entry.fetched_at > 2 * self.ttl:
            return False
        answered = refusal.code is Code.NETWORK and "status" in refusal.details  # though not with a page
        return not answered and refusal.details.get("cause") not in DISTRUSTED

    def found(self, how: str) -> Found:
        """The copy as it is, for whoever asks for the page."""
        entry = self.entry
        page = msgspec.structs.replace(self.page, freshness=self.asked) if self.asked else self.page
        kept = Kept(entry.fetched_at, hours(self.ttl), entry.etag, entry.last_modified, how)
        return Found(page, entry.fetched_at, self.key.rendering_method, kept=kept)


class Proof(NamedTuple):
    """A copy that is still right, and how that is known."""

    held: Held
    how: str  # not_modified (304), unchanged (200, the same bytes)


def hours(ttl: timedelta) -> float:
    return ttl.total_seconds() / 3600
