"""Bytes to a tree, by the HTML standard's order: BOM, header, `<meta>`, and UTF-8 at last (FR-WF-10i, D2-18)."""

from __future__ import annotations

import codecs
import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turbohtml import Document

DECLARED = re.compile(rb"\s*<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][\w.:-]{0,39})[\"']")
LONGEST_LABEL = 40  # the longest of the standard's labels has 19 characters
WIDE = dict.fromkeys(
    ("utf-16", "utf-16le", "ucs-2", "iso-10646-ucs-2", "unicode", "unicodefeff", "csunicode"), "utf-16-le"
) | dict.fromkeys(("utf-16be", "unicodefffe"), "utf-16-be")  # the standard's labels of UTF-16


def parse_page(body: bytes | str, label: str | None) -> Document:
    """turbohtml knows the standard's labels and order; what is undeclared and no UTF-8 is read as UTF-8 ."""
    from turbohtml import parse

    if isinstance(body, str):
        return parse(body, positions=False)
    if label and len(label) <= LONGEST_LABEL:
        try:
            return parse(body, encoding=label, positions=False)
        except LookupError:
            pass  # not a label of the standard (utf-7 is none): as if it were not there
    doc = parse(body, positions=False)
    if doc.encoding_confidence == "tentative" and doc.encoding != "UTF-8" and not body.isascii():
        del doc  # two trees at a time would be one too many
        return parse(body, encoding="utf-8", positions=False)
    return doc


def narrow(body: bytes, label: str | None) -> bytes | str:
    """Bytes in which ASCII is ASCII, as they are; UTF-16 as text."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if body.startswith(mark):
            return body[2:].decode(encoding, "replace")
    wide = WIDE.get((label or "").strip().lower()) if not body.startswith(codecs.BOM_UTF8) else None
    return body if wide is None else body.decode(wide, "replace")


def decode_xml(body: bytes, label: str | None) -> str:
    """XML says in its first line how it is encoded; a BOM and the header say more (RFC 7303 3)."""
    if label is None and (found := DECLARED.match(body[:200])):
        label = found[1].decode()
    return decode_text(body, label)


def decode_text(body: bytes, label: str | None) -> str:
    """Decode plain text: BOM, header, UTF-8. The labels are the standard's, so latin1 is windows-1252."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    if label and len(label) <= LONGEST_LABEL:
        import_module("turbohtml.detect")  # registers the standard's decoders under whatwg-*
        try:
            return codecs.decode(body, f"whatwg-{label.strip().lower()}", "replace")
        except (LookupError, UnicodeError):
            pass
    return body.decode("utf-8", "replace")
