"""Dates as pages write them, as YYYY-MM-DD; with the time of day where a page has it in machine-readable form.

A quick scan of the source says which attributes with an author or a date a page may have: that saves walks over its
tree."""

from __future__ import annotations

import re

from spaniel.reading.data_files import data_file, line_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turbohtml import Document, Element


MAY_NAME_DATE, MAY_NAME_AUTHOR, MAY_HAVE_ITEMPROP_DATE = (
    1,
    2,
    4,
)  # class names that speak of a date; anything that signs; `itemprop` with a date
MAY_HAVE_ALL = MAY_NAME_DATE | MAY_NAME_AUTHOR | MAY_HAVE_ITEMPROP_DATE

try:
    from spaniel.reading.judge.native import attributes_in
except ImportError:  # not built here: in Python the look would take longer than the walks

    def attributes_in(source: bytes, /) -> int:  # noqa: ARG001
        return MAY_HAVE_ALL


class AttributeScan:
    """Scans attributes on first use: most pages have author and date in their head."""

    __slots__ = ("_found", "_source")

    def __init__(self, source: bytes | None) -> None:
        self._source = source
        self._found = MAY_HAVE_ALL if source is None else None

    def may_have(self, sort: int) -> bool:
        """No is sure, yes is not: what looks like an attribute may be text."""
        if self._found is None:
            self._found = attributes_in(self._source or b"")
        return bool(self._found & sort)


MONTHS = line_numbers(data_file("metadata")["months"], 1)
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
DATE_SELECTORS = ("[itemprop=datePublished],time[pubdate]", "article time[datetime],main time[datetime]", "time")
PUBLISH_NAME, DATE_NAME, META_NAME = 1, 2, 4  # what a class name has in it; the last two say nothing on `<body>`
MAX_DATED = 200  # elements looked at in all
MAX_PER_SELECTOR, MAX_DATE_TEXT = 4, 200  # elements looked at for a selector, characters of each
MAX_TOP = 20_000  # characters of the page in which a date is looked for at last
DATE_WINDOW = 32  # characters around a year in which the day and the month stand


def parse_day(text: str | None) -> str | None:
    """The first date in a short text."""
    if not text:
        return None
    if found := YEAR_FIRST.search(text):
        return "-".join(found.groups())
    if found := DAY_FIRST.search(text):
        return _day(found[3], int(found[2]), int(found[1]))
    for pattern, month, day in ((MONTH_DAY, 1, 2), (DAY_MONTH, 2, 1)):
        for found in pattern.finditer(text):
            if (number := MONTHS.get(found[month].lower())) and (day_found := _day(found[3], number, int(found[day]))):
                return day_found
    return None


def parse_moment(text: str | None) -> str | None:
    """The first date in a short text, with its time of day and zone where it is written as ISO 8601 has it."""
    found = MOMENT.search(text) if text else None
    day = parse_day(text)
    if not found or day != "-".join(found.groups()[:3]):
        return day
    hour, minute, second, zone = found.groups()[3:]
    zone = (zone or "").upper()
    return f"{day}T{hour}:{minute}:{second or '00'}" + (f"{zone[:3]}:{zone[-2:]}" if len(zone) > 1 else zone)


def _day(year: str, month: int, day: int) -> str | None:
    return f"{year}-{month:02}-{day:02}" if 1 <= day <= 31 else None


def find_day(doc: Document, url: str | None, attributes: AttributeScan) -> str | None:
    """A date that the page shows where dates stand, else one in its address."""
    timed = attributes.may_have(MAY_HAVE_ITEMPROP_DATE) or doc.select_one("time") is not None
    found = doc.select(",".join(DATE_SELECTORS))[:MAX_DATED] if timed else []
    for where in DATE_SELECTORS if found else ():
        for element in [e for e in found if e.matches(where)][:MAX_PER_SELECTOR]:
            if day := parse_moment(_date_text(element)):
                return day
    for element in _named_like_dates(doc) if attributes.may_have(MAY_NAME_DATE) else ():
        if day := parse_day(_date_text(element)):
            return day
    match = IN_URL.search(url or "")
    return _day(match[1], int(match[2]), int(match[3])) if match else None


def _named_like_dates(doc: Document) -> list[Element]:
    """The first elements whose class names speak of a date, then those that speak of what is about the page.

    Each name is read once: a selector for each of the words takes three times as long.
    """
    dated: list[Element] = []
    about: list[Element] = []
    known: dict[str, int] = {}
    left = MAX_DATED
    for element in doc.select("[class]"):
        names = element.attr("class") or ""
        sort = known.get(names)
        if sort is None:
            sort = known[names] = _name_kind(names)
        if not sort or (element.tag == "body" and not (sort := sort & PUBLISH_NAME)):
            continue
        if sort & (PUBLISH_NAME | DATE_NAME) and len(dated) < MAX_PER_SELECTOR:
            dated.append(element)
        if sort & META_NAME and len(about) < MAX_PER_SELECTOR:
            about.append(element)
        left -= 1
        if not left or len(dated) == len(about) == MAX_PER_SELECTOR:
            break
    return dated + about


def _name_kind(names: str) -> int:
    named = "publish" in names or "posted" in names or "byline" in names
    return PUBLISH_NAME * named | DATE_NAME * ("date" in names) | META_NAME * ("meta" in names)


def _date_text(element: Element) -> str:
    return (
        element.attr("datetime")
        or element.attr("content")
        or " ".join(element.text[: 2 * MAX_DATE_TEXT].split())[:MAX_DATE_TEXT]
    )


def day_in_text(root: Element) -> str | None:
    """The first date in the text of a page: a last resort."""
    places = (root.select_one("main"), root.select_one("article"), root)
    for place in places:
        text = place.text[:MAX_TOP] if place is not None else ""
        for year in ANY_YEAR.finditer(text):
            if day := parse_day(text[max(0, year.start() - DATE_WINDOW) : year.end() + 8]):
                return day
    return None
