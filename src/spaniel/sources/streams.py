"""Streams of sources: decompression, conversion to UTF-8, lines; and reading rows in a thread."""

from __future__ import annotations

import asyncio
import codecs
import gzip
import io
import sys
import threading
import zlib
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from spaniel.sources.kinds import GZIP, ZSTANDARD, wide

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import Report

PIECE = 1 << 16
MAX_LAYERS = 2  # of compression: a server may compress a compressed file once more
BROKEN: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, zstd.ZstdError)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before the one of UTF-16, which is its prefix
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def uncompressed(stream: BinaryIO) -> io.BufferedReader:
    """Decompress gzip and Zstandard, which are recognized by their first bytes and not by the name."""
    found = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(_Borrowed(stream), PIECE)
    for _ in range(MAX_LAYERS):
        head = found.peek(4)[:4]
        if head.startswith(GZIP):
            found = io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=found)), PIECE)
        elif head == ZSTANDARD:
            found = io.BufferedReader(cast("io.RawIOBase", zstd.ZstdFile(found)), PIECE)
        else:
            break
    return found


def as_utf8(stream: io.BufferedReader) -> io.BufferedReader:
    """Return the text as UTF-8 with line feeds. A stream that needs no conversion is returned unchanged."""
    head = stream.peek(1024)
    encoding = _encoding(head)
    if encoding == "utf-8-sig":
        stream.read(3)
    elif encoding:
        return io.BufferedReader(_Recoded(stream, encoding), PIECE)
    if b"\r" in head[:-1] and b"\n" not in head and not head.lstrip().startswith(b"<"):  # classic Mac OS
        return io.BufferedReader(_Recoded(stream, "latin-1", returns=True), PIECE)
    return stream


def _encoding(head: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    return wide(head) or None


class _Borrowed(io.RawIOBase):
    """The caller's stream, which stays open when its reader is closed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class _Recoded(io.RawIOBase):
    """Converts a stream to UTF-8; with `returns`, only replaces carriage returns by line feeds."""

    def __init__(self, stream: BinaryIO, encoding: str, *, returns: bool = False) -> None:
        self._stream = stream
        self._returns = returns
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._buffer = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._buffer:
            piece = self._stream.read(PIECE)
            self._buffer = memoryview(self._recoded(piece))
            if not piece and not self._buffer:
                return 0
        size = min(len(buffer), len(self._buffer))
        buffer[:size] = self._buffer[:size]
        self._buffer = self._buffer[size:]
        return size

    def _recoded(self, piece: bytes) -> bytes:
        if self._returns:
            return piece.replace(b"\r", b"\n")
        return self._decoder.decode(piece, final=not piece).encode("utf-8", "replace")


def numbered_lines(stream: BinaryIO, longest: int, report: Report) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its number and its line end. Lines of more than `longest` bytes are skipped and reported."""
    number = 0
    read = stream.readline
    while line := read(longest):
        number += 1
        if len(line) == longest and not line.endswith(b"\n") and _skip_line(stream):
            report(f"line {number}", f"is longer than {longest} bytes; it was left out")
            continue
        yield number, line


def _skip_line(stream: BinaryIO) -> bool:
    """Skip to the end of a line; return whether there was more of it than the line end."""
    left = False
    while rest := stream.readline(PIECE):
        left = left or rest not in (b"\n", b"\r\n")
        if rest.endswith(b"\n"):
            break
    return left


def decoded(line: bytes) -> str:
    """Decode UTF-8, else Windows-1252, else Latin-1, which accepts every byte."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        try:
            return line.decode("cp1252")
        except UnicodeDecodeError:
            return line.decode("latin-1")


class Sized(Protocol):
    @property
    def size(self) -> int: ...


T = TypeVar("T", bound=Sized)
MAX_ROWS = 1024  # rows that a thread reads ahead
MAX_BYTES = 4 << 20  # bytes of source that a thread reads ahead
LINGER = 0.005  # seconds that the first row waits for others (chosen): a thread switch costs more than a row


async def read_in_thread(rows: Iterator[T]) -> AsyncIterator[list[T]]:
    """Read rows in a thread and yield them in lists: a silent pipe blocks neither the event loop nor Ctrl-C.

    The thread is a daemon: unlike the threads of `asyncio.to_thread`, it does not delay the end of the process.
    """
    handover = _Handover[T](asyncio.get_running_loop())
    threading.Thread(target=handover.read, args=(rows,), name="source", daemon=True).start()
    try:
        while not handover.ended:
            taken = await handover.take()
            if taken:
                yield taken
    finally:
        handover.abandon()


class _Handover(Generic[T]):
    """A bounded buffer between the thread that reads and the event loop.

    When it is full, the thread waits until the loop wants more; otherwise both would compete for the interpreter.
    There is no lock, because it would cost time for each row: rows pass through a deque, whose ends are thread-safe,
    and each flag is set before the state it announces is read. A superfluous wake-up gives an empty list.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._some, self._full = asyncio.Event(), asyncio.Event()
        self._asked = threading.Event()  # the loop wants more
        self._rows: deque[T] = deque()
        self._size = 0  # may be too large if both threads write it at the same time
        self._is_announced = self._finished = self._abandoned = False
        self._failure: Exception | None = None
        self.ended = False

    def read(self, rows: Iterator[T]) -> None:
        waiting, append = self._rows, self._rows.append
        try:
            for row in rows:
                append(row)
                self._size += row.size
                if not self._is_announced:
                    self._is_announced = True
                    self._wake(self._some)
                if len(waiting) >= MAX_ROWS or self._size >= MAX_BYTES:
                    self._asked.clear()
                    self._wake(self._some, self._full)
                    if not self._abandoned:
                        self._asked.wait()
                if self._abandoned:
                    return
        except Exception as error:  # noqa: BLE001  raised again in take()
            self._failure = error
        self._finished = True
        self._wake(self._some, self._full)

    def _wake(self, *events: asyncio.Event) -> None:
        with suppress(RuntimeError):  # the loop is closed
            for event in events:
                self._loop.call_soon_threadsafe(event.set)

    async def take(self) -> list[T]:
        self._asked.set()
        await self._some.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await self._full.wait()
        self._some.clear()
        self._full.clear()
        finished = self._finished
        self._is_announced = False
        self._size = 0
        next_row = self._rows.popleft
        taken = [next_row() for _ in range(len(self._rows))]
        if finished and not taken:
            self.ended = True
            if self._failure is not None:
                raise self._failure
        elif finished:  # to end, or to raise, at the next call
            self._some.set()
            self._full.set()
        return taken

    def abandon(self) -> None:
        self._abandoned = True
        self._asked.set()
