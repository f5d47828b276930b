"""Atomic files and locks: a file is written under a fresh name and renamed into place; a lock ends with its process."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

# What a writer that was killed leaves behind. Its length does not depend on the file's name, which may be as long as
# the file system allows; whoever sweeps a folder removes what this matches and nothing else.
TEMPORARY_NAME = re.compile(r"\.spaniel-[0-9a-f]{16}\.tmp")

# Never through a link, never into a file that somebody else has put there; by bytes, on Windows too.
CREATE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_ANYBODY = 0o666  # less the umask: what a shell's `>` makes


def write_atomically(
    path: str, data: bytes, mode: int | None = 0o600, *, durable: bool = False, dir_fd: int | None = None
) -> None:
    """Put `data` at `path` in one step; whoever reads finds the old file or the new one, never a part.

    The options are those of `replacing`. Whatever fails is an `OSError`; the old file is then untouched.
    """
    with replacing(path, mode, durable=durable, dir_fd=dir_fd) as file:
        file.write(data)


@contextmanager
def replacing(
    path: str,
    mode: int | None = 0o600,
    *,
    durable: bool = False,
    even_empty: bool = True,
    dir_fd: int | None = None,
) -> Iterator[BinaryIO]:
    """A new file that takes the place of whatever is at `path` when the block ends without an exception.

    `mode` is the file's (less the umask). None: mode, owner and group of the file that it replaces, or as any new file.
    `durable` waits until file and name are on the disk; without it a power cut may leave either file, or an empty one.
    `even_empty=False` leaves the old file where nothing was written.
    `dir_fd` is an open folder that `path` is relative to, where the system has such descriptors.
    A symbolic link at `path` is itself replaced; what it leads to is not touched. Whatever fails is an `OSError`.
    """
    temporary = os.path.join(os.path.dirname(path), f".spaniel-{os.urandom(8).hex()}.tmp")
    replaced = _ordinary(path, dir_fd) if mode is None else None
    descriptor = os.open(temporary, CREATE, _ANYBODY if mode is None else mode, dir_fd=dir_fd)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if replaced is not None:
                _be_like(file.fileno(), replaced)
            yield file
            file.flush()
            written = os.fstat(file.fileno()).st_size
            if durable:
                os.fsync(file.fileno())
        if written or even_empty:
            os.replace(temporary, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            if durable:
                sync_folder(os.path.dirname(path) or ".", dir_fd)
    finally:
        with suppress(OSError):  # gone already, if all went well
            os.unlink(temporary, dir_fd=dir_fd)


def _ordinary(path: str, dir_fd: int | None) -> os.stat_result | None:
    """The ordinary file at `path`; None where there is none."""
    try:
        found = os.lstat(path, dir_fd=dir_fd)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _be_like(descriptor: int, other: os.stat_result) -> None:
    """Owner and group too, where that is allowed: root must not take a file away from who works with it, nor a member
    of a group from the others. The mode comes last, since a change of owner takes some of its bits."""
    if not hasattr(os, "fchmod"):
        return
    for owner, group in ((other.st_uid, -1), (-1, other.st_gid)):
        with suppress(PermissionError):
            os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, stat.S_IMODE(other.st_mode))


def sync_folder(path: str, dir_fd: int | None = None) -> None:
    """Wait until the names in a folder are on the disk. Windows opens no folders, and writes names through."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Wait until what a file holds is on the disk; its times need not be. Not every system tells the two apart."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    OPEN_FILES_STAY = False

    def _lock(descriptor: int) -> None:
        flock(descriptor, LOCK_EX | LOCK_NB)

except ImportError:
    OPEN_FILES_STAY = True  # Windows neither removes nor renames a file that is open

    def _lock(descriptor: int) -> None:
        from importlib import import_module

        windows = import_module("msvcrt")
        windows.locking(descriptor, windows.LK_NBLCK, 1)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process until it is closed; False if another process holds the lock.

    An `OSError` other than that comes from a file system without locks.
    """
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):
        return False
    return True


_LOCK_FILE = os.O_RDWR | os.O_CREAT
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _LOCK_FILE |= getattr(os, _flag, 0)
_PAUSE = 0.01  # seconds between two attempts to take a lock


@contextmanager
def locked(
    path: str, *, wait: float | None = None, remove: bool = False, mode: int = 0o600, dir_fd: int | None = None
) -> Iterator[None]:
    """Hold the lock file at `path`, which is created if it is missing. The lock of a killed process is free.

    `wait` is in seconds; None waits as long as it takes. `TimeoutError` if another process still holds the lock.
    `remove` removes the file at the end (Windows removes no file that is open).
    """
    end = None if wait is None else time.monotonic() + wait
    while (descriptor := _taken(path, mode, dir_fd)) is None:
        if end is not None and time.monotonic() >= end:
            raise TimeoutError(path)
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        if remove:
            with suppress(OSError):
                os.unlink(path, dir_fd=dir_fd)
        os.close(descriptor)


def _taken(path: str, mode: int, dir_fd: int | None) -> int | None:
    """The lock file, open and locked; None if another process has it."""
    descriptor = os.open(path, _LOCK_FILE, mode, dir_fd=dir_fd)
    held = False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(path)
        held = try_lock(descriptor) and _is_at(path, descriptor, dir_fd)
    finally:
        if not held:
            os.close(descriptor)
    return descriptor if held else None


def _is_at(path: str, descriptor: int, dir_fd: int | None) -> bool:
    """Its last holder may have removed the file after it was opened here: then it locks nothing."""
    try:
        found = os.lstat(path, dir_fd=dir_fd)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
