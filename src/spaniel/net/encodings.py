"""Content encodings, decoded incrementally: decoded bytes are counted, and bombs end at the cap."""

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

MAX_ENCODINGS = 2  # on top of one another
PIECE = 1 << 16  # decoded bytes that one step may produce
WINDOW = 24  # log2 of the window, and so of a decoder's memory: brotli's maximum
STACKED_WINDOW = 22  # for each of two encodings, whose memory adds up; no honest page is encoded twice


class CutShortError(Exception):
    """The compressed data is truncated."""

    def __init__(self) -> None:
        super().__init__("the compressed data ends too early")


BAD_DATA: tuple[type[Exception], ...] = (CutShortError, zlib.error, brotli.error, zstd.ZstdError)


class Decoder(Protocol):
    """Decodes one encoding, a bounded piece at a time."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def close(self) -> None:
        """Raises if the stream is incomplete."""


class _Zlib:
    """gzip (several members, RFC 1952 2.2) and deflate (with or without zlib's header: servers send both)."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._state: zlib._Decompress | None = None
        self._held = b""  # a single byte is held back: two are needed to detect the format
        self._whole = self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        while not self._ended:
            if self._state is None:
                if len(data) < 2:
                    self._held = data
                    return
                self._state = self._begin(data)
                continue
            piece = self._state.decompress(data, PIECE)
            yield piece
            if self._state.eof:
                data, self._state, self._whole = self._state.unused_data, None, True
                continue
            data = self._state.unconsumed_tail
            if not data and len(piece) < PIECE:  # after a full piece there may be more output without more input
                return

    def _begin(self, data: bytes) -> zlib._Decompress | None:
        """After a complete stream comes another gzip member, or junk, which is ignored as browsers do."""
        self._ended = self._whole and not (self._gzip and data[:2] == b"\x1f\x8b")
        if self._ended:
            return None
        if self._gzip:
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        zlib_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0  # RFC 1950 2.2
        return zlib.decompressobj(zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS)

    def close(self) -> None:
        if self._state is not None or (self._held and not self._whole):
            raise CutShortError


class _Brotli:
    def __init__(self, window: int) -> None:
        self._window = window
        self._state = brotli.Decompressor()
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not data:
            return
        if self._state.is_finished():  # the library refuses junk within one piece too, so the result is consistent
            raise brotli.error("data after the end")
        if not self._begun and data[0] & 1 and 17 + (data[0] >> 1 & 7) > self._window:  # RFC 7932 9.1, WBITS
            raise brotli.error("the window is too large")
        self._begun = True
        more = True
        while more and not self._state.is_finished():
            piece = self._state.process(data, output_buffer_limit=PIECE)
            yield piece
            data = b""
            # After a full piece there may be more output, even if the library would already take more input.
            more = len(piece) >= PIECE or not self._state.can_accept_more_data()

    def close(self) -> None:
        if self._begun and not self._state.is_finished():
            raise CutShortError


class _Zstd:
    def __init__(self, window: int) -> None:
        # RFC 9659 limits the window on the web to 8 MiB
        self._options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: min(window, 23)}
        self._kind = zstd.ZstdDecompressor
        self._state = self._kind(options=self._options)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._state.needs_input or self._state.eof):
            self._begun = True
            if self._state.eof:
                self._state = self._kind(options=self._options)  # several frames (RFC 8878 3.1)
            yield self._state.decompress(data, PIECE)
            data = self._state.unused_data if self._state.eof else b""

    def close(self) -> None:
        if self._begun and not self._state.eof:
            raise CutShortError


DECODERS: dict[str, Callable[[int], Decoder]] = {
    "gzip": lambda _: _Zlib(gzip=True),
    "x-gzip": lambda _: _Zlib(gzip=True),
    "deflate": lambda _: _Zlib(gzip=False),
    "br": _Brotli,
    "zstd": _Zstd,
}


def decoders(header: str) -> list[Decoder]:
    """The decoders for a Content-Encoding, in decoding order."""
    names = [name for part in header.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if len(names) > MAX_ENCODINGS:
        raise SpanielError(Code.NETWORK, error=f"more than {MAX_ENCODINGS} content encodings")
    unknown = [name for name in names if name not in DECODERS]
    if unknown:
        raise SpanielError(Code.NETWORK, error=f"unknown content encoding '{unknown[0]}'")
    window = WINDOW if len(names) == 1 else STACKED_WINDOW
    return [DECODERS[name](window) for name in reversed(names)]


class DecoderChain:
    """Decodes all encodings of one body in small pieces.

    The input of each decoder is limited too, as the caller limits the output: endless streams can decode to nothing
    (empty members or blocks), and an outer encoding makes them cheap to send.
    """

    def __init__(self, header: str, cap: int) -> None:
        self._decoders = decoders(header)
        self._eaten = [0] * len(self._decoders)
        self._cap = cap

    def feed(self, data: bytes) -> Iterable[bytes]:
        pieces: Iterable[bytes] = (data,)
        for layer in range(len(self._decoders)):
            pieces = self._through(layer, pieces)
        return pieces

    def _through(self, layer: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._eaten[layer] += len(piece)
            if self._eaten[layer] > self._cap:
                raise SpanielError(Code.RESPONSE_TOO_LARGE, size=self._eaten[layer], max_bytes=self._cap)
            yield from self._decoders[layer].feed(piece)

    def close(self) -> None:
        """Raises if a stream is incomplete."""
        for decoder in self._decoders:
            decoder.close()
