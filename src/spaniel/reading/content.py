"""Which blocks are the page's content, and the tree without the rest (FR-WF-13 step 4, FG-16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.reading.blocks import segment
from spaniel.reading.clean import selectors
from spaniel.reading.features import LEVEL, rows, shape
from spaniel.reading.model import likelihood, scorer, shares, stored
from spaniel.reading.page import Facts, page_numbers
from spaniel.reading.words import bit

if TYPE_CHECKING:
    from turbohtml import Element

    from spaniel.reading.blocks import Outline

KINDS = ("article", "documentation", "forum", "service", "product", "collection", "listing")
FEW_WORDS = 120  # a page so small is not judged: all but plain boilerplate is kept
LOW, HIGH = 0.3, 0.6  # the threshold that promises the best F1 is kept between these


def keep_content(body: Element, facts: Facts) -> str:
    """Take from the tree what is not content; answer the kind of page."""
    out = segment(body)
    title = frozenset(facts.title.lower().split())
    shapes = [shape(block, out.tag[block.container], title) for block in out.blocks]
    if sum(s[0] for s in shapes) < FEW_WORDS:
        _prune(out, _plain_rules(out))
        return "page"
    page = page_numbers(out, shapes, facts)
    kinds = shares([scorer(f"kind.{kind}")([page])[0] for kind in KINDS])
    table = rows(out, shapes, (*page, *kinds))
    odds = [likelihood(score) for score in scorer("block")(table)]
    keep = decide(out, shapes, odds, kinds)
    _prune(out, keep)
    return KINDS[kinds.index(max(kinds))]


def decide(out: Outline, shapes: list[tuple[float, ...]], odds: list[float], kinds: list[float]) -> list[bool]:
    """Keep what is likelier than the threshold with the best expected F1."""
    words = [s[0] for s in shapes]
    least = threshold(odds, words)
    return [p >= least for p in odds]


def threshold(odds: list[float], words: list[float]) -> float:
    """Where expected F1 is highest if all blocks at least so likely are kept."""
    expected = sum(p * w for p, w in zip(odds, words, strict=True))
    right = kept = best = 0.0
    least = HIGH
    for p, w in sorted(zip(odds, words, strict=True), reverse=True):
        right, kept = right + p * w, kept + w
        if (value := right / (kept + expected + 1e-9)) > best:
            best, least = value, p
    return min(max(least, LOW), HIGH)


def _plain_rules(out: Outline) -> list[bool]:
    """FR-WF-13 steps 1 to 3 as written, for small pages: by tag and by class word, but never the page's heading."""
    boiler = 0
    for group in ("nav", "sidebar", "footer", "header", "ad", "share", "popup"):
        boiler |= bit(group)
    dropped: list[bool] = []
    for i, up in enumerate(out.parent):
        own = (out.mask[i] & boiler and not out.mask[i] & bit("content")) or out.tag[i] in ("aside", "header")
        heading = out.tag[i] == "header" and out.elements[i].closest("article,main") is not None
        dropped.append((up >= 0 and dropped[up]) or (bool(own) and up >= 0 and not heading and out.tag[i] not in ("main", "article")))
    keep = [not dropped[block.container] for block in out.blocks]
    return keep if any(keep) else [True] * len(keep)


def _prune(out: Outline, keep: list[bool]) -> None:
    """Containers without a kept block go whole; a lost run inside a kept container loses its text."""
    kept = [0]
    for k in keep:
        kept.append(kept[-1] + k)
    gone: list[bool] = []
    for i, up in enumerate(out.parent):
        first, last = out.first[i], out.last[i]
        empty = last > first and kept[last] == kept[first]
        above = up >= 0 and gone[up]
        if empty and not above and i:
            out.elements[i].decompose()
        gone.append(above or empty)
    for block, k in zip(out.blocks, keep, strict=True):
        if not k and not gone[block.container]:
            for node in block.nodes:
                node.data = ""
