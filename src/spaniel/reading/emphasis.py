"""Emphasis: none of a whole heading, anew on each line, and as marks where the writer left tags.

Where one emphasised text of a page is not ASCII, the writer does not trust its marks and writes tags for all of them.
"""

from __future__ import annotations

import re
from unicodedata import category

from turbohtml import Element, Node, Text

EMPHASIS = frozenset({"b", "strong", "i", "em"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
ONE_LINE = "h1,h2,h3,h4,h5,h6,td,th"
AROUND = frozenset({"a", "span"})  # between a heading and what is bold in it
LOOKED_AT = 2_000_000  # characters of headings, which may stand inside each other
PARTS = 2000  # elements that may be made: each takes kilobytes
MARKS = {"strong": "**", "em": "*", "del": "~~", "s": "~~"}
TAG = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|\\.|<(?P<end>/?)(?P<name>strong|em|del|s)>"
    r"|(?P<shout>!)(?=(?:</?[a-z]{1,6}>)+\[)"  # without the tags between them they would begin an image
)
CLEAR = frozenset(("", " ", *".,;:!?()[]|\"'"))  # beside a mark, outside: they are none
NEAR = frozenset("*~_<>&;")  # beside a mark they could be taken for a part of it, or are a tag or a blank that may go


def plain_headings(headings: list[Element]) -> None:
    """A heading that is bold all over is a heading: only a word of it stands out."""
    left = LOOKED_AT
    for heading in headings:
        parts = [part for child in heading.children for part in _bold(child)]
        if not parts or left < 0:
            continue
        text = heading.text
        left -= len(text)
        if _letters(text) == sum(_letters(part.text) for part in parts):
            for part in parts:
                part.unwrap()


def _bold(node: Node) -> list[Element]:
    """What is bold of a heading's child: itself, or inside a link."""
    inside = node.children if isinstance(node, Element) and node.tag in AROUND else [node]
    return [one for one in inside if isinstance(one, Element) and one.tag in ("strong", "b")]


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def part_emphasis(breaks: list[Element]) -> None:
    """Emphasis over several lines begins anew on each: the writer would make one line of them."""
    around = [one.parent for one in breaks]
    broken = [element for element in around if isinstance(element, Element) and element.tag in EMPHASIS]
    for element in dict.fromkeys(broken) if len(broken) <= PARTS else ():
        if element.closest(ONE_LINE) is None:
            _part(element)


def _part(element: Element) -> None:
    last: Node = element  # of what was moved out
    part: Element | None = element
    for child in list(element.children):
        if isinstance(child, Element) and child.tag == "br":
            part = None
        elif part is None and (not isinstance(child, Text) or child.data.strip()):
            part = Element(element.tag)
            last.insert_after(part)
            last = part
        if part is None:
            last.insert_after(child)
            last = child
        elif part is not element:
            part.append(child)


def mark_emphasis(line: str) -> str:
    """Only what begins and ends on this line. Emphasis inside emphasis is left out where their marks would touch."""
    marks: dict[int, str] = {}  # where a tag stands -> what stands there instead
    waiting: list[re.Match[str]] = []
    for tag in TAG.finditer(line):
        if tag["name"] is None:
            continue
        if not tag["end"]:
            waiting.append(tag)
        elif waiting and waiting[-1]["name"] == tag["name"]:
            begin = waiting.pop()
            if _is_read(line, begin, tag, alone=not waiting):
                marks[begin.start()] = marks[tag.start()] = MARKS[tag["name"]]
        else:
            waiting.clear()
    return TAG.sub(lambda tag: marks.get(tag.start(), "") if tag["name"] else "\\" * bool(tag["shout"]) + tag[0], line)


def _is_read(line: str, begin: re.Match[str], end: re.Match[str], *, alone: bool) -> bool:
    """Whether marks in the place of the tags open and close emphasis (CommonMark 0.31, 6.2: flanking)."""
    first, last = line[begin.end() : begin.end() + 1], line[end.start() - 1 : end.start()]
    if begin.end() >= end.start() or first.isspace() or last.isspace() or first in NEAR or last in NEAR:
        return False
    before, after = line[max(0, begin.start() - 1) : begin.start()], line[end.end() : end.end() + 1]
    if not alone or before in NEAR or after in NEAR:
        return before in CLEAR and after in CLEAR and not _is_sign(first) and not _is_sign(last)
    return (before in CLEAR or not _is_sign(first)) and (after in CLEAR or not _is_sign(last))


def _is_sign(character: str) -> bool:
    return category(character)[0] in "PS"
