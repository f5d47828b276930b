"""One fetch, from URL to answer: the SRD's state diagram (Appendix B), top to bottom."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cache import key_for
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.answer import CACHE_HIT, Answer
from spaniel.pipeline.kept import Kept, bounds, cut, from_cache
from spaniel.pipeline.rendering import PASSING, Browser, fallback_note, first_method, is_bare, render
from spaniel.pipeline.request import Request, checked
from spaniel.pipeline.retrieve import Door, Retrieved, retrieve
from spaniel.pipeline.trace import Trace
from spaniel.reading import Document, read
from spaniel.reading.kinds import kind_of
from spaniel.url.parsing import parse, requested

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.cache import Key, PageCache
    from spaniel.net.http import Page
    from spaniel.pipeline.flights import Flights
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.threads import Threads
    from spaniel.url import Canonical, Url

LARGE = 256 << 10  # bytes of a page that is read in a thread, so that others are served meanwhile


class Limits(NamedTuple):
    """What a fetch may take, by its profile and the settings."""

    timeout_seconds: float = 20
    max_redirects: int = 5
    chunk_tokens: int = 600


class Fresh(NamedTuple):
    """What is known of a page, whoever fetched it."""

    kept: Kept
    fetched_at: datetime
    rendering_method: str = "http"


class Kit(NamedTuple):
    """What a fetch works with."""

    door: Door
    profile: Profile
    limits: Limits
    flights: Flights[Fresh]
    threads: Threads
    cache: PageCache | None = None
    ttl: timedelta | None = None  # None: the cache's own
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    browser: Browser = Browser()


async def fetch(request: Request, kit: Kit, trace: Trace | None = None, max_bytes: int | None = None) -> Answer:
    """Fetch a page, cut it into chunks, fit the response to `max_bytes`. Raises nothing but `SpanielError`."""
    trace = trace or Trace()
    with trace.step("parse"):  # by the policy, whose first rule says what is a URL to it
        canonical = kit.profile.policy.apply(checked(request).url)
    with trace.step("normalize"):
        url = parse(canonical.url)
        kit.door.guard.check_form(url)
    method = first_method(request, url, kit.browser)
    with trace.step("check_cache") as outcome:
        found = None if request.no_cache else _look_up(canonical, method, kit)
        outcome.text = "bypassed" if request.no_cache else "hit" if found else "miss"
    hit = found is not None
    if found is None:
        found = await kit.flights.join(
            (canonical.url, method, kit.browser.picture), lambda: _fetch_afresh(url, canonical, method, kit, trace)
        )
    with trace.step("chunk"):
        chunks = cut(found.kept, request.max_chunk_tokens or kit.limits.chunk_tokens)
    answer = Answer(
        requested_url=requested(canonical.original),
        final_url=found.kept.final_url,
        fetched_at=found.fetched_at,
        title=found.kept.title,
        language=found.kept.language,
        markdown=found.kept.markdown,
        chunks=chunks,
        rendering_method=found.rendering_method,
        notes=(*found.kept.notes, *((CACHE_HIT,) if hit else ())),
        metadata=found.kept.metadata,
        served_at=kit.now() if hit else None,
        trace=trace.steps,
    )
    with trace.step("fit") as outcome:
        if max_bytes is None:
            outcome.text = "no budget"
            return answer
        fitted = answer.as_dict(max_bytes)
        outcome.text = "cut" if fitted["truncated"] else "whole"
    return answer._replace(fitted=fitted)


async def _fetch_afresh(
    url: Url, canonical: Canonical, method: str, kit: Kit, trace: Trace, deadline: Deadline | None = None
) -> Fresh:
    """Appendix B.3: the browser where it is asked for; else HTTP, and the browser where that brought too little."""
    deadline = deadline or Deadline(kit.limits.timeout_seconds)  # one for both (D2-25)
    if method == "browser":
        retrieved = await render(url, kit.door, kit.browser, deadline, kit.limits.max_redirects, trace)
    else:
        retrieved = await retrieve(url, kit.door, deadline, kit.limits.max_redirects, trace)  # guard, robots, fetch
    fetched_at = kit.now()
    with trace.step("content_type"):
        _require_kind(retrieved.page, kit.profile)
    with trace.step("extract"):
        document = await _understand(retrieved, kit)
    if method == "http" and is_bare(retrieved.page, document, kit.browser):
        try:
            return await _fetch_afresh(url, canonical, "browser", kit, trace, deadline)
        except SpanielError as error:
            retrieved = retrieved.noted(fallback_note(error))
    kept = _keep(document, retrieved, kit.limits.chunk_tokens)
    with trace.step("write_cache") as outcome:
        passing = not PASSING.isdisjoint(kept.notes)
        note = None if passing else await _write_cache(canonical, method, kept, fetched_at, kit)
        outcome.text = "not kept" if passing else note or ("ok" if kit.cache else "no cache")
    return Fresh(kept if note is None else _with_note(kept, note), fetched_at, method)


def _look_up(canonical: Canonical, method: str, kit: Kit) -> Fresh | None:
    """The copy in the cache; where HTTP goes first, the one that HTTP brought, else the browser's (D2-03)."""
    for tried in ("http", "browser") if method == "http" else ("browser",):
        entry = kit.cache.get(_key(canonical, tried, kit)) if kit.cache else None
        if entry is not None and (kept := from_cache(entry.content)):
            return Fresh(kept, entry.fetched_at, tried)
    return None


def _require_kind(page: Page, profile: Profile) -> None:
    """Only what the profile reads (FR-WF-10f, 10g)."""
    kind = kind_of(page.headers.get("content-type"), page.body)
    if kind.reader not in profile.content:
        raise SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type=page.headers.get("content-type", kind.reader))


async def _understand(retrieved: Retrieved, kit: Kit) -> Document:
    page = retrieved.page
    given = page.body, page.headers.get("content-type"), page.url.href
    return await kit.threads.read(read, *given) if len(page.body) > LARGE else read(*given)


def _keep(document: Document, retrieved: Retrieved, chunk_tokens: int) -> Kept:
    return Kept(
        final_url=retrieved.page.url.href,
        markdown=document.markdown,
        chunk_tokens=chunk_tokens,
        chunks=bounds(document.markdown, chunk_tokens),
        title=document.title,
        language=document.language,
        notes=list(retrieved.notes),
        metadata=asdict(document.metadata),
        content_type=retrieved.page.headers.get("content-type", ""),
    )


async def _write_cache(canonical: Canonical, method: str, kept: Kept, fetched_at: datetime, kit: Kit) -> str | None:
    if kit.cache is None:
        return None
    return await kit.threads.write(kit.cache.put, _key(canonical, method, kit), kept, fetched_at, kit.ttl)


def _key(canonical: Canonical, method: str, kit: Kit) -> Key:
    return key_for(canonical.url, method, kit.profile.name, kit.profile.version)


def _with_note(kept: Kept, note: str) -> Kept:
    import msgspec

    return msgspec.structs.replace(kept, notes=[*kept.notes, note])
