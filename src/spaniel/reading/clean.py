"""What is taken away before anything is judged: code, controls, hidden text, landmarks of boilerplate (FR-WF-13, D2-08)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.words import parts_of

if TYPE_CHECKING:
    from turbohtml import Element

SOME_WORDS = 30
MANY = 500
STREAMED = "S:"  # React sends late parts of a page in hidden elements and moves them into place
CONTROLS = ("aria-controls", "data-target", "data-bs-target", "href")


class Selectors(NamedTuple):
    always: str
    landmarks: str
    strict: str
    hidden: dict[str, str]
    opened: str
    revealed: frozenset[str]


@cache
def selectors() -> Selectors:
    data = tomllib.loads((files(__package__) / "data" / "selectors.toml").read_text("utf-8"))
    drop, hidden = data["drop"], {name: ",".join(parts) for name, parts in data["hidden"].items()}
    opened = hidden.pop("opened")
    return Selectors(
        ",".join(drop["always"]),
        ",".join(drop["landmarks"]),
        ",".join(drop["strict"]),
        hidden,
        opened,
        frozenset(data["words"]["revealed"].split()),
    )


def clean(body: Element) -> int:
    """Take away what is no content; answer how many hidden elements went."""
    rules = selectors()
    for button in body.select("h1 button,h2 button,h3 button,h4 button,h5 button,dt button,summary button"):
        button.unwrap()  # a question that opens its answer
    body.remove(rules.always)
    body.remove("button")
    gone = _drop_hidden(body, rules)
    _drop_unless_content(body, body.select(rules.landmarks))
    return gone


def _drop_hidden(body: Element, rules: Selectors) -> int:
    found = {name: body.select(where) for name, where in rules.hidden.items()}
    found["styled"] = [e for e in found["styled"] if hides(e.attr("style") or "")]
    if not any(found.values()):
        return 0
    opened = _opened(body, rules)
    gone = 0
    for elements in found.values():
        closed = [e for e in elements if not _is_revealed(e, opened, rules)]
        gone += _drop_unless_content(body, closed)
    return gone


def hides(style: str) -> bool:
    """Whether an inline style makes its element invisible."""
    for declaration in style.lower().split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.replace("!important", "").strip()
        if _hiding(name, value):
            return True
    return False


def _hiding(name: str, value: str) -> bool:
    match name:
        case "display":
            return value == "none"
        case "visibility":
            return value in ("hidden", "collapse")
        case "opacity":
            return _number(value) == 0
        case "font-size":
            return _number(value) is not None and _number(value) == 0
        case "left" | "top" | "right" | "text-indent" | "margin-left" | "margin-top":
            return (_number(value) or 0) <= -900
        case "clip":
            return value.replace(" ", "").startswith(("rect(0", "rect(1px,1px,1px"))
        case "transform":
            return value.replace(" ", "") in ("scale(0)", "scale(0,0)")
        case "color" | "-webkit-text-fill-color":
            return value == "transparent"
    return False


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
    return bool(names) and not rules.revealed.isdisjoint(parts_of(names))


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
