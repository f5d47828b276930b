"""Content encodings, undone as the bytes come: decoded bytes are counted, and bombs end at the cap."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Protocol

import brotli

from spaniel.errors import Code, SpanielError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST = 2  # encodings on top of one another
PIECE = 1 << 16  # decoded bytes that one step may produce


class CutShortError(Exception):
    """The compressed data ends before its end."""

    def __init__(self) -> None:
        super().__init__("the compressed data ends too early")


BAD_DATA: tuple[type[Exception], ...] = (CutShortError, zlib.error, brotli.error, zstd.ZstdError)


class Decoder(Protocol):
    """Undoes one encoding, a bounded piece at a time."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def close(self) -> None:
        """Raises if the stream has not come to its end."""


class _Zlib:
    """gzip (members one after another, RFC 1952 2.2) and deflate (with or without zlib's header: servers send both)."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._state = zlib.decompressobj(zlib.MAX_WBITS | 16) if gzip else None
        self._ended = self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._state is None:
            zlib_header = data[:1] and (data[0] & 0x0F) == 8 and data[0] >> 4 <= 7
            self._state = zlib.decompressobj(zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS)
        while data and not self._ended:
            self._begun = True
            yield self._state.decompress(data, PIECE)
            data = self._state.unconsumed_tail
            if self._state.eof:
                data = self._state.unused_data
                # What follows the end is another member, or junk, which is left alone as browsers do.
                self._ended = not (self._gzip and data[:2] == b"\x1f\x8b")
                if not self._ended:
                    self._state = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def close(self) -> None:
        if self._begun and not (self._state is not None and self._state.eof):
            raise CutShortError


class _Brotli:
    def __init__(self) -> None:
        self._state = brotli.Decompressor()
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._state.is_finished():
            return
        self._begun = True
        yield self._state.process(data, output_buffer_limit=PIECE)
        while not self._state.can_accept_more_data() and not self._state.is_finished():
            yield self._state.process(b"", output_buffer_limit=PIECE)

    def close(self) -> None:
        if self._begun and not self._state.is_finished():
            raise CutShortError


class _Zstd:
    def __init__(self) -> None:
        # RFC 9659: a window of more than 8 MiB is not for the web
        self._options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
        self._kind = zstd.ZstdDecompressor
        self._state = self._kind(options=self._options)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._state.needs_input or self._state.eof):
            self._begun = True
            if self._state.eof:
                self._state = self._kind(options=self._options)  # frames one after another (RFC 8878 3.1)
            yield self._state.decompress(data, PIECE)
            data = self._state.unused_data if self._state.eof else b""

    def close(self) -> None:
        if self._begun and not self._state.eof:
            raise CutShortError


DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: _Zlib(gzip=True),
    "x-gzip": lambda: _Zlib(gzip=True),
    "deflate": lambda: _Zlib(gzip=False),
    "br": _Brotli,
    "zstd": _Zstd,
}


def decoders(header: str) -> list[Decoder]:
    """The decoders for a Content-Encoding, in the order in which they undo it."""
    names = [name for part in header.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if len(names) > MOST:
        raise SpanielError(Code.NETWORK, error=f"more than {MOST} content encodings")
    unknown = [name for name in names if name not in DECODERS]
    if unknown:
        raise SpanielError(Code.NETWORK, error=f"unknown content encoding '{unknown[0]}'")
    return [DECODERS[name]() for name in reversed(names)]


def decode(data: bytes, chain: list[Decoder]) -> Iterable[bytes]:
    """The pieces that some encoded bytes stand for, none of them large."""
    if not chain:
        return (data,)
    pieces: Iterable[bytes] = chain[0].feed(data)
    for decoder in chain[1:]:
        pieces = _through(pieces, decoder)
    return pieces


def _through(pieces: Iterable[bytes], decoder: Decoder) -> Iterator[bytes]:
    for piece in pieces:
        yield from decoder.feed(piece)
