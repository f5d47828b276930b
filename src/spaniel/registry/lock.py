"""One writer at a time in a database's folder (DB-04). The lock has its own file: renames replace the others."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from spaniel.files import locked
from spaniel.registry.naming import LOCK
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.errors import SpanielError
    from spaniel.private_folder import OpenFolder

PATIENCE = 30.0  # seconds; the lock is never held for long: pages are fetched before it is taken


@contextmanager
def writing(folder: OpenFolder, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the folder's lock. Other writers wait."""
    lock = locked(folder.at(LOCK), wait=patience, remove=True, mode=0o666, dir_fd=folder.descriptor)
    with ExitStack() as held:
        try:
            held.enter_context(lock)
        except TimeoutError:
            reason = f"another process has been writing here for {patience:g} seconds; try again when it is done"
            raise complaint(folder.path, reason) from None
        except OSError as error:
            raise _unwritable(folder, error) from None
        yield


def _unwritable(folder: OpenFolder, error: OSError) -> SpanielError:
    """Names the folder, which people know; the lock file only if that is the problem."""
    if isinstance(error, IsADirectoryError):
        return complaint(f"{folder.path}/{LOCK}", "it is not a regular file; remove it")
    with suppress(OSError):
        folder.status(LOCK)
        reason = f"cannot be opened for writing: {error.strerror}; remove it if no other process is writing here"
        return complaint(f"{folder.path}/{LOCK}", reason)
    return complaint(folder.path, f"the folder cannot be written to: {error.strerror}")
