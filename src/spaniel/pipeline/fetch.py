"""One fetch, from URL to outcome: the SRD's state diagram (Appendix B), top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.errand import Ascent, Errand
from spaniel.pipeline.held import STALE, STALE_COPY
from spaniel.pipeline.keeping import keep
from spaniel.pipeline.known_web import canonical
from spaniel.pipeline.ladder import climb
from spaniel.pipeline.log_line import write_log_line
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.request import bad, checked
from spaniel.pipeline.revalidation import Known, look_up
from spaniel.pipeline.trace import Trace
from spaniel.url.parsing import parse, requested

if TYPE_CHECKING:
    from collections.abc import Hashable

    from spaniel.hosts import Politeness
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
    write_log_line(outcome, rooms.clock.monotonic() - began)
    return outcome


async def _fetch(request: Request, profile: Profile, rooms: Rooms, trace: Trace) -> Outcome:
    errand = prepare(request, profile, rooms, trace)
    known = _check_cache(errand, profile, rooms, trace)
    if known.found is not None:
        return _told(errand, known, rooms, trace)
    if known.held is not None:
        errand = errand._replace(held=known.held, way=errand.way._replace(conditional=known.held.conditional))
    ascent = await rooms.flights.join(
        _flight(errand, profile), lambda shared: _fetch_afresh(errand, profile, rooms, shared), trace
    )
    told = _told(errand, known._replace(found=ascent.found), rooms, trace)
    tried, left_out = tuple(ascent.attempts), tuple(ascent.left_out)
    return told._replace(refusal=ascent.refusal, attempts=tried, left_out=left_out)


def stored(request: Request, profile: Profile, rooms: Rooms, trace: Trace | None = None) -> Outcome | None:
    """How a fetch would end that finds its page in the cache; None where it would not. Nobody is asked for anything."""
    began = rooms.clock.monotonic()
    trace = trace or Trace()
    errand = prepare(request, profile, rooms, trace)
    known = _check_cache(errand, profile, rooms, trace)
    if known.found is None:
        return None
    outcome = _told(errand, known, rooms, trace)
    write_log_line(outcome, rooms.clock.monotonic() - began)
    return outcome


def prepare(request: Request, profile: Profile, rooms: Rooms, trace: Trace) -> Errand:
    """What is to be fetched. Whatever is refused here is refused for its form: nobody need be asked (D2-04)."""
    with trace.step("parse"):  # by the policy, whose first rule says what is a URL to it
        request = checked(request)
        _require_class(request, profile, rooms)
        known = canonical(profile.policy, request.url, rooms.door.hosts)
    with trace.step("normalize"):
        url = parse(known.url)
        rooms.door.guard.check_page(url, request.domains)
    way = profile.way._replace(domains=request.domains, politeness=_politeness(request, profile))
    return Errand(url, known, request, way, profile.rungs, profile.content, profile.name, profile.file)


def _politeness(request: Request, profile: Profile) -> Politeness:
    """The profile's, as patient as whoever asks for this page."""
    wait = profile.limits.max_wait_seconds if request.max_wait is None else request.max_wait
    return profile.way.politeness._replace(longest_wait=wait)


def _require_class(request: Request, profile: Profile, rooms: Rooms) -> None:
    if request.freshness_class is None:
        return
    if not profile.freshness or rooms.freshness is None:
        raise bad("freshness_class", f"the profile '{profile.name}' has no classes; use one with cache.freshness")
    rooms.freshness.named(request.freshness_class)


def _check_cache(errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> Known:
    """What the cache knows of a page: one to be served, or one to ask about."""
    with trace.step("check_cache") as step:
        if errand.request.bypass:
            step.text = "bypassed"
            return Known(reason=errand.request.bypass)
        known = look_up(errand, profile, rooms)
        step.text = "hit" if known.found else STALE if known.held else "miss"
        return known


async def _fetch_afresh(errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> Ascent:
    """Guard, robots, fetch, content type, extract: rung by rung; then what is best is kept."""
    ascent = await climb(errand, profile, rooms, trace)
    if ascent.best is not None:
        ascent.found = await keep(errand, ascent.best, profile, rooms, trace)
    elif ascent.refusal is None:
        raise SpanielError(Code.BAD_ARGS, field="ladder", reason="no rung of the profile applies to this page")
    elif errand.held is not None and errand.held.stands_in_for(ascent.refusal, rooms.clock.now()):
        with trace.step(STALE_COPY):
            found = errand.held.found(STALE)
            ascent.found = found._replace(page=found.page.noted(STALE_COPY))
    return ascent


def _flight(errand: Errand, profile: Profile) -> Hashable:
    """What makes two fetches of a page two: those who want the same share one. A copy to ask about makes a difference,
    for whoever will have none gets the page itself."""
    request = errand.request
    how = (
        request.force_browser,
        request.picture,
        request.picture_height,
        request.display,
        request.freshness_class,
        request.max_wait,
        errand.held is None,
    )
    return errand.canonical.url, errand.is_upgraded, profile.name, profile.version, *how, *request.lists


def _told(errand: Errand, known: Known, rooms: Rooms, trace: Trace) -> Outcome:
    """What is known of a page, for whoever asked for it; served from the cache unless somebody vouched for it now."""
    found = known.found
    served = found is not None and found.kept is not None and found.kept.how in ("hit", STALE)
    return Outcome(
        requested(errand.canonical.original),
        errand.canonical.url,
        found,
        warnings=errand.canonical.repairs,
        reason=known.reason,
        known_title=known.held.page.headline if known.held else None,
        served_at=rooms.clock.now() if served else None,
        steps=trace.steps,
    )


def _asked_for(request: Request) -> str:
    return requested(str(request.url))  # which may be anything in Python
