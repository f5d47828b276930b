"""A block's text in numbers: length, links, ending, and what its words have meant elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.reading.columns import (
    BEGINNING,
    HARDLY_LINKED,
    PARAGRAPH_LETTERS,
    PARAGRAPH_WORDS,
    SHAPE,
    TITLE_WORDS,
)
from spaniel.reading.scripts import cut, measure

if TYPE_CHECKING:
    from spaniel.reading.blocks import Block

HEADINGS = {f"h{level}": level for level in range(1, 7)}
ENDS = frozenset('.。!?”"’)！？」』）｡।۔؟։።။។')
LEADS_ON = frozenset("…»>→|＞›")
COLONS = frozenset(":：")

Shape = tuple[float, ...]  # in the order of SHAPE; a plain tuple, for there are hundreds on a page
WORDS, LINKED, ENDS_LIKE, LEVEL, GOOD, TONE = (
    SHAPE.index(name) for name in ("words", "linked", "ends", "level", "good", "tone")
)


def title_words(title: str) -> frozenset[str]:
    return frozenset(cut(" ".join(title.lower().split())))


def shape(block: Block, tag: str, title: frozenset[str], tones: dict[str, float]) -> Shape:
    text = block.text
    items = block.items
    count, chars = measure(text)
    linked = block.link_chars / len(text) if block.link_chars < len(text) else 1.0
    long = count >= PARAGRAPH_WORDS * items or chars > PARAGRAPH_LETTERS * items
    last = text[-1]
    level = HEADINGS.get(tag, 0)
    head = text[:BEGINNING]
    words = head.split(" ")
    low = cut(head.lower())
    known = [weight for weight in map(tones.get, low) if weight]
    return (
        count, chars, linked,
        3 if last in ENDS else 2 if last in COLONS else 1 if last in LEADS_ON else 0,
        level,
        1 if linked < HARDLY_LINKED and long and not level else 0,
        sum(map(str.istitle, words)) / len(words),
        sum(known) / len(known) if known else 0.0,
        len(title.intersection(low)) / len(low) if count < TITLE_WORDS else 0.0,
    )  # fmt: skip
