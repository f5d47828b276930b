"""Raw HTML in Markdown: which of it goes with what it holds, which only as a tag, and what Markdown has for it."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from spaniel.reading.clean import hides
from spaniel.reading.lexicon import lexicon

ELEMENTS = {sort: frozenset(names.split()) for sort, names in lexicon("raw_html")["elements"].items()}
GONE, RAW_TEXT, INLINE, HARMLESS = (ELEMENTS[sort] for sort in ("gone", "raw_text", "inline", "harmless"))
KNOWN = frozenset().union(*ELEMENTS.values())
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_VALUE = r"\"[^\"]{0,8192}+\"|'[^']{0,8192}+'|[^\s\"'=<>`]++"
_ATTRIBUTE = rf"[^\s\"'<>/=]++(?:\s*+=\s*+(?:{_VALUE}))?+"
TAG = re.compile(rf"<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:-]*+)(?P<rest>(?:[\s/]++{_ATTRIBUTE}){{0,200}}+)[\s/]*+>")
ATTRIBUTE = re.compile(rf"([^\s\"'<>/=]++)(?:\s*+=\s*+({_VALUE}))?+")


class Tag(NamedTuple):
    """A tag in a text."""

    name: str  # in lower case
    closing: bool
    attributes: dict[str, str]

    @property
    def is_known(self) -> bool:
        """Whether HTML has such an element; `<T>` and `<your-name>` are text to whoever wrote them."""
        return self.name in KNOWN or bool(self.attributes)

    @property
    def bare(self) -> str:
        return f"</{self.name}>" if self.closing else f"<{self.name}>"

    @property
    def hides(self) -> bool:
        """Whether what it holds is not shown, or runs."""
        if self.closing:
            return False
        return self.name in GONE or "hidden" in self.attributes or hides(self.attributes.get("style", "")[:2000])


def tag_of(match: re.Match[str]) -> Tag:
    found: dict[str, str] = {}
    for name, value in ATTRIBUTE.findall(match["rest"]):
        text = value[1:-1] if value[:1] in ("'", '"') else value
        found.setdefault(name.lower(), unescape(text))
    return Tag(match["name"].lower(), bool(match["end"]), found)
