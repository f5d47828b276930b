"""Which language a text is written in, by its short words: enough to see whether a page is what its URL says."""

from __future__ import annotations

import re
from functools import cache

from spaniel.reading.lexicon import lexicon

LEAST_HITS = 12  # short words that a text must have before it is judged
LEAD = 1.15  # by how much the best language must lead
MOST_TEXT = 20_000  # characters that are looked at
_WORDS = re.compile(r"[^\W\d_]+(?:·[^\W\d_]+)?")


@cache
def _known() -> dict[str, frozenset[str]]:
    return {lang: frozenset(words.split()) for lang, words in lexicon("languages").items()}


def language_of(text: str) -> str | None:
    """`es`, `ca`, … or None where the text is too short, or two languages are as likely."""
    counts = dict.fromkeys(_known(), 0)
    for found in _WORDS.finditer(text[:MOST_TEXT].lower()):
        for lang, words in _known().items():
            if found[0] in words:
                counts[lang] += 1
    ranked = sorted(counts, key=counts.__getitem__, reverse=True)
    best, second = counts[ranked[0]], counts[ranked[1]]
    return ranked[0] if best >= LEAST_HITS and best >= LEAD * second else None
