"""The outcome of a fetch: a page or a refusal, and the attempts. Answers, records and verdicts are views of it."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spaniel.chunking import Boundaries, Chunk, boundaries, chunk, rebuild
from spaniel.errors import Code, SpanielError
from spaniel.url.canonical import CREDENTIALS_WARNING
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.pipeline.request import TraceStep
    from spaniel.reading import Document


cache_log = logging.getLogger("spaniel.cache")


class StoredPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole document, and the offsets of its chunks at the default size, so that a usual hit counts no tokens."""

    final_url: str
    markdown: str
    chunk_tokens: int
    chunks: Boundaries
    title: str | None = None
    language: str | None = None
    notes: list[str] = []
    metadata: dict[str, Any] = {}
    content_type: str = ""
    status: int = 200
    chain: list[str] = []  # the URLs before the final one
    content_hash: str = ""  # SHA-256 of the decoded body
    content_length: int = 0  # bytes of the decoded body
    markdown_hash: str = ""  # SHA-256 of the Markdown: a changed advert does not change it
    reader: str = "html"  # the kind of content it was read as
    served_by: str = "http"  # the fallback that fetched it
    page_type: str = ""  # what the page is instead of the requested one: paywall, login, …
    region: str = ""  # for a page that is not available in this region
    wall: dict[str, str] = {}  # the pattern of a paywall or a login, and where it was found
    freshness: str = ""  # its freshness class
    signals: dict[str, Any] = {}  # the site's usage signals
    archive_url: str = ""  # the snapshot that it was taken from
    archive_date: str = ""
    data: str | None = None  # for structured content: all of it as JSON text
    pages: list[int] = []  # where each page starts in the Markdown, for a document with pages (FG-24)

    @property
    def headline(self) -> str | None:
        """The title for readers: the page's headline if it has one, else its `<title>`."""
        return self.metadata.get("title") or self.title

    def cut(self, max_tokens: int) -> list[Chunk]:
        """Chunks of a size: from the stored offsets if it is the stored size, else counted; equal either way."""
        if max_tokens == self.chunk_tokens:
            with suppress(LookupError, ValueError):  # invalid offsets are ignored
                return rebuild(self.markdown, self.chunks)
        return chunk(self.markdown, max_tokens, pages=self.pages)

    def noted(self, *notes: str | None) -> StoredPage:
        more = [note for note in notes if note is not None]
        return msgspec.structs.replace(self, notes=[*self.notes, *more]) if more else self

    def __repr__(self) -> str:
        return f"StoredPage({self.final_url[:60]!r}, {len(self.markdown)} characters)"


_decoder = msgspec.json.Decoder(StoredPage)


def from_cache(content: msgspec.Raw) -> StoredPage | None:
    """The content of an entry; None if it cannot be read (another version, or damaged): a miss (D2-22)."""
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError as error:
        cache_log.warning("cache_read_failed: %s", error)
        return None


def bounds(markdown: str, max_tokens: int, pages: Sequence[int] = ()) -> Boundaries:
    """Offsets of the chunks of a size; none for size 0, since cutting takes a tenth of a fetch."""
    return boundaries(chunk(markdown, max_tokens, pages=pages) if max_tokens else ())


CACHE_HIT = "cache_hit"
NO_TEXT = "no_text"
QUEUE = "queue"  # the fallback that queues a page for a person
CREDENTIALS_DROPPED = "credentials_dropped"
FROM_ARCHIVE = "from_archive"
ARCHIVE_CAVEAT = "Content retrieved from web archive; may not reflect current state."  # the exact words of document 1


class Attempt(NamedTuple):
    """One attempt of a fallback, and its result."""

    fallback: str
    url: str  # where it ended
    error: SpanielError | None  # None: it fetched a page
    status: int | None
    chain: tuple[str, ...]  # the URLs before
    phase: str  # the phase in which it ended
    ms: float
    waited: float = 0.0  # seconds waited before it
    elsewhere: bool = False  # not at the page's own site: an archive, a mirror, the queue
    at: datetime | None = None  # when it started

    @property
    def outcome(self) -> str:
        return str(self.error.code) if self.error else "ok"

    def as_dict(self) -> dict[str, object]:
        return {
            "fallback": self.fallback,
            "outcome": self.outcome,
            "url": self.url,
            "status": self.status,
            "chain": list(self.chain),
            "phase": self.phase,
            "ms": self.ms,
        }


class LeftOut(NamedTuple):
    """A fallback that was skipped, and why."""

    fallback: str
    why: str
    after: int  # attempts made before it


class CacheInfo(NamedTuple):
    """What the cache stores about a page."""

    cached_at: datetime
    ttl_hours: float
    etag: str | None = None
    last_modified: str | None = None
    how: str = "new"  # new, changed, hit, not_modified (304), unchanged (200, the same bytes), stale


class FoundPage(NamedTuple):
    """A page, when it was fetched, and how."""

    page: StoredPage
    fetched_at: datetime
    rendering_method: str
    picture: bytes | None = None  # PNG, if requested
    cache_info: CacheInfo | None = None  # None: it is not cached
    chunks: Sequence[Chunk] = ()  # as cut for the cache, of the stored size
    body: str | None = None  # the page as it came, if requested

    @property
    def method(self) -> str:
        """How its text was obtained: by the reader of its kind, from a browser, or not at all (FG-18, FG-21)."""
        if self.page.page_type:
            return "blocked"
        return "browser" if self.rendering_method == "browser" else self.page.reader

    def cut(self, max_tokens: int) -> Sequence[Chunk]:
        """Chunks of a size: those that were cut for the cache, if it is the stored size."""
        return self.chunks if self.chunks and max_tokens == self.page.chunk_tokens else self.page.cut(max_tokens)

    def __repr__(self) -> str:
        return f"FoundPage({self.page!r}, {self.fetched_at}, {self.method})"


class Outcome(NamedTuple):
    """The complete outcome: a page (`found`) or an error (`refusal`), and what was tried."""

    requested_url: str  # as requested, without credentials
    canonical_url: str | None = None  # None: not a URL according to the profile's policy
    found: FoundPage | None = None
    refusal: SpanielError | None = None
    attempts: tuple[Attempt, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()  # what was repaired in the URL
    reason: str | None = None  # why a stored copy was not served
    known_title: str | None = None  # of an expired stored copy
    served_at: datetime | None = None  # of a page from the cache
    steps: Sequence[TraceStep] = ()

    @property
    def cache_hit(self) -> bool:
        return self.served_at is not None

    @property
    def is_substitute(self) -> bool:
        """Whether the page replaces one that could not be fetched: a stale copy, or one from another site."""
        found = self.found
        if found is None:
            return False
        stale = found.cache_info is not None and found.cache_info.how == "stale"
        result = (a for a in self.attempts if a.error is None and a.fallback != QUEUE)  # which fetches no page
        return stale or any(attempt.elsewhere for attempt in result)

    @property
    def failure(self) -> str:
        """Why the requested page is missing, in one word: the error's code, or the type of the page."""
        if self.found is None:
            return str(self.refusal.code) if self.refusal else ""
        return self.found.page.page_type

    @property
    def caveats(self) -> tuple[str, ...]:  # D2-05
        """The notes on the page, in order."""
        notes = list(self.found.page.notes) if self.found else []
        if self.found and not self.found.page.page_type and not self.found.page.markdown.strip():
            notes.append(NO_TEXT)  # no page is silently empty (D2-33)
        if CREDENTIALS_WARNING in self.warnings:
            notes.append(CREDENTIALS_DROPPED)  # FG-03: in every view
        if self.cache_hit:
            notes.append(CACHE_HIT)
        return tuple(notes)

    @property
    def final_url(self) -> str | None:
        if self.found is not None:
            return self.found.page.final_url
        return self.last.url if self.last else self.canonical_url

    @property
    def chain(self) -> tuple[str, ...]:
        if self.found is not None:
            return tuple(self.found.page.chain)
        return self.last.chain if self.last else ()

    @property
    def status(self) -> int | None:
        """The server's last status, if there was a response."""
        if self.found is not None:
            return self.found.page.status
        return self.last.status if self.last else None

    @property
    def last(self) -> Attempt | None:
        """The last attempt at the page's own site; other attempts say nothing about it."""
        return next((attempt for attempt in reversed(self.attempts) if not attempt.elsewhere), None)

    @property
    def content_hash(self) -> str | None:
        return (self.found.page.content_hash or None) if self.found else None

    def require(self) -> FoundPage:
        """The page, or raise the error if there is none."""
        if self.found is None:
            raise self.refusal.about(self.requested_url) if self.refusal else AssertionError("neither page nor refusal")
        return self.found

    def as_dict(self) -> dict[str, object]:
        """Everything recorded, for JSON: the same keys for every outcome, then the page or the error."""
        fields: dict[str, object] = {
            "requested_url": self.requested_url,
            "canonical_url": self.canonical_url,
            "final_url": self.final_url,
            "status": self.status,
            "chain": list(self.chain),
            "attempts": [attempt.as_dict() for attempt in self.attempts],
            "notes": list(self.caveats),
            "served_at": moment(self.served_at) if self.served_at else None,
        }
        if self.found is None:
            error = self.refusal and {**self.refusal.as_dict(), "hint": self.refusal.about(self.requested_url).hint}
            return {**fields, "error": error}
        page = self.found.page
        return {
            **fields,
            "fetched_at": moment(self.found.fetched_at),
            "rendering_method": self.found.rendering_method,
            "content_type": page.content_type,
            "content_hash": self.content_hash,
            "title": page.headline,
            "page_title": page.title,
            "language": page.language,
            "metadata": page.metadata,
            "markdown": page.markdown,
            **({"pages": page.pages} if page.pages else {}),
        }

    def __repr__(self) -> str:
        ended = repr(self.found.page) if self.found else repr(self.refusal)
        return f"Outcome({shortened(self.requested_url)!r}, {ended}, {len(self.attempts)} attempts)"


def moment(at: datetime) -> str:
    """ISO 8601 in UTC, to the second, as the cache has it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shortened(text: str | None, most: int = 60) -> str:
    """Text for a `repr`, shortened to fit on a line."""
    return (text or "") if len(text or "") <= most else f"{(text or '')[:most]}…"


log = logging.getLogger("spaniel.fetch")


def write_log_line(outcome: Outcome, seconds: float) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    last = outcome.last
    host, url = _loggable(outcome.canonical_url or outcome.requested_url)
    if not host and outcome.refusal is not None and outcome.refusal.code is Code.INVALID_HOST:
        host = str(outcome.refusal.details.get("host", ""))  # as written: its form is why it was refused
    method = outcome.found.rendering_method if outcome.found else last.fallback if last else None
    fields: dict[str, object] = {
        "requested_host": host,
        "url": url,
        "final_url": _loggable(outcome.final_url or outcome.requested_url)[1],
        "redirects": len(outcome.chain),
        "rendering_method": method,
        "cache_hit": outcome.cache_hit,
        "ms": round(seconds * 1000),
    }
    if outcome.refusal is not None:
        fields |= {"error_code": str(outcome.refusal.code), "phase": last.phase if last else "start"}
        if "field" in outcome.refusal.details:  # for bad_args: the argument or setting
            fields["field"] = outcome.refusal.details["field"]
    event = str(outcome.refusal.code) if outcome.refusal else "fetch_complete"
    log.info(event, extra={"fields": fields})


def logged(document: Document, url: str | None) -> Document:
    """Write a log line for each optional reading step that failed (D2-41)."""
    for failure in document.failures:
        step, _, cause = failure.partition(": ")
        log.warning(
            "reading_step_failed", extra={"fields": {"url": _loggable(url or "")[1], "step": step, "error": cause}}
        )
    return document


def _loggable(text: str) -> tuple[str, str]:
    """Host and URL as they may be logged; nothing if it is not a URL."""
    try:
        url = parse(text)
    except SpanielError:
        return "", ""
    return url.host, url.redacted
