"""Finds links and anchors in HTML and XML documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents.mentions import LineIndex, LinkSpan
from spaniel.health.documents.quoting import BLANKS, decode, from_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

# -- Links of a tag

VALUE = r"\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++"
# As in CommonMark (6.6), where `<` may also be a less-than sign; HTML is less strict.
MARKDOWN_TAG = re.compile(
    rf"<(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?P<rest>(?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:{VALUE}))?+)*+)\s*+/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>"
)
_NAME = r"(?:=[^\s>/=]*+|[^\s>/=]++)"
_VALUE = r"\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<plain>[^\s\"'>][^\s>]*+)|(?=>))"
ATTRIBUTE = re.compile(rf"(?P<name>{_NAME})(?:{_VALUE})?+")
# An unclosed quote extends to the end of the page: then neither this tag nor any later one exists.
HTML_TAG = re.compile(
    rf"<(?P<name>[A-Za-z][^\s/>\x00]*+)(?P<rest>(?:[\s/]++|{_NAME}(?:{re.sub('P<[a-z]+>', ':', _VALUE)}|(?!\s*+=)))*+)>"
)
LINKS: dict[str, tuple[str, ...]] = {  # the elements in which an attribute is a link
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
ANY_ELEMENT = ("href", "src", "cite")  # of unknown elements, such as web components: links if they are web URLs
WEB_URL = re.compile(r"https?://", re.IGNORECASE)
SRCSETS = ("srcset", "imagesrcset")
HOST_HINTS = {"preconnect", "dns-prefetch"}  # these link types name a host rather than a page
CANDIDATE = re.compile(r"[\s,]*+(?P<url>[^\s,](?:[^\s]*[^\s,])?)(?P<rest>,|[^,(]*+(?:\([^)]*+\)[^,(]*+)*+)")
# A comment, or a URL in `url(…)` or after `@import`.
CSS_URL = re.compile(
    r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?:\burl\(\s*+|@import\s++)(?:&quot;|&#39;|[\"'])?(?P<url>https?://(?:[^\s\"'()<>\\&]|&(?!quot;|#39;))++)",
    re.IGNORECASE,
)
REFRESH = re.compile(r"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?(?P<quote>[\"']?)(?P<url>[^\"']*)", re.IGNORECASE)


class Attribute(NamedTuple):
    """An attribute value as written, without its quotes."""

    written: str
    start: int

    @property
    def value(self) -> str:
        return from_attribute(self.written)


def attributes(tag: re.Match[str]) -> dict[str, Attribute]:
    """Return the attributes of a tag by name; of duplicates, the first counts."""
    found: dict[str, Attribute] = {}
    for match in ATTRIBUTE.finditer(tag.string, tag.start("rest"), tag.end("rest")):
        kind = match.lastgroup if match.lastgroup in ("double", "single", "plain") else None
        value = Attribute(match[kind], match.start(kind)) if kind else Attribute("", match.end())
        found.setdefault(match["name"].lower(), value)
    return found


def links_of(tag: re.Match[str]) -> Iterator[LinkSpan]:
    """Yield the links of a tag in the order of its attributes."""
    name, has = tag["name"].lower(), attributes(tag)
    if name == "meta":
        yield from _refresh_link(has)
        return
    if name == "link" and set(has["rel"].value.lower().split() if "rel" in has else ()) & HOST_HINTS:
        return
    for key, attribute in has.items():
        if key == "style":
            yield from css_links(attribute.written, attribute.start, "attribute")
        elif name in LINKS.get(key, ()) or (_may_be_link(name, key, has) and WEB_URL.match(attribute.value)):
            yield from _srcset_links(attribute) if key in SRCSETS else _single_link(attribute)


def _may_be_link(name: str, key: str, has: dict[str, Attribute]) -> bool:
    """Whether the attribute is a link if it is a web URL. The target of a POST form cannot be checked."""
    if key == "action":
        return name == "form" and not ("method" in has and has["method"].value.lower() == "post")
    return key in ANY_ELEMENT and name != "base"


def css_links(css: str, start: int, syntax: str) -> Iterator[LinkSpan]:
    """Yield the web URLs of a style sheet. Relative ones may be made by the tools that build the page."""
    for match in CSS_URL.finditer(css):
        if match["url"] is not None:
            place = start + match.start("url")
            yield LinkSpan(decode(match["url"], syntax), place, place + len(match["url"]), syntax)


def _single_link(attribute: Attribute) -> Iterator[LinkSpan]:
    bare = attribute.written.strip(BLANKS)
    start = attribute.start + len(attribute.written) - len(attribute.written.lstrip(BLANKS))
    url = from_attribute(bare)
    if url:
        yield LinkSpan(url, start, start + len(bare), "attribute")


def _srcset_links(attribute: Attribute) -> Iterator[LinkSpan]:
    """Yield the URLs of a `srcset`. A comma is part of a URL unless it ends it (HTML 4.8.4.2.1)."""
    for match in CANDIDATE.finditer(attribute.written):
        start = attribute.start + match.start("url")
        yield LinkSpan(from_attribute(match["url"]), start, start + len(match["url"]), "srcset")


def _refresh_link(has: dict[str, Attribute]) -> Iterator[LinkSpan]:
    content, is_refresh = has.get("content"), "http-equiv" in has and has["http-equiv"].value.lower() == "refresh"
    if content and is_refresh and (match := REFRESH.match(content.written)):
        yield from _single_link(Attribute(match["url"], content.start + match.start("url")))


# -- Tags of a document

RAW_TEXT = frozenset(  # elements whose content is text
    {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"}
)
RAW_TEXT_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW_TEXT}
MARKUP = re.compile(r"<(?=[A-Za-z!?/])")
COMMENT_END = re.compile(r"--!?>")
END_TAG = re.compile(HTML_TAG.pattern.replace("<", "</", 1))
FOREIGN = re.compile(r"<(?:svg|math)[\s/>]", re.IGNORECASE)
XML_DECLARATION = re.compile(r"\s*<\?xml\s")
SCRIPT_SIGN = re.compile(r"<!--|-->|</?script(?=[\s/>])", re.IGNORECASE)


def tags(text: str, *, xml: bool = False, is_part: bool = False) -> Iterator[re.Match[str]]:
    """Yield every start tag, except in comments, scripts and other raw text. In XML nothing is raw text.

    In a part of a page, whose surrounding elements are unknown, and in XHTML, `<title/>` closes itself. In SVG and
    MathML it does so, too, but only a parser knows where these end; so it finds the tags of pages that have them.
    """
    is_xml = xml or is_part or XML_DECLARATION.match(text) is not None
    if not is_xml and FOREIGN.search(text):
        yield from _tags_of_tree(text)
        return
    at = 0
    while found := MARKUP.search(text, at):
        sign = text[found.end()]
        if sign not in "!?/":
            tag = HTML_TAG.match(text, found.start())
            if tag is None:
                return  # a tag that is not closed extends to the end of the page, as in a browser
            yield tag
            at = tag.end()
            name = tag["name"].lower()
            if not xml and name in RAW_TEXT and not (is_xml and _closes_itself(tag)):
                at = _raw_text_end(text, name, at)
        elif end := END_TAG.match(text, found.start()):
            at = end.end()
        elif sign == "/" and text[found.end() + 1 : found.end() + 2].isalpha():
            return
        else:
            at = _declaration_end(text, found.start(), has_cdata=is_xml)


def _tags_of_tree(text: str) -> Iterator[re.Match[str]]:
    """Yield the tags from which turbohtml makes elements. An element may be made several times from one tag."""
    from turbohtml import parse

    lines, last = LineIndex(text), -1
    elements = ((each.source_line, each.source_col) for each in parse(text).iter_elements())
    for start in sorted(lines.offset(line, column or 0) for line, column in elements if line is not None):
        if start != last and (tag := HTML_TAG.match(text, start)):
            yield tag
        last = start


def _closes_itself(tag: re.Match[str]) -> bool:
    """Whether a slash ends the tag; in `<a href=x/>` it is part of the value."""
    if not tag["rest"].endswith("/"):
        return False
    end = tag.start("rest")
    for attribute in ATTRIBUTE.finditer(tag.string, tag.start("rest"), tag.end("rest")):
        end = attribute.end()
    return end != tag.end("rest")


def _declaration_end(text: str, start: int, *, has_cdata: bool) -> int:
    """Return the end of a comment, declaration or CDATA section."""
    if text.startswith("<!--", start):
        if text.startswith((">", "->"), start + 4):
            return text.index(">", start) + 1
        found = COMMENT_END.search(text, start + 4)
        return found.end() if found else len(text)
    closing = "]]>" if has_cdata and text.startswith("<![CDATA[", start) else ">"
    at = text.find(closing, start)
    return len(text) if at < 0 else at + len(closing)


def _raw_text_end(text: str, name: str, start: int) -> int:
    if name == "plaintext":
        return len(text)
    if name == "script":
        return _script_end(text, start)
    found = RAW_TEXT_END[name].search(text, start)
    return found.start() if found else len(text)


def _script_end(text: str, start: int) -> int:
    """`</script>` does not end a script inside a comment inside a script (HTML 13.2.5.18, double escaped)."""
    is_escaped = is_nested = False
    at = start
    while found := SCRIPT_SIGN.search(text, at):
        at = found.end()
        sign = found[0].lower()
        if sign == "<!--":
            is_escaped, at = True, found.start() + 2  # its hyphens may also end it: `<!-->`
        elif sign == "-->":
            is_escaped = is_nested = False
        elif sign == "<script":
            is_nested = is_nested or is_escaped
        elif is_nested:
            is_nested = False
        else:
            return found.start()
    return len(text)


# -- Links of a document

BASE = re.compile(r"<base[\s/]", re.IGNORECASE)
CSS_TEXT = re.compile(r"(?:[^<]++|<(?!/?style[\s/>]))*+", re.IGNORECASE)


def html_links(text: str, *, is_part: bool = False) -> Iterator[LinkSpan]:
    """Yield the links of a page, with the page's own base URL."""
    base = _base(text) if BASE.search(text) else ""
    for tag in tags(text, is_part=is_part):
        for link in links_of(tag):
            yield link._replace(base=base) if base else link
        if tag["name"].lower() == "style":
            css = CSS_TEXT.match(text, tag.end())
            yield from css_links(css[0] if css else "", tag.end(), "bare")


def _base(text: str) -> str:
    """Return the first `<base>` with a URL (HTML 4.2.3)."""
    for tag in tags(text):
        if tag["name"].lower() == "base" and "href" in (has := attributes(tag)):
            return has["href"].value
    return ""


def html_anchors(text: str, *, is_part: bool = False) -> Iterator[str]:
    """Yield the anchors of a page: every `id`, and the `name` of `<a>` and `<map>`."""
    for tag in tags(text, is_part=is_part):
        has = attributes(tag)
        if "id" in has:
            yield has["id"].value
        if "name" in has and tag["name"].lower() in ("a", "map"):
            yield has["name"].value


XML_ELEMENTS = frozenset(
    {"loc", "link", "guid", "image:loc", "video:content_loc", "video:player_loc", "comments", "url"}
)
XML_ATTRIBUTES = ("href", "url", "src")
CONTENT = re.compile(r"(?:\s*+<!\[CDATA\[(?P<data>[^\]<]*+)\]\]>|(?P<text>[^<]*+))")


def xml_links(text: str) -> Iterator[LinkSpan]:
    """Yield the web URLs of a sitemap, a feed or another XML document."""
    for tag in tags(text, xml=True):
        for name, attribute in attributes(tag).items():
            if name in XML_ATTRIBUTES and WEB_URL.match(attribute.value):
                bare = attribute.written.strip(BLANKS)
                start = attribute.start + attribute.written.index(bare[0])
                yield LinkSpan(from_attribute(bare), start, start + len(bare), "attribute")
        if tag["name"].lower() in XML_ELEMENTS and (found := CONTENT.match(text, tag.end())):
            group = "text" if found["text"] is not None else "data"
            bare = found[group].strip(BLANKS)
            url = from_attribute(bare) if group == "text" else bare
            if WEB_URL.match(url):
                start = found.start(group) + found[group].index(bare[0])
                yield LinkSpan(url, start, start + len(bare), "xml" if group == "text" else "bare")
