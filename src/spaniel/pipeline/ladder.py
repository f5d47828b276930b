"""The ladder: a profile's rungs, tried one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.errand import Ascent, Brought
from spaniel.pipeline.outcome import Attempt
from spaniel.pipeline.recognition import READABLE, explained, recognized
from spaniel.pipeline.retrieve import PageHops
from spaniel.pipeline.rungs.failures import is_unanswered, root_of
from spaniel.pipeline.signals import signals_of
from spaniel.reading.document import TEXT_CUT
from spaniel.reading.kinds import kind_of, text_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.http import Page
    from spaniel.pipeline.errand import Errand
    from spaniel.pipeline.profile import Limits, Profile, Rung
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.trace import Trace
    from spaniel.reading import Document


STANDS_IN = "a stored copy stands in"


async def climb(errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> Ascent:
    """Climb each rung that applies after what came of those before it; say of each other one why not."""
    climber = _Climber(errand, profile, rooms, trace)
    for rung in profile.ladder:
        wait = climber.wait_before(rung)
        if wait is not None:
            await climber.climb(rung, wait)
    return climber.ascent


class _Climber:
    """One fetch on its way up."""

    def __init__(self, errand: Errand, profile: Profile, rooms: Rooms, trace: Trace) -> None:
        self.ascent = Ascent(errand)
        self._profile, self._rooms, self._trace = profile, rooms, trace
        self._times = _Times(profile.limits, rooms)

    def wait_before(self, rung: Rung) -> float | None:
        """How long to wait before a rung; None where it is left out, which is written down."""
        ascent, rooms = self.ascent, self._rooms
        why = rung.kind.applies(ascent, rooms) or (STANDS_IN if rung.kind.elsewhere and self._stands_in() else "")
        if why:
            ascent.leave_out(rung.name, why)
            return None
        wait = rung.kind.wait(ascent, rooms, rung.options)
        why = self._times.against(wait, ascent.errand.way.politeness.longest_wait)
        if not why or rung.kind.local:
            return wait
        ascent.leave_out(rung.name, why)
        if ascent.unasked is None and (asked := rooms.door.hosts.asked(ascent.errand.url.origin)):
            ascent.unasked = asked.refusal()
        return None

    def _stands_in(self) -> bool:
        """Whether a stored copy will do: it is younger than an archive's, and asks nobody."""
        held, failure = self.ascent.errand.held, self.ascent.failure
        return held is not None and held.stands_in_for(failure, self._rooms.clock.now())

    async def climb(self, rung: Rung, wait: float) -> None:
        """By each of its ways, until one brings a page."""
        if wait > 0:
            await self._wait(wait)
        for options in rung.kind.ways(self.ascent.errand, self._rooms, rung.options):
            if self._times.is_over() and not rung.kind.local:
                self.ascent.leave_out(rung.name, self._times.against(0.0, 0.0))
                break
            if await self._try(rung, options, wait):
                break
            wait = 0.0

    async def _wait(self, seconds: float) -> None:
        with self._trace.step("wait", self.ascent.errand.url.redacted, len(self.ascent.attempts) + 1) as step:
            step.text = f"{seconds:.1f} s"
            await self._rooms.clock.sleep(seconds)
        self._times.waited(seconds)

    async def _try(self, rung: Rung, options: Mapping[str, object], waited: float) -> bool:
        """One attempt: its page is the best so far, or its failure is written down. Whether it has brought one."""
        ascent, clock = self.ascent, self._rooms.clock
        at, began, failure, deadline = clock.now(), clock.monotonic(), None, self._times.next()
        hops = PageHops(ascent.errand.url, self._trace, len(ascent.attempts) + 1)
        try:
            ascent.best = await self._bring(rung, options, deadline, hops) or ascent.best
        except SpanielError as error:
            if is_unanswered(error, deadline.phase):
                self._rooms.door.hosts.unanswered(hops.url.origin, root_of(error), led=hops.is_led)
            failure = explained(error, hops.answer, bool(hops.chain)) if self._profile.page_types else error
            if ascent.best is not None and rung.kind.in_vain is not None:
                note = rung.kind.in_vain(error)
                ascent.best = ascent.best._replace(notes=(*ascent.best.notes, note))
        ms, chain = round((clock.monotonic() - began) * 1000, 3), hops.urls
        told = (rung.name, hops.url.href, failure, hops.status, chain, deadline.phase, ms)
        ascent.attempts.append(Attempt(*told, waited, rung.kind.elsewhere, at))
        return failure is None

    async def _bring(
        self, rung: Rung, options: Mapping[str, object], deadline: Deadline, hops: PageHops
    ) -> Brought | None:
        """What a rung finds, read; None from one that looks for nothing."""
        retrieved = await rung.kind.climb(self.ascent, self._rooms, deadline, hops, options)
        if retrieved is None:
            return None
        held, method, fetched_at = self.ascent.errand.held, rung.kind.rendering_method, self._rooms.clock.now()
        proof = held.proved_by(retrieved.page, method) if held else None
        if proof:
            document, reader = proof.held.document, proof.held.page.reader
        else:
            document, reader = await self._read(retrieved.page, deadline, hops)
        notes = tuple(dict.fromkeys((*retrieved.notes, *document.notes)))
        brought = Brought(retrieved, document, fetched_at, method, notes, rung.name, reader, proof=proof)
        return self._judged(brought)

    def _judged(self, brought: Brought) -> Brought:
        """With what the site says about the use of the page, and whether it is the page at all.

        A copy that is still right was the page when it was read; what the site says today may be new.
        """
        profile, retrieved, document = self._profile, brought.retrieved, brought.document
        agent = profile.way.options.headers.user_agent
        signals = signals_of(document.signals, retrieved.page.headers, retrieved.content_signal, agent)
        types = profile.page_types and brought.proof is None and brought.reader in READABLE
        instead = recognized(retrieved, document, signals, types=types, respect=profile.respect)
        return brought._replace(signals=signals, instead=instead)

    async def _read(self, page: Page, deadline: Deadline, hops: PageHops) -> tuple[Document, str]:
        """What is understood of a page, and by which reader."""
        declared, profile = page.headers.get("content-type"), self._profile
        with hops.step("content_type"):
            kind = kind_of(declared, page.body, profile.content)
            body = text_part(page.body, declared, kind.charset, profile.limits.text_bytes)
        with hops.step("extract"):
            document = await self._rooms.readers.read(
                body, declared, page.url.href, profile.content, deadline, walls=profile.page_types
            )
        return document if body is page.body else document.noted(TEXT_CUT), kind.reader


class _Times:
    """The rungs' deadlines: one for all of them, or one each within a total.

    Waiting is part of the total, and of no deadline: whoever waits asks nobody for anything.
    """

    def __init__(self, limits: Limits, rooms: Rooms) -> None:
        self._limits, self._clock = limits, rooms.clock
        self._shared = None if limits.total_seconds else Deadline(limits.timeout_seconds)
        self._end = 0.0 if self._shared else rooms.clock.monotonic() + limits.total_seconds

    def next(self) -> Deadline:
        if self._shared is not None:
            return self._shared
        return Deadline(max(0.0, min(self._limits.timeout_seconds, self._left())))

    def against(self, wait: float, longest: float) -> str:
        """Why there is no time for a rung after such a wait; empty where there is."""
        if wait > longest:
            return f"would wait {wait:.0f} s, longer than {longest:.0f} s"
        if self.is_over():
            return f"the {self._limits.total_seconds:.0f} s of the whole fetch are over"
        if self._shared is None and wait >= self._left():
            return f"would wait {wait:.0f} s, and {self._left():.0f} s of the whole fetch are left"
        return ""

    def is_over(self) -> bool:
        return self._shared is None and self._left() <= 0

    def waited(self, seconds: float) -> None:
        if self._shared is not None:
            self._shared.at += seconds

    def _left(self) -> float:
        return self._end - self._clock.monotonic()
