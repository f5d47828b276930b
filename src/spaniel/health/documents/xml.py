"""Links in sitemaps and feeds: the text of `<loc>` and `<link>`, and what `href` and `url` say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.health.documents.html import tags
from spaniel.health.documents.html_tags import attributes
from spaniel.health.documents.mention import Found
from spaniel.health.documents.quoting import BLANKS, from_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator

CARRIERS = frozenset({"loc", "link", "guid", "image:loc", "video:content_loc", "video:player_loc", "comments", "url"})
CONTENT = re.compile(r"(?:\s*+<!\[CDATA\[(?P<data>[^\]<]*+)\]\]>|(?P<text>[^<]*+))")
POINTERS = ("href", "url", "src")
WEB = re.compile(r"https?://", re.IGNORECASE)


def links(text: str) -> Iterator[Found]:
    for tag in tags(text, xml=True):
        for name, attribute in attributes(tag).items():
            if name in POINTERS and WEB.match(attribute.value):
                bare = attribute.written.strip(BLANKS)
                start = attribute.start + attribute.written.index(bare[0])
                yield Found(from_attribute(bare), start, start + len(bare), "attribute")
        if tag["name"].lower() in CARRIERS and (found := CONTENT.match(text, tag.end())):
            group = "text" if found["text"] is not None else "data"
            bare = found[group].strip(BLANKS)
            url = from_attribute(bare) if group == "text" else bare
            if WEB.match(url):
                start = found.start(group) + found[group].index(bare[0])
                yield Found(url, start, start + len(bare), "xml" if group == "text" else "bare")
