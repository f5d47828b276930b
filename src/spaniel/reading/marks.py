"""Marks of pages that are not the page: which groups of elements from `data/page_types.toml` are in it."""

from __future__ import annotations

from spaniel.reading.budgets import parse_within
from spaniel.reading.lexicon import lexicon

LOOKED_AT = 256 << 10  # bytes of the beginning


def marks_in(body: bytes, charset: str | None = None) -> frozenset[str]:
    """The names of the groups of which the page has an element."""
    tree = parse_within(body[:LOOKED_AT], charset).tree
    groups: dict[str, str] = lexicon("page_types")["marks"]
    return frozenset(name for name, selectors in groups.items() if tree.select_one(selectors) is not None)
