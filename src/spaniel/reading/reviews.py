"""What customers say about a product is kept where the judge is sure of it, or where the page says little else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.reading.columns import KINDS
from spaniel.reading.words import bit

if TYPE_CHECKING:
    from spaniel.reading.blocks import Outline

PRODUCT = KINDS.index("product")
LIKE_A_PRODUCT = 0.5
SURE = 0.5  # of it, that is: likelier content than not
SOME_WORDS, SHARE = 60, 0.15  # of the kept text that must be about the product itself


def drop_doubtful_reviews(
    out: Outline, words: list[float], odds: list[float], kinds: list[float], keep: list[bool]
) -> None:
    if not kinds or kinds[PRODUCT] < LIKE_A_PRODUCT:
        return
    review = bit("review")
    under = bytearray(len(keep))
    for i, mask in enumerate(out.mask):
        if mask & review and i:
            first, last = out.first[i], max(out.first[i], out.last[i])
            under[first:last] = b"\1" * (last - first)
    kept = [i for i, chosen in enumerate(keep) if chosen]
    said = [i for i in kept if under[i]]
    whole = sum(words[i] for i in kept)
    if whole - sum(words[i] for i in said) < max(SOME_WORDS, SHARE * whole):
        return
    for i in said:
        keep[i] = odds[i] >= SURE
