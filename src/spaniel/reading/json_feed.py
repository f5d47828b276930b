"""JSON Feed (jsonfeed.org), of which only what is read is built."""

from __future__ import annotations

from html import escape
from itertools import islice

import msgspec

from spaniel.reading.feed import ENTRIES, Entry, Feed

MOST, CHARACTERS_FOR_A_COMMA = 100_000, 16


class _Person(msgspec.Struct):
    name: str = ""


class _Item(msgspec.Struct):
    """An entry in version 1.1, or 1 with its single author."""

    title: str | None = None
    url: str | None = None
    date_published: str | None = None
    date_modified: str | None = None
    content_html: str | None = None
    content_text: str | None = None
    summary: str | None = None
    author: _Person | None = None
    authors: list[_Person] | None = None


class _Feed(msgspec.Struct):
    version: str = ""
    title: str = ""
    home_page_url: str | None = None
    description: str | None = None
    items: msgspec.Raw = msgspec.Raw(b"[]")


def json_feed(data: str) -> Feed | None:
    """The feed that a JSON text is; None if it is another object."""
    try:
        feed = msgspec.json.decode(data, type=_Feed)
        if bytes(feed.items).count(b",") > MOST + len(data) // CHARACTERS_FOR_A_COMMA:  # no text has so many
            return None
        items = msgspec.json.decode(feed.items, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        return None
    if "jsonfeed.org/version/" not in feed.version:
        return None
    entries = tuple(map(_entry, islice(items, ENTRIES + 1)))
    return Feed(feed.title, feed.home_page_url or "", feed.description or "", entries, data)


def _entry(raw: msgspec.Raw) -> Entry:
    """An entry that is none is an empty one: the others are still read."""
    try:
        item = msgspec.json.decode(raw, type=_Item)
    except msgspec.MsgspecError:
        return Entry()
    people = [person for person in (item.author, *(item.authors or ())) if person]
    words = escape(item.content_text or item.summary or "").replace("\n\n", "</p><p>")
    return Entry(
        item.title or "",
        item.url or "",
        item.date_published or item.date_modified or "",
        ", ".join(dict.fromkeys(person.name for person in people)),
        item.content_html or (f"<p>{words}</p>" if words else ""),
    )
