"""The last rung: a page that nothing brought is written down for a person (FG-35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import CLOSED
from spaniel.pipeline.outcome import shortened
from spaniel.pipeline.recognition import SITE_SIGNAL
from spaniel.pipeline.rungs.failures import REFUSED_HERE, told
from spaniel.pipeline.rungs.kind import BROUGHT, Kind, never_served
from spaniel.queue import Failure
from spaniel.url.parsing import requested

if TYPE_CHECKING:
    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.errand import Ascent
    from spaniel.pipeline.outcome import Attempt
    from spaniel.pipeline.retrieve import PageHops
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.rungs.kind import Options

SHOWN = 500  # characters of an address that was tried: a hostile one must not fill the file


def _applies(ascent: Ascent, rooms: Rooms) -> str:
    instead = ascent.best.instead if ascent.best is not None else None
    if ascent.best is not None and instead is None:
        return BROUGHT
    if instead is not None and instead.page_type == SITE_SIGNAL:
        return f"the profile respects the site's {instead.notes[-1]}"
    if rooms.queue is None:
        return "off: there is no queue"
    if instead is not None:
        return ""
    refusal = ascent.refusal
    if refusal is None:
        return "nothing has failed"
    return f"not after {told(refusal)}" if refusal.code in REFUSED_HERE else ""


async def _climb(ascent: Ascent, rooms: Rooms, _deadline: Deadline, hops: PageHops, _options: Options) -> None:
    assert rooms.queue is not None  # noqa: S101  it applied
    with hops.step("queue"):
        await rooms.writer.write(rooms.queue.add, _failure(ascent), rooms.clock.now().timestamp())


def _failure(ascent: Ascent) -> Failure:
    """One rule for pages that are not given out: by status or by what the page shows, a person gets them (FG-35)."""
    errand, refusal, best = ascent.errand, ascent.refusal, ascent.best
    if best is not None and best.instead is not None:
        code = best.instead.page_type
        message = CLOSED.get(code) or f"The site sent something else in place of the page: {code}."
    else:
        assert refusal is not None  # noqa: S101  it applied
        code, message = str(refusal.code), refusal.message
    return Failure(
        errand.canonical.url,
        requested(errand.canonical.original),
        errand.profile,
        errand.profile_file,
        code,
        message,
        [_told(attempt) for attempt in ascent.attempts],
    )


def _told(attempt: Attempt) -> dict[str, object]:
    return {
        "rung": attempt.rung,
        "outcome": attempt.outcome,
        "url": shortened(attempt.url, SHOWN),
        "status": attempt.status,
        "waited": round(attempt.waited, 3),
        "ms": attempt.ms,
    }


QUEUE = Kind(_applies, _climb, never_served, elsewhere=True, local=True)
