"""A product's price, whether it can be had, its rating: in the page's own words, as a short list near the top.

Linked data says what to look for. Only what a block of the page shows is written, and only where no kept block has it.
What a recipe needs and when a place is open stand in lists of the page: those blocks are kept as they are.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.columns import KINDS
from spaniel.reading.lexicon import lexicon
from spaniel.reading.shapes import HEADINGS
from spaniel.reading.things import Thing, number_of, tells_of_things, thing_in, thing_of
from spaniel.reading.words import bit

if TYPE_CHECKING:
    from decimal import Decimal

    from spaniel.reading.blocks import Outline
    from spaniel.reading.page import Facts

PRODUCT = KINDS.index("product")
LIKELY = 0.5
SHORT = 60  # characters of a block that says one thing
LONGEST = 2500  # characters of a block that is looked at
SIGN = r"[$€£¥₹￥₩฿₺₴₽₫]|zł|Kč|kr\.?|Ft|lei|лв|руб\.?|USD|EUR|GBP|CHF|CAD|AUD|円|元|원|บาท"
AMOUNT = r"\d[\d.,\u00a0\u202f '’]{0,14}"
PRICE = re.compile(rf"(?:(?:{SIGN})\s?({AMOUNT})|(?<![\d.,])({AMOUNT}?)\s?(?:{SIGN}))(?!\d)", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
STAR = re.compile(r"[★☆⭐]|\d\s?/\s?(?:5|10)\b")
LONGEST_HOURS = 600  # characters of a block with opening hours
HALF = 0.5
NOON = 12
TIME = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})(?:[:.hH時시点](?P<minute>[0-5]\d)(?!\d))?(?:\s?(?P<half>[aApP])\.?[mM]|(?(minute)|\s?(?:Uhr|[hH]\b|時|시|点)))"
)


def find_particulars(out: Outline, keep: list[bool], kinds: list[float], facts: Facts) -> list[str]:
    """Keep the blocks that show what linked data tells; answer the short texts for the list, in their order."""
    thing = thing_of(facts.objects) if tells_of_things(facts.linked_data) else None
    if thing is None and (not kinds or kinds[PRODUCT] > LIKELY):
        thing = thing_in(out.elements[0])
    if thing is None:
        return []
    _keep_parts(out, keep, thing)
    _keep_hours(out, keep, thing)
    short = [(i, block.text) for i, block in enumerate(out.blocks) if not keep[i] and len(block.text) <= SHORT]
    kept = [block.text for i, block in enumerate(out.blocks) if keep[i]]
    found = (_price(short, kept, thing), _stock(short, kept, thing), _rating(out, short, kept, thing))
    return [text for text in found if text]


def _price(short: list[tuple[int, str]], kept: list[str], thing: Thing) -> str:
    """The first price that is told and shown."""
    ends = [f"{int(price)}"[-3:] for price in thing.prices]  # before them something may group thousands
    for _, text in short:
        if any(end in text for end in ends) and (shown := _prices(text, thing.prices)):
            same = (other for other in kept if any(end in other for end in ends))
            return "" if any(_prices(other, thing.prices) for other in same) else " – ".join(shown)
    return ""


def _prices(text: str, wanted: tuple[Decimal, ...]) -> list[str]:
    """Those of the wanted numbers that stand there with a currency at their side, as they are written."""
    found = PRICE.finditer(text[:LONGEST])
    return list(dict.fromkeys(match[0].strip() for match in found if number_of(match[1] or match[2]) in wanted))


def _stock(short: list[tuple[int, str]], kept: list[str], thing: Thing) -> str:
    """The first text that begins with words for what is told."""
    phrases = tuple(phrase for state in thing.states for phrase in _phrases().get(state, ()))
    for _, text in short if phrases else ():
        low = text.casefold()
        if low.startswith(phrases):
            said = next(phrase for phrase in phrases if low.startswith(phrase))
            return "" if any(said in other.casefold() for other in kept) else text
    return ""


def _rating(out: Outline, short: list[tuple[int, str]], kept: list[str], thing: Thing) -> str:
    """The first text that is the told rating: beside it stand stars, or the best that it can be, or how many rated."""
    if thing.rating is None:
        return ""
    ratings = {round(thing.rating, places).normalize() for places in (1, 2)}
    forms = [form for rating in ratings for form in (f"{rating:f}", f"{rating:f}".replace(".", ","))]
    for i, text in short:
        if any(form in text for form in forms) and _rates(text, ratings, bool(_names(out, i) & bit("review"))):
            return "" if any(_rates(other, ratings, True) for other in kept if len(other) <= SHORT) else text
    return ""


def _rates(text: str, ratings: set[Decimal], named: bool) -> bool:
    numbers = {number for found in NUMBER.findall(text) if (number := number_of(found))}
    told = numbers.intersection(ratings)
    if not told:
        return False
    broken = len(numbers) > 1 and any(number % 1 for number in told)  # a whole number may count anything
    return STAR.search(text) is not None or (broken and named)


@cache
def _phrases() -> dict[str, list[str]]:
    return {state: text.replace("\n", "|").split("|") for state, text in lexicon("particulars")["states"].items()}


def _names(out: Outline, place: int) -> int:
    """The groups of the names of a block's element, and of the one around."""
    home = out.blocks[place].container
    return out.mask[home] | out.mask[max(0, out.parent[home])]


def _keep_parts(out: Outline, keep: list[bool], thing: Thing) -> None:
    """The lists in which most of the ingredients stand."""
    if not thing.parts:
        return
    wanted = {text.casefold() for text in thing.parts}
    for i, block in enumerate(out.blocks):
        if not keep[i] and len(block.text) <= LONGEST:
            text = block.text.casefold()
            held = [part for part in wanted if part in text]
            if held and sum(map(len, held)) >= HALF * len(text):
                _keep(out, keep, i)


def _keep_hours(out: Outline, keep: list[bool], thing: Thing) -> None:
    """What shows one of the told times at which the place opens, and the one at which it closes then."""
    if not thing.hours:
        return
    pairs = {(_minutes(opens), _minutes(closes)) for opens, closes in thing.hours}
    pairs = {(opens, closes) for opens, closes in pairs if opens and closes}
    for i, block in enumerate(out.blocks if pairs else ()):
        if not keep[i] and len(block.text) <= LONGEST_HOURS and TIME.search(block.text):
            times = times_in(block.text)
            if any(opens in times and closes in times for opens, closes in pairs):
                _keep(out, keep, i)


def _keep(out: Outline, keep: list[bool], place: int) -> None:
    """A block, and the heading right above it."""
    keep[place] = True
    if place and out.tag[out.blocks[place - 1].container] in HEADINGS:
        keep[place - 1] = True


def _minutes(told: str) -> int:
    """18:30 -> 1110; midnight, which nobody shows as it is told, is nothing."""
    hour, _, minute = told.partition(":")
    return 60 * int(hour) + int(minute) if hour.isdecimal() and minute.isdecimal() else 0


def times_in(text: str) -> set[int]:
    """Times of the day as people write them, in minutes: 18:30, 18.30, 18h30, 9 Uhr, 10am, 5:30 p.m."""
    found: set[int] = set()
    for match in TIME.finditer(text):
        hour, minute, half = int(match["hour"]), int(match["minute"] or 0), (match["half"] or "").lower()
        if half == "p" and hour < NOON:
            hour += NOON
        found.add(60 * hour + minute)
    return found


def write_particulars(root: Element, texts: list[str]) -> None:
    """The list, below the heading of the page if it begins with one."""
    if not texts:
        return
    items = Element("ul")
    for text in texts:
        item = Element("li")
        item.append(Text(text))
        items.append(item)
    heading = root.select_one("h1")
    if heading is not None:
        heading.insert_after(items)
    else:
        root.insert(0, items)
