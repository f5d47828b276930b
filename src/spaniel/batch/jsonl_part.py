"""A part of plain JSON lines: the simplest thing that `Part` can be."""

from __future__ import annotations

import io
import os

from spaniel.files import sync_data

BUFFER = 1 << 20


class JsonlPart:
    """Opened at a length: what a run that was killed had written behind it is cut off."""

    def __init__(self, path: str, length: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
        os.ftruncate(descriptor, length)
        os.lseek(descriptor, length, os.SEEK_SET)
        self._file = io.BufferedWriter(io.FileIO(descriptor, "wb"), BUFFER)
        self._length = length

    def append(self, line: bytes) -> None:
        self._length += self._file.write(line)

    def sync(self) -> int:
        self._file.flush()
        sync_data(self._file.fileno())
        return self._length

    def close(self) -> None:
        """Without what was not brought to the disk: nobody will ask for it."""
        self._file.detach().close()
