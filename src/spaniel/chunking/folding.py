"""Text as it is looked for: without case, accents and invisible characters, in words; linear, whatever the text is."""

from __future__ import annotations

import re
from unicodedata import normalize

# Scripts that are written without blanks between words: Thai and Lao, Burmese, Khmer, kana and bopomofo, Han, Yi; and
# Hangul, which has blanks, but also endings that no blank sets off.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3041-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua000-\ua4cf\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and the like of Indic and other scripts. They are parts of words, and Python takes them for none.
_SIGNS = "\u0483-\u0487\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0dff\u0f18-\u0fbc\u1712-\u1773"
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic, and what nobody sees.
_DROPPED = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0640\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_APART = re.compile("[\u1100-\u11ff]{2,}|[\u3041-\u30ff][\u3099\u309a]")  # syllables and kana written in pieces
_ASCII_WORD = re.compile("[a-z0-9]+")
_WORD = re.compile(rf"[{_UNSPACED}]++|(?:[^\W_{_UNSPACED}]++|[{_SIGNS}]++)++")
_LARGEST = 20_000  # characters that are remembered: more than any language has, less than a hostile page


class _Table(dict[int, str]):
    """What becomes of a character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = normalize("NFC", _DROPPED.sub("", normalize("NFKD", chr(code))).casefold())
        if len(self) < _LARGEST:
            self[code] = folded
        return folded


_table = _Table()


def fold(text: str) -> str:
    """Character by character: to normalize a whole text takes a square of the time where marks are piled up."""
    return text.lower() if text.isascii() else _FOREIGN.sub(_folded, text).lower()


def words_of(folded: str) -> list[str]:
    """The words of a folded text; of a script without blanks, what stands between other characters."""
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


def is_unspaced(word: str) -> bool:
    return not word.isascii() and _BEGINS_UNSPACED.match(word) is not None


_BEGINS_UNSPACED = re.compile(f"[{_UNSPACED}]")


def _folded(run: re.Match[str]) -> str:
    text = run[0]
    if _APART.search(text):
        text = _APART.sub(lambda apart: normalize("NFC", apart[0]), text)
    return text.translate(_table)
