"""Bytes of a document as text, and back to the very same bytes."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z][\w.:-]{0,39})")
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Decoded(NamedTuple):
    """A text, and how it was written: `encoded(text)` gives the bytes again."""

    text: str
    encoding: str
    mark: bytes  # the byte order mark at its beginning

    def encoded(self, text: str) -> bytes:
        """Raises `UnicodeEncodeError` for what this encoding does not have."""
        return self.mark + text.encode(self.encoding, _on_error(self.encoding))


def decode(raw: bytes) -> Decoded:
    """By its mark; as UTF-8; as it says itself; else byte by byte, so that places are right and nothing is lost."""
    for mark, encoding in MARKS:
        if raw.startswith(mark):
            try:
                return Decoded(raw[len(mark) :].decode(encoding, _on_error(encoding)), encoding, mark)
            except UnicodeDecodeError:
                break
    try:
        return Decoded(raw.decode("utf-8"), "utf-8", b"")
    except UnicodeDecodeError:
        pass
    declared = DECLARED.search(raw[:2048])
    if declared:
        try:
            name = codecs.lookup(declared[1].decode("ascii")).name
            text = raw.decode(name)
            if name not in ("utf-7", "utf-8") and text.encode(name) == raw:
                return Decoded(text, name, b"")
        except (LookupError, UnicodeError):
            pass
    return Decoded(raw.decode("latin-1"), "latin-1", b"")


def _on_error(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass" if encoding.startswith("utf-") else "strict"
