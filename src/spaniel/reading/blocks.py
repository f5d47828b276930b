"""The page cut into blocks: runs of inline text, each inside one container, in one pass over the tree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.lexicon import lexicon
from spaniel.reading.words import judge_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turbohtml import Node

INLINE = frozenset(lexicon("tags")["inline"].split())


UNNAMED = (0, 0.0)


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
        self.twins: Counter[tuple[int, str, str]] = Counter()
        self.first: list[int] = []
        self.last: list[int] = []
        self.blocks: list[Block] = []

    def open(self, element: Element, tag: str, parent: int) -> int:
        names = element.attr("class") or ""
        ident = element.attr("id")
        mask, weight = judge_names(f"{names} {ident}" if ident else names) if names or ident else UNNAMED
        place = len(self.tag)
        self.tag.append(tag)
        self.elements.append(element)
        self.parent.append(parent)
        self.mask.append(mask)
        self.weight.append(weight)
        self.kin.append((parent, tag, names))
        self.first.append(len(self.blocks))
        return place

    def finish(self) -> None:
        """What can be told only when every container and block is there."""
        count = len(self.parent)
        self.last = [0] * count
        last, parent = self.last, self.parent
        for place, block in enumerate(self.blocks, 1):
            last[block.container] = place
        for i in range(count - 1, 0, -1):
            last[parent[i]] = max(last[parent[i]], last[i])
        self.twins = Counter(self.kin)

    def close(self, container: int, nodes: list[Text], parts: list[str], link_chars: int, links: int) -> None:
        if text := " ".join("".join(parts).split()):
            self.blocks.append(Block(container, nodes, text, link_chars, links))


class _Run:
    """The text that is being gathered for the next block."""

    __slots__ = ("container", "link_chars", "links", "nodes", "parts")

    def __init__(self) -> None:
        self.container, self.link_chars, self.links = -1, 0, 0
        self.nodes: list[Text] = []
        self.parts: list[str] = []


def segment(body: Element) -> Outline:
    """Cut `body` into blocks. A stack, no recursion: a page may nest 100,000 deep."""
    out, run = Outline(), _Run()
    stack: list[tuple[Iterator[Node], int, bool]] = [(iter(body), out.open(body, "body", -1), False)]
    while stack:
        children, container, linked = stack[-1]
        for node in children:
            if isinstance(node, Text):
                data = node.data
                if not data.isspace():
                    if container != run.container:
                        run = _next(out, run, container)
                    run.nodes.append(node)
                    run.link_chars += len(data) if linked else 0
                run.parts.append(data)
            elif isinstance(node, Element):
                tag = node.tag
                if tag in INLINE:
                    run.links += tag == "a"
                    stack.append((iter(node), container, linked or tag == "a"))
                elif tag == "br":
                    run.parts.append(" ")
                    continue
                else:
                    run = _next(out, run, -1)
                    stack.append((iter(node), out.open(node, tag, container), linked))
                break
        else:
            stack.pop()
    _next(out, run, -1)
    out.finish()
    return out


def _next(out: Outline, run: _Run, container: int) -> _Run:
    """Close the run and begin another, or go on with it while it is empty."""
    if run.nodes:
        out.close(run.container, run.nodes, run.parts, run.link_chars, run.links)
        run = _Run()
    run.container = container
    return run
