"""Searches the chunks of a page: BM25, best first, in every script.

Chunks are short and in memory, so there is no index: each is folded and searched. The work is linear in the text, and
the length of a query is limited.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spaniel.chunking.chunks import Chunk


# Scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana and bopomofo, Han, Yi; and Hangul, which has
# spaces, but attaches endings to words.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3041-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua000-\ua4cf\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and the like of Indic and other scripts. They are parts of words, but `\w` does not match them.
_VOWEL_SIGNS = "\u0483-\u0487\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0dff\u0f18-\u0fbc\u1712-\u1773"
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic, and invisible characters.
_DROPPED = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0640\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_DECOMPOSED = re.compile("[\u1100-\u11ff]{2,}|[\u3041-\u30ff][\u3099\u309a]")  # Hangul syllables and kana
_ASCII_WORD = re.compile("[a-z0-9]+")
_WORD = re.compile(rf"[{_UNSPACED}]++|(?:[^\W_{_UNSPACED}]++|[{_VOWEL_SIGNS}]++)++")
_LARGEST = 20_000  # cached characters (chosen): more than any language has, fewer than a hostile page


class _Table(dict[int, str]):
    """Maps a character to its folded form, computed on first use."""

    def __missing__(self, code: int) -> str:
        folded = normalize("NFC", _DROPPED.sub("", normalize("NFKD", chr(code))).casefold())
        if len(self) < _LARGEST:
            self[code] = folded
        return folded


_table = _Table()


def fold(text: str) -> str:
    """Fold case and accents, character by character: normalizing a whole text is quadratic in stacked marks.

    >>> fold("Élan ＡＢＣ")
    'elan abc'
    """
    return text.lower() if text.isascii() else _FOREIGN.sub(_folded, text).lower()


def words_of(folded: str) -> list[str]:
    """Return the words of a folded text; in a script without spaces, whole runs of its characters."""
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def is_unspaced(word: str) -> bool:
    return not word.isascii() and _BEGINS_UNSPACED.match(word) is not None


_BEGINS_UNSPACED = re.compile(f"[{_UNSPACED}]")


def _folded(run: re.Match[str]) -> str:
    text = run[0]
    if _DECOMPOSED.search(text):
        text = _DECOMPOSED.sub(lambda found: normalize("NFC", found[0]), text)
    return text.translate(_table)


MAX_CHARACTERS = 2000  # of a query (chosen); the rest is ignored
MAX_TERMS = 32
MAX_PHRASES = 8
STEM = 4  # letters (chosen): words that begin with a query word of this length count half: "refund" finds "refunds"
K1, B = 1.2, 0.75  # the usual BM25 constants: saturation of repeated words, and influence of length
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')


class Match(NamedTuple):
    """A chunk that matches the query. Chunks are numbered from 1, as in `Continuation`."""

    number: int
    score: float


class _Query(NamedTuple):
    words: tuple[str, ...]
    parts: tuple[str, ...]  # searched as substrings: character pairs of scripts without spaces, and symbols
    phrases: tuple[str, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        return self.words + self.parts

    @property
    def stems(self) -> dict[str, list[str]]:
        """Words that may be prefixes of longer ones, by their first letters."""
        stems: dict[str, list[str]] = {}
        for word in self.words:
            if len(word) >= STEM:
                stems.setdefault(word[:STEM], []).append(word)
        return stems


class _Seen(NamedTuple):
    """Counts of each term in a text, in halves, and the phrases found; empty if there is no term."""

    counts: bytes = b""
    phrases: frozenset[str] = frozenset()


_NOTHING = _Seen()


def search(chunks: Sequence[Chunk], words: str, limit: int = 10) -> list[Match]:
    """Return the chunks that match, best first, at most `limit`; ties in the order of the page.

    One word is enough to match, in the text or in the headings above it. Case and accents are ignored. Chunks with a
    quoted phrase of the query come first.
    """
    query = _query(words[:MAX_CHARACTERS])
    if not query.terms or not chunks or limit < 1:
        return []
    seen = dict(_scan(chunks, query))
    weights = _weights(query, [each.counts for each in seen.values()], len(chunks))
    best = (K1 + 1) * sum(weights) + 1  # above every possible score for words
    average = sum(chunk.token_count for chunk in chunks) / len(chunks) or 1.0
    matches = [
        Match(number, _score(each.counts, weights, chunks[number - 1].token_count / average) + best * len(each.phrases))
        for number, each in seen.items()
    ]
    return sorted(matches, key=lambda match: (-match.score, match.number))[:limit]


def _query(text: str) -> _Query:
    folded = fold(text)
    words: dict[str, None] = {}  # used as ordered sets
    parts: dict[str, None] = {}
    for word in words_of(folded):
        if is_unspaced(word):
            parts |= dict.fromkeys(_pairs(word))
        else:
            words[word] = None
    if not words and not parts:
        parts = dict.fromkeys(folded.split())  # "++", or an emoji
    quoted = (fold(next(filter(None, found.groups()))) for found in _QUOTED.finditer(text))
    phrases = dict.fromkeys(phrase for each in quoted if (phrase := _spaced(words_of(each))).strip())
    limited = tuple(words)[:MAX_TERMS]
    return _Query(limited, tuple(parts)[: MAX_TERMS - len(limited)], tuple(phrases)[:MAX_PHRASES])


def _pairs(word: str) -> Iterator[str]:
    """Yield the whole run, which is rarer and so weighs more, and every pair of adjacent characters."""
    yield word
    if len(word) > 2:
        yield from map("".join, pairwise(word))


def _spaced(words: Iterable[str]) -> str:
    """Join words with spaces, with a space at each end unless the script there has no spaces."""
    text = " ".join(words)
    return text and f"{'' if is_unspaced(text) else ' '}{text}{'' if is_unspaced(text[-1]) else ' '}"


def _scan(chunks: Sequence[Chunk], query: _Query) -> Iterator[tuple[int, _Seen]]:
    path: tuple[str, ...] | None = None
    above = _NOTHING
    for number, chunk in enumerate(chunks, 1):
        if chunk.heading_path is not path:  # shared by the chunks of a section: a hostile heading is scanned once
            path = chunk.heading_path
            above = _seen("\n".join(path), query)
        seen = _seen(chunk.text, query)
        if not seen.counts or not above.counts:
            seen = seen if seen.counts else above
        else:
            counts = bytes(min(a + b, 255) for a, b in zip(seen.counts, above.counts, strict=True))
            seen = _Seen(counts, seen.phrases | above.phrases)
        if seen.counts:
            yield number, seen


def _seen(text: str, query: _Query) -> _Seen:
    folded = fold(text)
    if not any(map(folded.__contains__, query.terms)):
        return _NOTHING
    words = words_of(folded)
    often = Counter(words)
    halves = {word: 2 * often[word] for word in query.words}
    stems = query.stems
    for word, count in often.items() if stems else ():
        for stem in stems.get(word[:STEM], ()):
            if word.startswith(stem) and word != stem:
                halves[stem] += count
    counts = bytes(min(count, 255) for count in (*halves.values(), *(2 * folded.count(part) for part in query.parts)))
    if not any(counts):
        return _NOTHING
    spaced = f" {' '.join(words)} " if query.phrases else ""
    return _Seen(counts, frozenset(phrase for phrase in query.phrases if phrase in spaced))


def _weights(query: _Query, counts: list[bytes], total: int) -> list[float]:
    """Return the BM25 weights: terms in few chunks weigh more."""
    having = [sum(map(bool, column)) for column in zip(*counts, strict=True)] or [0] * len(query.terms)
    return [log(1 + (total - number + 0.5) / (number + 0.5)) for number in having]


def _score(counts: bytes, weights: list[float], length: float) -> float:
    norm = K1 * (1 - B + B * length)
    return sum(
        weight * (halves / 2) * (K1 + 1) / (halves / 2 + norm)
        for halves, weight in zip(counts, weights, strict=True)
        if halves
    )
