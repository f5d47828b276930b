"""XML: what kind of document it is, sitemaps as links, anything else as it is, between fences.

No tree is built here, and no entity beyond the five that XML knows is ever looked at: there is nothing to expand and
nothing to fetch.
"""

from __future__ import annotations

import re

from spaniel.reading.charset import decode_xml
from spaniel.reading.document import READING_CUT, Document, Hygiene
from spaniel.reading.fences import fenced
from spaniel.reading.hygiene import scrub
from spaniel.reading.links import NEEDS_CARE, WEB
from spaniel.reading.markdown import AT_LEAST
from spaniel.reading.plain import read_text
from spaniel.reading.whitespace import unix_lines
from spaniel.reading.xml_root import looks_like_xml, root_of

SITEMAPS = frozenset({"urlset", "sitemapindex"})
PLACE = re.compile(
    r"<(?P<name>(?:\w{1,40}:)?(?:loc|lastmod|url|sitemap))(?:\s[^<>]*)?>\s*+(?:<!\[CDATA\[)?+(?P<text>[^<\]]*+)"
)
REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
FIVE = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
MOST_LINKS = 50_000  # what a sitemap may hold (sitemaps.org)


def read_xml(body: bytes | str, url: str | None, charset: str | None) -> Document:
    text = unix_lines(body if isinstance(body, str) else decode_xml(body, charset)).strip("\n\ufeff \t")
    if not looks_like_xml(text):
        return read_text(text, url, None)
    clean, invisible, controls = scrub(text)
    root = root_of(clean)
    links = sitemap_links(clean, root.prefix, 4 * len(body) + AT_LEAST) if root.name in SITEMAPS else None
    hygiene = Hygiene(invisible_characters=invisible, control_characters=controls)
    if not links:
        return Document(fenced(clean, "xml"), kind="xml", hygiene=hygiene)
    markdown, cut = links
    return Document(markdown, kind="sitemap", hygiene=hygiene, notes=(READING_CUT,) if cut else ())


def sitemap_links(text: str, prefix: str, most: int) -> tuple[str, bool] | None:
    """Addresses with the day of their last change, and whether some are left out; None where there are none."""
    lines: list[str] = []
    size = 0
    for found in PLACE.finditer(text):
        name = found["name"].removeprefix(prefix)
        told = plain(found["text"]).strip()
        if name == "loc" and told.startswith(WEB) and not NEEDS_CARE.search(told):
            size += len(told.encode()) + 40
            if size > most or len(lines) == MOST_LINKS:
                return "\n".join(lines) + "\n", True
            lines.append(f"- <{told}>")
        elif name == "lastmod" and lines and told[:10].replace("-", "").isdigit() and len(told) <= 40:
            lines[-1] = f"{lines[-1].partition(' · ')[0]} · {told[:10]}"
    return ("\n".join(lines) + "\n", False) if lines else None


def plain(text: str) -> str:
    """XML's own references for characters, and no others."""
    return REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return FIVE[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
