"""One writer at a time in a folder (DB-04): a lock file of its own, which the system frees when its holder dies."""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spaniel.registry.naming import LOCK
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.errors import SpanielError
    from spaniel.private_folder import OpenFolder

PATIENCE = 30.0  # seconds; nobody holds it for long: pages are fetched before it is taken
_PAUSE = 0.01
try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    def _take(descriptor: int) -> None:
        flock(descriptor, LOCK_EX | LOCK_NB)

except ImportError:  # Windows

    def _take(descriptor: int) -> None:
        windows: Any = import_module("msvcrt")
        windows.locking(descriptor, windows.LK_NBLCK, 1)


_FLAGS = os.O_RDWR | os.O_CREAT
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _flag, 0)


@contextmanager
def writing(folder: OpenFolder, patience: float = PATIENCE) -> Iterator[None]:
    """Whoever else wants to write waits. The lock file is removed by who holds it; a killed holder's is taken over."""
    limit = time.monotonic() + patience
    while (descriptor := _taken(folder)) is None:
        if time.monotonic() > limit:
            reason = f"another process has been writing here for {patience:g} seconds; try again when it is done"
            raise complaint(folder.path, reason)
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that somebody has open
            folder.remove(LOCK)
        os.close(descriptor)


def _taken(folder: OpenFolder) -> int | None:
    """The lock file, locked; None where somebody else has it."""
    try:
        descriptor = os.open(folder.at(LOCK), _FLAGS, 0o666, dir_fd=folder.descriptor)
    except OSError as error:
        raise _unwritable(folder, error) from None
    held = False
    try:
        held = _lock(descriptor, folder) and _is_still_there(descriptor, folder)
    finally:
        if not held:
            os.close(descriptor)
    return descriptor if held else None


def _unwritable(folder: OpenFolder, error: OSError) -> SpanielError:
    """Told of the folder, which people know; of the lock file only where that is what stands in the way."""
    with suppress(OSError):
        folder.status(LOCK)
        reason = f"cannot be opened for writing: {error.strerror}; remove it if no other process is writing here"
        return complaint(f"{folder.path}/{LOCK}", reason)
    return complaint(folder.path, f"the folder cannot be written to: {error.strerror}")


def _lock(descriptor: int, folder: OpenFolder) -> bool:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise complaint(f"{folder.path}/{LOCK}", "it is not a regular file; remove it")
    try:
        _take(descriptor)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise complaint(folder.path, f"no lock can be had on this file system: {error.strerror}") from None
    return True


def _is_still_there(descriptor: int, folder: OpenFolder) -> bool:
    """Its last holder may have removed it between our opening and our locking it: then it locks nothing."""
    try:
        there, ours = folder.status(LOCK), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
