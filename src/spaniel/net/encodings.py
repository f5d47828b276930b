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
WINDOW = 24  # log2 of how far back an encoding may reach, and so of what its decoder may hold: brotli's most
STACKED_WINDOW = 22  # of each, where there are two: no honest page is encoded twice, and memory adds up


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
        self._state: zlib._Decompress | None = None
        self._held = b""  # one byte does not say what begins: wherever the network cuts, the answer is the same
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
            if not data and len(piece) < PIECE:  # a full piece may have more behind it, with all input taken
                return

    def _begin(self, data: bytes) -> zlib._Decompress | None:
        """What follows a whole stream is another member, or junk, which is left alone as browsers do."""
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
        if self._state.is_finished():  # within one piece the library refuses junk too: so it is never a matter of luck
            raise brotli.error("data after the end")
        if not self._begun and data[0] & 1 and 17 + (data[0] >> 1 & 7) > self._window:  # RFC 7932 9.1, WBITS
            raise brotli.error("the window is too large")
        self._begun = True
        more = True
        while more and not self._state.is_finished():
            piece = self._state.process(data, output_buffer_limit=PIECE)
            yield piece
            data = b""
            # A full piece may have more behind it, even where the library would already take more input.
            more = len(piece) >= PIECE or not self._state.can_accept_more_data()

    def close(self) -> None:
        if self._begun and not self._state.is_finished():
            raise CutShortError


class _Zstd:
    def __init__(self, window: int) -> None:
        # RFC 9659: a window of more than 8 MiB is not for the web
        self._options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: min(window, 23)}
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


DECODERS: dict[str, Callable[[int], Decoder]] = {
    "gzip": lambda _: _Zlib(gzip=True),
    "x-gzip": lambda _: _Zlib(gzip=True),
    "deflate": lambda _: _Zlib(gzip=False),
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
    window = WINDOW if len(names) == 1 else STACKED_WINDOW
    return [DECODERS[name](window) for name in reversed(names)]


class DecoderChain:
    """The encodings of one body, undone one after another, none of the pieces large.

    What goes into each is held to the cap, as the caller holds what comes out of the last: there are streams without
    end that come to nothing (empty members, empty blocks), and an encoding around them that makes them cheap to send.
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
        """Raises if one of them has not come to its end."""
        for decoder in self._decoders:
            decoder.close()
