"""Where elements meet: no words glued together, no icon of a font, no heading twice."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.emphasis import plain_headings
from spaniel.reading.signs import ICONS

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADINGS = "h1,h2,h3,h4,h5,h6"
LEVELS = frozenset(HEADINGS.split(","))
# The writer takes them for words in a line; a browser gives each a line of its own.
BLOCKS = "center,fieldset,legend,option,optgroup,hgroup,search"
NEIGHBOURS = "a+a,label+label,span[class]+span[class],span+time,time+span,a+time,time+a,a+span[class],span[class]+a"
BESIDE = frozenset({"span", "a", "small"})
ENDING = frozenset(".!?:;)…»”’")  # of a sentence: what follows it right away is another
# For those who listen; nobody sees them.
HEARD = (
    "span.sr-only,span.visually-hidden,span.visuallyhidden,span.screen-reader-text,span.screen-reader-only,span.a-offscreen,"
    "span.clipped,span.show-for-sr"
)
LONGEST_HEARD = 80  # characters
# At the beginning or the end of other text, with a blank between them.
EDGES = re.compile("^ \\s*[\ue000-\uf8ff]{1,4}(?=\\s)|(?<=\\s)[\ue000-\uf8ff]{1,4}\\s* $")
LONG = 2000  # characters of a text that has no icons at its ends
FEW = 4  # icons on end; a longer text is in a script of its own
SOME_TEXTS = 8  # around what is only heard
DEEPEST = 12  # elements around the text at an end
MANY = 8000  # elements of one sort that are looked at


def set_borders(root: Element, *, pictures: bool) -> None:
    """`pictures`: whether any text has signs of icon fonts."""
    for block in root.select(BLOCKS):
        block.tag = "div"
    if pictures:
        _drop_icons(root)
    _drop_heard(root)
    _part(root)
    headings = root.select(HEADINGS)[: 6 * MANY]
    _part_headings(headings)
    plain_headings(headings)
    _drop_repeated_headings(root, headings)


def _drop_icons(root: Element) -> None:
    """A text of nothing but icons says nothing without its font. In code it is what somebody wants to copy."""
    for node in list(root.descendants):
        if type(node) is Text and not node.data.isascii() and ICONS.search(node.data) and not _is_code(node.parent):
            text = EDGES.sub(" ", f" {node.data} ")[1:-1] if len(node.data) <= LONG else node.data
            if not ICONS.sub("", text).strip() and len(text.strip()) <= FEW:
                text = " " * (text != text.strip() or _parts_words(node))
            node.data = text


def _drop_heard(root: Element) -> None:
    """`(opens in a new tab)`, `Regular price`: beside what is seen. Alone, or with a number, it may be all there is."""
    for heard in root.select(HEARD)[:MANY]:
        up, text = heard.parent, " ".join(islice(heard.stripped_strings, SOME_TEXTS))
        if not isinstance(up, Element) or len(text) > LONGEST_HEARD or heard.select_one("img,x-math") is not None:
            continue
        alone = all(part in text for part in islice(up.stripped_strings, SOME_TEXTS))
        seen = (_edge(heard.previous_sibling, -1).strip(), _edge(heard.next_sibling, 0).strip())
        if text in seen or not (alone or any(map(str.isdigit, text))):
            heard.text = " "
        else:
            heard.insert_before(Text(" "))
            heard.insert_after(Text(" "))


def _parts_words(icon: Text) -> bool:
    """Whether nothing else stands between two words."""
    up = icon.parent
    alone = icon.previous_sibling is None and icon.next_sibling is None
    place = up if alone and up is not None else icon
    before, after = _edge(place.previous_sibling, -1), _edge(place.next_sibling, 0)
    return before[-1:].isalnum() and after[:1].isalnum()


def _is_code(element: object) -> bool:
    return isinstance(element, Element) and element.closest("pre,code,x-math") is not None


def _part(root: Element) -> None:
    """Two links, a name and a date: only a style sheet keeps them apart, so a space does."""
    for second in root.select(NEIGHBOURS)[:MANY]:
        first = second.previous_sibling
        if not isinstance(first, Element) or not (after := _edge(second, 0))[:1].isalnum():
            continue
        before = _edge(first, -1)
        if not (before[-1:].isalnum() or _ends(before)) or _is_code(second.parent):
            continue
        tags = {first.tag, second.tag}
        if "span" not in tags or "time" in tags or _are_two_words(first, second, before, after):
            second.insert_before(Text(" "))


def _part_headings(headings: list[Element]) -> None:
    """A title of several words and what stands below or beside it, in an element of its own that begins anew."""
    for heading in headings:
        if len(children := heading.children) > 1:
            for first, second in pairwise(children):
                if type(first) is Text and type(second) is Element and second.tag in BESIDE:
                    before, after = first.data, _edge(second, 0)
                    if before[-1:].islower() and " " in before.strip() and after[:1].isupper() and len(after) > 1:
                        second.insert_before(Text(" "))


def _ends(text: str) -> bool:
    """Whether a sentence ends with it; `json.` is none."""
    return text[-1:] in ENDING and " " in text.strip()


def _are_two_words(first: Element, second: Element, before: str, after: str) -> bool:
    """Parts of one word are spans, too: those of two words have other classes, and the second a capital or a digit.

    Where they look alike, each must be of several words itself.
    """
    if min(len(before), len(after)) < 2:
        return False
    if _is_link(first, -1) and _is_link(second, 0):
        return True
    if first.attr("class") == second.attr("class") and not (" " in before.strip() and " " in after.strip()):
        return False
    begins = after[0].isupper() and not before[-1].isupper()
    return begins or before[-1].isdigit() != after[0].isdigit()


def _is_link(element: Element, end: int) -> bool:
    """Whether it begins or ends with a link."""
    child = children[end] if (children := element.children) else None
    return isinstance(child, Element) and child.tag == "a"


def _edge(node: object, end: int) -> str:
    """The text at one end: by the children there, because the whole text of each would be all pairs of a deep tree.

    Comments and empty elements stand between nothing.
    """
    for _ in range(DEEPEST):
        if type(node) is Text:
            return node.data
        if not isinstance(node, Element) or not (children := node.children):
            return ""
        node = children[end]
        if type(node) is not Text and not (type(node) is Element and node.children):
            some = children[:FEW] if end == 0 else children[: -FEW - 1 : -1]
            node = next((one for one in some if type(one) is Text or (type(one) is Element and one.children)), None)
    return ""


def _drop_repeated_headings(root: Element, headings: list[Element]) -> None:
    """A title that stands twice with nothing between, once for phones or once as a link, is one title."""
    texts = [text for heading in headings if (text := _words(heading))]
    if len(texts) == len(set(texts)):
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
