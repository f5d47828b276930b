"""What goes before anything is judged: code, controls, hidden text, landmarks of boilerplate (FR-WF-13, D2-08)."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.lexicon import lexicon
from spaniel.reading.words import parts_of

if TYPE_CHECKING:
    from turbohtml import Element

SOME_WORDS = 30
MANY = 500
STREAMED = "S:"  # React sends late parts of a page in hidden elements and moves them into place
VANISHING = {
    "display": {"none"},
    "visibility": {"hidden", "collapse"},
    "transform": {"scale(0)", "scale(0,0)", "scale(0, 0)"},
    "color": {"transparent"},
    "-webkit-text-fill-color": {"transparent"},
}
OFF_SCREEN = -900
CONTROLS = ("aria-controls", "data-target", "data-bs-target", "href")


class Selectors(NamedTuple):
    always: str
    landmarks: str
    hidden: str
    opened: str
    revealed: frozenset[str]


@cache
def selectors() -> Selectors:
    data = lexicon("selectors")
    return Selectors(
        ",".join(data["drop"]["always"]),
        ",".join(data["drop"]["landmarks"]),
        ",".join(data["hidden"]["where"]),
        ",".join(data["hidden"]["opened"]),
        frozenset(data["words"]["revealed"].split()),
    )


def clean(body: Element) -> int:
    """Take away what is no content; answer how many hidden elements went."""
    rules = selectors()
    for button in body.select("h1 button,h2 button,h3 button,h4 button,h5 button,dt button,summary button"):
        button.unwrap()  # a question that opens its answer
    body.remove(rules.always)
    gone = _drop_hidden(body, rules)
    _drop_unless_content(body, body.select(rules.landmarks))
    return gone


def _drop_hidden(body: Element, rules: Selectors) -> int:
    """By sort, so that a page which stages all its text in one way is not taken for hidden (D2-08)."""
    found: dict[str, list[Element]] = {"attribute": [], "aria": [], "noscript": [], "style": []}
    for element in body.select(rules.hidden):
        if element.tag == "noscript":
            found["noscript"].append(element)
        elif element.attr("hidden") is not None:
            found["attribute"].append(element)
        elif element.attr("aria-hidden") == "true":
            found["aria"].append(element)
        elif hides(element.attr("style") or ""):
            found["style"].append(element)
    if not any(found.values()):
        return 0
    opened = _opened(body, rules)
    gone = 0
    for elements in found.values():
        gone += _drop_unless_content(body, [e for e in elements if not _is_revealed(e, opened, rules)])
    return gone


@lru_cache(maxsize=4096)
def hides(style: str) -> bool:
    """Whether an inline style makes its element invisible."""
    for declaration in style.lower().split(";"):
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


def _opened(body: Element, rules: Selectors) -> set[str]:
    """The ids that a control on the page opens."""
    return {
        value.lstrip("#")
        for control in body.select(rules.opened)
        for name in CONTROLS
        if (value := control.attr(name)) and (name == "aria-controls" or value.startswith("#"))
    }


def _is_revealed(element: Element, opened: set[str], rules: Selectors) -> bool:
    ident = element.attr("id")
    if ident and (ident in opened or ident.startswith(STREAMED)):
        return True
    if element.attr("role") == "tabpanel":
        return True
    names = element.attr("class")
    return names is not None and not rules.revealed.isdisjoint(parts_of(names))


def _drop_unless_content(body: Element, elements: list[Element]) -> int:
    """Drop these elements, but for where they hold more text than all the rest (D2-08): then nothing rivals them."""
    if not elements:
        return 0
    sizes = _sizes(elements)
    large = [size for size in sizes if size > SOME_WORDS]
    rival = len(body.text.split()) - sum(sizes) if large else 0
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
    return [len(element.text.split()) for element in elements]
