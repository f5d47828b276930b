"""What counts for a word where a script puts no blanks between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.

Everything that counts words counts them here, so that a page in such a script is judged by the same numbers as any
other. `native.pyx` says the same for a C compiler.
"""

from __future__ import annotations

import re

# (first, last): of Han and kana two signs make a word, and one stands for about three letters.
WIDE_RANGES = (
    (0x3005, 0x3007), (0x3041, 0x3096), (0x30A1, 0x30FE), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFD),
)  # fmt: skip
# Of these it takes four letters and marks.
CLOSE_RANGES = (
    (0x0E01, 0x0E5B),
    (0x0E81, 0x0EDF),
    (0x0F00, 0x0FDA),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0xA9E0, 0xAA7F),
)
FIRST_UNSPACED = CLOSE_RANGES[0][0]


def _signs(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


WIDE = re.compile(f"[{_signs(WIDE_RANGES)}]+")
CLOSE = re.compile(f"[{_signs(CLOSE_RANGES)}]+")
PIECE = re.compile(f"[{_signs(WIDE_RANGES + CLOSE_RANGES)}]|[^ {_signs(WIDE_RANGES + CLOSE_RANGES)}]+")


def unspaced(text: str) -> tuple[int, int]:
    """How many signs of wide and of close script a text has."""
    if text.isascii() or max(text) < chr(FIRST_UNSPACED):
        return 0, 0
    return len(text) - len(WIDE.sub("", text)), len(text) - len(CLOSE.sub("", text))


def more_words(wide: int, close: int) -> int:
    """The words of so many signs, beyond the one that blanks alone would show."""
    return max(0, 2 * wide + close - 2) // 4


def measure(text: str) -> tuple[int, int]:
    """Words and letters of a text with single blanks, as they would be in a script that has blanks."""
    wide, close = unspaced(text)
    return text.count(" ") + 1 + more_words(wide, close), len(text) + 2 * wide


def count(text: str) -> int:
    """Only the words."""
    return measure(text)[0]


def cut(text: str) -> list[str]:
    """The words of a text with single blanks; a sign of an unspaced script is one of its own, to be compared."""
    return text.split() if text.isascii() or not any(unspaced(text)) else PIECE.findall(text)
