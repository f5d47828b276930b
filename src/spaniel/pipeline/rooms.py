"""What all fetches of an engine share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.url.hostlists import HostList

if TYPE_CHECKING:
    from spaniel.cache import PageCache
    from spaniel.cache.freshness import Freshness
    from spaniel.clock import Clock
    from spaniel.pipeline.errand import Ascent
    from spaniel.pipeline.flights import Flights
    from spaniel.pipeline.ports import Door, Renders
    from spaniel.pipeline.readers import Readers
    from spaniel.pipeline.writer import Writer


class Rendering(NamedTuple):
    """When the browser is used: the SRD's `[tools.webfetch.rendering]`."""

    js_heavy: HostList = HostList(())
    spa_fallback: bool = True
    least_chars: int = 400


class Rooms(NamedTuple):
    """The rooms below, opened and ready."""

    door: Door
    clock: Clock
    flights: Flights[Ascent]
    readers: Readers
    writer: Writer
    cache: PageCache | None = None
    renderer: Renders | None = None  # None: switched off
    rendering: Rendering = Rendering()
    freshness: Freshness | None = None  # None: no profile asks for it
