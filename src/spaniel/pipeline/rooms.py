"""What all fetches of an engine share."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from spaniel.url.hostlists import HostList

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.cache import PageCache
    from spaniel.cache.freshness import Freshness
    from spaniel.clock import Clock
    from spaniel.pipeline.errand import Ascent
    from spaniel.pipeline.flights import Flights
    from spaniel.pipeline.ports import Door, Renders
    from spaniel.pipeline.readers import Readers
    from spaniel.pipeline.writer import Writer
    from spaniel.queue import Queue


class Rendering(NamedTuple):
    """When the browser is used: the SRD's `[tools.webfetch.rendering]`."""

    js_heavy: HostList = HostList(())
    spa_fallback: bool = True
    least_chars: int = 400
    empty_fallback: bool = True


class Copies(NamedTuple):
    """Where a page may be besides its own site: `[spaniel.archive]`, `[spaniel.search_cache]`, `[spaniel.mirrors]`."""

    archive_available: str = ""  # templates; empty: there is none
    archive_snapshot: str = ""
    search_cache: str = ""
    mirrors: tuple[tuple[str, str], ...] = ()  # prefixes of addresses, and what is to stand in their place


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
    copies: Copies = Copies()
    queue: Queue | None = None
    chance: Callable[[], float] = random.random  # from 0 to 1, for waits
    freshness: Freshness | None = None  # None: no profile asks for it
