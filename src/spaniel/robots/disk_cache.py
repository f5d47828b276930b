"""robots.txt files on disk, so that a short-lived process need not ask again what another one asked an hour ago."""

from __future__ import annotations

import logging
import os
import re
import secrets
import stat
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

MOST_FILES = 20_000  # in the folder, and their bytes, as a sweep leaves it: a site can have any number of origins
MOST_BYTES = 256 << 20
SWEEP_EVERY = 1000  # writes, by however many processes: each begins to count somewhere
LARGE = 16 << 10  # bytes that count as one write more
SWEPT_AT_ONCE = 2 * MOST_FILES  # files that one sweep looks at, however many there are
_LARGEST = LIMIT + (64 << 10)  # the file, cut as it is when it is fetched, and its head
_MAGIC = b"spaniel robots 1\n"
_OURS = re.compile(rf"[0-9a-f]{{64}}(\.[0-9a-f]{{8}}\.tmp)?|{TEMPORARY_NAME.pattern}")  # the older temporaries, too


class StoredFile(NamedTuple):
    """A file as it was fetched, and when (seconds since 1970)."""

    body: bytes
    fetched: float


class _Kept(NamedTuple):
    """A file in the folder."""

    written: float
    name: str
    size: int


class DiskCache:
    """A folder of robots.txt files by origin. It only ever helps: whatever fails is as if nothing were there.

    The folder and the one that it is in are judged whenever they are used; only what has a name of ours is removed.
    """

    def __init__(self, folder: Path, keep_seconds: float) -> None:
        self._above, self._name = os.path.split(os.path.abspath(folder))
        self._keep = keep_seconds
        self._until_sweep = 1 + secrets.randbelow(SWEEP_EVERY)
        self._warned = False

    def read(self, origin: str, now: float) -> StoredFile | None:
        """What is there for an origin, if it is whole, ours, and not too old (nor from the future)."""
        try:
            with self._open() as folder:
                data = folder.read(_name_of(origin), _LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        head, _, body = data.removeprefix(_MAGIC).partition(b"\n")
        words = head.split(b" ")
        if not data.startswith(_MAGIC) or len(words) != 3 or words[1] != sha256(body).hexdigest().encode():
            return None
        fetched = float(words[2]) if words[2].replace(b".", b"", 1).isdigit() else float("inf")
        return StoredFile(body, fetched) if words[0] == origin.encode() and 0 <= now - fetched < self._keep else None

    def write(self, origin: str, stored: StoredFile) -> None:
        """Put a file there, whole or not at all."""
        head = f"{origin} {sha256(stored.body).hexdigest()} {stored.fetched!r}\n".encode()
        try:
            with self._open(make=True) as folder:
                folder.write(_name_of(origin), _MAGIC + head + stored.body)
        except OSError as error:
            self._warn(error)
            return
        self._until_sweep -= 1 + len(stored.body) // LARGE
        if self._until_sweep <= 0:
            self._until_sweep = SWEEP_EVERY
            # Tens of thousands of files take a while, and whoever writes may be an event loop.
            Thread(target=self.sweep, args=(stored.fetched,), name="spaniel robots sweep", daemon=True).start()

    def sweep(self, now: float) -> None:
        """Remove what is too old to be read again, what dead writers left, and what is too much, the oldest first.

        Of some files, so that no sweep takes long; chosen by chance, so that none is passed over for ever.
        """
        with suppress(OSError), self._open() as folder:
            entries = [entry for entry in folder.entries() if _OURS.fullmatch(entry.name)]
            chosen = secrets.SystemRandom().sample(entries, min(SWEPT_AT_ONCE, len(entries)))
            found = sorted((kept for entry in chosen if (kept := _kept(entry))), reverse=True)
            for name in self._doomed(found, len(chosen) / (len(entries) or 1), now):
                with suppress(FileNotFoundError):
                    folder.remove(name)

    def _doomed(self, newest_first: list[_Kept], share: float, now: float) -> list[str]:
        """Which of these are to go, the oldest first, if they are such a share of all."""
        doomed, files, size = [], 0, 0
        for kept in newest_first:
            files, size = files + 1, size + kept.size
            if files > MOST_FILES * share or size > MOST_BYTES * share or now - kept.written > self._keep:
                doomed.append(kept.name)
        return doomed[::-1]

    def _open(self, make: bool = False) -> OpenFolder:
        with open_folder(self._above, make=make) as above:
            return above.folder(self._name, _OURS, make=make)

    def _warn(self, error: OSError) -> None:
        """Once is enough: the fetch itself goes on."""
        if not self._warned:
            self._warned = True
            log.warning("robots_cache_failed: %s", error.strerror or error)


def _kept(entry: os.DirEntry[str]) -> _Kept | None:
    """What is known of a file; None where it is no file, or no longer there."""
    with suppress(FileNotFoundError):
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            return _Kept(found.st_mtime, entry.name, found.st_size)
    return None


def _name_of(origin: str) -> str:
    return sha256(origin.encode()).hexdigest()
