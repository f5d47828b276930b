"""What is removed before anything is judged: code, controls, hidden text, boilerplate landmarks (FR-WF-13, D2-08).

Text that a browser shows but the HTML tree has elsewhere is moved into place first: open shadow roots, and the labels
of drawings."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from turbohtml import Element, Text

from spaniel.reading.data_files import data_file
from spaniel.reading.judge.class_names import name_parts
from spaniel.reading.text.scrub import one_line

if TYPE_CHECKING:
    from turbohtml import Document, Node


try:
    from spaniel.reading.judge.native import count_words
except ImportError:  # not built here
    from spaniel.reading.text.words import count_words

SOME_WORDS = 30
MAX_SWALLOW_CHECKS = 200  # elements into which it is looked whether they swallowed the page: each may hold all others
MAX_MEASURED = 500
MAX_HIDDEN_TEXT = 8_000_000  # characters of hidden text that are counted; in 745 real pages there are 500,000 at most
STREAMED = "S:"  # React sends late parts of a page in hidden elements and moves them into place
VANISHING = {
    "display": {"none"},
    "visibility": {"hidden", "collapse"},
    "transform": {"scale(0)", "scale(0,0)", "scale(0, 0)"},
    "color": {"transparent"},
    "-webkit-text-fill-color": {"transparent"},
}
OFF_SCREEN = -900
HIDING_WORDS = (
    "none",
    "hidden",
    "collapse",
    "transparent",
    "scale",
    "opacity",
    "font-size",
    "clip",
)  # of all that hides,
NEGATIVE_VALUE = re.compile(":[^;]*-")  # one is there; or a value with a minus
MAX_STYLE = 2000  # characters of a style that are looked at: they are kept for the next element with the same
SOMETIMES_CONTENT = frozenset({"button", "dialog", "title"})
OPEN_ENDED = frozenset({"button", "object", "canvas", "video", "audio"})  # others end where a block begins
MAIN = "main,article,[role=main],h1"
GENERIC_TAGS = frozenset({"div", "section", "td"})  # elements that say nothing by their names
TITLE_TAGS = "h1,h2,h3,h4,h5,dt,summary"
TAB = "tab "  # before the id of a tab: an id has no blanks
CONTENT_PARTS = "p,div,code,h1,h2,h3,h4,h5,h6,li,a[href]"  # that a button with a mere word on it has none of
EXPANDER_ATTRIBUTES = ("aria-expanded", "aria-controls", "data-bs-target", "data-target")
NAVIGATION = "nav,header,footer,form,[role=navigation],[role=menu],[role=search]"
QUESTION_MARKS = ("?", "？", "؟", ";")  # the last is Greek
MIN_QUESTION = 12  # characters
MAX_HEADING = 400  # characters that are looked at
SOME_LETTERS = 4
TARGET_ATTRIBUTES = ("aria-controls", "data-target", "data-bs-target", "href")


class CleaningRules(NamedTuple):
    """Of `data/selectors.toml`."""

    never_tags: list[str]
    never_roles: frozenset[str]
    landmark_tags: list[str]
    landmark_roles: frozenset[str]
    hidden: str
    opened: str
    revealed: frozenset[str]


@cache
def cleaning_rules() -> CleaningRules:
    data = data_file("selectors")
    return CleaningRules(
        data["never"]["tags"].split(),
        frozenset(data["never"]["roles"].split()),
        data["landmarks"]["tags"].split(),
        frozenset(data["landmarks"]["roles"].split()),
        ",".join(data["hidden"]["where"]),
        ",".join(data["hidden"]["opened"]),
        frozenset(data["words"]["revealed"].split()),
    )


def clean(doc: Document, body: Element, *, whole: bool = False) -> int:
    """Take away what is no content; answer how many hidden elements went."""
    rule = cleaning_rules()
    # A tag is found by turbohtml's index until the tree is changed: all these cost less than one walk over the page.
    never = [(tag, doc.select(tag)) for tag in rule.never_tags]
    landmarks = [element for tag in rule.landmark_tags for element in doc.select(tag)]
    noscripts = doc.select("noscript")
    roles = [(element, element.attr("role")) for element in body.select("[role]")]
    looks = MAX_SWALLOW_CHECKS
    for tag, elements in never:
        for element in elements:
            if tag not in SOMETIMES_CONTENT or _is_dropped(element, tag):
                looks -= tag in OPEN_ENDED
                _drop(body, element, tag in OPEN_ENDED and looks > 0)
    for element, role in roles:
        if role == "main" and element.tag in GENERIC_TAGS:
            element.tag = "main"  # for whatever judges it (FR-WF-13 step 4)
        if role in rule.never_roles:
            looks -= 1
            _drop(body, element, looks > 0)
        elif role in rule.landmark_roles:
            landmarks.append(element)
    gone = _drop_hidden(body, noscripts)
    if not whole:  # else menus and footers are wanted too
        _drop_unless_content(body, list(dict.fromkeys(_in_body(body, landmarks))))
    return gone


def _drop(body: Element, element: Element, may_swallow: bool) -> None:
    """Drop what is never content. Where its end was lost the rest of the page stands in it: that one only opens."""
    if may_swallow and element.select_one(MAIN) is not None and element.parent is not None:
        size = count_words(element.text)
        if size > SOME_WORDS and 2 * size > count_words(body.text):
            element.unwrap()
            return
    element.decompose()


def _in_body(body: Element, elements: list[Element]) -> list[Element]:
    """Those that are still on the page, and not in its head."""
    return [element for element in elements if element.closest(body.tag) is not None]


def _is_dropped(element: Element, tag: str) -> bool:
    """Whether one of those that are sometimes content is none."""
    if tag == "dialog":
        return element.attr("open") is None
    if tag == "title":
        return element.closest("head") is None
    if (heading := element.closest(TITLE_TAGS)) is not None:
        if _is_beside(element, heading):
            return True
        element.unwrap()  # a button with a question that opens its answer
        return False
    if _opens_answer(element):
        element.tag = "summary"
        return False
    if _is_content(element):
        element.tag = "div"
        return False
    return True


def _is_beside(button: Element, heading: Element) -> bool:
    """Whether a heading says something without its button: copy, fold, link to it."""
    said, whole = (sum(map(str.isalnum, element.text[:MAX_HEADING])) for element in (button, heading))
    opens = any(button.attr(name) is not None for name in EXPANDER_ATTRIBUTES)
    return whole - said >= SOME_LETTERS and not (opens and 2 * said > whole)


def _opens_answer(button: Element) -> bool:
    """Whether a button opens an answer: it controls something, and is a question or named like one."""
    if all(button.attr(name) is None for name in EXPANDER_ATTRIBUTES) or button.closest(NAVIGATION) is not None:
        return False
    text = button.text.strip()
    if text.endswith(QUESTION_MARKS):
        return True
    around = button.closest("[class]")  # itself, mostly
    names = around.attr("class") if around is not None and len(text) >= MIN_QUESTION else None
    return names is not None and not cleaning_rules().revealed.isdisjoint(name_parts(names))


def _is_content(button: Element) -> bool:
    """Whether a button that opens something has parts of a page in it: an operation of an API with its path."""
    if all(button.attr(name) is None for name in EXPANDER_ATTRIBUTES) or button.closest(NAVIGATION) is not None:
        return False
    letters = sum(map(str.isalnum, button.text[:MAX_HEADING]))
    return letters >= MIN_QUESTION and button.select_one(CONTENT_PARTS) is not None


def _drop_hidden(body: Element, noscripts: list[Element]) -> int:
    """By sort, so that a page which stages all its text in one way is not taken for hidden (D2-08)."""
    by_attribute: list[Element] = []
    by_aria: list[Element] = []
    by_style: list[Element] = []
    for element in body.select(cleaning_rules().hidden):
        if element.attr("hidden") is not None:
            sort = by_attribute
        elif element.attr("aria-hidden") == "true":
            sort = by_aria
        elif hides((element.attr("style") or "")[:MAX_STYLE]):
            sort = by_style
        else:
            continue
        if element.tag != "noscript":
            sort.append(element)
    sorts = (by_attribute, by_aria, _in_body(body, noscripts), by_style)
    named = any(element.attr("id") for elements in sorts for element in elements)
    opened = _opened_ids(body) if named else set()
    opened |= {f"{TAB}{ident}" for tab in body.select("[role=tab][id]") if (ident := tab.attr("id"))}
    return sum(_drop_unless_content(body, [e for e in elements if not _is_revealed(e, opened)]) for elements in sorts)


@lru_cache(maxsize=4096)
def hides(style: str) -> bool:
    """Whether an inline style makes its element invisible."""
    style = style.lower()
    if not any(map(style.__contains__, HIDING_WORDS)) and not NEGATIVE_VALUE.search(style):
        return False
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.replace("!important", "").strip()
        if _is_hiding(name, value):
            return True
    return False


def _is_hiding(name: str, value: str) -> bool:
    if name in VANISHING:
        return value in VANISHING[name]
    if name in ("opacity", "font-size"):
        return _number(value) == 0
    if name in ("left", "top", "right", "text-indent", "margin-left", "margin-top"):
        return (_number(value) or 0) <= OFF_SCREEN
    return name == "clip" and value.replace(" ", "").startswith(("rect(0", "rect(1px,1px,1px"))


def _number(value: str) -> float | None:
    try:
        return float(value.rstrip("abcdefghijklmnopqrstuvwxyz% "))
    except ValueError:
        return None


def _opened_ids(body: Element) -> set[str]:
    """The ids that a control on the page opens."""
    return {
        value.lstrip("#")
        for control in body.select(cleaning_rules().opened)
        for name in TARGET_ATTRIBUTES
        if (value := control.attr(name)) and (name == "aria-controls" or value.startswith("#"))
    }


def _is_revealed(element: Element, opened: set[str]) -> bool:
    ident = element.attr("id")
    if ident and (ident in opened or ident.startswith(STREAMED)):
        return True
    if element.attr("role") == "tabpanel" or f"{TAB}{element.attr('aria-labelledby')}" in opened:
        return True
    names = element.attr("class")
    return names is not None and not cleaning_rules().revealed.isdisjoint(name_parts(names))


def _drop_unless_content(body: Element, elements: list[Element]) -> int:
    """Drop these elements, but for where they hold more text than all the rest (D2-08): then nothing rivals them."""
    if not elements:
        return 0
    sizes = _sizes(elements)
    large = [size for size in sizes if size > SOME_WORDS]
    rival = count_words(body.text) - sum(sizes) if large else 0
    gone = 0
    for element, size in zip(elements, sizes, strict=True):
        if size > SOME_WORDS and (size > rival / 2 or sum(large) > rival):
            continue
        if element.parent is not None:
            element.decompose()
            gone += 1
    return gone


def _sizes(elements: list[Element]) -> list[int]:
    """Words in each. Of very many, none is the content of the page, and looking into each would not be linear."""
    if len(elements) > MAX_MEASURED:
        return [0] * len(elements)
    sizes: list[int] = []
    left = MAX_HIDDEN_TEXT
    for element in elements:
        if left > 0:
            text, measured = element.text, element
            left -= len(text)
            sizes.append(count_words(text))
        else:  # they stand inside each other: what holds for the one around holds for the one inside
            sizes.append(sizes[-1] if any(up == measured for up in element.ancestors) else 0)
    return sizes


SHADOW = b"shadowrootmode"
MAX_HOSTS = 2000
LABELS = "text,foreignObject"
MAX_DRAWINGS, MAX_LABELS = 500, 200  # of a page, of a drawing
MAX_LABEL = 200  # characters
HIDDEN_LABELS = (
    "[hidden],[aria-hidden=true],[display=none],[visibility=hidden],[visibility=collapse],[opacity='0'],[fill-opacity='0'],"
    "[font-size='0'],[fill=transparent],defs,symbol,clipPath,mask,metadata,desc"
)
LABEL_SEPARATOR = " · "


def open_shadow_roots(doc: Document, source: bytes) -> None:
    """Put what a declarative shadow root (`<template shadowrootmode=open>`) holds into its host, as it is shown."""
    if SHADOW not in source.lower():
        return
    left = MAX_HOSTS
    for host in doc.select("*"):
        root = host.shadow_root
        if root is None or root.mode != "open":
            continue
        light: list[Node] = list(host.children)
        for node in list(root.children):
            node.extract()
            host.append(node)
        _fill_slots(host, light)
        left -= 1
        if not left:
            return


def _fill_slots(host: Element, light: list[Node]) -> None:
    """What stands in the host goes into the slots of its shadow root; what no slot takes is not shown."""
    for node in light:
        node.extract()
    for slot in host.select("slot"):
        name = slot.attr("name") or ""
        taken = [node for node in light if _slot_of(node) == name]
        if any(isinstance(node, Element) or (isinstance(node, Text) and node.data.strip()) for node in taken):
            slot.clear()
            for node in taken:
                slot.append(node)
            light = [node for node in light if node not in taken]


def _slot_of(node: Node) -> str:
    return (node.attr("slot") or "") if isinstance(node, Element) else ""


def write_labels(doc: Document) -> None:
    """A line with the labels of each drawing, which itself goes: of a diagram they are the text."""
    for drawing in doc.select("svg")[:MAX_DRAWINGS]:
        if (
            drawing.parent is None
            or drawing.closest("svg svg,a,button,label") is not None
            or _is_hidden_drawing(drawing)
        ):
            continue
        labels: dict[str, None] = {}
        for label in drawing.select(LABELS)[:MAX_LABELS]:
            text = one_line(label.text[: 2 * MAX_LABEL])
            if text and not _is_hidden_label(label, drawing) and any(map(str.isalpha, text)):
                labels[text[:MAX_LABEL]] = None
        if labels:
            line = Element("p")
            line.append(Text(LABEL_SEPARATOR.join(labels)))
            drawing.insert_after(line)


def _is_hidden_label(label: Element, drawing: Element) -> bool:
    """Whether a label, or something around it in its drawing, is not shown (THREATS: hidden text is no text)."""
    node: Node | None = label
    while isinstance(node, Element) and node != drawing:
        if _is_hidden_drawing(node):
            return True
        node = node.parent
    return False


def _is_hidden_drawing(element: Element) -> bool:
    style = element.attr("style")
    return element.matches(HIDDEN_LABELS) or (style is not None and hides(style[:MAX_STYLE]))
