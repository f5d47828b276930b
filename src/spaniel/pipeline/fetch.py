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
from spaniel.pipeline.request import checked
from spaniel.pipeline.rungs import PASSING
from spaniel.pipeline.stored import StoredPage, bounds, from_cache
from spaniel.pipeline.trace import Trace
from spaniel.url.parsing import parse, requested

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
        outcome = Outcome(_asked_for(request), refusal=error, steps=trace.steps)
    record(outcome, rooms.clock.monotonic() - began)
    return outcome


async def _fetch(request: Request, profile: Profile, rooms: Rooms, trace: Trace) -> Outcome:
    errand = prepare(request, profile, rooms, trace)
    outcome = _check_cache(errand, profile, rooms, trace)
    if outcome.found is not None:
        return outcome
    request = errand.request
    ascent = await rooms.flights.join(
        (errand.canonical.url, profile.name, profile.version, request.force_browser, request.picture, *request.lists),
        lambda shared: _fetch_afresh(errand, profile, rooms, shared),
        trace,
    )
    return outcome._replace(found=ascent.found, refusal=ascent.refusal, attempts=tuple(ascent.attempts))


def stored(request: Request, profile: Profile, rooms: Rooms, trace: Trace | None = None) -> Outcome | None:
    """How a fetch would end that finds its page in the cache; None where it would not. Nobody is asked for anything."""
    began = rooms.clock.monotonic()
    trace = trace or Trace()
    outcome = _check_cache(prepare(request, profile, rooms, trace), profile, rooms, trace)
    if outcome.found is None:
        return None
    record(outcome, rooms.clock.monotonic() - began)
    return outcome


def prepare(request: Request, profile: Profile, rooms: Rooms, trace: Trace) -> Errand:
    """What is to be fetched. Whatever is refused here is refused for its form: nobody need be asked (D2-04)."""
    with trace.step("parse"):  # by the policy, whose first rule says what is a URL to it
        request = checked(request)
        canonical = profile.policy.apply(request.url)
    with trace.step("normalize"):
        url = parse(canonical.url)
        rooms.door.guard.check_page(url, request.domains)
    return Errand(
        url, canonical, request, profile.way._replace(domains=request.domains), profile.rungs, profile.content
    )


def _check_cache(errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> Outcome:
    """What is known of a fetch before it is made, with the stored page if there is one to be served."""
    known = Outcome(requested(errand.canonical.original), errand.canonical.url, steps=trace.steps)
    bypassed = errand.request.no_cache
    with trace.step("check_cache") as step:
        found = None if bypassed else _look_up(errand, profile, rooms)
        step.text = "bypassed" if bypassed else "hit" if found else "miss"
    return known._replace(found=found, served_at=rooms.clock.now()) if found else known


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
        entry = rooms.cache.get(_key(errand, method, profile, rooms))
        if entry is not None and (page := from_cache(entry.content)) and _may_be_served(page, errand, rooms):
            return Found(page, entry.fetched_at, method)
    return None


def _may_be_served(page: StoredPage, errand: Errand, rooms: Rooms) -> bool:
    """Whether this fetch might have gone the way that brought the page; if not, it is fetched and judged hop by hop."""
    try:
        for url in (*page.chain, page.final_url):
            rooms.door.guard.check_page(parse(url), errand.way.domains)
    except SpanielError:
        return False
    return True


async def _write_cache(
    errand: Errand, best: Brought, page: StoredPage, profile: Profile, rooms: Rooms
) -> tuple[str, str | None]:
    """How it went, and the note that the answer carries where it did not."""
    if not PASSING.isdisjoint(best.notes):
        return "not kept", None
    if rooms.cache is None or not profile.cached:
        return "no cache", None
    key = _key(errand, best.rendering_method, profile, rooms)
    note = await rooms.writer.write(rooms.cache.put, key, page, best.fetched_at, profile.ttl)
    return note or "ok", note


def _page(best: Brought, profile: Profile) -> StoredPage:
    document, page = best.document, best.retrieved.page
    return StoredPage(
        final_url=page.url.href,
        markdown=document.markdown,
        chunk_tokens=profile.limits.chunk_tokens,
        chunks=bounds(document.markdown, profile.limits.chunk_tokens),
        title=document.title,
        language=document.language,
        notes=list(best.notes),
        metadata=asdict(document.metadata),
        content_type=page.headers.get("content-type", ""),
        status=page.status,
        chain=list(best.retrieved.chain),
        content_hash=sha256(page.body).hexdigest(),
        pages=list(document.pages),
    )


def _key(errand: Errand, method: str, profile: Profile, rooms: Rooms) -> Key:
    return key_for(errand.canonical.url, method, profile.name, profile.version, rooms.door.guard.overrides)


def _asked_for(request: Request) -> str:
    return requested(str(request.url))  # which may be anything in Python
