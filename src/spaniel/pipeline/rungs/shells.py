"""Whether what came over HTTP is a shell that scripts fill (FR-WF-12c, D2-34); the signs are data: `shells.toml`."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import NamedTuple

from spaniel.chunking.plain_text import visible_length
from spaniel.tables import Table, read_toml

NEXT_TO_NOTHING = 60  # characters of text
WITHOUT_SCRIPTS = 1_500  # characters; a `noscript` of that length is no excuse, it is the page (forums do so)
LOOKED_AT = 1_000_000  # bytes of a page in which signs are looked for: a hostile one costs no more than that
_SCRIPT = re.compile(rb"<script\b(?![^<>]{0,300}?\btype\s{0,9}=\s{0,9}[\"']?application/(?:ld\+)?json\b)")
_NOSCRIPT = b"<noscript"
_FILE = os.path.join(os.path.dirname(__file__), "shells.toml")


class Sign(NamedTuple):
    """What a shell is known by, and how much text speaks against it."""

    name: str
    has: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None
    also: re.Pattern[bytes] | None
    below: int  # 0: as the settings say

    def is_in(self, page: bytes) -> bool:
        if not any(word in page for word in self.has):
            return False
        return all(each is None or each.search(page) for each in (self.pattern, self.also))


class Shell(NamedTuple):
    """What speaks for rendering a page."""

    sign: str
    is_empty: bool = False  # next to nothing came, and there are scripts


def shell_in(body: bytes, markdown: str, least_chars: int, *, empty_counts: bool) -> Shell | None:
    """What says that scripts fill this page; None where nothing does."""
    enough = max(WITHOUT_SCRIPTS, least_chars)
    size = visible_length(markdown, enough)  # where its links lead is no text of a page
    if size >= enough:
        return None
    page = body[:LOOKED_AT].lower()
    if size and _NOSCRIPT in page:  # what stands there is for readers without scripts, and often only an excuse
        size = min(size, len(_text_without_noscript(body)))
    for sign in signs():
        if size < (sign.below or least_chars) and sign.is_in(page):
            return Shell(sign.name)
    if empty_counts and size < NEXT_TO_NOTHING and _SCRIPT.search(page):
        return Shell("scripts, and next to no text", is_empty=True)
    return None


def _text_without_noscript(body: bytes) -> str:
    from turbohtml import parse

    page = parse(body, positions=False)
    for element in page.select("noscript,script,style,template,head"):
        element.decompose()
    return " ".join(page.text.split())


@cache
def signs() -> tuple[Sign, ...]:
    what = "signs of shells"
    return tuple(map(_sign, Table(read_toml(_FILE, what), what).tables("sign")))


def _sign(one: Table) -> Sign:
    has = tuple(word.encode() for word in one.texts("has"))
    pattern, also = _compiled(one.text("pattern", "")), _compiled(one.text("and", ""))
    return Sign(one.text("name"), has, pattern, also, one.number("below"))


def _compiled(pattern: str) -> re.Pattern[bytes] | None:
    return re.compile(pattern.encode()) if pattern else None
