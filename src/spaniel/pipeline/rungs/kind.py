"""What a kind of rung is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.errors import SpanielError
    from spaniel.net.deadline import Deadline
    from spaniel.pipeline.errand import Ascent, Errand
    from spaniel.pipeline.retrieve import PageHops, Retrieved
    from spaniel.pipeline.rooms import Rooms
    from spaniel.tables import Table

    Options = Mapping[str, object]
    Applies = Callable[[Ascent, Rooms], str]
    Climb = Callable[[Ascent, Rooms, Deadline, PageHops, Options], Awaitable[Retrieved | None]]
    Wait = Callable[[Ascent, Rooms, Options], float]
    Ways = Callable[[Errand, Rooms, Options], tuple[Options, ...]]

BROUGHT = "the page was brought"


def no_wait(_ascent: Ascent, _rooms: Rooms, _options: Options) -> float:
    return 0.0


def one_way(_errand: Errand, _rooms: Rooms, options: Options) -> tuple[Options, ...]:
    return (options,)


def no_options(_table: Table) -> Options:
    return {}


def never_served(_errand: Errand, _rooms: Rooms) -> bool:
    return False


class Kind(NamedTuple):
    """A kind of rung; a profile's ladder names it, with options of its own."""

    applies: Applies  # empty: it is to be climbed, after what came of the rungs before; else why not
    climb: Climb  # None comes of one that brings no page, and did what it is for
    serves: Callable[[Errand, Rooms], bool]  # whether what it brought another time may be served from the cache
    rendering_method: str = "http"
    in_vain: Callable[[SpanielError], str] | None = None  # what to note on an earlier rung's page if this one fails
    wait: Wait = no_wait  # seconds before it; the ladder says whether they are worth it, and waits
    ways: Ways = one_way  # climbed one by one until one brings the page, each with options of its own
    options: Callable[[Table], Options] = no_options  # from what a profile says about it
    elsewhere: bool = False  # it asks somebody else than the page's own site: its failure is not the site's word
    local: bool = False  # it asks nobody: it is climbed even when the time is over
