"""A block's text in numbers: length, links, ending, and what its words have meant elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.reading.blocks import Block

HEADINGS = {f"h{level}": level for level in range(1, 7)}
ENDS = frozenset('.。!?”"’)')
LEADS_ON = frozenset("…»>→|")
BEGINNING = 90  # characters; of a long text the beginning tells as much as the whole


Shape = tuple[float, ...]  # in the order of SHAPE; a plain tuple, for there are hundreds on a page
SHAPE = (
    "words", "chars",
    "linked",  # share of the characters inside links
    "ends",  # 3 like a sentence, 2 with a colon, 1 leading on, 0 like a label
    "level",  # of a heading
    "good",  # 1 for what reads like a paragraph
    "caps",
    "tone",  # mean learnt weight of its words
    "title",  # share of its words that the page's title has
)  # fmt: skip
WORDS, LINKED, ENDS_LIKE, LEVEL, GOOD, TONE = (
    SHAPE.index(name) for name in ("words", "linked", "ends", "level", "good", "tone")
)


def shape(block: Block, tag: str, title: frozenset[str], tones: dict[str, float]) -> Shape:
    text = block.text
    chars, items = len(text), block.items
    count = text.count(" ") + 1
    linked = block.link_chars / chars if block.link_chars < chars else 1.0
    last = text[-1]
    level = HEADINGS.get(tag, 0)
    head = text[:BEGINNING]
    words = head.split(" ")
    low = head.lower().split(" ")
    known = [weight for weight in map(tones.get, low) if weight]
    return (
        count, chars, linked,
        3 if last in ENDS else 2 if last == ":" else 1 if last in LEADS_ON else 0,
        level,
        1 if linked < 0.4 and (count >= 15 * items or chars > 120 * items) and not level else 0,
        sum(map(str.istitle, words)) / len(words),
        sum(known) / len(known) if known else 0.0,
        len(title.intersection(low)) / len(low) if count < 40 else 0.0,
    )  # fmt: skip
