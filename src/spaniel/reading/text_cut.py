"""The beginning of a long text (FG-26): so many bytes of it and no part of a character."""

from __future__ import annotations

import codecs
import re

from spaniel.reading.charset import LONGEST_LABEL
from spaniel.reading.kinds import is_cut

DECLARED = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9][\w.:-]{0,38})""", re.IGNORECASE
)
LOOKED_AT = 1024  # bytes in which a text may say how it is encoded
# Encodings in which a character may take several bytes.
JOINED = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "shift_jis", "cp932"}
)
JOINED |= {"euc_jp", "euc_kr", "cp949", "iso2022_jp"}
LITTLE = {"utf-16": "utf-16-le"}  # without a mark it is little-endian (WHATWG)
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def taken(body: bytes, content_type: str | None, charset: str | None, most: int) -> bytes:
    """What of a body is read where a profile takes so many bytes of a text (0: all): the body itself if it is whole."""
    return beginning(body, most, charset) if 0 < most < len(body) and is_cut(content_type, body) else body


def beginning(body: bytes, most: int, charset: str | None) -> bytes:
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
    for mark, encoding in MARKS:
        if part.startswith(mark):
            return encoding
    found = DECLARED.search(part[:LOOKED_AT])
    for name in (label, found[1].decode() if found else None):
        if name and len(name) <= LONGEST_LABEL and (known := _known(name)):
            return known
    return "utf-8"


def _known(name: str) -> str | None:
    """The name by which Python knows an encoding; one byte for a character is like any other of that sort."""
    try:
        known = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return None
    return LITTLE.get(known, known if known in JOINED else "latin-1")
