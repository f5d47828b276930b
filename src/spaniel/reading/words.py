"""Class names and ids read as words: which groups of `data/words.toml` an element's names fall into (D2-08)."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from spaniel.reading import learnt
from spaniel.reading.lexicon import lexicon

PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
SHORTEST_AFFIX = 5  # below that `ad` would be found in `thread` and `nav` in `naval`


@cache
def table() -> dict[str, int]:
    """Every word with the bits of its groups."""
    bits: dict[str, int] = {}
    for place, words in enumerate(lexicon("words")["groups"].values()):
        for word in words.split():
            bits[word] = bits.get(word, 0) | 1 << place
    return bits


def group_names() -> list[str]:
    return list(lexicon("words")["groups"])


@cache
def bit(group: str) -> int:
    return 1 << group_names().index(group)


@lru_cache(maxsize=20_000)
def judge_names(names: str) -> tuple[int, float]:
    """The groups that any part of these names belongs to, as bits, and the mean learnt weight of the known parts."""
    bits, weights = table(), learnt.NAMES
    found, known = 0, []
    for part in parts_of(names):
        found |= bits.get(part, 0) or _affix(part, bits)
        if part in weights:
            known.append(weights[part])
    return found, sum(known) / len(known) if known else 0.0


def parts_of(names: str) -> list[str]:
    """`topNav main-sidebar2` -> top, nav, main, sidebar, 2. Hostile names are cut: words stand at the beginning."""
    return [part.lower() for part in PART.findall(names[:400])]


def _affix(part: str, bits: dict[str, int]) -> int:
    for size in range(min(len(part) - 1, 16), SHORTEST_AFFIX - 1, -1):
        if found := bits.get(part[:size], 0) or bits.get(part[-size:], 0):
            return found
    return 0


def tones() -> dict[str, float]:
    """The learnt weights of words in texts."""
    return learnt.TEXTS


def text_weight(low: list[str], table: dict[str, float]) -> float:
    """The mean learnt weight of the known words among these."""
    known = [table[word] for word in low if word in table]
    return sum(known) / len(known) if known else 0.0
