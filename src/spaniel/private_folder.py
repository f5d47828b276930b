"""Private folders of the user: created with mode 0700, and checked before use.

Anyone who can write to a folder can plant links in it, and swap or remove its files. So a folder is opened without
following links, the open descriptor is checked, and everything in it is done relative to that descriptor, which cannot
be swapped. Windows has no such descriptors and separates users by other means; paths are used there.

Every failure is an `OSError`; a refusal is a `PermissionError` whose `strerror` says why and what to do.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.files import CREATE, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern

PRIVATE = 0o700
_OTHERS = 0o077
_EVERYBODY_WRITES, _GROUP_WRITES = stat.S_IWOTH, stat.S_IWGRP
_KIND_AND_WRITERS = 0o170000 | _EVERYBODY_WRITES | _GROUP_WRITES
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CHANGE = _READ | os.O_RDWR
_BY_DESCRIPTOR = hasattr(os, "O_DIRECTORY") and hasattr(os, "fchmod") and os.open in os.supports_dir_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK | getattr(os, "O_CLOEXEC", 0)
_OWNED = hasattr(os, "geteuid")
_IS_A_LINK = "it is a symbolic link, and links are not followed"


class OpenFolder(NamedTuple):
    """An open folder that passed the check: owned by this user, writable by no one else. Use it in a `with`.

    Names are those of files in it, or in a checked folder inside it; links are never followed.
    """

    path: str
    descriptor: int | None  # None where paths are used

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def at(self, name: str) -> str:
        """The name as a system call needs it, together with `dir_fd=descriptor`."""
        return name if self.descriptor is not None else f"{self.path}/{name}"

    def folder(self, name: str, ours: Pattern[str] | None = None, *, make: bool = False) -> OpenFolder:
        """Open and check a folder in this one."""
        return _open(f"{self.path}/{name}", self, ours, make)

    def judge_folder(self, name: str, ours: Pattern[str] | None = None) -> None:
        """Check a folder in this one like `folder` does, at half the cost: no other user can swap it."""
        if not _is_private(self.status(name), stat.S_IFDIR):
            self.folder(name, ours).close()

    def status(self, name: str) -> os.stat_result:
        return os.lstat(self.at(name), dir_fd=self.descriptor)

    def judge_file(self, name: str) -> None:
        """Raise unless it is a regular file of this user that others cannot write."""
        _judge_file(f"{self.path}/{name}", self.status(name))

    def read(self, name: str, largest: int, first: int | None = None) -> bytes:
        """Check and read a file (or its `first` bytes); one with more than `largest` bytes is refused.

        If the name has a folder in it, check that with `judge_folder` before.
        """
        descriptor = self.open_file(name)
        try:
            return self.read_opened(descriptor, name, largest, first)
        finally:
            os.close(descriptor)

    def read_opened(self, descriptor: int, name: str, largest: int, first: int | None = None) -> bytes:
        """Check and read a file that `open_file` has opened; it stays open."""
        found = os.fstat(descriptor)
        _judge_file(f"{self.path}/{name}", found)
        if found.st_size > largest:
            raise refusal(f"{self.path}/{name}", f"{found.st_size} bytes are too many (at most {largest})")
        size = found.st_size if first is None else min(found.st_size, first)
        raw = os.read(descriptor, size)
        while len(raw) < size and (more := os.read(descriptor, size - len(raw))):
            raw += more
        return raw

    def open_file(self, name: str, *, to_write: bool = False) -> int:
        """Open a file that is not a link, to read or also to write; it is not checked further."""
        if not _NO_LINK and stat.S_ISLNK(self.status(name).st_mode):
            raise refusal(f"{self.path}/{name}", _IS_A_LINK)
        try:
            return os.open(self.at(name), _CHANGE if to_write else _READ, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise refusal(f"{self.path}/{name}", _IS_A_LINK) from None
            raise

    def create(self, name: str) -> int:
        """Create a file with mode 0600 and open it; FileExistsError if the name is taken."""
        descriptor = os.open(self.at(name), CREATE, 0o600, dir_fd=self.descriptor)
        if _BY_DESCRIPTOR:
            os.fchmod(descriptor, 0o600)  # whatever the umask
        return descriptor

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically."""
        write_atomically(self.at(name), data, dir_fd=self.descriptor)

    def rename(self, old: str, new: str) -> None:
        """Rename atomically; an existing file with the new name is replaced."""
        os.replace(self.at(old), self.at(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a file; of a link, the link itself."""
        os.unlink(self.at(name), dir_fd=self.descriptor)

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """The entries of the folder; they are valid while it is open."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as found:
            yield from found


def open_folder(path: str, ours: Pattern[str] | None = None, *, make: bool = False) -> OpenFolder:
    """Open and check a folder; `make` creates it and missing parents (0700), else FileNotFoundError.

    `ours` matches the names that Spaniel uses in it. A folder that the group may write, as created with a umask of 002,
    is set to 0700 if it has no other names. A folder with other files may be shared on purpose, and one that everyone
    may write has been open to attack: both are refused, and their modes are not changed.
    """
    return _open(path, None, ours, make)


def open_shared_folder(path: str, *, write: bool = False) -> OpenFolder:
    """Open a folder that several people may share, such as a checkout: any owner and group are accepted.

    A link is refused. With `write`, a folder that everyone may write to is refused.
    """
    opened = _open_any(path, None)
    mode = 0 if opened.descriptor is None else stat.S_IMODE(os.fstat(opened.descriptor).st_mode)
    if write and mode & _EVERYBODY_WRITES:
        opened.close()
        raise refusal(path, f"everyone may write to the folder (mode {mode:04o}); close it with chmod o-w")
    return opened


def _open(path: str, inside: OpenFolder | None, ours: Pattern[str] | None, make: bool) -> OpenFolder:
    try:
        opened = _open_any(path, inside)
    except FileNotFoundError:
        if not make:
            raise
        _make(path, inside)
        opened = _open_any(path, inside)
    try:
        _judge(opened, ours, make)
    except BaseException:
        opened.close()
        raise
    return opened


def _open_any(path: str, inside: OpenFolder | None) -> OpenFolder:
    name, dir_fd = _within(path, inside)
    if not _BY_DESCRIPTOR:
        _refuse_other_kinds(path, os.lstat(name, dir_fd=dir_fd))
        return OpenFolder(path, None)
    try:
        return OpenFolder(path, os.open(name, _FOLDER, dir_fd=dir_fd))
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            _refuse_other_kinds(path, os.lstat(name, dir_fd=dir_fd))
        raise


def _make(path: str, inside: OpenFolder | None) -> None:
    """Create the folder and its missing parents with mode 0700 (`os.makedirs` gives parents the default mode)."""
    name, dir_fd = _within(path, inside)
    try:
        os.mkdir(name, PRIVATE, dir_fd=dir_fd)
    except FileExistsError:  # created by another process in the meantime
        return
    except FileNotFoundError:
        above = os.path.dirname(path)
        if inside is not None or above == path:
            raise
        _make(above, None)
        with suppress(FileExistsError):
            os.mkdir(name, PRIVATE, dir_fd=dir_fd)  # /proc still raises FileNotFoundError here


def _within(path: str, inside: OpenFolder | None) -> tuple[str, int | None]:
    return (path, None) if inside is None else (inside.at(os.path.basename(path)), inside.descriptor)


def _refuse_other_kinds(path: str, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise refusal(path, "the folder is a symbolic link, and links are not followed; name the folder itself")
    if not stat.S_ISDIR(found.st_mode):
        raise refusal(path, "it is not a folder")


def _judge(opened: OpenFolder, ours: Pattern[str] | None, make: bool) -> None:
    if opened.descriptor is None or not _OWNED:
        return
    found = os.fstat(opened.descriptor)
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        raise refusal(opened.path, f"the folder belongs to another user (uid {found.st_uid})")
    if not mode & _OTHERS:
        return
    closable = not mode & _EVERYBODY_WRITES and _holds_only(opened, ours)
    if closable and (make or mode & _GROUP_WRITES):
        os.fchmod(opened.descriptor, PRIVATE)
    elif mode & (_EVERYBODY_WRITES | _GROUP_WRITES):
        advice = "close it with chmod 700, or name a folder of your own"
        raise refusal(opened.path, f"others may write to the folder (mode {mode:04o}); {advice}")


def _holds_only(opened: OpenFolder, ours: Pattern[str] | None) -> bool:
    return ours is not None and all(ours.fullmatch(entry.name) for entry in opened.entries())


def _is_private(found: os.stat_result, kind: int) -> bool:
    """Whether it is of this kind, owned by this user and not writable by others: one fast test for every read."""
    return found.st_mode & _KIND_AND_WRITERS == kind and (not _OWNED or found.st_uid == os.geteuid())


def _judge_file(path: str, found: os.stat_result) -> None:
    if _is_private(found, stat.S_IFREG):
        return
    if not stat.S_ISREG(found.st_mode):
        raise refusal(path, "it is not a regular file")
    if not _OWNED:  # mode bits mean little on Windows
        return
    if found.st_uid != os.geteuid():
        raise refusal(path, f"the file belongs to another user (uid {found.st_uid})")
    raise refusal(path, f"others may write to the file (mode {stat.S_IMODE(found.st_mode):04o}); remove it")


def refusal(path: str, why: str) -> PermissionError:
    return PermissionError(errno.EPERM, why, path)
