"""Bytes of a source as UTF-8 text: compression undone, other encodings too, a piece at a time."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from typing import TYPE_CHECKING, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from typing import BinaryIO

PIECE = 1 << 16
MOST_LAYERS = 2  # of compression: a server may compress once more what is compressed
BROKEN: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, zstd.ZstdError)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16's, which it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def uncompressed(stream: BinaryIO) -> io.BufferedReader:
    """What is inside gzip and Zstandard, by the first bytes and not by the name."""
    found = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(_Borrowed(stream), PIECE)
    for _ in range(MOST_LAYERS):
        head = found.peek(4)[:4]
        if head.startswith(b"\x1f\x8b"):
            found = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=found)), PIECE)
        elif head == b"\x28\xb5\x2f\xfd":
            found = io.BufferedReader(cast(io.RawIOBase, zstd.ZstdFile(found)), PIECE)
        else:
            break
    return found


def as_utf8(stream: io.BufferedReader) -> io.BufferedReader:
    """The same text in UTF-8, with line feeds. What needs no change is handed back as it is."""
    head = stream.peek(1024)
    encoding = _encoding(head)
    if encoding == "utf-8-sig":
        stream.read(3)
    elif encoding:
        return io.BufferedReader(_Recoded(stream, encoding), PIECE)
    if b"\r" in head[:-1] and b"\n" not in head and not head.lstrip().startswith(b"<"):  # from an old Macintosh
        return io.BufferedReader(_Recoded(stream, "latin-1", returns=True), PIECE)
    return stream


def _encoding(head: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    even, odd = head[:64:2], head[1:64:2]  # UTF-16 without its mark: every other byte of what is ASCII is 0
    if len(odd) > 3 and not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if len(odd) > 3 and not any(even) and all(odd) else None


class _Borrowed(io.RawIOBase):
    """Somebody else's stream, which stays open when whoever reads it is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class _Recoded(io.RawIOBase):
    """A stream read in one encoding and given out in UTF-8; with `returns`, its carriage returns as line feeds."""

    def __init__(self, stream: BinaryIO, encoding: str, *, returns: bool = False) -> None:
        self._stream = stream
        self._returns = returns
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._held:
            piece = self._stream.read(PIECE)
            self._held = memoryview(self._recoded(piece))
            if not piece and not self._held:
                return 0
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        return size

    def _recoded(self, piece: bytes) -> bytes:
        if self._returns:
            return piece.replace(b"\r", b"\n")
        return self._decoder.decode(piece, final=not piece).encode("utf-8", "replace")
