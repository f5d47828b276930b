"""Links in HTML: what a tree would show as well, but each with the place of its attribute's value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.health.documents.html_tags import HTML_TAG, OPENS, RAW, Seeker, addresses_in_css, attributes, links_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.documents.mention import Found

ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
BASE = re.compile(r"<base[\s/]", re.IGNORECASE)
COMMENT_END = re.compile(r"--!?>")


def links(text: str) -> Iterator[Found]:
    """The links of a page, with the base that the page names, wherever it does so."""
    base = _base(text) if BASE.search(text) else ""
    for tag in tags(text):
        for found in links_of(tag):
            yield found._replace(base=base) if base else found
        if tag["name"].lower() == "style":
            yield from addresses_in_css(text[tag.end() : _past_raw(text, tag)], tag.end(), "bare")


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


def tags(text: str) -> Iterator[re.Match[str]]:
    """Every opening tag, but for those in comments, scripts and the like."""
    seek = Seeker(text)
    at = 0
    while found := OPENS.search(text, at):
        if text[found.end()] in "!?/":
            at = _past_other(text, found.start(), seek)
        elif tag := HTML_TAG.match(text, found.start()):
            yield tag
            at = _past_raw(text, tag)
        else:
            return  # a tag that does not end takes the rest of the page, as in a browser


def _past_other(text: str, start: int, seek: Seeker) -> int:
    """Behind a comment, a declaration, a closing tag."""
    if text.startswith("<!--", start):
        if text.startswith((">", "->"), start + 4):
            return start + 5
        found = COMMENT_END.search(text, start + 4)
        return found.end() if found else len(text)
    if text.startswith("<![CDATA[", start):
        return seek.after("]]>", start) or start + 9
    return seek.after(">", start) or len(text)


def _past_raw(text: str, tag: re.Match[str]) -> int:
    """Behind what a script and its like hold."""
    name = tag["name"].lower()
    if name not in RAW:
        return tag.end()
    found = ENDS[name].search(text, tag.end())
    return found.start() if found else len(text)
