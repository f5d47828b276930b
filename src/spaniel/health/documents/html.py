"""Links in HTML: what a tree would show as well, but each with the place of its attribute's value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.health.documents.html_elements import FONT_ATTRIBUTES, OpenElements
from spaniel.health.documents.html_tags import (
    ATTRIBUTE,
    HTML_TAG,
    OPENS,
    RAW,
    Seeker,
    addresses_in_css,
    attributes,
    links_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.documents.mention import Found

ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
BASE = re.compile(r"<base[\s/]", re.IGNORECASE)
COMMENT_END = re.compile(r"--!?>")
END_TAG = re.compile(HTML_TAG.pattern.replace("<", "</", 1))
FOREIGN = re.compile(r"<(?:svg|math)[\s/>]", re.IGNORECASE)
XML_DECLARATION = re.compile(r"\s*<\?xml\s")
SCRIPT_SIGN = re.compile(r"<!--|-->|</?script(?=[\s/>])", re.IGNORECASE)
CSS_TEXT = re.compile(r"(?:[^<]++|<(?!/?style[\s/>]))*+", re.IGNORECASE)


def links(text: str, *, is_part: bool = False) -> Iterator[Found]:
    """The links of a page, with the base that the page names, wherever it does so. In a part of a page, of which the
    elements around it are not known, `<title/>` closes itself."""
    base = _base(text) if BASE.search(text) else ""
    for tag in tags(text, is_part=is_part):
        for found in links_of(tag):
            yield found._replace(base=base) if base else found
        if tag["name"].lower() == "style":
            css = CSS_TEXT.match(text, tag.end())
            yield from addresses_in_css(css[0] if css else "", tag.end(), "bare")


def _base(text: str) -> str:
    """The first `<base>` with an address counts (HTML 4.2.3)."""
    for tag in tags(text):
        if tag["name"].lower() == "base" and "href" in (has := attributes(tag)):
            return has["href"].value
    return ""


def ids(text: str) -> Iterator[str]:
    """What a fragment may name: every `id`, and the `name` of `<a>`."""
    for tag in tags(text):
        has = attributes(tag)
        if "id" in has:
            yield has["id"].value
        if "name" in has and tag["name"].lower() in ("a", "map"):
            yield has["name"].value


def tags(text: str, *, xml: bool = False, is_part: bool = False) -> Iterator[re.Match[str]]:
    """Every opening tag, but for those in comments, scripts and the like; in XML there is nothing like a script."""
    seek = Seeker(text)
    elements = OpenElements() if not xml and FOREIGN.search(text) else None  # most pages have HTML alone
    is_xml = xml or is_part or XML_DECLARATION.match(text) is not None
    at = 0
    while found := OPENS.search(text, at):
        sign = text[found.end()]
        if sign not in "!?/":
            tag = HTML_TAG.match(text, found.start())
            if tag is None:
                return  # a tag that does not end takes the rest of the page, as in a browser
            yield tag
            at = tag.end() if xml else _past_start(text, tag, elements, is_xml=is_xml)
        elif end := END_TAG.match(text, found.start()):
            if elements is not None:
                elements.end(end["name"].lower())
            at = end.end()
        elif sign == "/" and text[found.end() + 1 : found.end() + 2].isalpha():
            return
        else:
            is_foreign = elements is not None and elements.is_foreign
            at = _past_declaration(text, found.start(), seek, has_cdata=is_foreign or is_xml)


def _past_start(text: str, tag: re.Match[str], elements: OpenElements | None, *, is_xml: bool) -> int:
    """Behind a start tag, and behind the text that a script and its like hold."""
    name, closes_itself = tag["name"].lower(), _closes_itself(tag)
    if elements is not None:
        wanted = ("encoding",) if name == "annotation-xml" else FONT_ATTRIBUTES if name == "font" else ()
        has = {key: one.value for key, one in attributes(tag).items() if key in wanted} if wanted else {}
        if not elements.start(name, has, closes_itself=closes_itself):
            return tag.end()
    if name not in RAW or (is_xml and closes_itself):
        return tag.end()
    if elements is not None:
        elements.end_html(name)
    if name == "plaintext":
        return len(text)
    return _end_of_script(text, tag.end()) if name == "script" else _end_of_raw(text, name, tag.end())


def _closes_itself(tag: re.Match[str]) -> bool:
    """A slash at the end; not that of `<a href=x/>`, which belongs to the value."""
    if not tag["rest"].endswith("/"):
        return False
    end = tag.start("rest")
    for one in ATTRIBUTE.finditer(tag.string, tag.start("rest"), tag.end("rest")):
        end = one.end()
    return end != tag.end("rest")


def _past_declaration(text: str, start: int, seek: Seeker, *, has_cdata: bool) -> int:
    """Behind a comment, a declaration, a CDATA section."""
    if text.startswith("<!--", start):
        if text.startswith((">", "->"), start + 4):
            return text.index(">", start) + 1
        found = COMMENT_END.search(text, start + 4)
        return found.end() if found else len(text)
    if has_cdata and text.startswith("<![CDATA[", start):
        return seek.after("]]>", start + 9) or len(text)
    return seek.after(">", start) or len(text)


def _end_of_raw(text: str, name: str, start: int) -> int:
    found = ENDS[name].search(text, start)
    return found.start() if found else len(text)


def _end_of_script(text: str, start: int) -> int:
    """A script in a comment in a script does not end it (HTML 13.2.5.18, script data double escaped)."""
    is_escaped = is_nested = False
    at = start
    while found := SCRIPT_SIGN.search(text, at):
        at = found.end()
        sign = found[0].lower()
        if sign == "<!--":
            is_escaped, at = True, found.start() + 2  # its hyphens may end it as well: `<!-->`
        elif sign == "-->":
            is_escaped = is_nested = False
        elif sign == "<script":
            is_nested = is_nested or is_escaped
        elif is_nested:
            is_nested = False
        else:
            return found.start()
    return len(text)
