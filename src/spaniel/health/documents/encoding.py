"""Bytes of a document as text, and back to the very same bytes."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from spaniel.sources.kinds import wide

DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z][\w.:-]{0,39})")
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


GZIP, ZSTANDARD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
LOOKED_AT = 4096  # bytes by which the encoding of a document is recognized


def is_compressed(raw: bytes) -> bool:
    return raw.startswith((GZIP, ZSTANDARD))


def uncompressed(raw: bytes, largest: int) -> bytes:
    """What is inside gzip or Zstandard, up to one byte more than `largest`. Raises ValueError where it breaks off."""
    import gzip
    import io
    import sys
    import zlib

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    packed = io.BytesIO(raw)
    try:
        if raw.startswith(GZIP):
            with gzip.GzipFile(fileobj=packed) as stream:
                return stream.read(largest + 1)
        with zstd.ZstdFile(packed) as frames:
            return frames.read(largest + 1)
    except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
        raise ValueError(f"its compression is broken: {error}") from None


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
    if encoding := wide(raw[:LOOKED_AT]):
        try:
            return Decoded(raw.decode(encoding, _on_error(encoding)), encoding, b"")
        except UnicodeDecodeError:
            pass
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
