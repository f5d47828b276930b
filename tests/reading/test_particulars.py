"""Prices, stock, ratings, ingredients, opening hours: structured data is used only if it is visible on the page."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from turbohtml import parse

from spaniel.reading import extract
from spaniel.reading.judge.blocks import segment
from spaniel.reading.judge.columns import KINDS
from spaniel.reading.metadata.products import parse_number, parse_times
from spaniel.reading.posts.threads import drop_doubtful_reviews

pytestmark = pytest.mark.usefixtures("either_judge")

TEXT = "A lamp with a foot of stone and a shade of paper, made by two brothers in a village by the sea."
OFFER = {"@type": "Offer", "price": "49.90", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}
LAMP = {
    "@type": "Product",
    "name": "Lamp",
    "offers": OFFER,
    "aggregateRating": {"ratingValue": "4.6", "reviewCount": 12},
}


def page(message: Any, *shown: str, kept: str = "") -> str:
    """The plain rules for small pages leave out what stands in `aside`."""
    beside = "".join(f"<p>{text}</p>" for text in shown)
    data = f"<script type='application/ld+json'>{json.dumps(message)}</script>"
    return f"{data}<main><h1>Lamp</h1><p>{TEXT}</p>{kept}</main><aside>{beside}</aside>"


def listed(message: Any, *shown: str, kept: str = "") -> list[str]:
    return [
        line[2:] for line in extract(page(message, *shown, kept=kept)).markdown.split("\n") if line.startswith("- ")
    ]


@pytest.mark.req("FR-WF-13")
def test_what_is_told_and_shown_is_a_list_below_the_heading() -> None:
    markdown = extract(page(LAMP, "49,90 €", "In stock", "4.6 / 5 (12)", "Delivery 5,00 €")).markdown
    assert markdown.startswith("# Lamp\n\n- 49,90 €\n- In stock\n- 4.6 / 5 (12)\n\nA lamp")
    assert "Delivery" not in markdown


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize(
    "shown", [(), ("48,90 €",), ("49.90",), ("Model 49.90 of our lamps",), ("Out of stock",), ("4.6",), ("46 of 50",), ("449.90 €",), ("49.901 €",)]
)  # fmt: skip
def test_what_is_told_and_not_shown_is_not_there(shown: tuple[str, ...]) -> None:
    assert listed(LAMP, *shown) == []


@pytest.mark.parametrize("shown", ["49,90 €", "€49.90", "EUR 49,90", "49.90 EUR", "€ 49.9"])
def test_a_price_is_written_as_the_page_writes_it(shown: str) -> None:
    assert listed(LAMP, f"Only {shown} today") == [shown]


def test_what_the_text_has_already_is_not_there_twice() -> None:
    kept = "<ul><li>Price: 49.90 €</li><li>Now in stock</li></ul>"
    assert listed(LAMP, "49,90 €", "In stock", kept=kept) == ["Price: 49.90 €", "Now in stock"]


def test_of_several_products_none_is_the_page() -> None:
    assert listed([LAMP, LAMP | {"name": "Other"}], "49,90 €", "In stock") == []


def test_control_other_objects_do_not_matter() -> None:
    assert listed([{"@type": "WebSite", "name": "Shop"}, LAMP], "49,90 €") == ["49,90 €"]


@pytest.mark.parametrize(
    "message",
    [
        {"@type": "Product", "offers": "soon"}, {"@type": "Product", "offers": [None, 3, {"price": {"a": 1}}]}, {"@type": ["Product", 3]},
        {"@type": "Product", "offers": {"price": "9" * 400}, "aggregateRating": [[]]}, {"@type": "Product", "offers": {"availability": 3}},
        {"@type": "Recipe", "recipeIngredient": [None, 3, ""]}, {"@type": "Store", "openingHours": [3, "x", "Mo-Fr x-y"]},
        {"@type": "Store", "openingHoursSpecification": [{"opens": 3, "closes": "18:00"}, {"opens": "aa:bb", "closes": ":"}]},
    ],
)  # fmt: skip
def test_whatever_is_told_a_page_is_read(message: dict[str, Any]) -> None:
    assert TEXT in extract(page(message, "49,90 €", "9:00 - 18:00")).markdown


@pytest.mark.req("FR-WF-13")
def test_ingredients_and_opening_hours_stay_where_they_are() -> None:
    recipe = {"@type": "Recipe", "recipeIngredient": ["3 eggs", "a cup of milk"]}
    markdown = extract(page(recipe, kept="<p>Stir.</p>").replace("<aside>", "<aside><h3>You need</h3><ul><li>3 eggs<li>A cup of milk</ul><p>Subscribe</p>")).markdown  # fmt: skip
    assert markdown.endswith("### You need\n\n- 3 eggs\n- A cup of milk\n")
    store = {"@type": "Store", "openingHours": "Mo-Fr 09:00-18:30"}
    markdown = extract(page(store, "Monday to Friday: 9 am to 6:30 pm", "Call us at 9:00 sharp")).markdown
    assert markdown.endswith("Monday to Friday: 9 am to 6:30 pm\n")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("19.99", "19.99"), ("19,99", "19.99"), ("1.299,00 €", "1299"), ("1,299", "1299"), ("$1,299.50", "1299.5"), ("60.00", "60"),
        ("0.125", "0.125"), ("1 299,00", "1299"), ("12", "12"), ("0", None), ("", None), ("soon", None), ("9" * 30, None),
    ],
)  # fmt: skip
def test_a_number_is_read_as_people_write_it(text: str, number: str | None) -> None:
    assert parse_number(text) == (Decimal(number) if number else None)


def test_times_are_read_as_people_write_them() -> None:
    shown = "9:00 9.30 10h15 11h 12 Uhr 1pm 2:30 p.m. 午後18時"
    assert parse_times(shown) == {540, 570, 615, 660, 720, 780, 870, 1080}
    assert parse_times("1.500 km, 3.5 kg, 25, 555 0139") == set()


def test_a_microdata_product_is_read_like_one_of_linked_data() -> None:
    html = (
        f"<main itemscope itemtype='https://schema.org/Product'><h1>Lamp</h1><p>{TEXT}</p><aside itemprop=offers itemscope>"
        "<p><span itemprop=price>49.90</span> €</p><link itemprop=availability href='http://schema.org/SoldOut'><p>Sold out</p></aside></main>"
    )
    assert "# Lamp\n\n- 49.90 €\n- Sold out\n\n" in extract(html).markdown


def reviewed(product: float, odds: float, rest: int) -> list[bool]:
    """What is kept of a page with a text of so many words and a review of as many."""
    body = parse(f"<p>{'word ' * rest}</p><div class=review><p>{'praise ' * 80}</p></div>").select_one("body")
    assert body is not None
    out = segment(body)
    kinds = [0.0] * len(KINDS)
    kinds[KINDS.index("product")] = product
    keep = [True, True]
    drop_doubtful_reviews(out, [float(rest), 80.0], [0.9, odds], kinds, keep)
    return keep


@pytest.mark.parametrize(
    ("product", "odds", "rest", "kept"),
    [(0.9, 0.4, 80, False), (0.9, 0.6, 80, True), (0.2, 0.4, 80, True), (0.9, 0.4, 20, True)],
)
def test_doubtful_reviews_are_dropped_on_pages_with_product_data(
    product: float, odds: float, rest: int, kept: bool
) -> None:
    assert reviewed(product, odds, rest) == [True, kept]
