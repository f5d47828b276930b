"""Class names and ids read as words: which groups of `data/words.toml` an element's names fall into (D2-08)."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from spaniel.reading.data_files import data_file
from spaniel.reading.judge import learnt

NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
MAX_NAMES = 400  # characters of an element's names that are looked at
NO_SCORE = (0, 0.0, 0)
MAX_AFFIX = 16  # letters of a known word that stands in a longer one
MIN_AFFIX = 5  # below that `ad` would be found in `thread` and `nav` in `naval`


@cache
def word_groups() -> dict[str, int]:
    """Every word with the bits of its groups."""
    bits: dict[str, int] = {}
    for place, words in enumerate(data_file("words")["groups"].values()):
        for word in words.split():
            bits[word] = bits.get(word, 0) | 1 << place
    return bits


def group_names() -> list[str]:
    return list(data_file("words")["groups"])


@cache
def group_bit(group: str) -> int:
    return 1 << group_names().index(group)


def score_names(classes: str, ident: str | None) -> tuple[int, float]:
    """The groups that any part of these names belongs to, as bits, and the mean learnt weight of the known parts."""
    if not ident:
        found, total, known = _score_list(classes[:MAX_NAMES]) if classes else NO_SCORE
    else:
        found, total, known = _score_list(classes[:MAX_NAMES])
        groups, weight, count = _score_name(ident[:MAX_NAMES])
        found, total, known = found | groups, total + weight, known + count
    return found, total / known if known else 0.0


@lru_cache(maxsize=20_000)
def _score_list(names: str) -> tuple[int, float, int]:
    found, total, known = NO_SCORE
    for name in names.split():
        groups, weight, count = _score_name(name)
        found |= groups
        total += weight
        known += count
    return found, total, known


@lru_cache(maxsize=50_000)
def _score_name(name: str) -> tuple[int, float, int]:
    """A single name, as a sum and a count: sites share names more than they share lists of names."""
    found, total, known = NO_SCORE
    for part in NAME_PART.findall(name):
        groups, weight = score_part(part)
        found |= groups
        if weight:
            total += weight
            known += 1
    return found, total, known


@lru_cache(maxsize=50_000)
def score_part(part: str) -> tuple[int, float]:
    """And parts of names more than names."""
    low = part.lower()
    bits = word_groups()
    return bits.get(low, 0) or _affix(low, bits), learnt.NAMES.get(low, 0.0)


def clear_name_caches() -> None:
    """For training: the weights have changed."""
    _score_list.cache_clear()
    _score_name.cache_clear()
    score_part.cache_clear()


def name_parts(names: str) -> list[str]:
    """`topNav main-sidebar2` -> top, nav, main, sidebar. Hostile names are cut: words stand at the beginning."""
    return [part.lower() for part in NAME_PART.findall(names[:MAX_NAMES])]


def _affix(part: str, bits: dict[str, int]) -> int:
    """The groups of the longest known word that it begins or ends with."""
    heads, tails = affixes()
    if part[:MIN_AFFIX] not in heads and part[-MIN_AFFIX:] not in tails:
        return 0
    for size in range(min(len(part) - 1, MAX_AFFIX), MIN_AFFIX - 1, -1):
        if found := bits.get(part[:size], 0) or bits.get(part[-size:], 0):
            return found
    return 0


@cache
def affixes() -> tuple[frozenset[str], frozenset[str]]:
    """How known words begin and end: most names need no closer look."""
    words = [word for word in word_groups() if len(word) >= MIN_AFFIX]
    return frozenset(w[:MIN_AFFIX] for w in words), frozenset(w[-MIN_AFFIX:] for w in words)


def text_weights() -> dict[str, float]:
    """The learnt weights of words in texts."""
    return learnt.TEXTS
