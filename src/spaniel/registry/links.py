"""Links to be added to a database, with the facts of a list about them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.record import CATEGORIES, LENGTH, SHA256, TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.registry.yaml_text import Written
    from spaniel.url.canonical import Canonical


class NewLink(NamedTuple):
    """A URL, its facts, and its source."""

    where: str
    url: str
    keys: Mapping[str, Written] = {}
    found: Canonical | None = None  # its canonical form, where that was found before


def known_facts(facts: Mapping[str, object]) -> dict[str, Written]:
    """The columns of a dump that become keys of a record again."""
    facts = {key.lower(): value for key, value in facts.items()}
    known: dict[str, Written] = {key: str(facts[key]) for key in (SHA256, TYPE) if facts.get(key)}
    if str(facts.get(LENGTH, "")).isdecimal():
        known[LENGTH] = int(str(facts[LENGTH]))
    categories = facts.get(CATEGORIES)
    if isinstance(categories, str):
        categories = _from_a_cell(categories)
    if isinstance(categories, list) and categories:
        known[CATEGORIES] = sorted({str(each) for each in categories})
    return known


def in_a_cell(categories: Sequence[str]) -> str:
    """Categories in one cell of a table: words with spaces between them, or JSON where one has a space itself."""
    is_plain = all(each.split() == [each] and not each.startswith("[") for each in categories)
    return " ".join(categories) if is_plain else json.dumps(list(categories), ensure_ascii=False)


def _from_a_cell(cell: str) -> list[object]:
    try:
        listed = json.loads(cell) if cell.startswith("[") else None
    except (ValueError, RecursionError):
        listed = None
    return listed if isinstance(listed, list) else [*cell.split()]
