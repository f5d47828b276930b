"""The page cut into blocks: runs of inline text, each inside one container, in one pass over the tree."""

from __future__ import annotations

from collections import Counter

from turbohtml import Element, Text

from spaniel.reading.data_files import data_file
from spaniel.reading.judge.class_names import score_names
from spaniel.reading.text.words import collapse_spaces, measure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from turbohtml import Node


INLINE_TAGS, BLOCK_TAGS, LIST_TAGS, ITEM_TAGS = (
    frozenset(data_file("tags")[name].split()) for name in ("inline", "block", "lists", "items")
)
LINE_TAGS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary"})  # what is in these is in a line
MAX_INLINE_NODES = 40  # nodes inside an element that may be a part of a line
SHORT_ITEM = 200  # characters; items or cells no longer than that are one block together
FULL_BLOCK = 2000  # characters after which the next item begins another block
# A block or a container takes up to a kilobyte while it is judged; of 745 real pages the longest has 2,400 and 5,100.
MAX_BLOCKS, MAX_CONTAINERS = 25_000, 40_000


class Block:
    """One run of text, or some short items of a list or a table: where it stands and how much of it is link."""

    __slots__ = ("container", "items", "link_chars", "nodes", "text")

    def __init__(self, container: int, nodes: list[Text], text: str, link_chars: int) -> None:
        self.container = container
        self.nodes = nodes
        self.text = text
        self.link_chars = link_chars
        self.items = 1


class Outline:
    """Containers that hold text, as parallel lists in document order; `i` holds the blocks `first[i]` to `last[i]`."""

    __slots__ = ("blocks", "cut", "elements", "first", "kin", "last", "mask", "parent", "tag", "twins", "weight")

    def __init__(self) -> None:
        self.cut = False  # whether there were too many blocks
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
        mask, weight = score_names(names, element.attr("id"))
        place = len(self.tag)
        self.tag.append(tag)
        self.elements.append(element)
        self.parent.append(parent)
        self.mask.append(mask)
        self.weight.append(weight)
        self.kin.append((parent, tag, names))
        self.first.append(len(self.blocks))
        return place

    def close(self, container: int, nodes: list[Text], text: str, link_chars: int) -> None:
        """Take in a run of text. Short items of one list join."""
        home = container
        if self.tag[container] in ITEM_TAGS and measure_text(text)[1] <= SHORT_ITEM:
            home = self._list_of(container)
        last = self.blocks[-1] if self.blocks else None
        if home == container or last is None or last.container != home or len(last.text) > FULL_BLOCK:
            self.blocks.append(Block(home, nodes, text, link_chars))
            return
        last.nodes += nodes
        last.text = f"{last.text} {text}"
        last.link_chars += link_chars
        last.items += 1

    def _list_of(self, item: int) -> int:
        """The list or table of which this is an item or a cell; itself, where there is none."""
        place = item
        while self.tag[place] in ITEM_TAGS:
            place = self.parent[place]
        return place if self.tag[place] in LIST_TAGS else item

    def finish(self) -> None:
        """Compute what needs every container and block."""
        count = len(self.parent)
        self.last = [0] * count
        last, parent = self.last, self.parent
        for place, block in enumerate(self.blocks, 1):
            last[block.container] = place
        for i in range(count - 1, 0, -1):
            last[parent[i]] = max(last[parent[i]], last[i])
        self.twins = Counter(self.kin)


class _Run:
    """The text that is being gathered for the next block."""

    __slots__ = ("link_chars", "nodes", "parts", "place")

    def __init__(self, place: int) -> None:
        self.place, self.link_chars = place, 0
        self.nodes: list[Text] = []
        self.parts: list[str] = []


Place = tuple[int, bool]  # the container of a text, and whether a link is around it


def segment(body: Element) -> Outline:
    """Cut `body` into blocks. No recursion: a page may nest 100,000 deep."""
    out = Outline()
    homes: dict[Node | None, Place] = {body: (out.open(body, "body", -1), False)}
    run = _Run(0)
    for node in body.descendants:
        if type(node) is Text:
            data = node.data
            if data.isspace():
                if run.nodes:
                    run.parts.append(" ")
                continue
            place, linked = homes.get(node.parent) or _open_containers(node.parent, homes, out)
            if place != run.place:
                run = _next_run(out, run, place)
                if len(out.blocks) >= MAX_BLOCKS or len(out.tag) >= MAX_CONTAINERS:
                    out.cut = True
                    drop_from(node, body)
                    break
            run.nodes.append(node)
            run.parts.append(data)
            run.link_chars += len(data) if linked else 0
        elif run.nodes and type(node) is Element:
            tag = node.tag
            if tag == "br":
                run.parts.append(" ")
            elif tag not in INLINE_TAGS and (tag in BLOCK_TAGS or not is_inline(node)):
                run = _next_run(out, run, -1)
    _next_run(out, run, -1)
    out.finish()
    return out


def _open_containers(element: Node | None, homes: dict[Node | None, Place], out: Outline) -> Place:
    """Open the containers around a text that are not open yet: only those that hold text are ever opened."""
    way: list[Element] = []
    while element not in homes:
        way.append(element)  # type: ignore[arg-type]  # below the body all parents are elements
        element = element.parent  # type: ignore[union-attr]
    home = homes[element]
    for inner in reversed(way):
        tag = inner.tag
        if tag not in INLINE_TAGS and (tag in BLOCK_TAGS or not is_inline(inner)):
            home = (out.open(inner, tag, home[0]), home[1])
        elif tag == "a":
            home = (home[0], True)
        homes[inner] = home
    return home


def is_inline(element: Element) -> bool:
    """Whether an element of an unknown name, a custom one mostly, is a part of a line, as it is for a browser.

    It is where it stands beside text and holds nothing but text and parts of lines itself.
    """
    parent = element.parent
    if not isinstance(parent, Element):
        return False
    if parent.tag not in LINE_TAGS and parent.tag not in INLINE_TAGS and not any(map(_is_text, _beside(element))):
        return False
    for count, node in enumerate(element.descendants):
        if count >= MAX_INLINE_NODES or (type(node) is Element and node.tag in BLOCK_TAGS):
            return False
    return True


def _beside(element: Element) -> Iterator[Node | None]:
    """The nodes before and after it, without the white space between them."""
    before, after = element.previous_sibling, element.next_sibling
    yield before.previous_sibling if type(before) is Text and before.data.isspace() else before
    yield after.next_sibling if type(after) is Text and after.data.isspace() else after


def _is_text(node: Node | None) -> bool:
    return type(node) is Text or (type(node) is Element and node.tag in INLINE_TAGS)


def drop_from(node: Node, body: Element) -> None:
    """Take the node out of the tree, and all that follows it."""
    up = node.parent
    for later in [node, *node.next_siblings]:
        later.decompose()
    while up is not None and up != body:
        for later in list(up.next_siblings):
            later.decompose()
        up = up.parent


def _next_run(out: Outline, run: _Run, place: int) -> _Run:
    """Close the run and begin another."""
    if run.nodes and (text := collapse_spaces("".join(run.parts))):
        out.close(run.place, run.nodes, text, run.link_chars)
    return _Run(place)
