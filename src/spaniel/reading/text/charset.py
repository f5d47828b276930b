"""Bytes to text or a tree, in the HTML standard's order: BOM, header, `<meta>`; then UTF-8, or a guess.

FR-WF-10i, D2-18, D2-36, D2-37. The beginning of a long text (FG-26) never ends inside a character."""

from __future__ import annotations

import codecs
import re
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turbohtml import Document


XML_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][\w.:-]{0,39})[\"']")
LONGEST_LABEL = 40  # the longest of the standard's labels has 19 characters
UTF16_LABELS = dict.fromkeys(
    ("utf-16", "utf-16le", "ucs-2", "iso-10646-ucs-2", "unicode", "unicodefeff", "csunicode"), "utf-16-le"
) | dict.fromkeys(("utf-16be", "unicodefffe"), "utf-16-be")  # the standard's labels of UTF-16

BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ASCII = bytes(range(128))
NEVER_GUESSED = frozenset({"UTF-8", "UTF-16LE", "UTF-16BE", "ISO-2022-JP", "x-user-defined", "replacement"})
MAX_GUESS_BYTES = 4 << 20  # bytes: what is not decided by then is not decided by more
MIN_TRUNCATED_BYTES = 512  # bytes of what may be the beginning of a page
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
        guessed = None if label else _detect(body, url)
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
    if label or body.startswith(BOMS) or XML_DECLARATION.match(body[:200]):
        return None
    return _detect(body, url)


def _detect(body: bytes, url: str | None) -> str | None:
    """By the frequencies of pairs of characters, where the bytes are not UTF-8, or UTF-8 with some damage."""
    body = body[:MAX_GUESS_BYTES]
    text = body.decode("utf-8", "replace")
    damage = text.count("\ufffd") - body.count(b"\xef\xbf\xbd")
    # In other charsets few sequences happen to be UTF-8's; a page that was cut may end inside of one.
    right = len(text) - damage - (len(body) - len(body.translate(None, ASCII)))
    if damage <= right or (damage == 1 and text.endswith("\ufffd") and len(body) >= MIN_TRUNCATED_BYTES):
        return None
    from turbohtml.detect import Detection, detect

    domain = DOMAIN.match(url or "")
    tld = domain[1].lower() if domain else None
    return detect(body, Detection(excluded=NEVER_GUESSED, tld=tld)).encoding


def decode_utf16(body: bytes, label: str | None) -> bytes | str:
    """Bytes in which ASCII is ASCII, as they are; UTF-16 as text."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if body.startswith(mark):
            return body[2:].decode(encoding, "replace")
    wide = UTF16_LABELS.get((label or "").strip().lower()) if not body.startswith(codecs.BOM_UTF8) else None
    return body if wide is None else body.decode(wide, "replace")


def decode_xml(body: bytes, label: str | None) -> str:
    """XML says in its first line how it is encoded; a BOM and the header say more (RFC 7303 3)."""
    if label is None and (found := XML_DECLARATION.match(body[:200])):
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


DECLARED_ANYWHERE = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9][\w.:-]{0,38})""", re.IGNORECASE
)
DECLARATION_BYTES = 1024  # bytes in which a text may say how it is encoded
# Encodings in which a character may take several bytes.
MULTIBYTE = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "shift_jis", "cp932"}
)
MULTIBYTE |= {"euc_jp", "euc_kr", "cp949", "iso2022_jp"}
DEFAULT_ENDIAN = {"utf-16": "utf-16-le"}  # without a mark it is little-endian (WHATWG)
BOM_ENCODINGS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def whole_characters(body: bytes, most: int, charset: str | None) -> bytes:
    """At most so many bytes, up to the end of a character."""
    if len(body) <= most:
        return body
    part = body[:most]
    decoder = codecs.getincrementaldecoder(_encoding(part, charset))("replace")
    decoder.decode(part)
    begun = decoder.getstate()[0]  # the bytes of a character of which more should come
    return part[: most - len(begun)]


def _encoding(part: bytes, label: str | None) -> str:
    """What the mark, the header or the text itself says; UTF-8 where none of them does."""
    for mark, encoding in BOM_ENCODINGS:
        if part.startswith(mark):
            return encoding
    found = DECLARED_ANYWHERE.search(part[:DECLARATION_BYTES])
    for name in (label, found[1].decode() if found else None):
        if name and len(name) <= LONGEST_LABEL and (known := _python_codec(name)):
            return known
    return "utf-8"


def _python_codec(name: str) -> str | None:
    """The name by which Python knows an encoding; one byte for a character is like any other of that sort."""
    try:
        known = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return None
    return DEFAULT_ENDIAN.get(known, known if known in MULTIBYTE else "latin-1")
