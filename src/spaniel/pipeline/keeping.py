"""What is kept of a page that a rung brought, for how long, and what it is known by (FG-37)."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.cache import Validators
from spaniel.cache.freshness import FreshnessClass
from spaniel.pipeline.conditional import NOT_MODIFIED
from spaniel.pipeline.held import hours
from spaniel.pipeline.outcome import Found, Kept
from spaniel.pipeline.recognition import SITE_SIGNAL
from spaniel.pipeline.revalidation import key_of
from spaniel.pipeline.rungs import PASSING
from spaniel.pipeline.signals import NOARCHIVE, refusals
from spaniel.pipeline.stored import StoredPage, bounds

if TYPE_CHECKING:
    from datetime import timedelta

    from spaniel.cache import CacheKey, PageCache
    from spaniel.pipeline.errand import Brought, Errand
    from spaniel.pipeline.held import Held, Proof
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.recognition import Instead
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.trace import Trace
    from spaniel.pipeline.writer import Writer

NEW, CHANGED = "new", "changed"
NO_STORE = "no-store"
ASKABLE = "http"  # the rendering that a server can be asked about: what scripts have made, it does not know


class Terms(NamedTuple):
    """Under which name a page is kept, for how long, and what it is known by."""

    key: CacheKey
    ttl: timedelta
    validators: Validators


async def keep(errand: Errand, best: Brought, profile: Profile, rooms: Rooms, trace: Trace) -> Found:
    """The best page as it is stored, and stored if it may be."""
    chosen = _class_of(errand, best, profile, rooms)
    page = _renewed(best, best.proof, chosen) if best.proof else _page(best, profile, chosen)
    page = _withheld(page, best.instead) if best.instead else page
    found = Found(page, best.fetched_at, best.rendering_method, best.retrieved.picture)
    key = best.proof.held.key if best.proof else key_of(errand, best.rendering_method, profile, rooms)
    with trace.step("write_cache") as step:
        if rooms.cache is None or not profile.cached:
            step.text = "no cache"
        elif why := _is_not_to_be_kept(best, profile):
            step.text = why
            await rooms.writer.write(rooms.cache.drop, key)
        elif best.instead is not None or errand.request.display or not PASSING.isdisjoint(best.notes):
            step.text = "not kept"
        else:
            known = _validators(best, page) if profile.freshness else Validators()
            terms = Terms(key, rooms.cache.ttl if chosen.ttl is None else chosen.ttl, known)
            found, step.text = await _written(found, best, terms, rooms.cache, rooms.writer)
            found = _compared(found, errand.held)
    return found


async def _written(found: Found, best: Brought, terms: Terms, cache: PageCache, writer: Writer) -> tuple[Found, str]:
    """With what the cache knows of it now; or with the note that it could not be written."""
    page, proof, at = found.page, best.proof, best.fetched_at
    if proof is None:
        note = await writer.write(cache.put, terms.key, page, at, terms.ttl, terms.validators)
    else:
        changed = None if page == proof.held.page else page
        renewal = terms.key, proof.held.entry, at, terms.ttl, terms.validators
        in_place = changed is None and cache.renew_in_place(*renewal)
        note = None if in_place else await writer.write(cache.renew, *renewal, changed)
    if note:
        return found._replace(page=page.noted(note)), note
    told = terms.validators.kept()
    how = proof.how if proof else NEW
    kept = Kept(at.replace(microsecond=0), hours(terms.ttl), told.etag, told.last_modified, how)
    return found._replace(kept=kept), "ok"


def _compared(found: Found, held: Held | None) -> Found:
    """Whether the text is another than that of the copy before."""
    kept = found.kept
    if kept is None or kept.how != NEW or held is None or found.page.markdown_hash == held.page.markdown_hash:
        return found
    return found._replace(kept=kept._replace(how=CHANGED))


def _class_of(errand: Errand, best: Brought, profile: Profile, rooms: Rooms) -> FreshnessClass:
    """By the request, by what the copy was when it was read, or by the rules; else by the profile alone."""
    if not profile.freshness or rooms.freshness is None:
        return FreshnessClass("", profile.ttl)
    asked, proof = errand.request.freshness_class, best.proof
    if asked is not None:
        found = rooms.freshness.named(asked)
    elif proof and proof.held.page.freshness:
        return FreshnessClass(proof.held.page.freshness, proof.held.ttl)
    else:
        page, document = best.retrieved.page, best.document
        kind = page.headers.get("content-type", "")
        found = rooms.freshness.classify(page.url, kind, document.types, document.generator)
    return found if found.ttl is not None else found._replace(ttl=profile.ttl)


def _validators(best: Brought, page: StoredPage) -> Validators:
    """What the answer names; a 304 need not name again what it was asked with."""
    if best.rendering_method != ASKABLE:
        return Validators(content_hash=page.content_hash)
    headers = best.retrieved.page.headers
    etag, last_modified = headers.get("etag"), headers.get("last-modified")
    if best.proof and best.retrieved.page.status == NOT_MODIFIED:
        entry = best.proof.held.entry
        etag, last_modified = etag or entry.etag, last_modified or entry.last_modified
    return Validators(etag, last_modified, page.content_hash)


def _is_not_to_be_kept(best: Brought, profile: Profile) -> str:
    """What forbids it, to an earlier copy too: RFC 9111 5.2.2.5, or the site's word to robots."""
    if best.instead is not None and best.instead.page_type == SITE_SIGNAL:
        return SITE_SIGNAL
    if best.instead is not None or not profile.freshness:
        return ""
    told = best.retrieved.page.headers.get("cache-control", "")
    if any(part.partition("=")[0].strip().lower() == NO_STORE for part in told.split(",")):
        return NO_STORE
    return NOARCHIVE if NOARCHIVE in refusals(best.signals) else ""


def _renewed(best: Brought, proof: Proof, chosen: FreshnessClass) -> StoredPage:
    """The copy, and what the way there was like this time."""
    chain, notes = list(best.retrieved.chain), list(best.notes)
    told = {"freshness": chosen.name, "signals": dict(best.signals)}
    return msgspec.structs.replace(proof.held.page, chain=chain, notes=notes, **told)


def _page(best: Brought, profile: Profile, chosen: FreshnessClass) -> StoredPage:
    document, page, markdown = best.document, best.retrieved.page, best.document.markdown
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
        chain=list(best.retrieved.chain),
        content_hash=sha256(page.body).hexdigest(),
        content_length=len(page.body),
        markdown_hash=_hash_of(markdown),
        freshness=chosen.name,
        reader=best.reader,
        served_by=best.rung,
        archive_url=best.retrieved.archive_url,
        archive_date=best.retrieved.archive_date,
        signals=dict(best.signals),
        data=document.data,
        pages=list(document.pages),
    )


def _withheld(page: StoredPage, instead: Instead) -> StoredPage:
    """Of what is not the page, or not for us, the title is told and no more (FG-21)."""
    return msgspec.structs.replace(
        page,
        markdown="",
        chunks=bounds("", page.chunk_tokens),
        markdown_hash=_hash_of(""),
        metadata={},
        data=None,
        pages=[],
        notes=[*page.notes, *instead.notes],
        page_type=instead.page_type,
        region=instead.region,
        wall=dict(instead.wall),
    )


def _hash_of(markdown: str) -> str:
    return sha256(markdown.encode("utf-8", "surrogatepass")).hexdigest()
