"""The web archive: asked whether it has a copy, and for the copy, at addresses of the settings (FG-32).

Nothing that it says is believed but a moment in time: the copy's address is made here, of that moment and the page's
own URL. Each hop is guarded and asks robots.txt, and none leads away from the archive.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.outcome import FROM_ARCHIVE, moment
from spaniel.pipeline.retrieve import retrieve
from spaniel.pipeline.rungs.failures import not_down
from spaniel.pipeline.rungs.kind import BROUGHT, Kind, never_served
from spaniel.pipeline.rungs.templates import filled
from spaniel.url.hostlists import domains

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.errand import Ascent
    from spaniel.pipeline.retrieve import PageHops, Retrieved, Way
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.rungs.kind import Options
    from spaniel.url.value import Url

LARGEST_ANSWER = 64 << 10  # bytes of what is a few lines
TIMESTAMP = re.compile("[0-9]{14}")


class Closest(msgspec.Struct):
    """The copy that is nearest to now; its own `url` is not read."""

    timestamp: str = ""
    available: bool = False
    status: str | int = "200"  # with which the page was answered when it was taken


class Snapshots(msgspec.Struct):
    closest: Closest | None = None


class Availability(msgspec.Struct):
    archived_snapshots: Snapshots


_decoder = msgspec.json.Decoder(Availability)


def _applies(ascent: Ascent, rooms: Rooms) -> str:
    if ascent.best is not None:
        return BROUGHT
    if not (rooms.copies.archive_available and rooms.copies.archive_snapshot):
        return "off: no archive is set"
    return not_down(ascent.failure)


async def _climb(ascent: Ascent, rooms: Rooms, deadline: Deadline, hops: PageHops, _options: Options) -> Retrieved:
    errand, copies = ascent.errand, rooms.copies
    asked = filled(copies.archive_available, errand.url)
    answer = await _get(asked, _asking(errand.way), rooms, deadline, hops)
    timestamp = read_availability(answer.page.body, rooms.clock.now())
    found = await _get(filled(copies.archive_snapshot, errand.url, timestamp), errand.way, rooms, deadline, hops)
    page = found.page
    return found._replace(
        page=page._replace(url=errand.url),  # links in it lead from where the page was
        chain=(),
        notes=(FROM_ARCHIVE, *found.notes),
        archive_url=page.url.href,
        archive_date=moment(_taken(page.headers) or _moment_of(timestamp)),
    )


async def _get(url: Url, way: Way, rooms: Rooms, deadline: Deadline, hops: PageHops) -> Retrieved:
    """One of the archive's own pages: where it is may be forbidden to whoever asks, and it must stay there."""
    hops.start(url)
    rooms.door.guard.check_page(url, way.domains)
    inside = way.domains._replace(allowed=domains((url.host,)))
    return await retrieve(url, rooms.door, deadline, way._replace(domains=inside), hops)


def _asking(way: Way) -> Way:
    headers = way.options.headers._replace(accept="application/json")
    return way._replace(options=way.options._replace(headers=headers, max_bytes=LARGEST_ANSWER, cut=False))


def read_availability(body: bytes, now: datetime) -> str:
    """The moment of the copy, in the archive's own fourteen digits."""
    try:
        closest = _decoder.decode(body).archived_snapshots.closest
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise _unusable("its answer is not the JSON that was expected") from None
    if closest is None or not closest.available or str(closest.status) != "200":
        raise SpanielError(Code.HTTP_4XX, status=404, status_text="Not Found: the archive has no copy of this page")
    if not TIMESTAMP.fullmatch(closest.timestamp) or _moment_of(closest.timestamp) > now + timedelta(days=1):
        raise _unusable("it names no moment at which a page can have been copied")
    return closest.timestamp


def _moment_of(timestamp: str) -> datetime:
    try:
        return datetime.strptime(timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise _unusable("it names no moment at which a page can have been copied") from None


def _taken(headers: Mapping[str, str]) -> datetime | None:
    """When the copy that came was taken: the archive may have led to another than was asked for (RFC 7089 2.1.1)."""
    try:
        return parsedate_to_datetime(headers["memento-datetime"]).astimezone(UTC)
    except (KeyError, ValueError, OverflowError):
        return None


def _unusable(why: str) -> SpanielError:
    return SpanielError(Code.NETWORK, error=f"the archive cannot be used: {why}")


ARCHIVE = Kind(_applies, _climb, never_served, elsewhere=True)
