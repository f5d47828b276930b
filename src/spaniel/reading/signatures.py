"""Who signed a post, and when, as its page tells it: one line of text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.reading.dates import day_of
from spaniel.reading.hygiene import one_line
from spaniel.reading.lexicon import lexicon

if TYPE_CHECKING:
    from turbohtml import Element

LABELS = frozenset(lexicon("threads")["labels"].split())
LONGEST_NAME, LONGEST_DATE = 60, 40  # characters
LONGEST_MONTH = 12
LINKS = 3  # in the element of a name: the first may be a picture
LOOKED_AT = 400  # characters of an element that should hold nothing but a name or a date
MACHINE = ("datetime", "content", "title", "data-time-string")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
TIME = re.compile(r"\d{1,2}[:.hH時시点]\d\d(?:[:.]\d\d)?[a-zA-Z分분]{0,3}[,.]?")
USUAL = re.compile(  # most of them
    r"[A-Z][a-z]{2,8} \d{1,2}, (?:19|20)\d\d(?:,? (?:at )?\d{1,2}:\d\d ?(?:[ap]m|[AP]M)?)?"
    r"|(?:19|20)\d\d-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?"
)
DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th|er|º|ª|日|月|일|월)?")
HALF_DAY = re.compile(r"[ap]\.?m\.?", re.IGNORECASE)
AROUND_NAMES = " \t,:·•|-–—»«"
BY = re.compile(r"(?:by|von|par|por|da|door|av|от)\s+(?=\S)", re.IGNORECASE)


def author_of(element: Element) -> str:
    """The name in an element, on a link in it if there is one; empty where it holds none, or much more than a name."""
    told = element.attr("content") if element.tag == "meta" else None
    if told is None:
        named = element.select_one("[itemprop~=name]")
        told = (named.attr("content") or _text(named)) if named is not None else ""
        linked = element.select("a[href]")[:LINKS] if not told and element.tag != "a" else []
        told = told or next(filter(None, map(_text, linked)), "") or _text(element)
    name = _line(told).strip(AROUND_NAMES)
    name = BY.sub("", name, count=1) if BY.match(name) else name
    return name if len(name) <= LONGEST_NAME and any(map(str.isalnum, name)) else ""


def date_of(element: Element) -> str:
    """The date that an element shows; where it shows only how long ago that was, the day that its attributes tell."""
    shown = shown_date(_line(_text(element))) if element.tag != "meta" else ""
    if shown:
        return shown
    inner = element if element.tag in ("time", "meta") else element.select_one("time,[datetime],[title]") or element
    for name in MACHINE:
        if day := day_of((inner.attr(name) or "")[:LOOKED_AT]):
            return day
    return ""


def shown_date(text: str) -> str:
    """`by Joe » Wed Dec 27, 2023 10:00 am` -> Wed Dec 27, 2023 10:00 am. Without a year it is no date."""
    if USUAL.fullmatch(text):
        return text
    if YEAR.search(text) is None:
        return ""
    words = next(part for part in reversed(text.split("»")) if YEAR.search(part)).split()
    year = next(place for place, word in enumerate(words) if YEAR.search(word))
    first = last = year
    while first and year - first < 5 and _belongs(words[first - 1]):
        first -= 1
    while first == year and last + 1 < len(words) and DAY.fullmatch(words[last + 1].strip(",.")) and last - year < 2:
        last += 1
    times = [place for place in range(last + 1, min(len(words), last + 4)) if TIME.fullmatch(words[place])]
    last = times[0] if times else last
    while last + 1 < len(words) and HALF_DAY.fullmatch(words[last + 1].strip(",")):
        last += 1
    date = " ".join(words[first : last + 1]).strip(AROUND_NAMES)
    return date if len(date) <= LONGEST_DATE and not date.isdecimal() else ""


def _line(text: str) -> str:
    """As one_line, which most names and dates do not need."""
    return text.strip() if text.isascii() and text.isprintable() and "  " not in text else one_line(text) or ""


def _text(element: Element) -> str:
    """The beginning of what it holds, with a blank where one element ends and another begins."""
    parts: list[str] = []
    left = LOOKED_AT
    for part in element.stripped_strings:
        parts.append(part[:left])
        left -= len(part)
        if left <= 0:
            break
    return " ".join(parts)


def _belongs(word: str) -> bool:
    """Whether a word before the year is a day, a month or a time, as far as can be told in any language."""
    bare = word.strip(",.'’")
    if bare.isalpha():
        return bare.lower() not in LABELS and len(bare) <= LONGEST_MONTH
    return bool(DAY.fullmatch(bare) or TIME.fullmatch(bare))
