"""Raw HTML in Markdown: which of it goes with what it holds, which only as a tag, and what Markdown has for it."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from spaniel.reading.clean import hides

# They run, or nobody sees what is in them.
GONE = frozenset(
    "applet audio canvas frameset head iframe noembed noframes object script select style svg template textarea "
    "title video xmp".split()
)
KNOWN = GONE | frozenset(
    "a abbr acronym address area article aside b base basefont bdi bdo bgsound big blink blockquote body br button "
    "caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset "
    "figcaption figure font footer form frame h1 h2 h3 h4 h5 h6 header hgroup hr html i image img input ins kbd "
    "keygen label legend li link listing main map mark marquee math menu menuitem meta meter nav nobr noscript ol optgroup "
    "option output p param picture plaintext pre progress q rb rp rt rtc ruby s samp search section slot small source "
    "spacer span strike strong sub summary sup table tbody td tfoot th thead time tr track tt u ul var wbr".split()
)
# Their content is no markup: another of them does not begin inside.
RAW_TEXT = frozenset("iframe noembed noframes script style textarea title xmp".split())
INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q s samp small span strike strong "
    "sub sup time tt u var wbr".split()
)
# They neither run nor hide nor lead anywhere: without attributes they stay as somebody wrote them.
HARMLESS = (INLINE - {"a", "font"}) | frozenset(
    "article aside blockquote br caption center dd details div dl dt figcaption figure footer header hr li main nav ol p "
    "pre rp rt ruby section summary table tbody td tfoot th thead tr ul".split()
)
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
