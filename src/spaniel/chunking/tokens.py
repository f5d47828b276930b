"""Token counters: the protocol that chunking uses, and cl100k_base (FR-WF-14)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_SPECIAL = re.compile(r"<\|")  # measured: three times as fast as `in` on a long text


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int: ...


class Cl100k:
    """Counts cl100k_base tokens exactly. The vocabulary ships with splintr, so nothing is downloaded.

    `encode_flat` returns four bytes per token and is the fastest way to count, but it reads `<|endoftext|>` and the
    like as control tokens. In a page they are ordinary text (D2-19).
    """

    __slots__ = ("_ordinary", "count_plain", "flat")

    def __init__(self) -> None:
        from splintr import Tokenizer  # slow (five bare Python starts with its vocabulary), so imported on first use

        tokenizer = Tokenizer.from_pretrained("cl100k_base")
        self.flat = flat = tokenizer.encode_flat
        self._ordinary = tokenizer.encode_ordinary
        # Counts a text without `<|`. A lambda, not a method: it is called about five times per chunk.
        self.count_plain: Callable[[str], int] = lambda text: len(flat(text)) >> 2

    def count(self, text: str) -> int:
        return len(self._ordinary(text)) if "<|" in text else len(self.flat(text)) >> 2


@cache
def cl100k() -> Cl100k:
    """Return the counter of this process; loading its vocabulary takes about 60 ms.

    >>> cl100k().count("Hello world")
    2
    """
    return Cl100k()


def counting(text: str, counter: TokenCounter) -> Callable[[str], int]:
    """Return a function that counts slices of this text: special tokens are searched once, not in every slice."""
    if isinstance(counter, Cl100k) and not _SPECIAL.search(text):
        return counter.count_plain
    return counter.count
