"""A feed as it is understood, in whatever format it came."""

from __future__ import annotations

from typing import NamedTuple

ENTRIES = 1000  # that are read of a feed


class Entry(NamedTuple):
    """One entry, however its feed spells it."""

    title: str = ""
    link: str = ""
    date: str = ""
    author: str = ""
    text: str = ""  # HTML, or words


class Feed(NamedTuple):
    """What a feed says."""

    title: str
    link: str
    description: str
    entries: tuple[Entry, ...]
    data: str | None = None  # of a JSON Feed
