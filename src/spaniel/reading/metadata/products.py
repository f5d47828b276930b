"""A product's price, availability and rating, in the page's own words, as a short list near the top.

Linked data or microdata says what to look for. Only what a block of the page shows is written, and only if no kept
block has it. A recipe's ingredients and a place's opening hours are lists on the page: those blocks are kept as
they are.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from turbohtml import Element, Text

from spaniel.reading.data_files import data_file
from spaniel.reading.judge.class_names import group_bit
from spaniel.reading.judge.columns import KINDS
from spaniel.reading.judge.features import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.reading.judge.blocks import Outline
    from spaniel.reading.judge.features import HeadFacts


T = TypeVar("T")
MAX_VALUES = 40  # of anything
MAX_VALUE = 200  # characters of a value
BILLION = 10**9
GROUPED_DIGITS = 3  # digits between two signs that group thousands
PRICES = ("price", "lowPrice", "highPrice")
THING_KINDS = ("products", "recipes", "places")


class SchemaThing(NamedTuple):
    """A product, recipe or place as in the page's structured data; whether it is visible is checked separately."""

    prices: tuple[Decimal, ...] = ()
    states: tuple[str, ...] = ()
    rating: Decimal | None = None
    parts: tuple[str, ...] = ()  # ingredients
    hours: tuple[tuple[str, str], ...] = ()  # opens, closes


@cache
def _thing_kinds() -> dict[str, str]:
    return {name: sort for sort in THING_KINDS for name in data_file("products")[sort].split()}


def has_thing_type(types: list[str]) -> bool:
    sorts = _thing_kinds()
    return any(name.rpartition("/")[2].lower() in sorts for name in types)


def linked_data_thing(objects: Sequence[dict[str, object]]) -> SchemaThing | None:
    """The one thing of linked data; where there are several of a sort, the page is a list of them."""
    found = [(sort, thing) for thing in objects if (sort := _thing_kind(thing))]
    if len(found) != 1:
        return None
    sort, thing = found[0]
    offers = [thing, *_objects(thing.get("offers")), *_variants(thing)]
    rating = next(_objects(thing.get("aggregateRating")), {})
    return SchemaThing(
        prices=_unique(number for offer in offers for key in PRICES if (number := parse_number(offer.get(key)))),
        states=_unique(state for offer in offers if (state := _availability(offer.get("availability")))),
        rating=parse_number(rating.get("ratingValue")),
        parts=_unique(_texts(thing.get("recipeIngredient") or thing.get("ingredients"))) if sort == "recipes" else (),
        hours=_unique(_hours(thing)) if sort == "places" else (),
    )


def microdata_thing(root: Element) -> SchemaThing | None:
    """The one product of microdata."""
    scopes = [
        e
        for e in root.select("[itemtype]")
        if _thing_kinds().get((e.attr("itemtype") or "").rpartition("/")[2].lower())
    ]
    if len(scopes) != 1:
        return None
    values: dict[str, list[str]] = {}
    for element in scopes[0].select("[itemprop]")[: MAX_VALUES * 10]:
        value = element.attr("content") or element.attr("href") or element.text[:MAX_VALUE]
        values.setdefault(element.attr("itemprop") or "", []).append(value)
    return SchemaThing(
        prices=_unique(
            number for key in PRICES for text in values.get(key, ())[:MAX_VALUES] if (number := parse_number(text))
        ),
        states=_unique(state for text in values.get("availability", ())[:MAX_VALUES] if (state := _availability(text))),
        rating=parse_number(next(iter(values.get("ratingValue", ())), None)),
        parts=_unique(_texts(values.get("recipeIngredient") or values.get("ingredients"))),
    )


def parse_number(value: object) -> Decimal | None:
    """19.99, "19,99", "1.299,00 €", "1,299" -> a number; nothing where it is none or not above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return Decimal(str(value)).normalize() if 0 < value < BILLION else None
    digits = "".join(sign for sign in value[:MAX_VALUE] if sign.isdecimal() or sign in ".,").strip(".,")
    whole, _, part = digits.replace(",", ".").rpartition(".")
    if not whole or (
        len(part) == GROUPED_DIGITS and whole != "0" and (whole.count(".") or len(whole) <= GROUPED_DIGITS)
    ):
        whole, part = digits, "0"  # no sign, or one that groups thousands
    try:
        number = Decimal(f"{whole.replace('.', '').replace(',', '')}.{part}")
    except InvalidOperation:
        return None
    return number.normalize() if 0 < number < BILLION else None


def _thing_kind(thing: dict[str, object]) -> str | None:
    kinds = thing.get("@type")
    for kind in kinds[:MAX_VALUES] if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str) and (sort := _thing_kinds().get(kind.rpartition("/")[2].lower())):
            return sort
    return None


def _objects(value: object) -> Iterator[dict[str, object]]:
    yield from (part for part in (value[:MAX_VALUES] if isinstance(value, list) else [value]) if isinstance(part, dict))


def _variants(thing: dict[str, object]) -> Iterator[dict[str, object]]:
    for variant in _objects(thing.get("hasVariant")):
        yield from _objects(variant.get("offers"))
    for offer in _objects(thing.get("offers")):
        yield from _objects(offer.get("offers"))
        yield from _objects(offer.get("priceSpecification"))


def _availability(value: object) -> str | None:
    name = value[:MAX_VALUE].strip().rstrip("/").rpartition("/")[2].lower() if isinstance(value, str) else ""
    return {
        "limitedavailability": "instock",
        "instoreonly": "instock",
        "onlineonly": "instock",
        "soldout": "outofstock",
    }.get(name, name) or None


def _texts(value: object) -> Iterator[str]:
    for part in value[: 4 * MAX_VALUES] if isinstance(value, list) else [value]:
        if isinstance(part, str) and (text := " ".join(part[:MAX_VALUE].split())):
            yield text


def _hours(thing: dict[str, object]) -> Iterator[tuple[str, str]]:
    for row in _objects(thing.get("openingHoursSpecification")):
        opens, closes = row.get("opens"), row.get("closes")
        if isinstance(opens, str) and isinstance(closes, str):
            yield opens[:5], closes[:5]
    for text in _texts(thing.get("openingHours")):  # Mo-Fr 09:00-18:00
        opens, dash, closes = text.rpartition(" ")[2].partition("-")
        if dash:
            yield opens[:5], closes[:5]


def _unique(values: Iterator[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))[:MAX_VALUES]


PRODUCT = KINDS.index("product")
LIKELY_PRODUCT = 0.5
MAX_FACT = 60  # characters of a block that says one thing
MAX_BLOCK = 2500  # characters of a block that is looked at
CURRENCY = r"[$€£¥₹￥₩฿₺₴₽₫]|zł|Kč|kr\.?|Ft|lei|лв|руб\.?|USD|EUR|GBP|CHF|CAD|AUD|円|元|원|บาท"
AMOUNT = r"\d[\d.,\u00a0\u202f '’]{0,14}"
PRICE = re.compile(rf"(?:(?:{CURRENCY})\s?({AMOUNT})|(?<![\d.,])({AMOUNT}?)\s?(?:{CURRENCY}))(?!\d)", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
STAR = re.compile(r"[★☆⭐]|\d\s?/\s?(?:5|10)\b")
MAX_HOURS = 600  # characters of a block with opening hours
MIN_INGREDIENTS = 0.5
NOON = 12
TIME = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})(?:[:.hH時시点](?P<minute>[0-5]\d)(?!\d))?(?:\s?(?P<half>[aApP])\.?[mM]|(?(minute)|\s?(?:Uhr|[hH]\b|時|시|点)))"
)


def find_product_facts(out: Outline, keep: list[bool], kinds: list[float], facts: HeadFacts) -> list[str]:
    """Keep the blocks that show values of the linked data; return the short texts for the list, in order."""
    thing = linked_data_thing(facts.objects) if has_thing_type(facts.linked_data) else None
    if thing is None and (not kinds or kinds[PRODUCT] > LIKELY_PRODUCT):
        thing = microdata_thing(out.elements[0])
    if thing is None:
        return []
    _keep_ingredients(out, keep, thing)
    _keep_hours(out, keep, thing)
    short = [(i, block.text) for i, block in enumerate(out.blocks) if not keep[i] and len(block.text) <= MAX_FACT]
    kept = [block.text for i, block in enumerate(out.blocks) if keep[i]]
    found = (_price(short, kept, thing), _stock(short, kept, thing), _rating(out, short, kept, thing))
    return [text for text in found if text]


def _price(short: list[tuple[int, str]], kept: list[str], thing: SchemaThing) -> str:
    """Return the first text with a price that the structured data contains."""
    ends = [f"{int(price)}"[-3:] for price in thing.prices]  # before them something may group thousands
    for _, text in short:
        if any(end in text for end in ends) and (shown := _prices(text, thing.prices)):
            same = (other for other in kept if any(end in other for end in ends))
            return "" if any(_prices(other, thing.prices) for other in same) else " – ".join(shown)
    return ""


def _prices(text: str, wanted: tuple[Decimal, ...]) -> list[str]:
    """Those of the wanted numbers that stand there with a currency at their side, as they are written."""
    found = PRICE.finditer(text[:MAX_BLOCK])
    return list(dict.fromkeys(match[0].strip() for match in found if parse_number(match[1] or match[2]) in wanted))


def _stock(short: list[tuple[int, str]], kept: list[str], thing: SchemaThing) -> str:
    """Return the first text that begins with words for the availability in the structured data."""
    phrases = tuple(phrase for state in thing.states for phrase in _phrases().get(state, ()))
    for _, text in short if phrases else ():
        low = text.casefold()
        if low.startswith(phrases):
            said = next(phrase for phrase in phrases if low.startswith(phrase))
            return "" if any(said in other.casefold() for other in kept) else text
    return ""


def _rating(out: Outline, short: list[tuple[int, str]], kept: list[str], thing: SchemaThing) -> str:
    """Return the first text with the rating, if stars, the best rating or the number of ratings are next to it."""
    if thing.rating is None:
        return ""
    ratings = {round(thing.rating, places).normalize() for places in (1, 2)}
    forms = [form for rating in ratings for form in (f"{rating:f}", f"{rating:f}".replace(".", ","))]
    for i, text in short:
        if any(form in text for form in forms) and _shows_rating(
            text, ratings, bool(_groups_around(out, i) & group_bit("review"))
        ):
            return "" if any(_shows_rating(other, ratings, True) for other in kept if len(other) <= MAX_FACT) else text
    return ""


def _shows_rating(text: str, ratings: set[Decimal], named: bool) -> bool:
    numbers = {number for found in NUMBER.findall(text) if (number := parse_number(found))}
    shown = numbers.intersection(ratings)
    if not shown:
        return False
    broken = len(numbers) > 1 and any(number % 1 for number in shown)  # a whole number may count anything
    return STAR.search(text) is not None or (broken and named)


@cache
def _phrases() -> dict[str, list[str]]:
    return {state: text.replace("\n", "|").split("|") for state, text in data_file("products")["states"].items()}


def _groups_around(out: Outline, place: int) -> int:
    """The groups of the names of a block's element, and of the one around."""
    home = out.blocks[place].container
    return out.mask[home] | out.mask[max(0, out.parent[home])]


def _keep_ingredients(out: Outline, keep: list[bool], thing: SchemaThing) -> None:
    """The lists in which most of the ingredients stand."""
    if not thing.parts:
        return
    wanted = {text.casefold() for text in thing.parts}
    for i, block in enumerate(out.blocks):
        if not keep[i] and len(block.text) <= MAX_BLOCK:
            text = block.text.casefold()
            held = [part for part in wanted if part in text]
            if held and sum(map(len, held)) >= MIN_INGREDIENTS * len(text):
                _keep(out, keep, i)


def _keep_hours(out: Outline, keep: list[bool], thing: SchemaThing) -> None:
    """Return the text with an opening time of the structured data and its closing time."""
    if not thing.hours:
        return
    pairs = {(_minutes(opens), _minutes(closes)) for opens, closes in thing.hours}
    pairs = {(opens, closes) for opens, closes in pairs if opens and closes}
    for i, block in enumerate(out.blocks if pairs else ()):
        if not keep[i] and len(block.text) <= MAX_HOURS and TIME.search(block.text):
            times = parse_times(block.text)
            if any(opens in times and closes in times for opens, closes in pairs):
                _keep(out, keep, i)


def _keep(out: Outline, keep: list[bool], place: int) -> None:
    """A block, and the heading right above it."""
    keep[place] = True
    if place and out.tag[out.blocks[place - 1].container] in HEADINGS:
        keep[place - 1] = True


def _minutes(time: str) -> int:
    """Convert 18:30 to 1110; midnight is 0, because pages show it in many ways."""
    hour, _, minute = time.partition(":")
    return 60 * int(hour) + int(minute) if hour.isdecimal() and minute.isdecimal() else 0


def parse_times(text: str) -> set[int]:
    """Times of the day as people write them, in minutes: 18:30, 18.30, 18h30, 9 Uhr, 10am, 5:30 p.m."""
    found: set[int] = set()
    for match in TIME.finditer(text):
        hour, minute, half = int(match["hour"]), int(match["minute"] or 0), (match["half"] or "").lower()
        if half == "p" and hour < NOON:
            hour += NOON
        found.add(60 * hour + minute)
    return found


def write_product_facts(root: Element, texts: list[str]) -> None:
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
