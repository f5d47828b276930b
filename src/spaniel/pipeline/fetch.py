"""One fetch, from URL to outcome: the SRD's state diagram (Appendix B), top to bottom."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING

from spaniel.cache import key_for
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.errand import Ascent, Errand
from spaniel.pipeline.ladder import climb
from spaniel.pipeline.outcome import Found, Outcome
from spaniel.pipeline.record import record
from spaniel.pipeline.request import checked, without_credentials
from spaniel.pipeline.rungs import PASSING
from spaniel.pipeline.stored import StoredPage, bounds, from_cache
from spaniel.pipeline.trace import Trace
from spaniel.url.parsing import parse

NO_TEXT = "no_text"  # an empty answer says that it is meant to be one (D2-33)

if TYPE_CHECKING:
    from spaniel.cache import Key
    from spaniel.pipeline.errand import Brought
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.rooms import Rooms


async def fetch(request: Request, profile: Profile, rooms: Rooms, trace: Trace | None = None) -> Outcome:
    """How it ended, as a value: whatever is refused is refused in there. One record in the log says the same."""
    trace = trace or Trace()
    began = rooms.clock.monotonic()
    try:
        outcome = await _fetch(request, profile, rooms, trace)
    except SpanielError as error:  # it was no URL, or none that may be asked for
        outcome = Outcome(without_credentials(request.url), refusal=error, steps=trace.steps)
    record(outcome, rooms.clock.monotonic() - began)
    return outcome


async def _fetch(request: Request, profile: Profile, rooms: Rooms, trace: Trace) -> Outcome:
    with trace.step("parse"):  # by the policy, whose first rule says what is a URL to it
        canonical = profile.policy.apply(checked(request).url)
    with trace.step("normalize"):
        url = parse(canonical.url)
        rooms.door.guard.check_form(url)
    errand = Errand(url, canonical, request, profile.way, profile.rungs)
    known = Outcome(canonical.original, canonical.url, steps=trace.steps)
    with trace.step("check_cache") as step:
        found = None if request.no_cache else _look_up(errand, profile, rooms)
        step.text = "bypassed" if request.no_cache else "hit" if found else "miss"
    if found is not None:
        return known._replace(found=found, served_at=rooms.clock.now())
    ascent = await rooms.flights.join(
        (canonical.url, profile.name, profile.version, request.force_browser, request.picture),
        lambda shared: _fetch_afresh(errand, profile, rooms, shared),
        trace,
    )
    return known._replace(found=ascent.found, refusal=ascent.refusal, attempts=tuple(ascent.attempts))


async def _fetch_afresh(errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> Ascent:
    """Guard, robots, fetch, content type, extract: rung by rung; then what is best is kept."""
    ascent = await climb(errand, profile, rooms, trace)
    best = ascent.best
    if best is not None:
        page = _page(best, profile)
        with trace.step("write_cache") as step:
            step.text, note = await _write_cache(errand, best, page, profile, rooms)
        ascent.found = Found(page.noted(note), best.fetched_at, best.rendering_method, best.retrieved.picture)
    elif not ascent.attempts:
        raise SpanielError(Code.BAD_ARGS, field="ladder", reason="no rung of the profile applies to this page")
    return ascent


def _look_up(errand: Errand, profile: Profile, rooms: Rooms) -> Found | None:
    """A copy that one of the rungs brought, the first of them first (D2-03)."""
    if rooms.cache is None or not profile.cached:
        return None
    serving = (rung.kind.rendering_method for rung in profile.ladder if rung.kind.serves(errand, rooms))
    for method in dict.fromkeys(serving):
        entry = rooms.cache.get(_key(errand, method, profile))
        if entry is not None and (page := from_cache(entry.content)):
            return Found(page, entry.fetched_at, method)
    return None


async def _write_cache(
    errand: Errand, best: Brought, page: StoredPage, profile: Profile, rooms: Rooms
) -> tuple[str, str | None]:
    """How it went, and the note that the answer carries where it did not."""
    if not PASSING.isdisjoint(best.notes):
        return "not kept", None
    if rooms.cache is None or not profile.cached:
        return "no cache", None
    key = _key(errand, best.rendering_method, profile)
    note = await rooms.threads.write(rooms.cache.put, key, page, best.fetched_at, profile.ttl)
    return note or "ok", note


def _page(best: Brought, profile: Profile) -> StoredPage:
    document, page = best.document, best.retrieved.page
    empty = () if document.markdown.strip() else (NO_TEXT,)
    return StoredPage(
        final_url=page.url.href,
        markdown=document.markdown,
        chunk_tokens=profile.limits.chunk_tokens,
        chunks=bounds(document.markdown, profile.limits.chunk_tokens),
        title=document.title,
        language=document.language,
        notes=[*best.notes, *empty],
        metadata=asdict(document.metadata),
        content_type=page.headers.get("content-type", ""),
        status=page.status,
        chain=list(best.retrieved.chain),
        content_hash=sha256(page.body).hexdigest(),
    )


def _key(errand: Errand, method: str, profile: Profile) -> Key:
    return key_for(errand.canonical.url, method, profile.name, profile.version)
