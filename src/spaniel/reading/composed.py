"""Text that a browser shows and a tree of HTML has elsewhere: open shadow roots, and the labels of drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.clean import LONGEST_STYLE, hides
from spaniel.reading.hygiene import one_line

if TYPE_CHECKING:
    from turbohtml import Document, Node

SHADOW = b"shadowrootmode"
MOST_HOSTS = 2000
LABELS = "text,foreignObject"
MOST_DRAWINGS, MOST_LABELS = 500, 200  # of a page, of a drawing
LONGEST_LABEL = 200  # characters
HIDDEN = (
    "[hidden],[aria-hidden=true],[display=none],[visibility=hidden],[visibility=collapse],[opacity='0'],[fill-opacity='0'],"
    "[font-size='0'],[fill=transparent],defs,symbol,clipPath,mask,metadata,desc"
)
BESIDE = " · "


def open_shadow_roots(doc: Document, source: bytes) -> None:
    """Put what a declarative shadow root (`<template shadowrootmode=open>`) holds into its host, as it is shown."""
    if SHADOW not in source.lower():
        return
    left = MOST_HOSTS
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
    for drawing in doc.select("svg")[:MOST_DRAWINGS]:
        if drawing.parent is None or drawing.closest("svg svg,a,button,label") is not None or _is_hidden(drawing):
            continue
        labels: dict[str, None] = {}
        for label in drawing.select(LABELS)[:MOST_LABELS]:
            text = one_line(label.text[: 2 * LONGEST_LABEL])
            if text and not _is_hidden_in(label, drawing) and any(map(str.isalpha, text)):
                labels[text[:LONGEST_LABEL]] = None
        if labels:
            line = Element("p")
            line.append(Text(BESIDE.join(labels)))
            drawing.insert_after(line)


def _is_hidden_in(label: Element, drawing: Element) -> bool:
    """Whether a label, or something around it in its drawing, is not shown (THREATS: hidden text is no text)."""
    node: Node | None = label
    while isinstance(node, Element) and node != drawing:
        if _is_hidden(node):
            return True
        node = node.parent
    return False


def _is_hidden(element: Element) -> bool:
    style = element.attr("style")
    return element.matches(HIDDEN) or (style is not None and hides(style[:LONGEST_STYLE]))
