"""What goes before anything is judged: code, controls, hidden text, landmarks of boilerplate (FR-WF-13, D2-08)."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.lexicon import lexicon
from spaniel.reading.words import parts_of

try:
    from spaniel.reading.native import count_words
except ImportError:  # not built here
    from spaniel.reading.whitespace import count_words

if TYPE_CHECKING:
    from turbohtml import Document, Element

SOME_WORDS = 30
LOOKS = 200  # elements into which it is looked whether they swallowed the page: each may hold all others
MANY = 500
LOOKED_AT = 8_000_000  # characters of hidden text that are counted; in 745 real pages there are 500,000 at most
STREAMED = "S:"  # React sends late parts of a page in hidden elements and moves them into place
VANISHING = {
    "display": {"none"},
    "visibility": {"hidden", "collapse"},
    "transform": {"scale(0)", "scale(0,0)", "scale(0, 0)"},
    "color": {"transparent"},
    "-webkit-text-fill-color": {"transparent"},
}
OFF_SCREEN = -900
TELLING = ("none", "hidden", "collapse", "transparent", "scale", "opacity", "font-size", "clip")  # of all that hides,
BELOW_NOUGHT = re.compile(":[^;]*-")  # one is there; or a value with a minus
LONGEST_STYLE = 2000  # characters of a style that are looked at: they are kept for the next element with the same
SOMETIMES = frozenset({"button", "dialog", "title"})
OPEN_ENDED = frozenset({"button", "object", "canvas", "video", "audio"})  # others end where a block begins
MAIN = "main,article,[role=main],h1"
PLAIN = frozenset({"div", "section", "td"})  # elements that say nothing by their names
OPENING = "h1,h2,h3,h4,h5,dt,summary"
TAB = "tab "  # before the id of a tab: an id has no blanks
PARTS = "p,div,code,h1,h2,h3,h4,h5,h6,li,a[href]"  # that a button with a mere word on it has none of
CONTROLLING = ("aria-expanded", "aria-controls", "data-bs-target", "data-target")
BARS = "nav,header,footer,form,[role=navigation],[role=menu],[role=search]"
QUESTION = ("?", "？", "؟", ";")  # the last is Greek
SHORTEST_QUESTION = 12  # characters
LONGEST_HEADING = 400  # characters that are looked at
SOME_LETTERS = 4
CONTROLS = ("aria-controls", "data-target", "data-bs-target", "href")


class Rules(NamedTuple):
    """Of `data/selectors.toml`."""

    never_tags: list[str]
    never_roles: frozenset[str]
    landmark_tags: list[str]
    landmark_roles: frozenset[str]
    hidden: str
    opened: str
    revealed: frozenset[str]


@cache
def rules() -> Rules:
    data = lexicon("selectors")
    return Rules(
        data["never"]["tags"].split(),
        frozenset(data["never"]["roles"].split()),
        data["landmarks"]["tags"].split(),
        frozenset(data["landmarks"]["roles"].split()),
        ",".join(data["hidden"]["where"]),
        ",".join(data["hidden"]["opened"]),
        frozenset(data["words"]["revealed"].split()),
    )


def clean(doc: Document, body: Element) -> int:
    """Take away what is no content; answer how many hidden elements went."""
    rule = rules()
    # A tag is found by turbohtml's index until the tree is changed: all these cost less than one walk over the page.
    never = [(tag, doc.select(tag)) for tag in rule.never_tags]
    landmarks = [element for tag in rule.landmark_tags for element in doc.select(tag)]
    noscripts = doc.select("noscript")
    roles = [(element, element.attr("role")) for element in body.select("[role]")]
    looks = LOOKS
    for tag, elements in never:
        for element in elements:
            if tag not in SOMETIMES or _goes(element, tag):
                looks -= tag in OPEN_ENDED
                _drop(body, element, tag in OPEN_ENDED and looks > 0)
    for element, role in roles:
        if role == "main" and element.tag in PLAIN:
            element.tag = "main"  # for whatever judges it (FR-WF-13 step 4)
        if role in rule.never_roles:
            looks -= 1
            _drop(body, element, looks > 0)
        elif role in rule.landmark_roles:
            landmarks.append(element)
    gone = _drop_hidden(body, noscripts)
    _drop_unless_content(body, list(dict.fromkeys(_inside(body, landmarks))))
    return gone


def _drop(body: Element, element: Element, may_swallow: bool) -> None:
    """Drop what is never content. Where its end was lost the rest of the page stands in it: that one only opens."""
    if may_swallow and element.select_one(MAIN) is not None and element.parent is not None:
        size = count_words(element.text)
        if size > SOME_WORDS and 2 * size > count_words(body.text):
            element.unwrap()
            return
    element.decompose()


def _inside(body: Element, elements: list[Element]) -> list[Element]:
    """Those that are still on the page, and not in its head."""
    return [element for element in elements if element.closest(body.tag) is not None]


def _goes(element: Element, tag: str) -> bool:
    """Whether one of those that are sometimes content is none."""
    if tag == "dialog":
        return element.attr("open") is None
    if tag == "title":
        return element.closest("head") is None
    if (heading := element.closest(OPENING)) is not None:
        if _is_beside(element, heading):
            return True
        element.unwrap()  # a button with a question that opens its answer
        return False
    if _asks(element):
        element.tag = "summary"
        return False
    if _is_content(element):
        element.tag = "div"
        return False
    return True


def _is_beside(button: Element, heading: Element) -> bool:
    """Whether a heading says something without its button: copy, fold, link to it."""
    said, whole = (sum(map(str.isalnum, element.text[:LONGEST_HEADING])) for element in (button, heading))
    opens = any(button.attr(name) is not None for name in CONTROLLING)
    return whole - said >= SOME_LETTERS and not (opens and 2 * said > whole)


def _asks(button: Element) -> bool:
    """Whether a button opens an answer: it controls something, and is a question or named like one."""
    if all(button.attr(name) is None for name in CONTROLLING) or button.closest(BARS) is not None:
        return False
    text = button.text.strip()
    if text.endswith(QUESTION):
        return True
    around = button.closest("[class]")  # itself, mostly
    names = around.attr("class") if around is not None and len(text) >= SHORTEST_QUESTION else None
    return names is not None and not rules().revealed.isdisjoint(parts_of(names))


def _is_content(button: Element) -> bool:
    """Whether a button that opens something has parts of a page in it: an operation of an API with its path."""
    if all(button.attr(name) is None for name in CONTROLLING) or button.closest(BARS) is not None:
        return False
    letters = sum(map(str.isalnum, button.text[:LONGEST_HEADING]))
    return letters >= SHORTEST_QUESTION and button.select_one(PARTS) is not None


def _drop_hidden(body: Element, noscripts: list[Element]) -> int:
    """By sort, so that a page which stages all its text in one way is not taken for hidden (D2-08)."""
    by_attribute: list[Element] = []
    by_aria: list[Element] = []
    by_style: list[Element] = []
    for element in body.select(rules().hidden):
        if element.attr("hidden") is not None:
            sort = by_attribute
        elif element.attr("aria-hidden") == "true":
            sort = by_aria
        elif hides((element.attr("style") or "")[:LONGEST_STYLE]):
            sort = by_style
        else:
            continue
        if element.tag != "noscript":
            sort.append(element)
    sorts = (by_attribute, by_aria, _inside(body, noscripts), by_style)
    named = any(element.attr("id") for elements in sorts for element in elements)
    opened = _opened(body) if named else set()
    opened |= {f"{TAB}{ident}" for tab in body.select("[role=tab][id]") if (ident := tab.attr("id"))}
    return sum(_drop_unless_content(body, [e for e in elements if not _is_revealed(e, opened)]) for elements in sorts)


@lru_cache(maxsize=4096)
def hides(style: str) -> bool:
    """Whether an inline style makes its element invisible."""
    style = style.lower()
    if not any(map(style.__contains__, TELLING)) and not BELOW_NOUGHT.search(style):
        return False
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.replace("!important", "").strip()
        if _hiding(name, value):
            return True
    return False


def _hiding(name: str, value: str) -> bool:
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


def _opened(body: Element) -> set[str]:
    """The ids that a control on the page opens."""
    return {
        value.lstrip("#")
        for control in body.select(rules().opened)
        for name in CONTROLS
        if (value := control.attr(name)) and (name == "aria-controls" or value.startswith("#"))
    }


def _is_revealed(element: Element, opened: set[str]) -> bool:
    ident = element.attr("id")
    if ident and (ident in opened or ident.startswith(STREAMED)):
        return True
    if element.attr("role") == "tabpanel" or f"{TAB}{element.attr('aria-labelledby')}" in opened:
        return True
    names = element.attr("class")
    return names is not None and not rules().revealed.isdisjoint(parts_of(names))


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
    if len(elements) > MANY:
        return [0] * len(elements)
    sizes: list[int] = []
    left = LOOKED_AT
    for element in elements:
        if left > 0:
            text, measured = element.text, element
            left -= len(text)
            sizes.append(count_words(text))
        else:  # they stand inside each other: what holds for the one around holds for the one inside
            sizes.append(sizes[-1] if any(up == measured for up in element.ancestors) else 0)
    return sizes
