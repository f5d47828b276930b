"""The record of ingestion: everything that is known of one fetch, under one JSON schema (FG-17, FG-18, FG-36, FG-37).

`docs/reference/record.md` is made from this module: a field's description stands with the field.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from spaniel.errors import Code
from spaniel.hosts.retry_after import seconds_until
from spaniel.pipeline.outcome import ARCHIVE_CAVEAT, FROM_ARCHIVE, moment
from spaniel.verdicts import Change, Evidence, Hop, Observation, Verdict, decide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.errors import SpanielError
    from spaniel.pipeline.outcome import FoundPage, Outcome


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


REQUEST_STEPS = ("fetch", "render")  # the trace steps that are a request


class ChecklistItem(msgspec.Struct, frozen=True):
    """One step of the fetch checklist."""

    step: Annotated[str, _about("what is to be done for every fetch")]
    done: Annotated[bool, _about("whether it was done for this one")]
    detail: Annotated[str, _about("its result, or why it was not done")]


def checklist(outcome: Outcome) -> list[ChecklistItem]:
    """Derived from what the fetch recorded: nothing is marked done because it should have happened."""
    return [
        ChecklistItem("URL validated and normalized", outcome.canonical_url is not None, outcome.canonical_url or ""),
        _seen(outcome, "robots.txt checked for the domain", ("robots",)),
        _cache_checked(outcome),
        _seen(outcome, "Request sent with proper headers and timeout", REQUEST_STEPS),
        ChecklistItem("Response status handled", outcome.status is not None, _statuses(outcome)),
        _extracted(outcome),
        ChecklistItem("Metadata extracted", _has_metadata(outcome), ", ".join(_metadata(outcome))),
        _seen(outcome, "Cache updated with new content, hash and headers", ("write_cache",), good=("ok",)),
        ChecklistItem("Extraction metadata recorded", outcome.found is not None, _recorded(outcome)),
    ]


def _steps(outcome: Outcome, names: Iterable[str]) -> list[str]:
    """The distinct outcomes of the steps with these names."""
    return list(dict.fromkeys(step.outcome for step in outcome.steps if step.name in names))


def _seen(outcome: Outcome, step: str, names: tuple[str, ...], good: tuple[str, ...] | None = None) -> ChecklistItem:
    ends = _steps(outcome, names)
    done = bool(ends) if good is None else any(end in good for end in ends)
    return ChecklistItem(step, done, ", ".join(ends) or _why_not(outcome))


def _why_not(outcome: Outcome) -> str:
    if outcome.cache_hit:
        return "served from the cache"
    return str(outcome.refusal.code) if outcome.refusal else "not needed"


def _cache_checked(outcome: Outcome) -> ChecklistItem:
    ends = _steps(outcome, ("check_cache",))
    done = bool(ends) and "bypassed" not in ends
    return ChecklistItem("Cache checked; conditional headers set if cached", done, ", ".join(ends) or _why_not(outcome))


def _statuses(outcome: Outcome) -> str:
    """The result of each attempt, in order."""
    fields = [f"{attempt.fallback}: {attempt.status or attempt.outcome}" for attempt in outcome.attempts]
    return ", ".join(fields) or (f"{outcome.status}, when it was fetched" if outcome.status else _why_not(outcome))


def _extracted(outcome: Outcome) -> ChecklistItem:
    page = outcome.found.page if outcome.found else None
    if page is None:
        return ChecklistItem("Content extracted and converted to Markdown", False, _why_not(outcome))
    fields = page.page_type or f"{page.reader}, {len(page.markdown)} characters"
    return ChecklistItem(
        "Content extracted and converted to Markdown", bool(page.markdown) and not page.page_type, fields
    )


def _metadata(outcome: Outcome) -> list[str]:
    page = outcome.found.page if outcome.found else None
    return [name for name, value in page.metadata.items() if value] if page else []


def _has_metadata(outcome: Outcome) -> bool:
    """A page without metadata counts as done, too."""
    return outcome.found is not None and not outcome.found.page.page_type


def _recorded(outcome: Outcome) -> str:
    if outcome.found is None:
        return _why_not(outcome)
    return f"{outcome.found.method}, {outcome.found.fetched_at:%Y-%m-%d %H:%M} UTC, status {outcome.status}"


SCHEMA = "spaniel.record/1"
EPOCH = datetime.fromtimestamp(0, UTC)


class FallbackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One fallback: tried, or left out."""

    fallback: Annotated[str, _about("its name in the profile")]
    outcome: Annotated[str, _about("`ok`, the code of an error, or `left out`")]
    why: Annotated[str | None, _about("why it was left out")] = None
    url: Annotated[str | None, _about("where it ended")] = None
    status: Annotated[int | None, _about("what the server answered there")] = None
    chain: Annotated[list[str], _about("the URLs before")] = []
    waited: Annotated[float, _about("seconds before it began")] = 0.0
    ms: Annotated[float, _about("how long it took")] = 0.0


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """How the text was obtained."""

    fetched_at: Annotated[str | None, _about("when it was fetched, or last revalidated, in UTC (ISO 8601)")] = None
    status: Annotated[int | None, _about("the HTTP status")] = None
    content_type: Annotated[str | None, _about("as the server sent it")] = None
    content_length: Annotated[int | None, _about("bytes of the decoded body")] = None
    extraction_method: Annotated[str, _about("as below")]
    served_by: Annotated[str | None, _about("the fallback that fetched the page")] = None


class CacheRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the cache stores about the page."""

    cache_key: Annotated[str, _about("the normalized URL")]
    cached_at: Annotated[str, _about("when it was last fetched or found unchanged")]
    content_hash: Annotated[str, _about("SHA-256 of the decoded body")]
    http_etag: Annotated[str | None, _about("the server's ETag")] = None
    http_last_modified: Annotated[str | None, _about("the server's Last-Modified")] = None
    ttl_hours: Annotated[float, _about("hours for which it is fresh")]
    freshness: Annotated[str | None, _about("the freshness class")] = None
    how: Annotated[
        str, _about("`new`, `changed`, `hit`, `not_modified` (304), `unchanged` (the same bytes) or `stale`")
    ]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Everything recorded about one fetch."""

    schema: Annotated[str, _about("the version of this schema")] = SCHEMA
    requested_url: Annotated[str, _about("the requested URL, without credentials")]
    canonical_url: Annotated[str | None, _about("the same after the profile's policy; null if it is not a valid URL")]
    final_url: Annotated[str | None, _about("where the page was found")]
    chain: Annotated[list[str], _about("the URLs before the final one, in order")]
    verdict: Annotated[Verdict, _about("the verdict on the requested page")]
    extraction_method: Annotated[
        str,
        _about(
            "the kind of content that was read (`html`, `pdf`, `json`, …), `browser`, `blocked`, `robots_blocked` "
            "or `none`"
        ),
    ]
    page_type: Annotated[str | None, _about("what was returned instead of the page: `paywall`, `login`, …")] = None
    region: Annotated[str | None, _about("the region in which the page is not available, as the page states it")] = None
    wall: Annotated[
        dict[str, str] | None,
        _about(
            "for a paywall or a login: `sign` (`status`, `login_redirect`, `overlay`, `box`, `break_off`), `where` it "
            "was found (the status, the address or the element), its `text`, and `confirmed_by` linked data, if it was"
        ),
    ] = None
    title: Annotated[str | None, _about("the headline")] = None
    language: Annotated[str | None, _about("as the page states it")] = None
    markdown: Annotated[str | None, _about("the text; null if there is none")] = None
    markdown_hash: Annotated[str | None, _about("SHA-256 of the Markdown")] = None
    content_hash: Annotated[str | None, _about("SHA-256 of the decoded body")] = None
    data: Annotated[Any, _about("the content of a JSON document")] = None
    chunks: Annotated[
        list[dict[str, Any]] | None, _about("if requested: id, heading, text, token_count, heading_path, offsets")
    ] = None
    pages: Annotated[list[int] | None, _about("for a PDF: the offsets in `markdown` where its pages start")] = None
    metadata: Annotated[dict[str, Any], _about("title, description, author, canonical_url, published, …")] = {}
    extraction: Annotated[Extraction, _about("how the text was obtained")]
    archive_url: Annotated[str | None, _about("the snapshot that the text was taken from")] = None
    archive_date: Annotated[str | None, _about("when the snapshot was made")] = None
    caveats: Annotated[
        list[str],
        _about(
            "what to know before using the text: notes by name; for a copy from the web archive also the "
            f"sentence “{ARCHIVE_CAVEAT}”"
        ),
    ] = []
    warnings: Annotated[list[str], _about("what was repaired in the URL")] = []
    signals: Annotated[dict[str, Any], _about("the site's signals about the use of the page")] = {}
    cache: Annotated[CacheRecord | None, _about("what the cache stores about the page; null if it is not cached")] = (
        None
    )
    forced: Annotated[str | None, _about("why a stored copy was not used")] = None
    fallbacks: Annotated[list[FallbackRecord], _about("every fallback, tried or left out, in order")]
    checklist: Annotated[list[ChecklistItem], _about("the fetch checklist")]
    error: Annotated[dict[str, Any] | None, _about("why there is no page: code, message, retryable, details")] = None

    def as_json(self) -> bytes:
        return msgspec.json.encode(self)

    def as_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.json.decode(self.as_json())
        return fields


def record_of(outcome: Outcome, chunks: list[dict[str, Any]] | None = None) -> Record:
    """The record of any outcome; with chunks if they are passed."""
    found, refusal = outcome.found, outcome.refusal
    method = found.method if found else _method_of_none(outcome)
    return Record(
        requested_url=outcome.requested_url,
        canonical_url=outcome.canonical_url,
        final_url=outcome.final_url,
        chain=list(outcome.chain),
        verdict=verdict_of(outcome),
        extraction_method=method,
        extraction=Extraction(
            fetched_at=_when(outcome),
            status=outcome.status,
            content_type=(found.page.content_type or None) if found else None,
            content_length=found.page.content_length if found else None,
            extraction_method=method,
            served_by=found.page.served_by if found else None,
        ),
        caveats=_caveats(outcome),
        warnings=list(outcome.warnings),
        forced=outcome.reason,
        fallbacks=_fallbacks(outcome),
        checklist=checklist(outcome),
        error={**refusal.as_dict(), "hint": refusal.about(outcome.requested_url).hint} if refusal else None,
        **(_of_page(found, outcome, chunks) if found else _of_error_page(outcome)),
    )


def verdict_of(outcome: Outcome) -> Verdict:
    """The verdict on the requested URL: a copy from an archive or a mirror does not show that it works.

    A record has no history of checks, so a page is never dead by history here.
    """
    found = outcome.found
    if found is None or outcome.is_substitute:
        error = outcome.refusal if found is None else outcome.last.error if outcome.last else None
        return Verdict.UNKNOWN if error is None else decide(_observed(outcome, error)).verdict
    page = found.page
    chain = tuple(Hop(url, 0) for url in page.chain)
    seen = Observation(0.0, Evidence("GET", page.status, chain, page.final_url), page_type=page.page_type)
    has_changed = found.cache_info is not None and found.cache_info.how == "changed"
    changes = (Change("sha256", "", page.content_hash),) if has_changed else ()
    return decide(seen, changes=changes).verdict


def _observed(outcome: Outcome, error: SpanielError) -> Observation:
    """The evidence of the last attempt at the page's own site. An error made from a status counts as a response."""
    last, details = outcome.last, error.details
    at = last.at if last is not None and last.at is not None else EPOCH
    status, retry_after = details.get("status"), details.get("retry_after")
    answered = isinstance(status, int)
    chain = tuple(Hop(url, 0) for url in last.chain) if last is not None else ()
    return Observation(
        at.timestamp(),
        Evidence(
            "GET", status if isinstance(status, int) else last.status if last else None, chain, last.url if last else ""
        ),
        code="" if answered else str(error.code),
        error=error.message,
        cause="refused" if details.get("refused") else str(details.get("cause", "")),
        page_type=str(details.get("page_type", "")),
        retry_after=seconds_until(str(retry_after), at) if answered and retry_after is not None else None,
    )


def _caveats(outcome: Outcome) -> list[str]:
    """The notes; after the archive's note, the sentence that document 1 requires (FG-32)."""
    notes = outcome.caveats
    return [text for note in notes for text in ((note, ARCHIVE_CAVEAT) if note == FROM_ARCHIVE else (note,))]


def _when(outcome: Outcome) -> str | None:
    """When the page was fetched, or last revalidated (FG-18); null if no request was made."""
    at = outcome.found.fetched_at if outcome.found else outcome.last.at if outcome.last else None
    return moment(at) if at else None


def _of_page(found: FoundPage, outcome: Outcome, chunks: list[dict[str, Any]] | None) -> dict[str, Any]:
    """The fields that only a page has."""
    page = found.page
    return {
        "title": page.headline,
        "language": page.language,
        "page_type": page.page_type or None,
        "region": page.region or None,
        "wall": page.wall or None,
        "markdown": page.markdown if page.markdown.strip() and not page.page_type else None,
        "markdown_hash": page.markdown_hash or None,
        "content_hash": outcome.content_hash,
        "chunks": chunks,
        "pages": list(page.pages) if page.pages and not page.page_type else None,
        "metadata": page.metadata,
        "data": None if page.data is None else _in_one_line(page.data),
        "archive_url": page.archive_url or None,
        "archive_date": page.archive_date or None,
        "signals": page.signals,
        "cache": _cache_record(found, outcome),
    }


def _in_one_line(data: str) -> msgspec.Raw:
    """JSON on one line, otherwise unchanged."""
    return msgspec.Raw(msgspec.json.format(data, indent=-1))


def _cache_record(found: FoundPage, outcome: Outcome) -> CacheRecord | None:
    cache_info = found.cache_info
    if cache_info is None:
        return None
    return CacheRecord(
        cache_key=outcome.canonical_url or "",
        cached_at=moment(cache_info.cached_at),
        content_hash=found.page.content_hash,
        http_etag=cache_info.etag,
        http_last_modified=cache_info.last_modified,
        ttl_hours=cache_info.ttl_hours,
        freshness=found.page.freshness or None,
        how=cache_info.how,
    )


def _of_error_page(outcome: Outcome) -> dict[str, Any]:
    """The message of the page that came with an error."""
    details = outcome.refusal.details if outcome.refusal else {}
    fields = {name: details.get(name) for name in ("page_type", "region", "title", "wall")}
    return {**fields, "title": fields["title"] or outcome.known_title}


def _method_of_none(outcome: Outcome) -> str:
    """The method if there is no text; robots.txt has its own value (FG-29)."""
    if outcome.refusal is None:
        return "none"
    if outcome.refusal.code is Code.ROBOTS_DISALLOWED:
        return "robots_blocked"
    return "blocked" if "page_type" in outcome.refusal.details else "none"


def _fallbacks(outcome: Outcome) -> list[FallbackRecord]:
    """Attempts and skipped fallbacks, in the order of the profile."""
    records: list[FallbackRecord] = []
    for number, attempt in enumerate((*outcome.attempts, None)):
        records += [
            FallbackRecord(fallback=skipped.fallback, outcome="left out", why=skipped.why)
            for skipped in outcome.left_out
            if skipped.after == number
        ]
        if attempt is not None:
            records.append(
                FallbackRecord(
                    fallback=attempt.fallback,
                    outcome=attempt.outcome,
                    url=attempt.url,
                    status=attempt.status,
                    chain=list(attempt.chain),
                    waited=attempt.waited,
                    ms=attempt.ms,
                )
            )
    return records
