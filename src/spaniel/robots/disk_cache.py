"""robots.txt files on disk, shared between processes."""

from __future__ import annotations

import logging
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from hashlib import sha256
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from spaniel.files import TEMPORARY_NAME
from spaniel.private_folder import OpenFolder, open_folder
from spaniel.robots.rules import LIMIT

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("spaniel.robots")

MAX_FILES = 20_000  # in the folder, whatever the settings allow: a site can have any number of origins
MAX_BYTES = 256 << 20  # of all files, after a sweep
SLACK = 64  # one of this many files is removed in advance, so that not every write has to list them
SWEEP_EVERY = 1000  # writes of a process; it begins to count at a random number
LARGE = 16 << 10  # bytes that count as another write
SWEPT_AT_ONCE = 2 * MAX_FILES  # files that one sweep examines
_LARGEST = LIMIT + (64 << 10)  # the truncated file and its head
_MAGIC = b"spaniel robots 1\n"
_WHOLE = re.compile(r"[0-9a-f]{64}")
_OURS = re.compile(rf"{_WHOLE.pattern}(\.[0-9a-f]{{8}}\.tmp)?|{TEMPORARY_NAME.pattern}")  # the older temporaries, too


class StoredFile(NamedTuple):
    """A file as fetched, and when (seconds since 1970)."""

    body: bytes
    fetched: float


class _DiskFile(NamedTuple):
    """A file in the folder."""

    used: float
    name: str
    size: int


class DiskCache:
    """A folder of robots.txt files by origin. Failures are treated as misses.

    It holds `most` files; the least recently used (by mtime) are removed first (FR-WF-08g). The folder and its parent

    are checked whenever they are used; only files with names of ours are removed.
    """

    def __init__(self, folder: Path, keep_seconds: float, most: int = MAX_FILES) -> None:
        self._above, self._name = os.path.split(os.path.abspath(folder))
        self._keep = keep_seconds
        self._most = max(1, min(most, MAX_FILES))
        self._until_count = 1  # writes
        self._until_sweep = 1 + secrets.randbelow(SWEEP_EVERY)
        self._warned = False

    def read(self, origin: str, now: float) -> StoredFile | None:
        """The file of an origin, if it is complete, ours, and not too old (nor from the future)."""
        name = _name_of(origin)
        try:
            with self._open() as folder:
                stored = _read(folder.read(name, _LARGEST), origin)
                if stored is None or not 0 <= now - stored.fetched < self._keep:
                    return None
                _mark_used(folder, name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        return stored

    def remove(self, origin: str) -> None:
        """Remove a file, if it is there."""
        with suppress(OSError), self._open() as folder:
            folder.remove(_name_of(origin))

    def write(self, origin: str, stored: StoredFile) -> None:
        """Store a file atomically."""
        name = _name_of(origin)
        head = f"{origin} {sha256(stored.body).hexdigest()} {stored.fetched!r}\n".encode()
        try:
            with self._open(make=True) as folder:
                folder.write(name, _MAGIC + head + stored.body)
                _mark_used(folder, name)
                self._count(folder)
        except OSError as error:
            self._warn(error)
            return
        self._until_sweep -= 1 + len(stored.body) // LARGE
        if self._until_sweep <= 0:
            self._until_sweep = SWEEP_EVERY
            # Tens of thousands of files take a while, and this may run in an event loop.
            Thread(target=self.sweep, args=(stored.fetched,), name="spaniel robots sweep", daemon=True).start()

    def _count(self, folder: OpenFolder) -> None:
        """Remove files over the limit. Other processes write here too, so files are counted again and again."""
        self._until_count -= 1
        if self._until_count > 0:
            return
        slack = self._most // SLACK
        found = [entry for entry in folder.entries() if _WHOLE.fullmatch(entry.name)]
        left = len(found)
        if left > self._most:
            files = sorted(kept for entry in found if (kept := _kept(entry)))
            left = self._most - slack
            for kept in files[: max(0, len(files) - left)]:
                with suppress(FileNotFoundError):
                    folder.remove(kept.name)
        self._until_count = max(1, min(slack, self._most - left))

    def sweep(self, now: float) -> None:
        """Remove expired files, temporary files of dead writers, and files over the limits, the oldest first.

        Only a random sample of the files is examined, so that no sweep takes long and every file has its turn.
        """
        with suppress(OSError), self._open() as folder:
            entries = [entry for entry in folder.entries() if _OURS.fullmatch(entry.name)]
            chosen = secrets.SystemRandom().sample(entries, min(SWEPT_AT_ONCE, len(entries)))
            found = sorted((kept for entry in chosen if (kept := _kept(entry))), reverse=True)
            for name in self._doomed(found, len(chosen) / (len(entries) or 1), now):
                with suppress(FileNotFoundError):
                    folder.remove(name)

    def _doomed(self, newest_first: list[_DiskFile], share: float, now: float) -> list[str]:
        """The files to remove, the oldest first, if these are `share` of all files."""
        doomed, files, size = [], 0, 0
        for kept in newest_first:
            files, size = files + 1, size + kept.size
            if files > self._most * share or size > MAX_BYTES * share or now - kept.used > self._keep:
                doomed.append(kept.name)
        return doomed[::-1]

    def _open(self, make: bool = False) -> OpenFolder:
        with open_folder(self._above, make=make) as above:
            return above.folder(self._name, _OURS, make=make)

    def _warn(self, error: OSError) -> None:
        """Warn once; the fetch continues."""
        if not self._warned:
            self._warned = True
            log.warning("robots_cache_failed: %s", error.strerror or error)


def _read(data: bytes, origin: str) -> StoredFile | None:
    """The content of a file; None if it is damaged, or of another origin."""
    head, _, body = data.removeprefix(_MAGIC).partition(b"\n")
    words = head.split(b" ")
    if not data.startswith(_MAGIC) or len(words) != 3 or words[1] != sha256(body).hexdigest().encode():
        return None
    fetched = float(words[2]) if words[2].replace(b".", b"", 1).isdigit() else float("inf")
    return StoredFile(body, fetched) if words[0] == origin.encode() else None


def _kept(entry: os.DirEntry[str]) -> _DiskFile | None:
    """Size and time of a file; None if it is not a regular file, or was removed."""
    with suppress(FileNotFoundError):
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            return _DiskFile(found.st_mtime, entry.name, found.st_size)
    return None


def _mark_used(folder: OpenFolder, name: str) -> None:
    now = time.time_ns()  # the kernel's own timestamps have a resolution of some milliseconds: too coarse for an order
    with suppress(FileNotFoundError):  # removed by another process
        os.utime(folder.at(name), ns=(now, now), dir_fd=folder.descriptor)


def _name_of(origin: str) -> str:
    return sha256(origin.encode()).hexdigest()
