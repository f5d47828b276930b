"""Class names and ids read as words: which groups of `data/words.toml` an element's names fall into (D2-08)."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files

from spaniel.reading.model import stored

PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
SHORTEST_AFFIX = 5  # below that `ad` would be found in `thread` and `nav` in `naval`


@cache
def table() -> dict[str, int]:
    """Every word with the bits of its groups."""
    groups = tomllib.loads((files(__package__) / "data" / "words.toml").read_text("utf-8"))["groups"]
    bits: dict[str, int] = {}
    for place, words in enumerate(groups.values()):
        for word in words.split():
            bits[word] = bits.get(word, 0) | 1 << place
    return bits


@cache
def bit(group: str) -> int:
    groups = tomllib.loads((files(__package__) / "data" / "words.toml").read_text("utf-8"))["groups"]
    return 1 << list(groups).index(group)


@lru_cache(maxsize=20_000)
def groups_of(names: str) -> int:
    """The groups that any part of these names belongs to, as bits."""
    bits, found = table(), 0
    for part in parts_of(names):
        found |= bits.get(part, 0) or _affix(part, bits)
    return found


def parts_of(names: str) -> list[str]:
    """`topNav main-sidebar2` -> top, nav, main, sidebar, 2. Hostile names are cut: words stand at the beginning."""
    return [part.lower() for part in PART.findall(names[:400])]


def _affix(part: str, bits: dict[str, int]) -> int:
    for size in range(min(len(part) - 1, 16), SHORTEST_AFFIX - 1, -1):
        if found := bits.get(part[:size], 0) or bits.get(part[-size:], 0):
            return found
    return 0


@lru_cache(maxsize=20_000)
def name_weight(names: str) -> float:
    """The mean learnt weight of a name's known parts: above zero where content is likelier."""
    table = stored()["names"]
    known = [table[part] for part in parts_of(names) if part in table]
    return sum(known) / len(known) if known else 0.0


def text_weight(low: list[str]) -> float:
    """The mean learnt weight of the known words among these."""
    table = stored()["texts"]
    known = [table[word] for word in low if word in table]
    return sum(known) / len(known) if known else 0.0
