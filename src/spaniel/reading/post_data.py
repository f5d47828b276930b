"""Posts that linked data tells of: their beginnings are looked for among the blocks of the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.reading.dates import day_of
from spaniel.reading.hygiene import one_line
from spaniel.reading.posts import ASKED, BELOW, OPENING, REVIEW, TOP, Post

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.reading.blocks import Outline

SORTS = {
    "discussionforumposting": OPENING, "socialmediaposting": OPENING, "question": ASKED, "answer": ASKED,
    "comment": BELOW, "review": REVIEW,
}  # fmt: skip
INNER = ("mainEntity", "acceptedAnswer", "suggestedAnswer", "comment", "review")
TEXTS = ("text", "articleBody", "reviewBody", "description")
MOST = 2000  # posts
START, TOO_SHORT = 40, 15  # characters of a text that are looked for; so few may stand anywhere
LOOKED_AT = 400  # characters of a text in which its beginning is
LONGEST_NAME = 60
TAG = re.compile(r"<[^<>]{0,400}>")
NOT_LETTERS = re.compile(r"[\W_]+")


def by_linked_data(out: Outline, objects: Sequence[dict[str, object]]) -> list[Post]:
    """Each post that linked data has the text of and whose beginning a block of the page is."""
    told = {start: post for post in _told(objects) if len(start := beginning(post[0])) >= TOO_SHORT}
    posts = []
    for block in out.blocks if told else ():
        found = told.pop(beginning(block.text[: 3 * START]), None)
        if found is not None:
            _, sort, level, author, date = found
            post = Post(out.elements[block.container], sort)
            post.author, post.date, post.level = author, date, level
            posts.append(post)
    return posts


def beginning(text: str) -> str:
    """Its first letters and digits, without tags."""
    return NOT_LETTERS.sub("", TAG.sub(" ", text[:LOOKED_AT]).casefold())[:START]


def _told(objects: Sequence[dict[str, object]]) -> Iterator[tuple[str, int, int, str, str]]:
    waiting: list[tuple[object, int]] = [(thing, TOP) for thing in objects]
    for _ in range(MOST):
        if not waiting:
            return
        thing, level = waiting.pop()
        if not isinstance(thing, dict):
            continue
        sort = SORTS.get(str(thing.get("@type")).lower())
        text = next((value for key in TEXTS if isinstance(value := thing.get(key), str) and value.strip()), "")
        author, date = _name(thing.get("author")), _day(thing)
        if sort is not None and text and (author or date):
            yield text, sort, level, author, date
        under = level + (sort in (ASKED, BELOW))
        for key in INNER:
            inner = thing.get(key)
            deeper = under if key == "comment" else level
            waiting += [
                (part, min(deeper, 6)) for part in (inner if isinstance(inner, list) else [inner])[:MOST] if part
            ]


def _name(value: object) -> str:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("name")
    name = (one_line(value) if isinstance(value, str) else None) or ""
    return name if len(name) <= LONGEST_NAME else ""


def _day(thing: dict[str, object]) -> str:
    dates = (thing.get(key) for key in ("datePublished", "dateCreated"))
    return next((day for value in dates if isinstance(value, str) and (day := day_of(value[:LOOKED_AT]))), "")
