"""robots.txt files on disk, so that a short-lived process need not ask again what another one asked an hour ago."""

from __future__ import annotations

import os
import secrets
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

SWEEP_EVERY = 100  # writes
_MAGIC = b"spaniel robots 1\n"


class StoredFile(NamedTuple):
    """A file as it was fetched, and when (seconds since 1970)."""

    body: bytes
    fetched: float


class DiskCache:
    """A folder of robots.txt files by origin. It only ever helps: whatever fails is as if nothing were there."""

    def __init__(self, folder: Path, keep_seconds: float) -> None:
        self._folder = folder
        self._keep = keep_seconds
        self._writes = 0

    def read(self, origin: str, now: float) -> StoredFile | None:
        """What is there for an origin, if it is whole, ours, and not too old (nor from the future)."""
        try:
            fd = os.open(self._path(origin), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                return None
            data = file.read()
        head, _, body = data.removeprefix(_MAGIC).partition(b"\n")
        words = head.split(b" ")
        if not data.startswith(_MAGIC) or len(words) != 3 or words[1] != sha256(body).hexdigest().encode():
            return None
        fetched = float(words[2]) if words[2].replace(b".", b"", 1).isdigit() else float("inf")
        return StoredFile(body, fetched) if words[0] == origin.encode() and 0 <= now - fetched < self._keep else None

    def write(self, origin: str, stored: StoredFile) -> None:
        """Put a file there, whole or not at all."""
        path = self._path(origin)
        temporary = f"{path}.{secrets.token_hex(4)}.tmp"
        head = f"{origin} {sha256(stored.body).hexdigest()} {stored.fetched!r}\n".encode()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(_MAGIC + head + stored.body)
            os.replace(temporary, path)
        except OSError:
            return
        self._writes += 1
        if self._writes % SWEEP_EVERY == 1:
            self._sweep(stored.fetched)

    def _sweep(self, now: float) -> None:
        """Files that are too old to be read again, and what dead writers left."""
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if now - entry.stat(follow_symlinks=False).st_mtime > self._keep:
                        os.unlink(entry.path)
        except OSError:
            return

    def _path(self, origin: str) -> str:
        return os.path.join(self._folder, sha256(origin.encode()).hexdigest())
