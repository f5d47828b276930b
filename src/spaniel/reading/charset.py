"""Bytes to text or a tree, in the HTML standard's order: BOM, header, `<meta>`; then UTF-8, or a guess.

FR-WF-10i, D2-18, D2-36, D2-37.
"""

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

MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ASCII = bytes(range(128))
NEVER_GUESSED = frozenset({"UTF-8", "UTF-16LE", "UTF-16BE", "ISO-2022-JP", "x-user-defined", "replacement"})
MOST_WEIGHED = 4 << 20  # bytes: what is not decided by then is not decided by more
SMALLEST = 512  # bytes of what may be the beginning of a page
DOMAIN = re.compile(r"https?://[^/?#]*?\.([A-Za-z]{2,3}|xn--[A-Za-z0-9-]{1,59})(?::\d+)?(?:[/?#]|$)", re.IGNORECASE)


def parse_page(body: bytes | str, label: str | None, url: str | None = None) -> tuple[Document, bool]:
    """The tree, and whether its charset was guessed. turbohtml knows the standard's labels and order."""
    from turbohtml import parse

    if isinstance(body, str):
        return parse(body, positions=False), False
    if label and len(label) <= LONGEST_LABEL:
        try:
            return parse(body, encoding=label, positions=False), False
        except LookupError:
            pass  # not a label of the standard (utf-7 is none): as if it were not there
    doc = parse(body, positions=False)
    if doc.encoding_confidence == "tentative" and doc.encoding != "UTF-8" and not body.isascii():
        del doc  # two trees at a time would be one too many
        guessed = None if label else _guess(body, url)
        return parse(body, encoding=guessed or "utf-8", positions=False), guessed is not None
    if doc.encoding != "UTF-8" and not body.isascii() and is_utf8(body):  # `<meta>` is out of date (D2-37)
        del doc
        return parse(body, encoding="utf-8", positions=False), True
    return doc, False


def is_utf8(body: bytes) -> bool:
    """Whether bytes are UTF-8 with at least one sequence of several bytes. The last one may be cut."""
    try:
        text, _ = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return not text.isascii()


def guess_charset(body: bytes, label: str | None, url: str | None = None) -> str | None:
    """The likely charset of text that declares none and is no UTF-8; None for every other."""
    if label or body.startswith(MARKS) or DECLARED.match(body[:200]):
        return None
    return _guess(body, url)


def _guess(body: bytes, url: str | None) -> str | None:
    """By the frequencies of pairs of characters, where the bytes are not UTF-8, or UTF-8 with some damage."""
    body = body[:MOST_WEIGHED]
    text = body.decode("utf-8", "replace")
    damage = text.count("\ufffd") - body.count(b"\xef\xbf\xbd")
    # In other charsets few sequences happen to be UTF-8's; a page that was cut may end inside of one.
    right = len(text) - damage - (len(body) - len(body.translate(None, ASCII)))
    if damage <= right or (damage == 1 and text.endswith("\ufffd") and len(body) >= SMALLEST):
        return None
    from turbohtml.detect import Detection, detect

    domain = DOMAIN.match(url or "")
    tld = domain[1].lower() if domain else None
    return detect(body, Detection(excluded=NEVER_GUESSED, tld=tld)).encoding


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
    guessed = guess_charset(body, label)
    return codecs.decode(body, f"whatwg-{guessed.lower()}", "replace") if guessed else body.decode("utf-8", "replace")
