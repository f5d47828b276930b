"""Front matter of Markdown: lines of `key: value` between `---` and `---`. What is no such list stays where it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.reading.hygiene import one_line

LONGEST = 1 << 16  # characters
BLOCK = re.compile(r"---[ \t]*\n(?P<lines>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
PAIR = re.compile(r"(?P<key>[A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(?P<value>.*))?")
BELONGS = re.compile(r"[ \t]|- |-$|#|$")  # to the key before: what is further in, items, comments, blank lines
NO_TEXT = ("|", ">", "[", "{", "&", "*", "!")  # the beginning of a value that is more than a line of text


class FrontMatter(NamedTuple):
    """What a Markdown file says about itself, and the rest of it."""

    told: dict[str, str]  # keys in lower case
    rest: str


def split(text: str) -> FrontMatter:
    block = BLOCK.match(text[:LONGEST]) if text.startswith("---") else None
    told = None if block is None else _pairs(block["lines"].split("\n"))
    return FrontMatter({}, text) if block is None or not told else FrontMatter(told, text[block.end() :])


def _pairs(lines: list[str]) -> dict[str, str] | None:
    """The values that are one line of text; None where a line is neither a key nor belongs to one."""
    told: dict[str, str] = {}
    for line in lines:
        pair = PAIR.fullmatch(line)
        if pair is None:
            if BELONGS.match(line):
                continue
            return None
        told.setdefault(pair["key"].lower(), _plain(pair["value"] or ""))
    return told


def _plain(value: str) -> str:
    value = value.strip()
    if value[:1] in ("'", '"'):
        return one_line(value[1:].rpartition(value[0])[0]) or ""
    if value.startswith(NO_TEXT):
        return ""
    return one_line(value.partition(" #")[0]) or ""
