"""From a cleaned page to the odds of its blocks. `native.pyx` says the same for a C compiler, several times as fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.blocks import segment
from spaniel.reading.columns import FEW_WORDS
from spaniel.reading.features import rows
from spaniel.reading.model import guess_kind, judge_blocks
from spaniel.reading.page import page_numbers
from spaniel.reading.second_look import look_again
from spaniel.reading.shapes import shape, title_words
from spaniel.reading.surroundings import Heritage, Sums
from spaniel.reading.words import tones

if TYPE_CHECKING:
    from turbohtml import Element

    from spaniel.reading.blocks import Outline
    from spaniel.reading.page import Facts


class Judged(NamedTuple):
    """The blocks of a page, the words in each, how likely each is content, and how likely each kind of page is."""

    out: Outline
    words: list[float]
    odds: list[float]  # none for a page of few words
    kinds: list[float]


def judge(body: Element, facts: Facts) -> Judged:
    out = segment(body)
    title, known = title_words(facts.title), tones()
    shapes = [shape(block, out.tag[block.container], title, known) for block in out.blocks]
    words, sums = [s[0] for s in shapes], Sums(shapes)
    if sums.words[-1] < FEW_WORDS:
        return Judged(out, words, [], [])
    heritage = Heritage(out)
    kinds = guess_kind(page_numbers(out, shapes, sums, heritage, facts))
    odds = judge_blocks(rows(out, shapes, sums, heritage, facts, tuple(kinds)))
    return Judged(out, words, look_again(out, words, odds), kinds)
