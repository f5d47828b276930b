"""The page cut into blocks: runs of inline text, each inside one container, in one pass over the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.words import judge_names

if TYPE_CHECKING:
    from turbohtml import Node

INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr input picture source svg path g use math mi mo mn mrow msup msub".split()
)


class Block:
    """One run of text: where it stands and how much of it is link."""

    __slots__ = ("container", "link_chars", "links", "nodes", "text")

    def __init__(self, container: int, nodes: list[Text], text: str, link_chars: int, links: int) -> None:
        self.container = container
        self.nodes = nodes
        self.text = text
        self.link_chars = link_chars
        self.links = links


class Outline:
    """Containers in document order as parallel lists; container `i` holds the blocks `first[i]` to `last[i]`."""

    __slots__ = ("blocks", "elements", "first", "kin", "last", "mask", "parent", "tag", "twins", "weight")

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.parent: list[int] = []
        self.tag: list[str] = []
        self.mask: list[int] = []  # the groups of its own class names and id
        self.weight: list[float] = []  # and their learnt weight
        self.kin: list[tuple[int, str, str]] = []  # parent, tag and class: what makes two containers look alike
        self.twins: dict[tuple[int, str, str], int] = {}
        self.first: list[int] = []
        self.last: list[int] = []
        self.blocks: list[Block] = []

    def open(self, element: Element, tag: str, parent: int) -> int:
        names = element.attr("class") or ""
        ident = element.attr("id")
        kin = (parent, tag, names)
        mask, weight = judge_names(f"{names} {ident}" if ident else names) if names or ident else (0, 0.0)
        self.elements.append(element)
        self.parent.append(parent)
        self.mask.append(mask)
        self.weight.append(weight)
        self.kin.append(kin)
        self.twins[kin] = self.twins.get(kin, 0) + 1
        self.first.append(len(self.blocks))
        self.last.append(0)
        self.tag.append(tag)
        return len(self.tag) - 1

    def close(self, container: int, nodes: list[Text], parts: list[str], link_chars: int, links: int) -> None:
        if text := " ".join("".join(parts).split()):
            self.blocks.append(Block(container, nodes, text, link_chars, links))
            self.last[container] = len(self.blocks)


def segment(body: Element) -> Outline:
    """Cut `body` into blocks. No recursion: a page may nest 100,000 deep."""
    out = Outline()
    where: dict[Node | None, tuple[int, bool]] = {body: (out.open(body, "body", -1), False)}
    current, nodes, parts, link_chars, links = -1, [], [], 0, 0
    for node in body.descendants:
        kind = type(node)
        if kind is Text:
            data = node.data
            place = where[node.parent]
            if place[0] != current:
                if nodes:
                    out.close(current, nodes, parts, link_chars, links)
                if data.isspace():
                    current, nodes = -1, []
                    continue
                current, nodes, parts, link_chars, links = place[0], [], [], 0, 0
            nodes.append(node)
            parts.append(data)
            if place[1]:
                link_chars += len(data)
        elif kind is Element:
            tag = node.tag
            place = where[node.parent]
            if tag in INLINE:
                if tag == "a":
                    links += 1
                    place = (place[0], True)
                where[node] = place
            elif tag == "br":
                parts.append("\n")
            else:
                if nodes:
                    out.close(current, nodes, parts, link_chars, links)
                    nodes = []
                current = -1
                where[node] = (out.open(node, tag, place[0]), place[1])
    if nodes:
        out.close(current, nodes, parts, link_chars, links)
    _pass_up(out.parent, out.last)
    return out


def _pass_up(parent: list[int], last: list[int]) -> None:
    for i in range(len(parent) - 1, 0, -1):
        if last[i] > last[parent[i]]:
            last[parent[i]] = last[i]
