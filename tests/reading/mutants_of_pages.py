"""Pages that no one wrote, made of pages that someone did: elements deleted, moved, renamed, classes swapped."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from turbohtml import Element, Text, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turbohtml import Document

TAGS = (
    "div span p a b em td tr table tbody ul ol li dl dt dd h1 h2 h3 article main section header aside blockquote pre code time "
    "summary details figure figcaption noscript button form label math annotation svg text img br custom-box sup rt body"
).split()
VOID = frozenset({"br", "img", "hr", "meta", "link", "input", "wbr", "source"})
LOOKED_AT = 3000  # elements of a page among which some are chosen


def mutants(pages: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """`count` pages, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        page, other = chance.choice(pages), chance.choice(pages)
        tree = parse(page, positions=False)
        names = _attributes(parse(other, positions=False), chance)
        for _ in range(chance.choice((1, 2, 4, 8, 16, 32))):
            _change(tree, names, chance)
        yield tree.html.encode("utf-8", "replace")


def _attributes(tree: Document, chance: random.Random) -> list[dict[str, str]]:
    """What elements of another page are named: classes, ids, roles, microdata."""
    found = tree.select("[class],[id],[role],[itemprop],[itemtype],[datetime],[style]")[:LOOKED_AT]
    chosen = chance.sample(found, min(len(found), 200))
    return [{name: str(value) for name in e.attrs if (value := e.attr(name)) is not None} for e in chosen]


def _change(tree: Document, names: list[dict[str, str]], chance: random.Random) -> None:
    elements = [e for e in tree.select("*")[:LOOKED_AT] if e.tag not in ("html", "head")]
    if not elements:
        return
    element, place = chance.choice(elements), chance.choice(elements)
    how = chance.randrange(8)
    if how == 0 and element.tag != "body":
        element.decompose()
    elif how == 1 and element.tag != "body":
        element.unwrap()
    elif how == 2 and element.tag != "body" and place.tag not in VOID and element not in (place, *place.ancestors):
        element.extract()
        place.insert(chance.randint(0, len(place.children)), element)
    elif how == 3 and element.tag not in ("body", "template"):
        element.tag = chance.choice(TAGS)
    elif how in (4, 5) and names:
        if how == 4:
            element.attrs.clear()
        element.attrs.update(chance.choice(names))
    elif how == 6:
        element.insert_before(Element(chance.choice(TAGS))) if element.tag != "body" else element.attrs.clear()
    elif element.tag not in VOID:
        element.insert(0, Text(chance.choice(("", " ", "\u00a0", "x", "$1.00", "2024-05-01", "Ann", "\\", "?"))))
