"""The page as a whole in numbers, from which its kind is guessed: article, documentation, forum, product …"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.lexicon import lexicon, numbered
from spaniel.reading.shapes import GOOD, LEVEL
from spaniel.reading.words import bit

if TYPE_CHECKING:
    from spaniel.reading.blocks import Outline
    from spaniel.reading.shapes import Shape

SIGNS = {name: numbered(lines, 1) for name, lines in lexicon("page").items()}
GROUPS = ("forum", "comment", "product", "review", "card", "docs", "content", "service")
WORD = re.compile(r"[a-z]+")
PRICE = re.compile(r"[$€£¥₹]\s?\d|\d\s?(?:€|zł|kr\b|USD|EUR)")
COUNTED = ("article", "pre", "tr", "form", "main", "li")
PAGE = (
    "words", "blocks", "linked", "good", "goodblocks", "heads", "h1", *COUNTED, "times", "images", "prices",
    *(f"in.{group}" for group in GROUPS),
    "open graph", "linked data", "url.depth", "url.dash", "url.root", "url.digits", "url.word",
    "generator", "title", "twins",
)  # fmt: skip


def url_numbers(url: str) -> tuple[float, ...]:
    host, _, rest = url.partition("://")[2].partition("/")
    path = rest.partition("?")[0].partition("#")[0]
    parts = [part for part in path.split("/") if part]
    last = parts[-1] if parts else ""
    known = [
        SIGNS["url"][word]
        for word in (*(p.lower() for p in parts), host.lower().partition(".")[0])
        if word in SIGNS["url"]
    ]
    return (
        len(parts),
        last.count("-") + last.count("_"),
        0 if parts else 1,
        sum(map(str.isdigit, path)),
        known[0] if known else 0,
    )


class Facts(NamedTuple):
    """What the head says about the page."""

    url: str
    title: str
    open_graph: str
    linked_data: list[str]
    generator: str
    times: int
    images: int


def page_numbers(out: Outline, shapes: list[Shape], facts: Facts) -> tuple[float, ...]:
    """In the order of PAGE."""
    words = sum(s[0] for s in shapes) or 1
    prices = sum(1 for block in out.blocks if len(block.text) < 40 and PRICE.search(block.text))
    types = [SIGNS["linked_data"][t] for name in facts.linked_data if (t := name.lower()) in SIGNS["linked_data"]]
    makers = [SIGNS["generator"][w] for w in WORD.findall(facts.generator[:80].lower()) if w in SIGNS["generator"]]
    graph = SIGNS["open_graph"].get(facts.open_graph, 6) if facts.open_graph else 0
    return (
        words,
        len(shapes),
        sum(s[0] * s[2] for s in shapes) / words,
        sum(s[0] * s[GOOD] for s in shapes) / words,
        sum(s[GOOD] for s in shapes),
        sum(1 for s in shapes if s[LEVEL]),
        sum(1 for s in shapes if s[LEVEL] == 1),
        *(out.tag.count(tag) for tag in COUNTED),
        facts.times,
        facts.images,
        prices,
        *_shares(out, shapes, words),
        graph,
        min(types, default=0),
        *url_numbers(facts.url),
        makers[0] if makers else 0,
        facts.title.count(" ") + 1,
        _twins(out) / (len(shapes) or 1),
    )


def _shares(out: Outline, shapes: list[Shape], words: float) -> list[float]:
    """The share of the words that stands under class names of each of GROUPS."""
    bits = [bit(group) for group in GROUPS]
    wanted = sum(bits)
    every: list[int] = []
    for i, up in enumerate(out.parent):
        own = out.mask[i] & wanted
        every.append(own | every[up] if up > 0 else own if i else 0)
    under = [0.0] * len(GROUPS)
    for block, s in zip(out.blocks, shapes, strict=True):
        if mask := every[block.container]:
            for k, one in enumerate(bits):
                if mask & one:
                    under[k] += s[0]
    return [share / words for share in under]


def _twins(out: Outline) -> int:
    """The most blocks that any group of like siblings can hold."""
    sizes = ((out.twins[kin], out.last[i] - out.first[i]) for i, kin in enumerate(out.kin))
    return max((count * size for count, size in sizes if count > 2 and size > 0), default=0)
