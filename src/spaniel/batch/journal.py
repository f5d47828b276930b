"""The journal: which URLs have their record in the output for good, and how long the output was then.

A batch of records is committed in this order: they are appended to the part, the part is brought to the disk, an entry
with their ordinals and the part's length is appended here and brought to the disk. Whoever resumes believes the
entries up to the first that is not whole, and cuts the part to the length that the last of them names. So a record
is there once or not at all, whenever the run ended. What is written beside the part is committed in the same entry,
and so is which of the records are of pages that failed: a run that goes on ends with the exit code of all of it.
"""

from __future__ import annotations

import json
import os
import struct
from array import array
from collections import Counter
from errno import ENOSPC
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from spaniel.batch.done import Done
from spaniel.files import sync_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

MAGIC = b"spaniel batch journal 3\n"
_HEAD = struct.Struct("<IQQII")  # CRC of the rest, length of the part, place beside it, ordinals, bytes behind them
_CRC = 4  # bytes
_MOST = 1 << 24  # ordinals of an entry, or bytes behind them; more is damage
_ITEM, _BYTES = "Q", 8


class Entry(NamedTuple):
    """One commit."""

    length: int  # of the part
    beside: int  # how far the captures beside it are written
    ordinals: array[int]
    failed: dict[str, int]  # how many of them have no page, by the reason


def packed(length: int, ordinals: Iterable[int], beside: int = 0, failed: Mapping[str, int] | None = None) -> bytes:
    body, told = array(_ITEM, ordinals), json.dumps(failed).encode() if failed else b""
    entry = bytearray(_HEAD.pack(0, length, beside, len(body), len(told)) + body.tobytes() + told)
    entry[:_CRC] = struct.pack("<I", crc32(memoryview(entry)[_CRC:]))
    return bytes(entry)


def entries(file: BinaryIO) -> Iterator[tuple[Entry, int]]:
    """Every whole entry, and where it ends; what stands behind the first that is not whole is not looked at."""
    if file.read(len(MAGIC)) != MAGIC:
        return
    at = len(MAGIC)
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        crc, length, beside, count, behind = _HEAD.unpack(head)
        size = _BYTES * count + behind
        body = file.read(size) if max(count, behind) <= _MOST else b""
        if len(body) != size or crc32(body, crc32(head[_CRC:])) != crc:
            return
        at += len(head) + size
        failed = _failed(body[_BYTES * count :])
        if failed is None:
            return
        yield Entry(length, beside, array(_ITEM, body[: _BYTES * count]), failed), at


def _failed(told: bytes) -> dict[str, int] | None:
    """None where it is nothing of ours, whatever its checksum says."""
    try:
        failed = json.loads(told) if told else {}
    except (ValueError, RecursionError):
        return None
    fits = isinstance(failed, dict) and all(type(count) is int for count in failed.values())
    return failed if fits else None


class Journal:
    """The file, open at the end of its last whole entry; `done` is what the entries before say."""

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
        self.length = self.beside = 0  # of the part, and of what is beside it
        self.done = Done()
        self.failed: Counter[str] = Counter()  # of what is done
        try:
            end = self._recover()
            os.ftruncate(self._file, end)
            os.lseek(self._file, end, os.SEEK_SET)
            if not end:
                _write(self._file, MAGIC)
            os.fsync(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def _recover(self) -> int:
        """Where the last whole entry ends; 0 where not even the head is there."""
        with open(self._file, "rb", closefd=False) as file:
            end = 0
            for entry, end in entries(file):  # noqa: B007  the last one's
                self.length, self.beside = entry.length, entry.beside
                self.failed.update(entry.failed)
                for ordinal in entry.ordinals:
                    self.done.add(ordinal)
            file.seek(0)
            return end or (len(MAGIC) if file.read(len(MAGIC)) == MAGIC else 0)

    def commit(
        self, length: int, ordinals: Iterable[int], beside: int = 0, failed: Mapping[str, int] | None = None
    ) -> None:
        """These records are in the part, which is on the disk up to this length."""
        _write(self._file, packed(length, ordinals, beside, failed))
        sync_data(self._file)

    def close(self) -> None:
        os.close(self._file)


def _write(descriptor: int, data: bytes) -> None:
    if os.write(descriptor, data) != len(data):  # a disk that fills up takes a part of it first
        raise OSError(ENOSPC, os.strerror(ENOSPC))
