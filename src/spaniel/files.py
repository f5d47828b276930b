"""Atomic writes and file locks.

A file is written under a temporary name and renamed into place. A lock is released when its process ends.
"""

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

# Temporary files that a killed writer leaves behind; clean-ups remove what this matches and nothing else. The length
# does not depend on the name of the file, which may already be as long as the file system allows.
TEMPORARY_NAME = re.compile(r"\.spaniel-[0-9a-f]{16}\.tmp")

# Never through a link, never into an existing file; binary mode on Windows.
CREATE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_DEFAULT_MODE = 0o666  # less the umask, like a shell's `>`


def write_atomically(
    path: str, data: bytes, mode: int | None = 0o600, *, durable: bool = False, dir_fd: int | None = None
) -> None:
    """Write `data` to `path` in one step: a reader sees the old file or the new one, never a part.

    The options are those of `replacing`. Every failure is an `OSError` and leaves the old file untouched.
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
    """Open a new file that replaces `path` when the block ends without an exception.

    `mode` is the mode of the file (less the umask). None: mode, owner and group of the file that it replaces, or those
    of any new file. `durable` waits until file and name are on the disk; without it, a power cut may leave either file,
    or an empty one. `even_empty=False` leaves the old file in place if nothing was written.
    `dir_fd` is an open folder that `path` is relative to, if the system has such descriptors.
    A symbolic link at `path` is replaced itself; its target is not touched. Every failure is an `OSError`.
    """
    temporary = os.path.join(os.path.dirname(path), f".spaniel-{os.urandom(8).hex()}.tmp")
    replaced = _ordinary(path, dir_fd) if mode is None else None
    descriptor = os.open(temporary, CREATE, _DEFAULT_MODE if mode is None else mode, dir_fd=dir_fd)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if replaced is not None:
                _copy_permissions(file.fileno(), replaced)
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
        with suppress(OSError):  # already renamed on success
            os.unlink(temporary, dir_fd=dir_fd)


def _ordinary(path: str, dir_fd: int | None) -> os.stat_result | None:
    """The status of the regular file at `path`; None if there is none."""
    try:
        found = os.lstat(path, dir_fd=dir_fd)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _copy_permissions(descriptor: int, other: os.stat_result) -> None:
    """Set owner and group, as far as allowed, and mode to those of the replaced file.

    So root does not take a file away from its owner, nor a member of a group from the others. The mode comes last,
    because changing the owner clears some of its bits.
    """
    if not hasattr(os, "fchmod"):
        return
    for owner, group in ((other.st_uid, -1), (-1, other.st_gid)):
        with suppress(PermissionError):
            os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, stat.S_IMODE(other.st_mode))


def sync_folder(path: str, dir_fd: int | None = None) -> None:
    """Wait until the names in a folder are on the disk. Not needed on Windows, which cannot open folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Wait until the contents of a file are on the disk (its times need not be, if the system has `fdatasync`)."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    OPEN_FILES_STAY = False

    def _lock(descriptor: int) -> None:
        flock(descriptor, LOCK_EX | LOCK_NB)

except ImportError:
    OPEN_FILES_STAY = True  # Windows cannot remove or rename an open file

    def _lock(descriptor: int) -> None:
        from importlib import import_module

        windows = import_module("msvcrt")
        windows.locking(descriptor, windows.LK_NBLCK, 1)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process until it is closed; False if another process holds the lock.

    Raises `OSError` on a file system without locks.
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
    `remove` removes the file at the end (not on Windows, which cannot remove an open file).
    """
    end = None if wait is None else time.monotonic() + wait
    while (descriptor := _acquire(path, mode, dir_fd)) is None:
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


def _acquire(path: str, mode: int, dir_fd: int | None) -> int | None:
    """Open and lock the lock file; None if another process has it."""
    descriptor = os.open(path, _LOCK_FILE, mode, dir_fd=dir_fd)
    is_locked = False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(path)
        is_locked = try_lock(descriptor) and _is_at(path, descriptor, dir_fd)
    finally:
        if not is_locked:
            os.close(descriptor)
    return descriptor if is_locked else None


def _is_at(path: str, descriptor: int, dir_fd: int | None) -> bool:
    """Whether the open file is still at `path`: its last holder may have removed it after it was opened here."""
    try:
        found = os.lstat(path, dir_fd=dir_fd)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
