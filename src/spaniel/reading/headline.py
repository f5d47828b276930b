"""The title of a page without the name of its site (FG-17)."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from spaniel.reading.hygiene import one_line

if TYPE_CHECKING:
    from turbohtml import Document

PARTING = re.compile(r"(\s[|\-–—»·•›/]\s|\s*[|｜]\s*)")
BAR = re.compile(r"\s+[|｜]\s+")
SURELY_PARTING = frozenset("|｜—»·•›/")
ABOUT = re.compile(r"\b(?:documentation|forums?|community|manual|wiki|docs)\b", re.IGNORECASE)
WORD = re.compile(r"\w+")
ALIKE = 0.5  # of the words of a heading stand in what the head calls the page
LONGEST = 200  # characters of a heading that is a title
LONG_NAME = 6  # letters of which the beginning of a site's name says which it is
HEADINGS = 4  # that may be the title


def headline(
    doc: Document, title: str | None, told: tuple[str | None, ...], site: str | None, url: str | None
) -> str | None:
    """The heading that the title repeats, else a heading much like it, else what the head calls it."""
    whole = title or ""
    every, names = _headings(doc), _names(site, url)
    headings = [text for text in every if not _is_site(text, names, whole)]
    names |= {_squeezed(text) for text in every} - {_squeezed(text) for text in headings}
    for text in headings:
        if text.casefold() in whole.casefold():
            return _after_site(doc, text, whole) or BAR.split(text)[0] or text
    called = one_line(unescape(next(filter(None, (*told, title)), "")))  # plugins write entities where no HTML is read
    if called is None or not _squeezed(called):
        return called
    if _is_home(url):
        return _without_last(PARTING.split(called), names)
    bare = _without_site(called, names)
    alike = _alike(headings, f"{whole} {called}") if told[0] is None else None
    if alike is None and len(headings) == 1 and _squeezed(PARTING.split(called)[0]) in names:
        return headings[0]  # `Site - what it is for`, on every page of the site
    if alike is None or _squeezed(alike).endswith(_squeezed(bare)) or _squeezed(alike) == _squeezed(called):
        return bare  # `Thread: bare`, `The bare`
    return alike


def _headings(doc: Document) -> list[str]:
    found = (one_line(" ".join(heading.stripped_strings)) for heading in doc.select("h1")[:HEADINGS])
    return [text for raw in found if raw and _squeezed(text := raw.rstrip(" ¶#§🔗"))]


def _after_site(doc: Document, heading: str, title: str) -> str | None:
    """Of `Site - Name` the name, where the first heading is the site and the next one links to itself: phpBB."""
    parts = PARTING.split(title)
    if len(parts) == 1 or _squeezed(parts[0]) != _squeezed(heading):
        return None
    name = _squeezed("".join(parts[2:]))
    found = (one_line(" ".join(link.stripped_strings)) for link in doc.select("h2 > a")[:HEADINGS])
    return next((text for text in found if text and _squeezed(text) == name), None)


def _alike(headings: list[str], called: str) -> str | None:
    """The first heading of which at least half of the words stand in what the head says."""
    known = set(WORD.findall(called.casefold()))
    for text in headings:
        words = set(WORD.findall(text.casefold()))
        if len(text) <= LONGEST and len(words & known) >= max(2, ALIKE * len(words)):
            return text
    return None


def _is_home(url: str | None) -> bool:
    return not (url or "x://x/x").partition("://")[2].partition("/")[2].partition("?")[0]


def _is_site(heading: str, names: frozenset[str], title: str) -> bool:
    """A heading that is the site's name, or the last part of a title whose first part is something else."""
    name = _squeezed(heading)
    if name in names or any(known.startswith(name) for known in names if len(name) >= LONG_NAME):
        return True
    parts = PARTING.split(title)
    first, last = _squeezed(parts[0]), _squeezed(parts[-1])
    return len(parts) > 1 and bool(name) and last.startswith(name) and name not in first and first not in names


def _names(site: str | None, url: str | None) -> frozenset[str]:
    """What the site is called: by itself, and by its address."""
    host = (url or "").partition("://")[2].partition("/")[0].lower().removeprefix("www.")
    labels = host.split(".")
    found = {_squeezed(site or ""), "".join(labels), "".join(labels[:-1]), *labels[:-1]}
    return frozenset(name for name in found if name)


def _squeezed(text: str) -> str:
    return "".join(WORD.findall(text.casefold()))


def _without_site(called: str, names: frozenset[str]) -> str:
    """Of `Name | Part | Site` the name; of `Site - Name` the name, too."""
    parts = PARTING.split(called)  # text, sign, text, sign … text
    while len(parts) > 1 and _squeezed(parts[-1]) in names:
        del parts[-2:]
    while len(parts) > 1 and _squeezed(parts[0]) in names:
        del parts[:2]
    if len(parts) > 1 and parts[0].strip() and parts[1].strip() in SURELY_PARTING:
        return parts[0].strip()
    return _without_last(parts, names) or called


def _without_last(parts: list[str], names: frozenset[str]) -> str:
    """The parts without the last where that is the site: by its name, by what it says, or short beside the rest."""
    rest, last = "".join(parts[:-2]).strip(), parts[-1]
    short = len(last) < len(rest) / 2 or (len(last) < 2 * len(rest) and ABOUT.search(last))
    if rest and (short or _squeezed(last) in names):
        return rest
    return "".join(parts).strip()
