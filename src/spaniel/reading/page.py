"""The page as a whole in numbers, from which its kind is guessed: article, documentation, forum, product …"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.columns import COUNTED, GROUPS, PRICE_LETTERS
from spaniel.reading.lexicon import lexicon, numbered
from spaniel.reading.scripts import count
from spaniel.reading.shapes import GOOD, LEVEL
from spaniel.reading.words import bit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turbohtml import Element

    from spaniel.reading.blocks import Outline
    from spaniel.reading.metadata import Head
    from spaniel.reading.shapes import Shape
    from spaniel.reading.surroundings import Heritage, Sums

SIGNS = {name: numbered(lines, 1) for name, lines in lexicon("page").items()}
WORD = re.compile(r"[a-z]+")
PRICE = re.compile(r"[$€£¥₹￥₩฿]\s?\d|\d\s?(?:€|zł|kr\b|USD|EUR|円|元|원|บาท)")
# Of a page whose address nobody knows: taken for a root page, an article would be taken for a listing.
UNKNOWN_URL = (2, 5, 0, 0, 0)
LONGEST_TOLD = 20_000  # characters of linked data that are compared with blocks


def url_numbers(url: str) -> tuple[float, ...]:
    if not url:
        return UNKNOWN_URL
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
    titled: bool
    open_graph: str
    linked_data: list[str]
    generator: str
    times: int
    images: int
    description: str
    told: str  # the text in linked data
    objects: Sequence[dict[str, object]] = ()  # of linked data


def facts_of(head: Head, body: Element, url: str) -> Facts:
    tags = [element.tag for element in body.select("time,img")]
    return Facts(
        url=url or head.metadata.canonical_url or "",
        title=head.title or "",
        titled=head.titled,
        open_graph=head.open_graph,
        linked_data=head.types,
        generator=head.generator,
        times=tags.count("time"),
        images=tags.count("img"),
        description=head.metadata.description or "",
        told=" ".join(head.told.text[:LONGEST_TOLD].split()) if head.told is not None else "",
        objects=head.objects,
    )


def page_numbers(out: Outline, shapes: list[Shape], sums: Sums, heritage: Heritage, facts: Facts) -> tuple[float, ...]:
    """In the order of columns.PAGE."""
    words = sums.words[-1] or 1
    levels = [s[LEVEL] for s in shapes if s[LEVEL]]
    prices = sum(1 for block in out.blocks if len(block.text) < PRICE_LETTERS and PRICE.search(block.text))
    return (
        words,
        len(shapes),
        sums.linked[-1] / words,
        sums.good[-1] / words,
        sum([s[GOOD] for s in shapes]),
        len(levels),
        levels.count(1),
        *(out.tag.count(tag) for tag in COUNTED),
        facts.times,
        facts.images,
        prices,
        *_shares(out, sums, heritage),
        *head_numbers(facts),
        _twins(out) / (len(shapes) or 1),
    )


def head_numbers(facts: Facts) -> tuple[float, ...]:
    """What the address and the head tell, in the order of columns.PAGE: from "open graph" to "title"."""
    types = [SIGNS["linked_data"][t] for name in facts.linked_data if (t := name.lower()) in SIGNS["linked_data"]]
    makers = [SIGNS["generator"][w] for w in WORD.findall(facts.generator[:80].lower()) if w in SIGNS["generator"]]
    return (
        SIGNS["open_graph"].get(facts.open_graph, 6) if facts.open_graph else 0,
        min(types, default=0),
        *url_numbers(facts.url),
        makers[0] if makers else 0,
        count(facts.title),
    )


def _shares(out: Outline, sums: Sums, heritage: Heritage) -> list[float]:
    """The share of the words that stands under class names of each of GROUPS."""
    wanted = [bit(group) for group in GROUPS]
    under: dict[int, float] = {}
    for block, begin, end in zip(out.blocks, sums.words, sums.words[1:], strict=False):
        groups = heritage.every[block.container]
        under[groups] = under.get(groups, 0) + end - begin
    whole = sums.words[-1] or 1
    return [sum([size for groups, size in under.items() if groups & one]) / whole for one in wanted]


def _twins(out: Outline) -> int:
    """The most blocks that any group of like siblings can hold."""
    twins, first, last = out.twins, out.first, out.last
    many = {kin: count for kin, count in twins.items() if count > 2}
    return max([0, *(many[kin] * (last[i] - first[i]) for i, kin in enumerate(out.kin) if kin in many)])
