"""What came instead of the page: a paywall, a login, a challenge, told by signs that are data (FG-20 … FG-29).

The signs stand in `reading/data/page_types.toml`. A blocked page is a result like any other; nothing is bypassed.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.plain_text import plain
from spaniel.reading.data_files import data_file
from spaniel.reading.document import TEXT_CUT
from spaniel.reading.kinds import parse_type
from spaniel.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.http import Page
    from spaniel.reading import Document
    from spaniel.reading.html.walls import Wall

WALLED = ("paywall", "login")
LOOKED_AT = 8_000  # characters of the text in which words are looked for
ERROR_BYTES = 64 << 10  # of the page that comes with an error, to see what it says


class Sign(NamedTuple):
    """One row of the data: everything that it names must hold."""

    type: str
    status: tuple[int, ...]
    header: Mapping[str, tuple[str, ...]]
    redirected: bool | None
    path: tuple[str, ...]
    title: tuple[str, ...]
    text: tuple[str, ...]
    mark: tuple[str, ...]
    wall: bool
    max_words: int | None


class Evidence:
    """What is known of an answer, worked out as far as some sign asks for it."""

    def __init__(self, page: Page, document: Document | None, redirected: bool) -> None:
        self._page, self._document = page, document
        self.status, self.headers, self.redirected = page.status, page.headers, redirected
        self.title = ((document and (document.title or document.metadata.title)) or "").strip().lower()
        self.free = document.signals.get("free") is not False if document else True

    @cached_property
    def words(self) -> int:
        """As many as any sign asks about, and one more."""
        return len(self._document.markdown.split(None, _most_words())) if self._document else 0

    @cached_property
    def text(self) -> str:
        """As a reader sees it: Markdown's marks stand between words."""
        shown = self._document.markdown[:LOOKED_AT] if self._document else ""
        return "\n".join(map(plain, shown.splitlines())).lower().replace("’", "'")

    @cached_property
    def path(self) -> frozenset[str]:
        return frozenset(self._page.url.path.lower().split("/"))

    @property
    def place(self) -> str:
        """The address of the page without its query, which may hold a secret."""
        return self._page.url._replace(query=None, fragment=None).href

    @cached_property
    def marks(self) -> frozenset[str]:
        from spaniel.reading.html.walls import (
            find_marks,  # a profile names page types where no page is read: a batch's plan
        )

        charset = parse_type(self.headers.get("content-type"))[1]
        return find_marks(self._page.body, charset) if self._page.body else frozenset()

    @cached_property
    def wall(self) -> Wall | None:
        if self._document is not None and self._document.wall_words is False and TEXT_CUT not in self._document.notes:
            return None
        from spaniel.reading.html.walls import find_wall

        essence, charset = parse_type(self.headers.get("content-type"))[:2]
        return (
            find_wall(self._page.body, charset, free=self.free) if self._page.body and essence != "text/plain" else None
        )


def page_type_of(evidence: Evidence) -> str:
    """The type of a page that is not the page; empty for one that is."""
    found = _sign_of(evidence)
    return found.type if found else ""


def wall_of(evidence: Evidence) -> dict[str, str]:
    """The sign by which a page is a paywall or a login, and where it was found (FG-47); empty for any other page."""
    sign = _sign_of(evidence)
    if sign is None or sign.type not in WALLED:
        return {}
    if sign.status:
        return {"sign": "status", "where": str(evidence.status)}
    if sign.redirected:
        return {"sign": "login_redirect", "where": evidence.place}
    wall = evidence.wall
    found = {"sign": wall.sign, "where": wall.where, "text": wall.text} if wall else {}
    return found if evidence.free else {**found, "confirmed_by": "isAccessibleForFree"}


def _sign_of(evidence: Evidence) -> Sign | None:
    return next((sign for sign in signs() if _holds(sign, evidence)), None)


def _holds(sign: Sign, seen: Evidence) -> bool:
    """What is cheap is looked at first; the elements of the page last."""
    return (
        (not sign.status or seen.status in sign.status)
        and (sign.redirected is None or sign.redirected == seen.redirected)
        and (not sign.title or seen.title.startswith(sign.title))
        and (not sign.header or _has_header(sign.header, seen.headers))
        and (sign.max_words is None or seen.words <= sign.max_words)
        and (not sign.path or not seen.path.isdisjoint(sign.path))
        and (not sign.text or any(words in seen.text for words in sign.text))
        and (not sign.mark or not seen.marks.isdisjoint(sign.mark))
        and (not sign.wall or seen.wall is not None)
    )


def _has_header(wanted: Mapping[str, tuple[str, ...]], headers: Mapping[str, str]) -> bool:
    return any(
        name in headers and any(value in headers[name].lower() for value in values) for name, values in wanted.items()
    )


@cache
def _most_words() -> int:
    return max(sign.max_words or 0 for sign in signs())


@cache
def signs() -> tuple[Sign, ...]:
    """The rows, strictly read."""
    table = Table(dict(data_file("page_types")), "page_types.toml")
    table.text_map("marks")
    rows = tuple(_sign(row) for row in table.tables("sign"))
    table.close()
    return rows


def _sign(row: Table) -> Sign:
    sign = Sign(
        type=row.text("type"),
        status=row.numbers("status", ()),
        header={name: tuple(values) for name, values in row.text_lists("header").items()},
        redirected=row.truth("redirected", default=False) if row.has("redirected") else None,
        path=row.texts("path", ()),
        title=row.texts("title", ()),
        text=tuple(words.replace("’", "'") for words in row.texts("text", ())),
        mark=row.texts("mark", ()),
        wall=row.truth("wall", default=False),
        max_words=row.number("max_words") if row.has("max_words") else None,
    )
    row.close()
    return sign


def region_of(document: Document | None) -> str:
    """Where a page is not given out, in the words of the page itself."""
    text = document.markdown[:LOOKED_AT] if document else ""
    for line in text.splitlines():
        shown = plain(_BLOCK_MARK.sub("", line)).strip()
        if any(word in shown.lower() for word in REGIONAL):
            return shown[:200]
    return ""


_BLOCK_MARK = re.compile(
    r"^\s*(?:#{1,6}\s+|[>|]\s*|[-*+]\s+|\d{1,9}[.)]\s+)*+"
)  # of headings, quotes, tables and lists
REGIONAL = ("country", "region", "location", "european", "land ", "pays", "país", "paese", "стран", "регион")
