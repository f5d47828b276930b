"""Pages whose text stands in an element that never ends: a title without its end tag holds all that follows.

A browser shows nothing of such a page, but its text is there. It is looked for only where hardly anything was read, and
never in comments or templates: whoever hides text from people hides it there.
"""

from __future__ import annotations

import re
from functools import cache

FEW_LETTERS = 300  # characters of Markdown
ENOUGH = 4  # times as much as was read at first
OPENING = re.compile(  # no sign is looked at twice, however many tags have no end
    rb"<(?:(?P<comment>!--)|(?P<name>title|style|textarea|script|xmp|iframe|noembed)(?=[\s/>])[^<>]*+>)", re.IGNORECASE
)
# Where the end was lost. In a script `<` may mean anything: there, what begins a part of a page.
NEXT_TAG = re.compile(rb"<")
NEXT_PART = re.compile(rb"</head\b|<(?:body|main|article|header|h1|h2)\b", re.IGNORECASE)


def closed_where_it_opens(page: bytes) -> bytes | None:
    """The page with an end for the first element that has none; nothing where all have theirs."""
    at = 0
    while opening := OPENING.search(page, at):
        name = b"" if opening["comment"] else opening["name"].lower()
        end = _end_of(name).search(page, opening.end())
        if end is None:
            return _closed(page, opening.end(), name)
        at = end.end()
    return None


@cache
def _end_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"</" + name + rb"(?=[\s/>])" if name else rb"--!?>", re.IGNORECASE)


def _closed(page: bytes, begin: int, name: bytes) -> bytes | None:
    where = NEXT_PART if name == b"script" else NEXT_TAG
    place = where.search(page, begin) if name else None
    return None if place is None else page[: place.start()] + b"</" + name + b">" + page[place.start() :]
