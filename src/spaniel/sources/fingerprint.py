"""Whether an input is still what it was when a run began: so that a run is not resumed with another list."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import NamedTuple

WHOLE = 16 << 20  # bytes up to which every one counts
ENDS = 1 << 20  # of a longer file: at its start and at its end
PIECE = 1 << 18


class Fingerprint(NamedTuple):
    """Of a file. `digest` is of all its bytes, or, where `whole` is False, of its start and end."""

    size: int
    mtime_ns: int
    digest: str
    whole: bool

    def difference(self, now: Fingerprint) -> str | None:
        """Why it is not the same file's content any more, in words; None if it is. A mere `touch` changes nothing."""
        if now.size != self.size:
            return f"it had {self.size} bytes and has {now.size} now"
        if now.digest != self.digest:
            return "its content has changed"
        if not self.whole and now.mtime_ns != self.mtime_ns:
            return "it was written to since"  # what is between its ends was not looked at
        return None


def fingerprint(path: str) -> Fingerprint | None:
    """None for what cannot be read twice: a pipe, standard input. Whatever fails is an `OSError`."""
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return None
        digest, whole = sha256(), found.st_size <= WHOLE
        if whole:
            while piece := file.read(PIECE):
                digest.update(piece)
        else:
            digest.update(file.read(ENDS))
            file.seek(-ENDS, os.SEEK_END)
            digest.update(file.read(ENDS))
        return Fingerprint(found.st_size, found.st_mtime_ns, digest.hexdigest(), whole)


def _without_waiting(path: str, flags: int) -> int:
    """A pipe that nobody writes to would otherwise be waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
