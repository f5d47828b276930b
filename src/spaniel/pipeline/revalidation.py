"""What the cache knows of a page: a copy that is served, or one that is asked about again.

A copy is fresh for its class's time. After that the server is asked whether it still holds, up to twice that time; an
older one is not even asked about (FG-42).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.cache import key_for
from spaniel.errors import SpanielError
from spaniel.pipeline.held import Held
from spaniel.pipeline.signals import respected
from spaniel.pipeline.stored import from_cache
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from datetime import timedelta

    from spaniel.cache import CacheKey
    from spaniel.pipeline.errand import Errand
    from spaniel.pipeline.outcome import Found
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.rooms import Rooms
    from spaniel.pipeline.stored import StoredPage

EXPIRED_TWICE = "expired_twice"  # the reason that nobody gives: the copy is older than twice its time


class Known(NamedTuple):
    """What the cache knows of a page: a copy to be served, or one to ask about, or why there is neither."""

    found: Found | None = None
    held: Held | None = None
    reason: str | None = None


def look_up(errand: Errand, profile: Profile, rooms: Rooms) -> Known:
    """A copy that one of the rungs brought, the first of them first (D2-03)."""
    if rooms.cache is None or not profile.cached:
        return Known()
    asked_about: list[Held] = []
    reason = None
    now = rooms.clock.now()
    for method in _methods(errand, profile, rooms):
        copy = _copy(key_of(errand, method, profile, rooms), errand, profile, rooms)
        if copy is None or copy.entry.fetched_at > now:  # one from the future is as good as none
            continue
        age = now - copy.entry.fetched_at
        if age < copy.ttl and not _is_too_old(age, errand.request.max_age):
            rooms.cache.touch(copy.key)
            return Known(copy.found("hit"))
        if profile.freshness and age <= 2 * copy.ttl:
            asked_about.append(copy)
        elif profile.freshness:
            reason = EXPIRED_TWICE
    if asked_about:
        return Known(held=max(asked_about, key=lambda copy: copy.entry.fetched_at))
    return Known(reason=reason)


def key_of(errand: Errand, method: str, profile: Profile, rooms: Rooms) -> CacheKey:
    return key_for(errand.canonical.url, method, profile.name, profile.version, rooms.door.guard.overrides)


def _methods(errand: Errand, profile: Profile, rooms: Rooms) -> dict[str, None]:
    return dict.fromkeys(rung.kind.rendering_method for rung in profile.ladder if rung.kind.serves(errand, rooms))


def _copy(key: CacheKey, errand: Errand, profile: Profile, rooms: Rooms) -> Held | None:
    """What is stored, with the time that the request's class gives it, or else its own."""
    entry = rooms.cache.peek(key) if rooms.cache is not None else None
    page = from_cache(entry.content) if entry is not None else None
    if entry is None or page is None or not _may_be_served(page, errand, rooms):
        return None
    if respected(page.signals, profile.respect):  # the profile has learnt politeness since
        return None
    ttl = entry.expires_at - entry.fetched_at
    if (asked := errand.request.freshness_class) is not None and rooms.freshness is not None:
        named = rooms.freshness.named(asked)
        ttl = ttl if named.ttl is None else named.ttl
    return Held(key, entry, page, ttl, asked)


def _is_too_old(age: timedelta, max_age: float | None) -> bool:
    return max_age is not None and age.total_seconds() > max_age


def _may_be_served(page: StoredPage, errand: Errand, rooms: Rooms) -> bool:
    """Whether this fetch might have gone the way that brought the page; if not, it is fetched and judged hop by hop."""
    try:
        for url in (*page.chain, page.final_url):
            rooms.door.guard.check_page(parse(url), errand.way.domains)
    except SpanielError:
        return False
    return True
