"""The cost of chunking is linear in the text (NFR-WF-PERF-02): counted, not timed.

Work that cannot be counted, a regular expression's, is measured on sixteen times the text. Sixteen times the work is
right, a square would be two hundred and fifty times, and the line is drawn at sixty-four: no load on the machine takes
one for the other.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING

import pytest

from spaniel.chunking import boundaries, chunk, fit, rebuild
from spaniel.chunking.chunks import chunk_at
from spaniel.chunking.tokens import Cl100k, cl100k
from tests.chunking.test_laws import real_documents
from tests.chunking.test_split import HOSTILE
from tests.stopwatch import growth

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL, TIMES = 16_000, 16


def real(size: int) -> str:
    """Documents of installed packages, repeated up to the size."""
    found = [markdown for markdown in real_documents() if "<|" not in markdown]
    return "\n\n".join(islice(cycle(found), 1 + size // min(map(len, found))))[:size]


KINDS: dict[str, Callable[[int], str]] = {**HOSTILE, "real": real}


class Meter(Cl100k):
    """cl100k that records how much was counted."""

    __slots__ = ("calls", "characters")

    def __init__(self) -> None:
        self.calls = self.characters = 0
        self.count_plain = self.count

    def count(self, text: str) -> int:
        self.calls += 1
        self.characters += len(text)
        return cl100k().count(text)


@pytest.mark.req("NFR-WF-PERF-02")
@pytest.mark.parametrize("limit", [128, 600, 2048])
@pytest.mark.parametrize("kind", KINDS)
def test_characters_are_counted_a_few_times_at_most(kind: str, limit: int) -> None:
    for size in (SMALL, TIMES * SMALL):
        meter = Meter()
        markdown = KINDS[kind](size)
        chunk_at(markdown, limit, meter)
        assert meter.characters <= 12 * len(markdown) + 1000
        assert meter.calls <= len(markdown) + 100


@pytest.mark.req("NFR-WF-PERF-02")
def test_real_text_is_counted_about_once() -> None:
    meter = Meter()
    markdown = real(TIMES * SMALL)
    chunks = chunk_at(markdown, 600, meter)
    assert meter.characters < 1.6 * len(markdown)
    assert meter.calls < 8 * len(chunks)


def use(markdown: str) -> None:
    """Everything that is done with a text."""
    fit({}, rebuild(markdown, boundaries(chunk(markdown, 600))), 1 << 16)


@pytest.mark.req("NFR-WF-PERF-02")
@pytest.mark.parametrize("kind", KINDS)
def test_work_is_not_quadratic(kind: str) -> None:
    chunk("the tokenizer is loaded")
    small, large = KINDS[kind](SMALL), KINDS[kind](TIMES * SMALL)
    assert growth(lambda: use(small), lambda: use(large), floor=1e-4, below=4 * TIMES).times < 4 * TIMES
