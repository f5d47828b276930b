"""What stands beside code and is none: the name of its language, a word to copy it, numbers of its lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.words import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS = frozenset({"lang", "language", "label", "badge", "copy", "clipboard", "toolbar", "header", "title"})
LONGEST = 20  # characters of a label
COPY = frozenset({"copy", "copy code", "copied", "copied!", "copier", "kopieren", "copiar", "copia", "复制", "コピー"})
NUMBERED = "span,a,td,i,b,div,code,li"
NUMBER = re.compile("[0-9]{1,6}")
LEAST = 3  # lines: below that consecutive numbers say nothing
MANY = 5000  # elements in a block that may be numbers


def drop_labels(block: Element, language: str | None) -> None:
    """In the block or right before it."""
    for element in list(_beside(block)):
        text = " ".join(element.text.split()).lower()
        if not text or len(text) > LONGEST or element.select_one("pre,img") is not None:
            continue
        named = not LABELS.isdisjoint(parts_of(element.attr("class") or ""))
        inside = element.parent == block
        if text in COPY or (text == language and (named or not inside)) or (named and inside and _has_code(block)):
            element.decompose()


def _has_code(block: Element) -> bool:
    return block.select_one("code") is not None


def _beside(block: Element) -> Iterator[Element]:
    """What precedes the code inside the block, and what precedes the block in the two boxes around it."""
    for child in block.children:
        if isinstance(child, Element) and child.tag != "code":
            yield child
        if not isinstance(child, Text) or child.data.strip():
            break
    place = block
    for _ in range(2):
        before = place.previous_sibling
        while isinstance(before, Text) and not before.data.strip():
            before = before.previous_sibling
        if isinstance(before, Element):
            yield before
            return
        up = place.parent
        if before is not None or not isinstance(up, Element) or up.tag in ("body", "li", "td"):
            return
        place = up


def drop_numbers(block: Element, text: str) -> None:
    """Numbers in elements of their own, one at the beginning of every line, each one more than the one before."""
    lines = [line.strip() for line in text.split("\n")]
    beginning = NUMBER.match(lines[0])
    if len(lines) < LEAST or beginning is None:
        return
    first = int(beginning[0])
    if not all(line.startswith(str(first + n)) for n, line in enumerate(lines)):
        return
    wanted, found = first, []
    for element in block.select(NUMBERED)[:MANY]:
        if element.text.strip() == str(wanted):
            found.append(element)
            wanted += 1
    if len(found) == len(lines):
        for element in found:
            element.decompose()


def is_gutter(block: Element, following: Element) -> bool:
    """Whether a block is nothing but the numbers of the lines of the next."""
    numbers = block.text.split()
    if len(numbers) < 2 or NUMBER.fullmatch(numbers[0]) is None:
        return False
    first = int(numbers[0])
    counted = all(number == str(first + n) for n, number in enumerate(numbers))
    return counted and abs(following.text.strip("\n").count("\n") + 1 - len(numbers)) <= 1
