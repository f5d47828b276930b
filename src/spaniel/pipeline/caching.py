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
from spaniel.errors import SpanielError
from spaniel.pipeline.fallbacks import PASSING
from spaniel.pipeline.outcome import CacheInfo, Found, StoredPage, bounds, from_cache
from spaniel.pipeline.page_types import NOARCHIVE, SITE_SIGNAL, refusals, respected
from spaniel.pipeline.stale import NOT_MODIFIED, StaleEntry, hours
from spaniel.reading.kinds import parse_type
from spaniel.reading.text.charset import decode_text
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from datetime import timedelta

    from spaniel.cache import CacheKey, PageCache
    from spaniel.pipeline.page_types import BlockedPage
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.services import Services, Writer
    from spaniel.pipeline.stale import Revalidated
    from spaniel.pipeline.task import FetchResult, FetchTask
    from spaniel.pipeline.trace import Trace


EXPIRED_TWICE = "expired_twice"  # the copy is older than twice its lifetime


class CacheLookup(NamedTuple):
    """What the cache has for a page: a copy to serve, one to revalidate, or the reason for neither."""

    found: Found | None = None
    stale: StaleEntry | None = None
    reason: str | None = None


def look_up(task: FetchTask, profile: Profile, services: Services) -> CacheLookup:
    """The copy that a fallback stored, in the order of the profile (D2-03)."""
    if services.cache is None or not profile.cached:
        return CacheLookup()
    asked_about: list[StaleEntry] = []
    reason = None
    now = services.clock.now()
    for method in _methods(task, profile, services):
        copy = _copy(key_of(task, method, profile, services), task, profile, services)
        if copy is None or copy.entry.fetched_at > now:  # a copy with a date in the future is ignored
            continue
        age = now - copy.entry.fetched_at
        if age < copy.ttl and not _is_too_old(age, task.request.max_age):
            services.cache.touch(copy.key)
            return CacheLookup(copy.found("hit"))
        if profile.freshness and age <= 2 * copy.ttl:
            asked_about.append(copy)
        elif profile.freshness:
            reason = EXPIRED_TWICE
    if asked_about:
        return CacheLookup(stale=max(asked_about, key=lambda copy: copy.entry.fetched_at))
    return CacheLookup(reason=reason)


def key_of(task: FetchTask, method: str, profile: Profile, services: Services) -> CacheKey:
    return key_for(task.canonical.url, method, profile.name, profile.version, services.door.guard.overrides)


def _methods(task: FetchTask, profile: Profile, services: Services) -> dict[str, None]:
    return dict.fromkeys(
        fallback.kind.rendering_method
        for fallback in profile.fallbacks
        if fallback.kind.may_serve_cached(task, services)
    )


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


def _is_too_old(age: timedelta, max_age: float | None) -> bool:
    return max_age is not None and age.total_seconds() > max_age


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


class StorageTerms(NamedTuple):
    """The cache key of a page, its lifetime, and its validators."""

    key: CacheKey
    ttl: timedelta
    validators: Validators


async def keep(task: FetchTask, best: FetchResult, profile: Profile, services: Services, trace: Trace) -> Found:
    """The best page as it is stored, and written to the cache if that is allowed."""
    chosen = _class_of(task, best, profile, services)
    page = _renewed(best, best.proof, chosen) if best.proof else _page(best, profile, chosen)
    page = _withheld(page, best.blocked) if best.blocked else page
    body = _text_of(best) if task.request.keep_body and best.blocked is None else None
    found = Found(page, best.fetched_at, best.rendering_method, best.fetched.picture, body=body)
    key = best.proof.stale.key if best.proof else key_of(task, best.rendering_method, profile, services)
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
            known = _validators(best, page) if profile.freshness else Validators()
            terms = StorageTerms(key, services.cache.ttl if chosen.ttl is None else chosen.ttl, known)
            found, step.text = await _written(found, best, terms, services.cache, services.writer)
            found = _compared(found, task.stale)
    return found


def _text_of(best: FetchResult) -> str:
    """The page as it came, as text."""
    page = best.fetched.page
    return decode_text(page.body, parse_type(page.headers.get("content-type"))[1])


async def _written(
    found: Found, best: FetchResult, terms: StorageTerms, cache: PageCache, writer: Writer
) -> tuple[Found, str]:
    """With its cache information, or with a note that the cache could not be written."""
    page, proof, at = found.page, best.proof, best.fetched_at
    if proof is None:
        note = await writer.write(cache.put, terms.key, page, at, terms.ttl, terms.validators)
    else:
        changed = None if page == proof.stale.page else page
        renewal = terms.key, proof.stale.entry, at, terms.ttl, terms.validators
        in_place = changed is None and cache.renew_in_place(*renewal)
        note = None if in_place else await writer.write(cache.renew, *renewal, changed)
    if note:
        return found._replace(page=page.noted(note)), note
    fields = terms.validators.kept()
    how = proof.how if proof else NEW
    cache_info = CacheInfo(at.replace(microsecond=0), hours(terms.ttl), fields.etag, fields.last_modified, how)
    return found._replace(cache_info=cache_info), "ok"


def _compared(found: Found, stale: StaleEntry | None) -> Found:
    """Whether the text differs from that of the previous copy."""
    cache_info = found.cache_info
    if (
        cache_info is None
        or cache_info.how != NEW
        or stale is None
        or found.page.markdown_hash == stale.page.markdown_hash
    ):
        return found
    return found._replace(cache_info=cache_info._replace(how=CHANGED))


def _class_of(task: FetchTask, best: FetchResult, profile: Profile, services: Services) -> FreshnessClass:
    """The class that the request names, or the copy had, or the rules choose; else the profile's lifetime."""
    if not profile.freshness or services.freshness is None:
        return FreshnessClass("", profile.ttl)
    asked, proof = task.request.freshness_class, best.proof
    if asked is not None:
        found = services.freshness.named(asked)
    elif proof and proof.stale.page.freshness:
        return FreshnessClass(proof.stale.page.freshness, proof.stale.ttl)
    else:
        page, document = best.fetched.page, best.document
        kind = page.headers.get("content-type", "")
        found = services.freshness.classify(page.url, kind, document.types, document.generator)
    return found if found.ttl is not None else found._replace(ttl=profile.ttl)


def _validators(best: FetchResult, page: StoredPage) -> Validators:
    """The validators of the answer; a 304 may leave out those it was asked with."""
    if best.rendering_method != ASKABLE:
        return Validators(content_hash=page.content_hash)
    headers = best.fetched.page.headers
    etag, last_modified = headers.get("etag"), headers.get("last-modified")
    if best.proof and best.fetched.page.status == NOT_MODIFIED:
        entry = best.proof.stale.entry
        etag, last_modified = etag or entry.etag, last_modified or entry.last_modified
    return Validators(etag, last_modified, page.content_hash)


def _is_not_to_be_kept(best: FetchResult, profile: Profile) -> str:
    """Whether storing is forbidden, which also removes an earlier copy: RFC 9111 5.2.2.5, or a robots directive."""
    if best.blocked is not None and best.blocked.page_type == SITE_SIGNAL:
        return SITE_SIGNAL
    if best.blocked is not None or not profile.freshness:
        return ""
    fields = best.fetched.page.headers.get("cache-control", "")
    if any(part.partition("=")[0].strip().lower() == NO_STORE for part in fields.split(",")):
        return NO_STORE
    return NOARCHIVE if NOARCHIVE in refusals(best.signals) else ""


def _renewed(best: FetchResult, proof: Revalidated, chosen: FreshnessClass) -> StoredPage:
    """The copy, with the redirects and notes of this fetch."""
    chain, notes = list(best.fetched.chain), list(best.notes)
    fields = {"freshness": chosen.name, "signals": dict(best.signals)}
    return msgspec.structs.replace(proof.stale.page, chain=chain, notes=notes, **fields)


def _page(best: FetchResult, profile: Profile, chosen: FreshnessClass) -> StoredPage:
    document, page, markdown = best.document, best.fetched.page, best.document.markdown
    return StoredPage(
        final_url=page.url.href,
        markdown=markdown,
        chunk_tokens=profile.limits.chunk_tokens,
        chunks=bounds(markdown, profile.limits.chunk_tokens, document.pages),
        title=document.title,
        language=document.language,
        notes=list(best.notes),
        metadata=asdict(document.metadata),
        content_type=page.headers.get("content-type", ""),
        status=page.status,
        chain=list(best.fetched.chain),
        content_hash=sha256(page.body).hexdigest(),
        content_length=len(page.body),
        markdown_hash=_hash_of(markdown),
        freshness=chosen.name,
        reader=best.reader,
        served_by=best.fallback,
        archive_url=best.fetched.archive_url,
        archive_date=best.fetched.archive_date,
        signals=dict(best.signals),
        data=document.data,
        pages=list(document.pages),
    )


def _withheld(page: StoredPage, blocked: BlockedPage) -> StoredPage:
    """Of a blocked page only the title is kept (FG-21)."""
    return msgspec.structs.replace(
        page,
        markdown="",
        chunks=bounds("", page.chunk_tokens),
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
