"""The folder: which of its files are read, how one is read, and how it is replaced.

Nothing here follows a link or waits on a pipe; all is done by the descriptor of the folder that was opened.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.files import TEMPORARY_NAME, write_atomically
from spaniel.private_folder import open_shared_folder
from spaniel.registry.naming import UnknownFile, host_of, stranger
from spaniel.registry.splitting import LARGEST_FILE, TOO_LARGE, decode
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.private_folder import OpenFolder

HEAD = 4096  # bytes that hold the first document of nearly every file


class Listing(NamedTuple):
    """What lies in a folder: files by the hosts that they are about, and what is not read."""

    files: dict[str, str]  # host -> name, in the order of the hosts: 'a.com' before 'a.com.au'
    strangers: list[UnknownFile]


Version = tuple[int, int, int]  # which file it was when it was read: inode, size, time of its last change


def opened(path: str, *, write: bool = False) -> OpenFolder:
    try:
        return open_shared_folder(path, write=write)
    except FileNotFoundError:
        reason = "there is no such folder; 'spaniel db init' makes one, or name another with --db"
        raise complaint(path, reason) from None
    except OSError as error:
        raise complaint(path, error.strerror or str(error)) from None


def listing(folder: OpenFolder) -> Listing:
    files: dict[str, str] = {}
    strangers: list[UnknownFile] = []
    for entry in sorted(folder.entries(), key=lambda entry: entry.name):
        host = host_of(entry.name)
        if host is None:
            found = stranger(entry.name)
        elif entry.is_symlink():
            found = UnknownFile(entry.name, "it is a symbolic link, and links are not followed")
        elif not entry.is_file(follow_symlinks=False):
            found = UnknownFile(entry.name, "it is not a regular file")
        elif host in files:
            found = UnknownFile(entry.name, f"its host has the file {files[host]} already; join the two")
        else:
            files[host], found = entry.name, None
        if found is not None:
            strangers.append(found)
    return Listing(dict(sorted(files.items())), strangers)


def read_text(folder: OpenFolder, name: str) -> tuple[str, Version]:
    """A file's text, and which version of the file it is."""
    file = f"{folder.path}/{name}"
    with _translated(file):
        descriptor = folder.open_file(name)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise complaint(file, "it is not a regular file")
            if found.st_size > LARGEST_FILE:
                raise complaint(file, TOO_LARGE)
            raw = _read(descriptor, found.st_size)
        finally:
            os.close(descriptor)
    return decode(raw, file), _version(found)


def read_head(folder: OpenFolder, name: str) -> str:
    """The beginning of a file, with all of its first document. Bytes that are no text are told when all is read."""
    with _translated(f"{folder.path}/{name}"):
        descriptor = folder.open_file(name)
        try:
            raw, size = os.read(descriptor, HEAD), HEAD
            while not _has_two_marks(raw) and len(raw) < LARGEST_FILE and (more := os.read(descriptor, size)):
                raw, size = raw + more, size * 4
        finally:
            os.close(descriptor)
    return raw.decode(errors="replace")


def _has_two_marks(raw: bytes) -> bool:
    """Whether the first document is whole: a second one begins."""
    bodies = (b"\n" + raw).split(b"\n---")[1:]
    return sum(body[:1] in (b" ", b"\t", b"\r", b"\n") for body in bodies) >= 2


def write_text(folder: OpenFolder, name: str, text: str, known: Version | None) -> None:
    """The whole file or none, and on the disk; refused if it is no longer the one that was read."""
    file = f"{folder.path}/{name}"
    with _translated(file):
        if version(folder, name) != known:
            raise complaint(file, "somebody else has changed it meanwhile; nothing was written to it, run this again")
        write_atomically(folder.at(name), text.encode(), None, durable=True, dir_fd=folder.descriptor)


def remove(folder: OpenFolder, name: str, known: Version | None) -> None:
    file = f"{folder.path}/{name}"
    with _translated(file):
        if version(folder, name) != known:
            raise complaint(file, "somebody else has changed it meanwhile; it was not removed, run this again")
        folder.remove(name)


def version(folder: OpenFolder, name: str) -> Version | None:
    try:
        return _version(folder.status(name))
    except FileNotFoundError:
        return None


def sweep(folder: OpenFolder) -> None:
    """Removes what killed writers have left: for who holds the lock, as every writer does."""
    for entry in list(folder.entries()):
        if TEMPORARY_NAME.fullmatch(entry.name):
            with suppress(OSError):
                folder.remove(entry.name)


def _version(found: os.stat_result) -> Version:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(descriptor: int, size: int) -> bytes:
    raw = os.read(descriptor, size)
    while len(raw) < size and (more := os.read(descriptor, size - len(raw))):
        raw += more
    return raw


@contextmanager
def _translated(file: str) -> Iterator[None]:
    """The system's complaints become ours, with the file's path."""
    try:
        yield
    except OSError as error:
        raise complaint(file, error.strerror or str(error)) from None
