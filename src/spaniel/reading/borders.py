"""Where elements meet: no words glued together, no icon of a font, no heading twice."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from turbohtml import Element, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADINGS = "h1,h2,h3,h4,h5,h6"
LEVELS = frozenset(HEADINGS.split(","))
# The writer takes them for words in a line; a browser gives each a line of its own.
BLOCKS = "center,fieldset,legend,option,optgroup,hgroup,search"
NEIGHBOURS = "a+a,label+label,span[class]+span[class],span+time,time+span,a+time,time+a"
# What an icon font has its pictures at: no other font has anything to show there.
ICONS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
# At the beginning or the end of other text, with a blank between them.
EDGES = re.compile("^ \\s*[\ue000-\uf8ff]{1,4}(?=\\s)|(?<=\\s)[\ue000-\uf8ff]{1,4}\\s* $")
LONG = 2000  # characters of a text that has no icons at its ends
FEW = 4  # icons on end; a longer text is in a script of its own
DEEPEST = 12  # elements around the text at an end
MANY = 8000  # elements of one sort that are looked at


def set_borders(root: Element) -> None:
    for block in root.select(BLOCKS):
        block.tag = "div"
    _drop_icons(root)
    _part(root)
    _drop_repeated_headings(root)


def _drop_icons(root: Element) -> None:
    """A text of nothing but icons says nothing without its font. In code it is what somebody wants to copy."""
    if ICONS.search(root.text) is None:
        return
    for node in list(root.descendants):
        if type(node) is Text and not node.data.isascii() and ICONS.search(node.data) and not _is_code(node.parent):
            text = EDGES.sub(" ", f" {node.data} ")[1:-1] if len(node.data) <= LONG else node.data
            node.data = text if ICONS.sub("", text).strip() or len(text.strip()) > FEW else " " * (text != text.strip())


def _is_code(element: object) -> bool:
    return isinstance(element, Element) and element.closest("pre,code,x-math") is not None


def _part(root: Element) -> None:
    """Two links, a name and a date: only a style sheet keeps them apart, so a space does."""
    for second in root.select(NEIGHBOURS)[:MANY]:
        first = second.previous_sibling
        if not isinstance(first, Element) or _is_code(second.parent):
            continue
        if second.tag == first.tag == "span" and not _are_two_words(first, second):
            continue
        before, after = _last(first), _first(second)
        if before[-1:].isalnum() and after[:1].isalnum():
            second.insert_before(Text(" "))


def _are_two_words(first: Element, second: Element) -> bool:
    """Parts of one word are spans, too: those of two words have other classes, and the second a capital or a digit."""
    before, after = _last(first), _first(second)
    if first.attr("class") == second.attr("class") or min(len(before), len(after)) < 2:
        return False
    begins = after[0].isupper() and not before[-1].isupper()
    return begins or before[-1].isdigit() != after[0].isdigit()


def _last(element: Element) -> str:
    return _edge(element, -1)[-2:]


def _first(element: Element) -> str:
    return _edge(element, 0)[:2]


def _edge(node: object, end: int) -> str:
    """The text at one end: by the children there, because the whole text of each would be all pairs of a deep tree."""
    for _ in range(DEEPEST):
        if type(node) is Text:
            return node.data
        if not isinstance(node, Element) or not (children := node.children):
            return ""
        node = children[end]
    return ""


def _drop_repeated_headings(root: Element) -> None:
    """A title that stands twice with nothing between, once for phones or once as a link, is one title."""
    headings = [heading for tag in sorted(LEVELS) for heading in root.select(tag)[:MANY]]
    counts = Counter(_words(heading) for heading in headings)
    if not any(text and count > 1 for text, count in counts.items()):
        return
    for heading in list(_repeated(root)):
        heading.decompose()


def _repeated(root: Element) -> Iterator[Element]:
    last, inside = "", ""
    for node in root.descendants:
        if isinstance(node, Element):
            if node.tag in LEVELS:
                text = _words(node)
                if text and text == last:
                    yield node
                last = inside = text
            elif node.tag in ("img", "x-math"):
                last = ""
        elif type(node) is Text and last and (text := "".join(node.data.split()).casefold()):
            # The texts of a heading come right after it; whatever comes then stands between two headings.
            inside = inside.removeprefix(text) if inside.startswith(text) else "\0"
            if inside == "\0":
                last = ""


def _words(heading: Element) -> str:
    return "".join(heading.text.split()).casefold()
