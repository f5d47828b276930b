"""The page cache in a fetch: which copy is served or revalidated, what is stored and for how long (FG-37).

A copy is fresh for its class's time. After that it is revalidated with the server, up to twice that time; an
older one is fetched again without a conditional request (FG-42).
"""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.cache import Validators, key_for
from spaniel.cache.freshness import FreshnessClass
from spaniel.chunking import boundaries, chunk
from spaniel.errors import SpanielError
from spaniel.pipeline.fallbacks import PASSING
from spaniel.pipeline.outcome import CacheInfo, FoundPage, StoredPage, from_cache
from spaniel.pipeline.page_types import NOARCHIVE, SITE_SIGNAL, refusals, respected
from spaniel.pipeline.retrieve import NOT_MODIFIED
from spaniel.pipeline.task import StaleEntry
from spaniel.reading.kinds import parse_type
from spaniel.reading.text.charset import decode_text
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from datetime import timedelta

    from spaniel.cache import CacheKey
    from spaniel.chunking import Chunk
    from spaniel.pipeline.page_types import BlockedPage
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.request import Trace
    from spaniel.pipeline.retrieve import FetchedPage
    from spaniel.pipeline.services import Services
    from spaniel.pipeline.task import FetchTask


EXPIRED_TWICE = "expired_twice"  # the copy is older than twice its lifetime


class CacheLookup(NamedTuple):
    """What the cache has for a page: a copy to serve, one to revalidate, or the reason for neither."""

    found: FoundPage | None = None
    stale: StaleEntry | None = None
    reason: str | None = None


def look_up(task: FetchTask, profile: Profile, services: Services) -> CacheLookup:
    """The copy that a fallback stored, in the order of the profile (D2-03)."""
    if services.cache is None or not profile.cached:
        return CacheLookup()
    stale: StaleEntry | None = None
    reason = None
    now = services.clock.now()
    kinds = [fallback.kind for fallback in profile.fallbacks]
    methods = [
        kind.rendering_method for kind in kinds if kind.may_serve_cached and kind.may_serve_cached(task, services)
    ]
    for method in dict.fromkeys(methods):
        copy = _copy(key_of(task, method, profile, services), task, profile, services)
        if copy is None or copy.entry.fetched_at > now:  # a copy with a date in the future is ignored
            continue
        age, max_age = now - copy.entry.fetched_at, task.request.max_age
        if age < copy.ttl and (max_age is None or age.total_seconds() <= max_age):
            services.cache.touch(copy.key)
            return CacheLookup(copy.found("hit"))
        if profile.freshness and age <= 2 * copy.ttl:
            stale = copy if stale is None or copy.entry.fetched_at > stale.entry.fetched_at else stale
        elif profile.freshness:
            reason = EXPIRED_TWICE
    return CacheLookup(stale=stale, reason=None if stale else reason)


def key_of(task: FetchTask, method: str, profile: Profile, services: Services) -> CacheKey:
    return key_for(task.canonical.url, method, profile.name, profile.version, services.door.guard.overrides)


def _copy(key: CacheKey, task: FetchTask, profile: Profile, services: Services) -> StaleEntry | None:
    """What is stored, with the lifetime of the request's class, or else its own."""
    entry = services.cache.peek(key) if services.cache is not None else None
    page = from_cache(entry.content) if entry is not None else None
    if entry is None or page is None or not _may_be_served(page, task, services):
        return None
    if respected(page.signals, profile.respect):  # the copy was stored without checking site signals
        return None
    ttl = entry.expires_at - entry.fetched_at
    if (asked := task.request.freshness_class) is not None and services.freshness is not None:
        named = services.freshness.named(asked)
        ttl = ttl if named.ttl is None else named.ttl
    return StaleEntry(key, entry, page, ttl, asked)


def _may_be_served(page: StoredPage, task: FetchTask, services: Services) -> bool:
    """Whether this fetch could have followed the same hops; if not, the page is fetched and each hop is judged."""
    try:
        for url in (*page.chain, page.final_url):
            services.door.guard.check_page(parse(url), task.way.domains)
    except SpanielError:
        return False
    return True


NEW, CHANGED = "new", "changed"
NO_STORE = "no-store"
ASKABLE = "http"  # only HTTP responses can be revalidated: the server does not know what scripts rendered


async def keep(task: FetchTask, best: FetchedPage, profile: Profile, services: Services, trace: Trace) -> FoundPage:
    """The best page as it is stored, and written to the cache if that is allowed."""
    chosen = _class_of(task, best, profile, services)
    stale = task.stale if best.revalidated else None
    chunks: list[Chunk] = []
    if stale:
        page = _renewed(best, stale, chosen)
    else:
        page, chunks = _page(best, profile, chosen)
    body = _text_of(best) if task.request.keep_body and best.blocked is None else None
    found = FoundPage(page, best.fetched_at, best.rendering_method, best.picture, chunks=chunks, body=body)
    key = stale.key if stale else key_of(task, best.rendering_method, profile, services)
    with trace.step("write_cache") as step:
        if services.cache is None or not profile.cached:
            step.text = "no cache"
        elif why := _is_not_to_be_kept(best, profile):
            step.text = why
            await services.writer.write(services.cache.drop, key)
        elif (
            best.blocked is not None
            or task.request.display
            or task.request.is_special
            or not PASSING.isdisjoint(best.notes)
        ):
            step.text = "not kept"
        else:
            ttl = services.cache.ttl if chosen.ttl is None else chosen.ttl
            validators = _validators(best, page, task.stale) if profile.freshness else Validators()
            found, step.text = await _written(found, best, task.stale, (key, ttl, validators), services)
    return found


def _text_of(best: FetchedPage) -> str:
    """The page as it came, as text."""
    return decode_text(best.page.body, parse_type(best.page.headers.get("content-type"))[1])


async def _written(
    found: FoundPage,
    best: FetchedPage,
    stale: StaleEntry | None,
    terms: tuple[CacheKey, timedelta, Validators],
    services: Services,
) -> tuple[FoundPage, str]:
    """With its cache information, or with a note that the cache could not be written."""
    page, at, cache = found.page, best.fetched_at, services.cache
    key, ttl, validators = terms
    assert cache is not None  # noqa: S101  it was checked
    if stale is None or not best.revalidated:
        note = await services.writer.write(cache.put, key, page, at, ttl, validators)
        how = CHANGED if stale and page.markdown_hash != stale.page.markdown_hash else NEW
    else:
        changed = None if page == stale.page else page
        renewal = key, stale.entry, at, ttl, validators
        in_place = changed is None and cache.renew_in_place(*renewal)
        note = None if in_place else await services.writer.write(cache.renew, *renewal, changed)
        how = best.revalidated
    if note:
        return found._replace(page=page.noted(note)), note
    kept, hours = validators.kept(), ttl.total_seconds() / 3600
    info = CacheInfo(at.replace(microsecond=0), hours, kept.etag, kept.last_modified, how)
    return found._replace(cache_info=info), "ok"


def _class_of(task: FetchTask, best: FetchedPage, profile: Profile, services: Services) -> FreshnessClass:
    """The class that the request names, or the copy had, or the rules choose; else the profile's lifetime."""
    if not profile.freshness or services.freshness is None:
        return FreshnessClass("", profile.ttl)
    asked, stale = task.request.freshness_class, task.stale
    if asked is not None:
        found = services.freshness.named(asked)
    elif best.revalidated and stale and stale.page.freshness:
        return FreshnessClass(stale.page.freshness, stale.ttl)
    else:
        page, document = best.page, best.document
        kind = page.headers.get("content-type", "")
        found = services.freshness.classify(page.url, kind, document.types, document.generator)
    return found if found.ttl is not None else found._replace(ttl=profile.ttl)


def _validators(best: FetchedPage, page: StoredPage, stale: StaleEntry | None) -> Validators:
    """The validators of the answer; a 304 may leave out those it was asked with."""
    if best.rendering_method != ASKABLE:
        return Validators(content_hash=page.content_hash)
    etag, last_modified = best.page.headers.get("etag"), best.page.headers.get("last-modified")
    if stale and best.revalidated and best.page.status == NOT_MODIFIED:
        etag, last_modified = etag or stale.entry.etag, last_modified or stale.entry.last_modified
    return Validators(etag, last_modified, page.content_hash)


def _is_not_to_be_kept(best: FetchedPage, profile: Profile) -> str:
    """Whether storing is forbidden, which also removes an earlier copy: RFC 9111 5.2.2.5, or a robots directive."""
    if best.blocked is not None and best.blocked.page_type == SITE_SIGNAL:
        return SITE_SIGNAL
    if best.blocked is not None or not profile.freshness:
        return ""
    fields = best.page.headers.get("cache-control", "")
    if any(part.partition("=")[0].strip().lower() == NO_STORE for part in fields.split(",")):
        return NO_STORE
    return NOARCHIVE if NOARCHIVE in refusals(best.signals) else ""


def _renewed(best: FetchedPage, stale: StaleEntry, chosen: FreshnessClass) -> StoredPage:
    """The copy, with the redirects and notes of this fetch."""
    chain, notes = list(best.chain), list(best.notes)
    page = msgspec.structs.replace(
        stale.page, chain=chain, notes=notes, freshness=chosen.name, signals=dict(best.signals)
    )
    return _withheld(page, best.blocked) if best.blocked else page


def _page(best: FetchedPage, profile: Profile, chosen: FreshnessClass) -> tuple[StoredPage, list[Chunk]]:
    """The page as it is stored, with its chunks at the default size."""
    document, page, blocked = best.document, best.page, best.blocked
    markdown, limit = document.markdown, profile.limits.chunk_tokens  # 0: not cut, which takes a tenth of a fetch
    chunks = chunk(markdown, limit, pages=document.pages) if limit and not blocked else []
    stored = StoredPage(
        final_url=page.url.href,
        markdown=markdown,
        chunk_tokens=limit,
        chunks=boundaries(chunks),
        title=document.title,
        language=document.language,
        notes=list(best.notes),
        metadata=asdict(document.metadata),
        content_type=page.headers.get("content-type", ""),
        status=page.status,
        chain=list(best.chain),
        content_hash=sha256(page.body).hexdigest(),
        content_length=len(page.body),
        markdown_hash=_hash_of(markdown),
        freshness=chosen.name,
        reader=best.reader,
        served_by=best.fallback,
        archive_url=best.archive_url,
        archive_date=best.archive_date,
        signals=dict(best.signals),
        data=document.data,
        pages=list(document.pages),
    )
    return _withheld(stored, blocked) if blocked else stored, chunks


def _withheld(page: StoredPage, blocked: BlockedPage) -> StoredPage:
    """Of a blocked page only the title is kept (FG-21)."""
    return msgspec.structs.replace(
        page,
        markdown="",
        chunks=boundaries(()),
        markdown_hash=_hash_of(""),
        metadata={},
        data=None,
        pages=[],
        notes=[*page.notes, *blocked.notes],
        page_type=blocked.page_type,
        region=blocked.region,
        wall=dict(blocked.wall),
    )


def _hash_of(markdown: str) -> str:
    return sha256(markdown.encode("utf-8", "surrogatepass")).hexdigest()
