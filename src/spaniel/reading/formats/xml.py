"""XML: what kind of document it is, sitemaps as links, anything else as it is, in a code block.

No tree is built, and only the five entities of XML are known: there is nothing to expand and nothing to fetch."""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.reading.document import READING_CUT, Document, Hygiene
from spaniel.reading.formats.plain import read_text
from spaniel.reading.html.links import NEEDS_ESCAPING, WEB_PREFIXES
from spaniel.reading.markdown.code_blocks import fenced
from spaniel.reading.markdown.writer import MIN_ALLOWANCE
from spaniel.reading.text.charset import decode_xml
from spaniel.reading.text.scrub import scrub
from spaniel.reading.text.words import normalize_newlines

MAX_PROLOG = 4096  # characters
BEFORE = r"(?:\s++|<\?[^>]*+>|<!--(?>.*?-->)|<!doctype(?>[^\[>]*+(?:\[[^\]]*+\]\s*+)?)>)*+"
ROOT = re.compile(
    rf"\ufeff?{BEFORE}<(?P<prefix>[A-Za-z_][\w.-]*+:)?+(?P<name>[A-Za-z_][\w.-]*+)", re.IGNORECASE | re.DOTALL
)
FEEDS = frozenset({"rss", "feed", "rdf"})


class XmlRoot(NamedTuple):
    """The name of an element, in lower case but for its prefix."""

    prefix: str = ""
    name: str = ""


def xml_root(text: str) -> XmlRoot:
    """What stands first behind declarations and comments; nothing where that is no element."""
    found = ROOT.match(text[:MAX_PROLOG])
    return XmlRoot(found["prefix"] or "", found["name"].lower()) if found else XmlRoot()


def looks_like_xml(text: str) -> bool:
    return text[:5].lower() == "<?xml" or bool(xml_root(text).name)


SITEMAPS = frozenset({"urlset", "sitemapindex"})
SITEMAP_FIELD = re.compile(
    r"<(?P<name>(?:\w{1,40}:)?(?:loc|lastmod|url|sitemap))(?:\s[^<>]*)?>\s*+(?:<!\[CDATA\[)?+(?P<text>[^<\]]*+)"
)
REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
XML_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
MAX_SITEMAP_LINKS = 50_000  # what a sitemap may hold (sitemaps.org)


def read_xml(body: bytes | str, url: str | None, charset: str | None) -> Document:
    text = normalize_newlines(body if isinstance(body, str) else decode_xml(body, charset)).strip("\n\ufeff \t")
    if not looks_like_xml(text):
        return read_text(text, url, None)
    clean, invisible, controls = scrub(text)
    root = xml_root(clean)
    links = sitemap_links(clean, root.prefix, 4 * len(body) + MIN_ALLOWANCE) if root.name in SITEMAPS else None
    hygiene = Hygiene(invisible_characters=invisible, control_characters=controls)
    if not links:
        return Document(fenced(clean, "xml"), kind="xml", hygiene=hygiene)
    markdown, cut = links
    return Document(markdown, kind="sitemap", hygiene=hygiene, notes=(READING_CUT,) if cut else ())


def sitemap_links(text: str, prefix: str, most: int) -> tuple[str, bool] | None:
    """Return a list of the URLs with the day of their last change, and whether it was cut; None without URLs."""
    lines: list[str] = []
    size = 0
    for found in SITEMAP_FIELD.finditer(text):
        name = found["name"].removeprefix(prefix)
        value = unescape_xml(found["text"]).strip()
        if name == "loc" and value.startswith(WEB_PREFIXES) and not NEEDS_ESCAPING.search(value):
            size += len(value.encode()) + 40
            if size > most or len(lines) == MAX_SITEMAP_LINKS:
                return "\n".join(lines) + "\n", True
            lines.append(f"- <{value}>")
        elif name == "lastmod" and lines and value[:10].replace("-", "").isdigit() and len(value) <= 40:
            lines[-1] = f"{lines[-1].partition(' · ')[0]} · {value[:10]}"
    return ("\n".join(lines) + "\n", False) if lines else None


def unescape_xml(text: str) -> str:
    """XML's own references for characters, and no others."""
    return REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return XML_ENTITIES[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
