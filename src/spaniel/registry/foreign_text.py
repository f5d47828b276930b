"""Files from elsewhere as text: lists to import, data to audit. Of bounded size, whatever they unpack to."""

from __future__ import annotations

import csv
import io
import zlib
from typing import TYPE_CHECKING

from spaniel.tables import complaint

if TYPE_CHECKING:
    from _csv import Reader

LARGEST = 64 << 20  # bytes; a sitemap has at most 50 MB
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # how zlib is asked for gzip
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_OTHER_DELIMITERS = (";", "\t")  # what spreadsheets write where the comma divides numbers, and what people paste


def decoded(name: str, raw: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 that says so; packed by gzip or not."""
    raw = _unpacked(name, raw) if raw.startswith(_GZIP) else raw
    if len(raw) > LARGEST:
        raise complaint(name, f"has more than {LARGEST >> 20} MiB; please divide it")
    try:
        return raw.decode("utf-16" if raw.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise complaint(name, f"not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def _unpacked(name: str, raw: bytes) -> bytes:
    """No more than one byte too many is ever held of what is packed."""
    packed = zlib.decompressobj(_GZIP_WINDOW)
    try:
        whole = packed.decompress(raw, LARGEST + 1)
    except zlib.error as error:
        raise complaint(name, f"not gzip that can be unpacked: {error}") from None
    if len(whole) <= LARGEST and (not packed.eof or packed.unused_data.strip(b"\0")):
        raise complaint(name, "not one whole gzip file: its end is missing, or something follows it")
    return whole


def csv_rows(text: str) -> Reader:
    """The rows of a table. Its header shows what divides the cells; without a header it is a comma."""
    first = text[: text.find("\n")] if "\n" in text else text
    is_header = "," not in first and "://" not in first
    found = (sign for sign in _OTHER_DELIMITERS if is_header and sign in first)
    return csv.reader(io.StringIO(text), delimiter=next(found, ","))
