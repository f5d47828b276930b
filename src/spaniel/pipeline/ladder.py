"""The ladder: a profile's rungs, tried one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.errand import Ascent, Brought
from spaniel.pipeline.outcome import Attempt
from spaniel.pipeline.retrieve import Trail
from spaniel.reading.document import TEXT_CUT
from spaniel.reading.kinds import kind_of
from spaniel.reading.text_cut import taken

if TYPE_CHECKING:
    from spaniel.pipeline.errand import Errand
    from spaniel.pipeline.profile import Profile, Rung
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.trace import Trace


async def climb(errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> Ascent:
    """Climb each rung that applies after what came of those before it."""
    ascent = Ascent(errand)
    times = _Times(profile, rooms)
    for rung in profile.ladder:
        if rung.kind.applies(ascent, rooms):
            await _try(rung, ascent, profile, rooms, times.next(), trace)
    return ascent


class _Times:
    """The rungs' deadlines: one for all of them, or one each within a total."""

    def __init__(self, profile: Profile, rooms: Rooms) -> None:
        self._limits, self._clock = profile.limits, rooms.clock
        self._shared = None if profile.limits.total_seconds else Deadline(profile.limits.timeout_seconds)
        self._end = 0.0 if self._shared else rooms.clock.monotonic() + profile.limits.total_seconds

    def next(self) -> Deadline:
        if self._shared is not None:
            return self._shared
        left = self._end - self._clock.monotonic()
        return Deadline(max(0.0, min(self._limits.timeout_seconds, left)))


async def _try(rung: Rung, ascent: Ascent, profile: Profile, rooms: Rooms, deadline: Deadline, trace: Trace) -> None:
    """One attempt: its page is the best so far, or its failure is written down."""
    errand, began, failure = ascent.errand, rooms.clock.monotonic(), None
    trail = Trail(errand.url, trace, len(ascent.attempts) + 1)
    try:
        retrieved = await rung.kind.climb(errand, rooms, deadline, trail, rung.options)
        fetched_at = rooms.clock.now()
        page = retrieved.page
        content_type = page.headers.get("content-type")
        with trail.step("content_type"):
            kind = kind_of(content_type, page.body, profile.content)
            body = taken(page.body, content_type, kind.charset, profile.limits.text_bytes)
        with trail.step("extract"):
            document = await rooms.readers.read(body, content_type, page.url.href, profile.content, deadline)
        notes = (*retrieved.notes, *((TEXT_CUT,) if body is not page.body else ()), *document.notes)
        ascent.best = Brought(retrieved, document, fetched_at, rung.kind.rendering_method, notes)
    except SpanielError as error:
        failure = error
        if ascent.best is not None and rung.kind.in_vain is not None:
            note = rung.kind.in_vain(error)
            ascent.best = ascent.best._replace(notes=(*ascent.best.notes, note))
    ms = round((rooms.clock.monotonic() - began) * 1000, 3)
    ascent.attempts.append(
        Attempt(rung.name, trail.url.href, failure, trail.status, tuple(trail.chain), deadline.phase, ms)
    )
