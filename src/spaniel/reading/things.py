"""What linked data or microdata says about the thing that a page is about: prices, whether it can be had, rating …"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spaniel.reading.lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turbohtml import Element

T = TypeVar("T")
MOST = 40  # of anything
LONGEST = 200  # characters of a value
MILLIARD = 10**9
GROUP = 3  # digits between two signs that group thousands
PRICES = ("price", "lowPrice", "highPrice")
SORTS = ("products", "recipes", "places")


class Thing(NamedTuple):
    """As the page tells it to machines; what of it people see is another question."""

    prices: tuple[Decimal, ...] = ()
    states: tuple[str, ...] = ()
    rating: Decimal | None = None
    parts: tuple[str, ...] = ()  # ingredients
    hours: tuple[tuple[str, str], ...] = ()  # opens, closes


@cache
def _sorts() -> dict[str, str]:
    return {name: sort for sort in SORTS for name in lexicon("particulars")[sort].split()}


def tells_of_things(types: list[str]) -> bool:
    sorts = _sorts()
    return any(name.rpartition("/")[2].lower() in sorts for name in types)


def thing_of(objects: Sequence[dict[str, object]]) -> Thing | None:
    """The one thing of linked data; where there are several of a sort, the page is a list of them."""
    found = [(sort, thing) for thing in objects if (sort := _sort(thing))]
    if len(found) != 1:
        return None
    sort, thing = found[0]
    offers = [thing, *_objects(thing.get("offers")), *_variants(thing)]
    rating = next(_objects(thing.get("aggregateRating")), {})
    return Thing(
        prices=_unique(number for offer in offers for key in PRICES if (number := number_of(offer.get(key)))),
        states=_unique(state for offer in offers if (state := _state(offer.get("availability")))),
        rating=number_of(rating.get("ratingValue")),
        parts=_unique(_texts(thing.get("recipeIngredient") or thing.get("ingredients"))) if sort == "recipes" else (),
        hours=_unique(_hours(thing)) if sort == "places" else (),
    )


def thing_in(root: Element) -> Thing | None:
    """The one product of microdata."""
    scopes = [
        e for e in root.select("[itemtype]") if _sorts().get((e.attr("itemtype") or "").rpartition("/")[2].lower())
    ]
    if len(scopes) != 1:
        return None
    told: dict[str, list[str]] = {}
    for element in scopes[0].select("[itemprop]")[: MOST * 10]:
        value = element.attr("content") or element.attr("href") or element.text[:LONGEST]
        told.setdefault(element.attr("itemprop") or "", []).append(value)
    return Thing(
        prices=_unique(number for key in PRICES for text in told.get(key, ())[:MOST] if (number := number_of(text))),
        states=_unique(state for text in told.get("availability", ())[:MOST] if (state := _state(text))),
        rating=number_of(next(iter(told.get("ratingValue", ())), None)),
        parts=_unique(_texts(told.get("recipeIngredient") or told.get("ingredients"))),
    )


def number_of(value: object) -> Decimal | None:
    """19.99, "19,99", "1.299,00 €", "1,299" -> a number; nothing where it is none or not above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return Decimal(str(value)).normalize() if 0 < value < MILLIARD else None
    digits = "".join(sign for sign in value[:LONGEST] if sign.isdecimal() or sign in ".,").strip(".,")
    whole, _, part = digits.replace(",", ".").rpartition(".")
    if not whole or (len(part) == GROUP and whole != "0" and (whole.count(".") or len(whole) <= GROUP)):
        whole, part = digits, "0"  # no sign, or one that groups thousands
    try:
        number = Decimal(f"{whole.replace('.', '').replace(',', '')}.{part}")
    except InvalidOperation:
        return None
    return number.normalize() if 0 < number < MILLIARD else None


def _sort(thing: dict[str, object]) -> str | None:
    kinds = thing.get("@type")
    for kind in kinds[:MOST] if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str) and (sort := _sorts().get(kind.rpartition("/")[2].lower())):
            return sort
    return None


def _objects(value: object) -> Iterator[dict[str, object]]:
    yield from (part for part in (value[:MOST] if isinstance(value, list) else [value]) if isinstance(part, dict))


def _variants(thing: dict[str, object]) -> Iterator[dict[str, object]]:
    for variant in _objects(thing.get("hasVariant")):
        yield from _objects(variant.get("offers"))
    for offer in _objects(thing.get("offers")):
        yield from _objects(offer.get("offers"))
        yield from _objects(offer.get("priceSpecification"))


def _state(value: object) -> str | None:
    name = value[:LONGEST].strip().rstrip("/").rpartition("/")[2].lower() if isinstance(value, str) else ""
    return {
        "limitedavailability": "instock",
        "instoreonly": "instock",
        "onlineonly": "instock",
        "soldout": "outofstock",
    }.get(name, name) or None


def _texts(value: object) -> Iterator[str]:
    for part in value[: 4 * MOST] if isinstance(value, list) else [value]:
        if isinstance(part, str) and (text := " ".join(part[:LONGEST].split())):
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
    return tuple(dict.fromkeys(values))[:MOST]
