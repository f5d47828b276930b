"""Counting tokens: the port that chunking needs, and cl100k_base behind it (FR-WF-14)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_SPECIAL = re.compile(r"<\|")  # in a long text three times as fast as `in`


class TokenCounter(Protocol):
    """Whatever can say how many tokens a text has."""

    def count(self, text: str) -> int: ...


class Cl100k:
    """Exact cl100k_base counts. The vocabulary ships with splintr: nothing is ever downloaded.

    `encode_flat` gives four bytes for each token and is the fastest way to a count, but it reads `<|endoftext|>`
    and its kind as control tokens. In a page they are ordinary text (D2-19).
    """

    __slots__ = ("_ordinary", "count_plain", "flat")

    def __init__(self) -> None:
        from splintr import Tokenizer  # 5 bare Python starts with its vocabulary: paid by whoever counts

        tokenizer = Tokenizer.from_pretrained("cl100k_base")
        self.flat = flat = tokenizer.encode_flat
        self._ordinary = tokenizer.encode_ordinary
        # The count of a text that is known to have no `<|` in it. No method: it is called some five times a chunk.
        self.count_plain: Callable[[str], int] = lambda text: len(flat(text)) >> 2

    def count(self, text: str) -> int:
        return len(self._ordinary(text)) if "<|" in text else len(self.flat(text)) >> 2


@cache
def cl100k() -> Cl100k:
    """The one counter of this process: its vocabulary takes some 60 ms to load."""
    return Cl100k()


def counting(text: str, counter: TokenCounter) -> Callable[[str], int]:
    """How to count slices of this text: looking for special tokens once is cheaper than in every slice."""
    if isinstance(counter, Cl100k) and not _SPECIAL.search(text):
        return counter.count_plain
    return counter.count
