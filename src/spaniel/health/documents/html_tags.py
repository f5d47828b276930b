"""Tags of HTML as they stand in a text, and what of their attributes is a link. No tree: each tag has its own place.

What a browser takes for text is stepped over: comments, scripts, styles, titles. Every search that can fail to the end
of the text fails once, so that a page of nothing but `<!--` costs no more than another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents.mention import Found
from spaniel.health.documents.quoting import BLANKS, decode, from_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUE = r"\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++"
# As CommonMark has it, where `<` may as well be a sign of less (6.6); in HTML it is looser.
MARKDOWN_TAG = re.compile(
    rf"<(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?P<rest>(?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:{VALUE}))?+)*+)\s*+/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>"
)
_NAME = r"(?:=[^\s>/=]*+|[^\s>/=]++)"
_VALUE = r"\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<plain>[^\s\"'>][^\s>]*+)|(?=>))"
ATTRIBUTE = re.compile(rf"(?P<name>{_NAME})(?:{_VALUE})?+")
# A quote that is not closed takes the rest of the page: then there is no tag, and none behind it.
HTML_TAG = re.compile(
    rf"<(?P<name>[A-Za-z][^\s/>\x00]*+)(?P<rest>(?:[\s/]++|{_NAME}(?:{re.sub('P<[a-z]+>', ':', _VALUE)}|(?!\s*+=)))*+)>"
)
OPENS = re.compile(r"<(?=[A-Za-z!?/])")
RAW = {
    "script",
    "style",
    "textarea",
    "title",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "plaintext",
}  # what they hold is text
LINKS: dict[str, tuple[str, ...]] = {
    "href": ("a", "area", "link", "image", "use"),
    "xlink:href": ("a", "image", "use"),
    "src": ("img", "iframe", "script", "video", "audio", "source", "track", "embed", "input", "frame"),
    "data": ("object",),
    "poster": ("video",),
    "cite": ("blockquote", "q", "ins", "del"),
    "srcset": ("img", "source"),
    "imagesrcset": ("link",),
    "background": ("body", "table", "td", "th"),
}
ANYBODYS = ("href", "src", "cite")  # of elements that nobody knows, a component's: where they are an address of the web
ON_THE_WEB = re.compile(r"https?://", re.IGNORECASE)
SETS = ("srcset", "imagesrcset")
ONLY_HOSTS = {"preconnect", "dns-prefetch"}  # what these name is no page
CANDIDATE = re.compile(r"[\s,]*+(?P<url>[^\s,](?:[^\s]*[^\s,])?)(?P<rest>,|[^,(]*+(?:\([^)]*+\)[^,(]*+)*+)")
# A comment, or an address in `url(…)` or behind `@import`.
CSS_ADDRESS = re.compile(
    r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?:\burl\(\s*+|@import\s++)(?:&quot;|&#39;|[\"'])?(?P<url>https?://(?:[^\s\"'()<>\\&]|&(?!quot;|#39;))++)",
    re.IGNORECASE,
)
REFRESH = re.compile(r"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?(?P<quote>[\"']?)(?P<url>[^\"']*)", re.IGNORECASE)


class Attribute(NamedTuple):
    """A value as it is written, without its quotes."""

    written: str
    start: int

    @property
    def value(self) -> str:
        return from_attribute(self.written)


def attributes(tag: re.Match[str]) -> dict[str, Attribute]:
    """Those of a tag, by their names; of two with one name the first counts."""
    found: dict[str, Attribute] = {}
    for match in ATTRIBUTE.finditer(tag.string, tag.start("rest"), tag.end("rest")):
        kind = match.lastgroup if match.lastgroup in ("double", "single", "plain") else None
        value = Attribute(match[kind], match.start(kind)) if kind else Attribute("", match.end())
        found.setdefault(match["name"].lower(), value)
    return found


def links_of(tag: re.Match[str]) -> Iterator[Found]:
    """The links that a tag has, in the order in which they are written."""
    name, has = tag["name"].lower(), attributes(tag)
    if name == "meta":
        yield from _refresh(has)
        return
    if name == "link" and set(has["rel"].value.lower().split() if "rel" in has else ()) & ONLY_HOSTS:
        return
    for key, attribute in has.items():
        if key == "style":
            yield from addresses_in_css(attribute.written, attribute.start, "attribute")
        elif name in LINKS.get(key, ()) or (_may_lead(name, key, has) and ON_THE_WEB.match(attribute.value)):
            yield from _candidates(attribute) if key in SETS else _whole(attribute)


def _may_lead(name: str, key: str, has: dict[str, Attribute]) -> bool:
    """Whether an attribute is a link if it is an address of the web. What a form is posted to cannot be looked at."""
    if key == "action":
        return name == "form" and not ("method" in has and has["method"].value.lower() == "post")
    return key in ANYBODYS and name != "base"


def addresses_in_css(css: str, start: int, syntax: str) -> Iterator[Found]:
    """What a style sheet names on the web. What is relative there may be made by the tools that make the page."""
    for match in CSS_ADDRESS.finditer(css):
        if match["url"] is not None:
            place = start + match.start("url")
            yield Found(decode(match["url"], syntax), place, place + len(match["url"]), syntax)


def _whole(attribute: Attribute) -> Iterator[Found]:
    """One address; blanks around it do not belong to it."""
    bare = attribute.written.strip(BLANKS)
    start = attribute.start + len(attribute.written) - len(attribute.written.lstrip(BLANKS))
    url = from_attribute(bare)
    if url:
        yield Found(url, start, start + len(bare), "attribute")


def _candidates(attribute: Attribute) -> Iterator[Found]:
    """The addresses of a `srcset`; a comma belongs to an address unless it ends it (HTML 4.8.4.2.1)."""
    for match in CANDIDATE.finditer(attribute.written):
        start = attribute.start + match.start("url")
        yield Found(from_attribute(match["url"]), start, start + len(match["url"]), "srcset")


def _refresh(has: dict[str, Attribute]) -> Iterator[Found]:
    content, is_refresh = has.get("content"), "http-equiv" in has and has["http-equiv"].value.lower() == "refresh"
    if content and is_refresh and (match := REFRESH.match(content.written)):
        yield from _whole(Attribute(match["url"], content.start + match.start("url")))


class Seeker:
    """Finds strings from left to right, and remembers which are not to be found any more."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._gone: set[str] = set()

    def after(self, needle: str, start: int) -> int | None:
        """Where the first of them ends; None where there is none."""
        if needle in self._gone:
            return None
        at = self.text.find(needle, start)
        if at == -1:
            self._gone.add(needle)
            return None
        return at + len(needle)
