"""An expired cached copy: revalidated by a conditional request (FG-39), or served when the site does not answer."""

from __future__ import annotations

import re
from dataclasses import fields
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.errors import Code
from spaniel.net.redirects import HTTPS_DOWNGRADE
from spaniel.pipeline.outcome import CacheInfo, Found
from spaniel.reading.document import Document, Metadata
from spaniel.robots.gate import FAIL_OPEN_NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from spaniel.cache import CacheEntry, CacheKey
    from spaniel.errors import SpanielError
    from spaniel.net.http import Page, RequestOptions
    from spaniel.pipeline.outcome import StoredPage
    from spaniel.url.value import Url


NOT_MODIFIED = 304

# An entity tag (RFC 9110 8.8.3), or one without its quotes. Never `*`, which matches every page,
# and never a list, which would come from two headers.
_TAG = re.compile(r'(?:W/)?"[^"]*"|[^",*\s]+')
_CODING = re.compile(r'[-;:]{1,2}(?:gzip|br|deflate|zstd)(?="?$)')  # added by servers that compress


class Conditional(NamedTuple):
    """The validators of a stored copy. They are sent only to the URL it came from."""

    url: str  # the copy's own; no other hop gets the headers
    etag: str | None
    fields: Mapping[str, str]  # the request headers

    def options_for(self, url: Url, options: RequestOptions) -> RequestOptions:
        return options._replace(more={**options.more, **self.fields}) if url.href == self.url else options

    def answered_by(self, page: Page) -> bool:
        """Whether this 304 answers our conditional request; any other 304 is meaningless."""
        return page.status == NOT_MODIFIED and page.url.href == self.url

    def agrees_with(self, page: Page) -> bool:
        """A 304 with another ETag than the copy's says nothing about the copy (RFC 9111 4.3.4)."""
        named = page.headers.get("etag")
        return named is None or self.etag is None or _opaque(named) == _opaque(self.etag)


def conditional_for(url: str, etag: str | None, last_modified: str | None) -> Conditional | None:
    """Both validators, as the server sent them. Invalid header values are left out; None if none is left."""
    asked = {"If-None-Match": _tag(etag), "If-Modified-Since": _line(last_modified)}
    sent = {name: value for name, value in asked.items() if value}
    return Conditional(url, etag, sent) if sent else None


def _tag(etag: str | None) -> str | None:
    return etag if etag and _line(etag) and _TAG.fullmatch(etag) else None


def _line(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isprintable() else None


def _opaque(etag: str) -> str:
    """For weak comparison (RFC 9110 8.8.3.2), ignoring content coding."""
    return _CODING.sub("", etag.removeprefix("W/"))


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

    def revalidated_by(self, page: Page, method: str) -> Revalidated | None:
        """Whether a response shows that the copy is still valid (FG-40, FG-41).

        Links were resolved against its URL, and its type chose the reader, so both must be the same.
        """
        if page.url.href != self.page.final_url or method != self.key.rendering_method:
            return None
        if page.status == NOT_MODIFIED:
            return Revalidated(self, "not_modified")
        same = (
            len(page.body) == self.page.content_length
            and page.headers.get("content-type", "") == self.page.content_type
            and sha256(page.body).hexdigest() == self.page.content_hash
        )
        return Revalidated(self, "unchanged") if same else None

    def replaces(self, refusal: SpanielError | None, now: datetime) -> bool:
        """Whether it may be used after this failure."""
        if refusal is None or refusal.code not in UNREACHABLE or now - self.entry.fetched_at > 2 * self.ttl:
            return False
        answered = refusal.code is Code.NETWORK and "status" in refusal.details  # a response, but not a page
        return not answered and refusal.details.get("cause") not in DISTRUSTED

    def found(self, how: str) -> Found:
        """The copy as a result."""
        entry = self.entry
        page = msgspec.structs.replace(self.page, freshness=self.asked) if self.asked else self.page
        cache_info = CacheInfo(entry.fetched_at, hours(self.ttl), entry.etag, entry.last_modified, how)
        return Found(page, entry.fetched_at, self.key.rendering_method, cache_info=cache_info)


class Revalidated(NamedTuple):
    """A copy that is still valid, and how that is known."""

    stale: StaleEntry
    how: str  # not_modified (304), unchanged (200, the same bytes)


def hours(ttl: timedelta) -> float:
    return ttl.total_seconds() / 3600
