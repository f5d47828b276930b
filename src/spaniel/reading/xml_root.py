"""The first element of an XML text, which tells what the text is."""

from __future__ import annotations

import re
from typing import NamedTuple

LOOKED_AT = 4096  # characters
BEFORE = r"(?:\s++|<\?[^>]*+>|<!--(?>.*?-->)|<!doctype(?>[^\[>]*+(?:\[[^\]]*+\]\s*+)?)>)*+"
ROOT = re.compile(
    rf"\ufeff?{BEFORE}<(?P<prefix>[A-Za-z_][\w.-]*+:)?+(?P<name>[A-Za-z_][\w.-]*+)", re.IGNORECASE | re.DOTALL
)
FEEDS = frozenset({"rss", "feed", "rdf"})


class Root(NamedTuple):
    """The name of an element, in lower case but for its prefix."""

    prefix: str = ""
    name: str = ""


def root_of(text: str) -> Root:
    """What stands first behind declarations and comments; nothing where that is no element."""
    found = ROOT.match(text[:LOOKED_AT])
    return Root(found["prefix"] or "", found["name"].lower()) if found else Root()


def looks_like_xml(text: str) -> bool:
    return text[:5].lower() == "<?xml" or bool(root_of(text).name)
