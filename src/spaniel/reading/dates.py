"""Dates as pages write them, as YYYY-MM-DD; with the time of day where a page tells it to machines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.reading.attributes import DATED as DATE_TOLD
from spaniel.reading.attributes import NAMED as NAMED_SO
from spaniel.reading.lexicon import lexicon, numbered

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from spaniel.reading.attributes import Attributes

MONTHS = numbered(lexicon("metadata")["months"], 1)
YEAR = r"((?:19|20)\d\d)"
ANY_YEAR = re.compile(YEAR)
YEAR_FIRST = re.compile(YEAR + r"[-/.]?(0[1-9]|1[0-2])[-/.]?(0[1-9]|[12]\d|3[01])(?!\d)")
MOMENT = re.compile(
    YEAR + r"-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,]\d{1,9})?)?"
    r"(?:\s?([Zz]|[+-][01]\d:?[0-5]\d))?(?![\d:])"
)
DAY_FIRST = re.compile(r"(?<!\d)(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\." + YEAR)
MONTH_DAY = re.compile(r"\b([A-Za-zäéûç]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? " + YEAR)
DAY_MONTH = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th|\.)? (?:de )?([A-Za-zäéûç]{3,10})\.?,? (?:de )?" + YEAR)
IN_URL = re.compile(r"/" + YEAR + r"/(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])(?:/|$|-)")
DATED = ("[itemprop=datePublished],time[pubdate]", "article time[datetime],main time[datetime]", "time")
NAMED, DATING, ABOUT = 1, 2, 4  # what a class name has in it; the last two say nothing on `<body>`
SOME = 200  # elements looked at in all
EACH, LONGEST = 4, 200  # elements looked at for a selector, characters of each
TOP = 20_000  # characters of the page in which a date is looked for at last
AROUND = 32  # characters around a year in which the day and the month stand


def day_of(text: str | None) -> str | None:
    """The first date in a short text."""
    if not text:
        return None
    if found := YEAR_FIRST.search(text):
        return "-".join(found.groups())
    if found := DAY_FIRST.search(text):
        return _day(found[3], int(found[2]), int(found[1]))
    for pattern, month, day in ((MONTH_DAY, 1, 2), (DAY_MONTH, 2, 1)):
        for found in pattern.finditer(text):
            if (number := MONTHS.get(found[month].lower())) and (told := _day(found[3], number, int(found[day]))):
                return told
    return None


def moment_of(text: str | None) -> str | None:
    """The first date in a short text, with its time of day and zone where it is written as ISO 8601 has it."""
    found = MOMENT.search(text) if text else None
    day = day_of(text)
    if not found or day != "-".join(found.groups()[:3]):
        return day
    hour, minute, second, zone = found.groups()[3:]
    zone = (zone or "").upper()
    return f"{day}T{hour}:{minute}:{second or '00'}" + (f"{zone[:3]}:{zone[-2:]}" if len(zone) > 1 else zone)


def _day(year: str, month: int, day: int) -> str | None:
    return f"{year}-{month:02}-{day:02}" if 1 <= day <= 31 else None


def shown_day(doc: Document, url: str | None, attributes: Attributes) -> str | None:
    """A date that the page shows where dates stand, else one in its address."""
    timed = attributes.may_have(DATE_TOLD) or doc.select_one("time") is not None
    found = doc.select(",".join(DATED))[:SOME] if timed else []
    for where in DATED if found else ():
        for element in [e for e in found if e.matches(where)][:EACH]:
            if day := moment_of(_told_by(element)):
                return day
    for element in _named_so(doc) if attributes.may_have(NAMED_SO) else ():
        if day := day_of(_told_by(element)):
            return day
    match = IN_URL.search(url or "")
    return _day(match[1], int(match[2]), int(match[3])) if match else None


def _named_so(doc: Document) -> list[Element]:
    """The first elements whose class names speak of a date, then those that speak of what is about the page.

    Each name is read once: a selector for each of the words takes three times as long.
    """
    dated: list[Element] = []
    about: list[Element] = []
    known: dict[str, int] = {}
    left = SOME
    for element in doc.select("[class]"):
        names = element.attr("class") or ""
        sort = known.get(names)
        if sort is None:
            sort = known[names] = _sort_of(names)
        if not sort or (element.tag == "body" and not (sort := sort & NAMED)):
            continue
        if sort & (NAMED | DATING) and len(dated) < EACH:
            dated.append(element)
        if sort & ABOUT and len(about) < EACH:
            about.append(element)
        left -= 1
        if not left or len(dated) == len(about) == EACH:
            break
    return dated + about


def _sort_of(names: str) -> int:
    named = "publish" in names or "posted" in names or "byline" in names
    return NAMED * named | DATING * ("date" in names) | ABOUT * ("meta" in names)


def _told_by(element: Element) -> str:
    return (
        element.attr("datetime") or element.attr("content") or " ".join(element.text[: 2 * LONGEST].split())[:LONGEST]
    )


def day_in_text(root: Element) -> str | None:
    """The first date in the text of a page: a last resort."""
    places = (root.select_one("main"), root.select_one("article"), root)
    for place in places:
        text = place.text[:TOP] if place is not None else ""
        for year in ANY_YEAR.finditer(text):
            if day := day_of(text[max(0, year.start() - AROUND) : year.end() + 8]):
                return day
    return None
