"""Whether the response is the requested page: its type (FG-20 … FG-29), a shell that scripts fill, the site's signals.

The patterns are data: `reading/data/page_types.toml` for paywalls, logins and challenges, `shells.toml` for shells
(FR-WF-12c, D2-34). A blocked page is a result like any other; nothing is bypassed. A signal alone refuses nothing: it
is recorded, and a profile lists those it respects.
"""

from __future__ import annotations

import os
import re
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from spaniel.chunking.plain_text import plain, visible_length
from spaniel.errors import Code, SpanielError
from spaniel.reading import read
from spaniel.reading.data_files import data_file
from spaniel.reading.document import TEXT_CUT
from spaniel.reading.kinds import parse_type
from spaniel.reading.metadata.signals import directives
from spaniel.tables import complaint, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.net.http import Page
    from spaniel.reading import Document
    from spaniel.reading.html.walls import Wall


NOARCHIVE = "noarchive"
# What a profile may respect: robots directives, uses of a Content-Signal, the reservation of text and data mining.
DIRECTIVES = ("noindex", NOARCHIVE, "nosnippet", "noai", "noimageai")
USES = ("search", "ai-input", "ai-train")
TDM = "tdm-reservation"
SIGNALS = (*DIRECTIVES, *USES, TDM)
MOST_SIGNALS = 20
VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")  # directives with a colon
USE = re.compile(r"([a-z][a-z0-9_-]{0,40})\s*=\s*(yes|no)\b", re.IGNORECASE)


def signals_of(
    fields: Mapping[str, object], headers: Mapping[str, str], robots_signal: str | None, agent: str
) -> dict[str, object]:
    """All signals: those of the page (`fields`), of its headers, and of the site's robots.txt."""
    found = dict(fields)
    own = fields.get("robots")
    robots = own if isinstance(own, list) else []
    if tag := headers.get("x-robots-tag"):
        robots = [*robots, *_robots_tag(tag, agent)]
    if robots:
        found["robots"] = list(dict.fromkeys(robots))[:MOST_SIGNALS]
    sent = headers.get("content-signal")
    if (robots_signal or sent) and (uses := _uses(robots_signal or "") | _uses(sent or "")):
        found["content_signal"] = uses
    for name in (TDM, "tdm-policy"):
        if value := headers.get(name, "").strip():
            found[name.replace("-", "_")] = value[:200]
    return found


def refusals(signals: Mapping[str, object]) -> frozenset[str]:
    """The refusing signals, by the names that a profile uses."""
    robots, uses = signals.get("robots"), signals.get("content_signal")
    said = set(robots) if isinstance(robots, list) else set()
    if "none" in said:  # noindex and nofollow
        said.add("noindex")
    if isinstance(uses, dict):
        said |= {use for use, value in uses.items() if value == "no"}
    if str(signals.get("tdm_reservation", "")).strip() == "1":
        said.add(TDM)
    return frozenset(said & set(SIGNALS))


def respected(signals: Mapping[str, object], respect: Iterable[str]) -> str:
    """The first signal for which the profile refuses the page; empty if there is none."""
    wanted = tuple(respect)
    said = refusals(signals) if wanted else frozenset()
    return next((name for name in wanted if name in said), "")


def _robots_tag(value: str, agent: str) -> list[str]:
    """X-Robots-Tag, line by line: directives for all robots, and after `name:` for that robot alone."""
    ours = agent.partition("/")[0].partition(" ")[0].lower()
    found: list[str] = []
    for line in value.lower().split("\n")[:MOST_SIGNALS]:
        for_us = True
        for part in line.split(",")[: MOST_SIGNALS * 2]:
            name, colon, rest = part.strip().partition(":")
            if colon and name.strip() not in VALUED:
                for_us, part = name.strip() == ours, rest  # noqa: PLW2901  what is left of it
            if for_us:
                found += directives(part)
    return found


def _uses(text: str) -> dict[str, str]:
    """`search=yes, ai-train=no` -> the value of each use; a no is not reversed by a later yes."""
    uses: dict[str, str] = {}
    for name, value in USE.findall(text[:2000]):
        use = name.lower()
        if uses.get(use) != "no":
            uses[use] = value.lower()
    return uses


WALLED = ("paywall", "login")
LOOKED_AT = 8_000  # characters of the text that are searched; block pages say it early
ERROR_BYTES = 64 << 10  # bytes of an error page that are read


class PagePattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the data: all its conditions must hold."""

    type: str
    status: tuple[int, ...] = ()
    header: dict[str, tuple[str, ...]] = {}
    redirected: bool | None = None
    path: tuple[str, ...] = ()
    title: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    mark: tuple[str, ...] = ()
    wall: bool = False
    max_words: int | None = None


class PagePatterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The data file: selectors of elements, which `reading` uses, and the rows."""

    marks: dict[str, str]
    sign: tuple[PagePattern, ...]


class PageEvidence:
    """What is known about a response, computed only when a pattern needs it."""

    def __init__(self, page: Page, document: Document | None, redirected: bool) -> None:
        self._page, self._document = page, document
        self.status, self.headers, self.redirected = page.status, page.headers, redirected
        self.title = ((document and (document.title or document.metadata.title)) or "").strip().lower()
        self.free = document.signals.get("free") is not False if document else True

    @cached_property
    def words(self) -> int:
        """As many words as any pattern counts, plus one."""
        return len(self._document.markdown.split(None, _most_words())) if self._document else 0

    @cached_property
    def text(self) -> str:
        """As a reader sees it, without Markdown syntax between words."""
        shown = self._document.markdown[:LOOKED_AT] if self._document else ""
        return "\n".join(map(plain, shown.splitlines())).lower().replace("’", "'")

    @cached_property
    def path(self) -> frozenset[str]:
        return frozenset(self._page.url.path.lower().split("/"))

    @property
    def place(self) -> str:
        """The address without its query, which may hold a secret."""
        return self._page.url._replace(query=None, fragment=None).href

    @cached_property
    def marks(self) -> frozenset[str]:
        from spaniel.reading.html.walls import (
            find_marks,  # a batch's planner loads profiles but reads no pages
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


def page_type_of(evidence: PageEvidence) -> str:
    """The type of a page that is not the requested one; empty if it is."""
    found = _pattern_of(evidence)
    return found.type if found else ""


def wall_of(evidence: PageEvidence) -> dict[str, str]:
    """The pattern that makes a page a paywall or a login, and where it was found (FG-47); empty for other pages."""
    sign = _pattern_of(evidence)
    if sign is None or sign.type not in WALLED:
        return {}
    if sign.status:
        return {"sign": "status", "where": str(evidence.status)}
    if sign.redirected:
        return {"sign": "login_redirect", "where": evidence.place}
    wall = evidence.wall
    found = {"sign": wall.sign, "where": wall.where, "text": wall.text} if wall else {}
    return found if evidence.free else {**found, "confirmed_by": "isAccessibleForFree"}


def _pattern_of(evidence: PageEvidence) -> PagePattern | None:
    return next((sign for sign in page_patterns() if _holds(sign, evidence)), None)


def _holds(sign: PagePattern, seen: PageEvidence) -> bool:
    """Cheap checks first; the elements of the page last."""
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
    return max(sign.max_words or 0 for sign in page_patterns())


@cache
def page_patterns() -> tuple[PagePattern, ...]:
    """The rows, checked strictly."""
    try:
        rows = msgspec.convert(data_file("page_types"), PagePatterns).sign
    except msgspec.ValidationError as error:  # "… unknown field `statuses` - at `$.sign[0]`"
        reason, _, place = str(error).partition(" - at `$")
        unknown = re.search("unknown field `(.+)`", reason)
        place = place.rstrip("`") + (f".{unknown[1]}" if unknown else "")
        raise complaint(f"page_types.toml{place}", reason) from None
    return tuple(
        msgspec.structs.replace(row, text=tuple(words.replace("’", "'") for words in row.text)) for row in rows
    )


def region_of(document: Document | None) -> str:
    """The region in which a page is not available, as the page states it."""
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


READABLE = ("html", "text")  # kinds of pages that have patterns, and that come with an error
SITE_SIGNAL = "site_signal"  # the type of a page that a respected signal refuses
GEO_BLOCK = "geo_block"
NO_WALL: Mapping[str, str] = MappingProxyType({})


class BlockedPage(NamedTuple):
    """What was returned instead of the page."""

    page_type: str
    region: str = ""
    notes: tuple[str, ...] = ()
    wall: Mapping[str, str] = NO_WALL  # the pattern of a paywall or a login, and where it was found


def recognized(
    page: Page,
    document: Document,
    signals: Mapping[str, object],
    *,
    redirected: bool,
    types: bool,
    respect: Iterable[str],
) -> BlockedPage | None:
    """The type of a page returned in place of the requested one; None if it is the page."""
    signal = respected(signals, respect)
    if signal:
        return BlockedPage(SITE_SIGNAL, notes=(SITE_SIGNAL, signal))
    if not types:
        return None
    evidence = PageEvidence(page, document, redirected)
    found = page_type_of(evidence)
    if not found:
        return None
    return BlockedPage(found, region_of(document) if found == GEO_BLOCK else "", (found,), wall_of(evidence))


def explained(error: SpanielError, page: Page | None, redirected: bool) -> SpanielError:
    """The error with what its page says: type, title, region."""
    if page is None or error.code not in (Code.HTTP_4XX, Code.HTTP_5XX):
        return error
    document = _understood(page)
    evidence = PageEvidence(page, document, redirected)
    found = page_type_of(evidence)
    if not found:
        return error
    region = region_of(document) if found == GEO_BLOCK else ""
    fields: dict[str, object] = {
        "page_type": found,
        "title": document.title if document else None,
        "region": region or None,
    }
    if wall := wall_of(evidence):
        fields["wall"] = wall
    return SpanielError(error.code, **error.details, **fields)


def _understood(page: Page) -> Document | None:
    """The text of an error page; None if it cannot be read."""
    try:
        return read(page.body, page.headers.get("content-type"), page.url.href, READABLE) if page.body else None
    except SpanielError:
        return None


NEXT_TO_NOTHING = 60  # characters of text
WITHOUT_SCRIPTS = 1_500  # characters; a longer `noscript` is the page itself, not a notice
SHELL_BYTES = 1_000_000  # bytes of a page searched for shell patterns; bounds the cost of a hostile page
_SCRIPT = re.compile(rb"<script\b(?![^<>]{0,300}?\btype\s{0,9}=\s{0,9}[\"']?application/(?:ld\+)?json\b)")
_NOSCRIPT = b"<noscript"
SHELLS = os.path.join(os.path.dirname(__file__), "shells.toml")


class ShellPattern(NamedTuple):
    """How a shell is recognized, and how much text makes a page not a shell."""

    name: str
    has: tuple[bytes, ...]
    patterns: tuple[bytes, ...]  # regular expressions, compiled when one is needed
    below: int  # 0: use the setting

    def is_in(self, page: bytes) -> bool:
        return any(word in page for word in self.has) and all(re.search(each, page) for each in self.patterns)


class Shell(NamedTuple):
    """The evidence for rendering a page."""

    sign: str
    is_empty: bool = False  # almost no text, and scripts


def shell_in(body: bytes, markdown: str, least_chars: int, *, empty_counts: bool) -> Shell | None:
    """The evidence that scripts fill this page; None if there is none."""
    enough = max(WITHOUT_SCRIPTS, least_chars)
    size = visible_length(markdown, enough)  # link targets are not visible text
    if size >= enough:
        return None
    page = body[:SHELL_BYTES].lower()
    if size and _NOSCRIPT in page:  # often only a notice for readers without scripts
        size = min(size, len(_text_without_noscript(body)))
    for sign in shell_patterns():
        if size < (sign.below or least_chars) and sign.is_in(page):
            return Shell(sign.name)
    if empty_counts and size < NEXT_TO_NOTHING and _SCRIPT.search(page):
        return Shell("scripts, and almost no text", is_empty=True)
    return None


def _text_without_noscript(body: bytes) -> str:
    from turbohtml import parse

    page = parse(body, positions=False)
    for element in page.select("noscript,script,style,template,head"):
        element.decompose()
    return " ".join(page.text.split())


@cache
def shell_patterns() -> tuple[ShellPattern, ...]:
    rows: Any = read_toml(SHELLS, "patterns of shells")["sign"]
    return tuple(
        ShellPattern(
            row["name"],
            tuple(word.encode() for word in row["has"]),
            tuple(row[name].encode() for name in ("pattern", "and") if name in row),
            row["below"],
        )
        for row in rows
    )
