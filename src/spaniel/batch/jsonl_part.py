"""A part of plain JSON lines: the simplest thing that `Part` can be."""

from __future__ import annotations

import os

from spaniel.files import sync_data

BUFFER = 1 << 20


class JsonlPart:
    """Opened at a length: what a run that was killed had written behind it is cut off."""

    def __init__(self, path: str, length: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
        os.ftruncate(self._file, length)
        os.lseek(self._file, length, os.SEEK_SET)
        self._length = length
        self._buffer = bytearray()

    def append(self, line: bytes) -> None:
        self._buffer += line
        if len(self._buffer) > BUFFER:
            self._flush()

    def sync(self) -> int:
        self._flush()
        sync_data(self._file)
        return self._length

    def close(self) -> None:
        """Without what was not brought to the disk: it was not committed either."""
        os.close(self._file)

    def _flush(self) -> None:
        rest = memoryview(self._buffer)
        while rest:
            written = os.write(self._file, rest)
            self._length += written
            rest = rest[written:]
        rest.release()
        self._buffer = bytearray()
