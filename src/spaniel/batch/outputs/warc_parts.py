"""The WARC files that a run writes beside its output: one file, or for a folder several of a handy size."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime

from spaniel.batch.outputs.part import Part
from spaniel.batch.outputs.warc import warcinfo

FILE, FOLDER = ".warc.gz", ".warc"  # behind the name of the output
FILE_BYTES = 1 << 30  # after which a folder's next file begins, as is usual for WARC
BUFFER = 1 << 20  # bytes that wait in memory at the most
_SHIFT = 48  # a place is the number of a file and the length of it
_PART = re.compile(r"part-(\d{5,})\.warc\.gz")


def place_of(output: str) -> str:
    """Where the WARC file, or the folder of them, of an output is: `pages.jsonl.warc.gz`, `pages.warc` for `pages/`."""
    name = output.rstrip("/" + os.sep)
    return name + (FOLDER if name != output or os.path.isdir(output) else FILE)


def files_of(output: str) -> list[str]:
    """The WARC files of an output, in their order; none where it has none."""
    place = place_of(output)
    if place.endswith(FILE):
        return [place] if os.path.lexists(place) else []
    found = sorted((int(match[1]), name) for name in _names(place) if (match := _PART.fullmatch(name)))
    return [os.path.join(place, name) for _, name in found]


def remove(output: str) -> None:
    """Files with names of ours alone; the folder if it is empty then."""
    for path in files_of(output):
        os.unlink(path)
    place = place_of(output)
    if place.endswith(FOLDER):
        with suppress(OSError):
            os.rmdir(place)


class WarcParts:
    """Opened at a place: what a run that was killed had written behind it is cut off."""

    def __init__(self, output: str, place: int, software: str, file_bytes: int = FILE_BYTES) -> None:
        self._path, self._software = place_of(output), software
        self._limit = file_bytes if self._path.endswith(FOLDER) else 1 << _SHIFT
        self._number, length = place >> _SHIFT, place & ((1 << _SHIFT) - 1)
        self._held: list[bytes] = []
        self._size = 0
        if self._path.endswith(FOLDER):
            os.makedirs(self._path, exist_ok=True)
            for path in files_of(output)[self._number + 1 :]:
                os.unlink(path)
        self._part = self._open(length)

    def append(self, records: bytes) -> None:
        self._held.append(records)
        self._size += len(records)
        if self._size > BUFFER:
            self._flush()

    def sync(self) -> int:
        """Bring all that was appended to the disk; the place that is to be committed."""
        self._flush()
        self._part.sync()
        place = self._number << _SHIFT | self._part.offset
        if self._part.offset >= self._limit:
            self._part.close()
            self._number += 1
            self._part = self._open(0)
        return place

    def close(self) -> None:
        self._part.close()

    def _flush(self) -> None:
        held, self._held, self._size = self._held, [], 0
        self._part.append(held)

    def _open(self, length: int) -> Part:
        path = self._path
        if path.endswith(FOLDER):
            path = os.path.join(path, f"part-{self._number:05}{FILE}")
        part = Part.reopen(path, length) if os.path.lexists(path) else Part.create(path)
        if not part.offset:
            part.append([warcinfo(os.path.basename(path), self._software, datetime.now(UTC))])
        return part


def is_there(output: str, place: int) -> bool:
    """Whether all that was committed is still there: somebody may have cut or removed it meanwhile."""
    number, length = place >> _SHIFT, place & ((1 << _SHIFT) - 1)
    files = files_of(output)
    return not length or (number < len(files) and os.path.getsize(files[number]) >= length)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
