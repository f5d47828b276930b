"""Broken sitemaps and feeds, in flat memory: addresses and dates are plain to see even where the XML is not."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from spaniel.batch.sources.lines import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

Entry = dict[str, str]

PIECE = 1 << 16
LONGEST = 1 << 14  # bytes of a tag with its text; what is longer is no address
_LINK = rb"""<link\b[^<>]{0,2000}?\bhref\s*=\s*["'](?P<href>[^"'<>]{1,8192})["'][^<>]{0,2000}>"""
_TEXT = rb"<(?P<name>loc|lastmod|link|pubDate|updated)>\s*(?:<!\[CDATA\[)?(?P<text>[^<\]]{1,8192})"
_BEGIN = rb"<(?P<entry>url|sitemap|item|entry)[ \t\r\n>]"
_PART = re.compile(b"|".join((_BEGIN, _TEXT, _LINK)))
_REL = re.compile(rb"""\brel\s*=\s*["'](?!alternate["'])""")


def scan_broken(begun: bytes, stream: BinaryIO, root: str, most: int) -> Iterator[Entry]:
    """Entries from here on; `root` is empty where the XML broke before anything was known."""
    entry: Entry = {}
    for part in _parts(begun, stream, most):
        if part["entry"]:
            if entry:
                yield entry
            entry = {}
        elif part["href"]:
            if root in ("feed", "") and not _REL.search(part[0]):
                entry.setdefault("link", _text(part["href"]))
        else:
            entry.setdefault(part["name"].decode(), _text(part["text"]))
    if entry:
        yield entry


def _parts(begun: bytes, stream: BinaryIO, most: int) -> Iterator[re.Match[bytes]]:
    """What is found, piece by piece; the end of a piece is looked at again with the next, since it may be cut there."""
    held, more = begun, True
    while more:
        piece = stream.read(PIECE) if most > 0 else b""
        most -= len(piece)
        more = bool(piece)
        held += piece
        sure = len(held) - LONGEST if more else len(held)
        at = 0
        while (found := _PART.search(held, at)) and found.start() < sure:
            at = found.end()
            yield found
        held = held[max(at, sure, 0) :]


def _text(raw: bytes) -> str:
    return unescape(decoded(raw)).strip()
