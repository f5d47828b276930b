"""The files: where they lie, which of them are trusted, how one is read and replaced.

Nothing here follows a symbolic link, waits on a FIFO, or trusts what another user owns or may write.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from spaniel.cache.entry import HEAD, LARGEST, Entry, decode, decode_head
from spaniel.errors import Code, SpanielError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.cache.keys import Key

SHARDS = tuple(f"{number:02x}" for number in range(256))
ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.json")
TEMPORARY_NAME = re.compile(r"[0-9a-f]{64}\.tmp\.[0-9a-f]{16}")
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_KIND_AND_OTHERS = 0o170000 | _OTHERS_MAY_WRITE
_OWNERLESS = not hasattr(os, "geteuid")  # Windows keeps a user's folders apart by other means


class Folder:
    """The cache folder. Paths are made of the hash alone (FR-WF-16b)."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def shard(self, hex_key: str) -> str:
        return f"{self.root}/{hex_key[:2]}"

    def path(self, hex_key: str) -> str:
        return f"{self.root}/{hex_key[:2]}/{hex_key}.json"

    def new_temporary(self, hex_key: str) -> str:
        return f"{hex_key}.tmp.{os.urandom(8).hex()}"

    def temporary_path(self, name: str) -> str:
        return f"{self.root}/{name[:2]}/{name}"

    def judge(self, hex_key: str) -> None:
        """Refuses folders that lead elsewhere or that others can write; FileNotFoundError where there is none."""
        judge_folder(self.root)
        judge_folder(self.shard(hex_key))

    def prepare(self, hex_key: str) -> None:
        """The folders that a new file needs: made if missing, judged, and closed to others (0700)."""
        make_private(self.root)
        make_private(self.shard(hex_key))

    def read(self, key: Key) -> Entry:
        """The entry asked for, verified; FileNotFoundError where there is none, else `cache_read_failed`."""
        self.judge(key.hex)
        entry = self.read_named(key.hex)
        if not entry.is_for(key):
            _refuse(self.path(key.hex), "it holds another page than its name says")
        return entry

    def read_named(self, hex_key: str) -> Entry:
        """Whatever entry lies under this name."""
        path = self.path(hex_key)
        try:
            return decode(read_file(path))
        except ValueError as error:
            _refuse(path, str(error))

    def head(self, hex_key: str) -> Entry:
        path = self.path(hex_key)
        try:
            return decode_head(read_file(path, HEAD))
        except ValueError as error:
            _refuse(path, str(error))

    def replace(self, temporary: str, hex_key: str) -> None:
        """The temporary file becomes the entry in one step (FR-WF-16g)."""
        source, target = self.temporary_path(temporary), self.path(hex_key)
        try:
            os.replace(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy_then_delete(source, target)

    def remove(self, hex_key: str) -> bool:
        """False where something is still there. A link is removed, never what it leads to."""
        try:
            judge_folder(self.shard(hex_key))
            os.unlink(self.path(hex_key))
        except FileNotFoundError:
            return True
        except (OSError, SpanielError):
            return False
        return True

    def listing(self, shard: str) -> Iterator[os.DirEntry[str]]:
        """What lies in one of the 256 shards, whatever it is; nothing where the shard does not exist."""
        path = f"{self.root}/{shard}"
        try:
            judge_folder(path)
            found = os.scandir(path)
        except FileNotFoundError:
            return
        with found:
            yield from found


def judge_folder(path: str) -> None:
    found = os.lstat(path)
    if _is_ours(found, stat.S_IFDIR):
        return
    if stat.S_ISLNK(found.st_mode):
        _refuse(path, "the folder is a symbolic link, and links are not followed; name the folder itself")
    if not stat.S_ISDIR(found.st_mode):
        _refuse(path, "it is not a folder")
    _judge_owner(path, found, "folder")


def _is_ours(found: os.stat_result, kind: int) -> bool:
    """Of this kind, this user's, and for nobody else to write: the usual case, asked with every read."""
    return found.st_mode & _KIND_AND_OTHERS == kind and (_OWNERLESS or found.st_uid == os.geteuid())


def _judge_owner(path: str, found: os.stat_result, what: str) -> None:
    if _OWNERLESS:
        return
    if found.st_uid != os.geteuid():
        _refuse(path, f"the {what} belongs to another user (uid {found.st_uid})")
    if found.st_mode & _OTHERS_MAY_WRITE:
        _refuse(path, f"others may write to the {what} (mode {stat.S_IMODE(found.st_mode):04o}); chmod go-w it")


def judge_file(path: str, found: os.stat_result) -> None:
    if _is_ours(found, stat.S_IFREG):
        return
    if not stat.S_ISREG(found.st_mode):
        _refuse(path, "it is not a regular file")
    _judge_owner(path, found, "file")


def make_private(path: str) -> None:
    try:
        judge_folder(path)
    except FileNotFoundError:
        os.makedirs(path, mode=0o700, exist_ok=True)
        judge_folder(path)
    if stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
        os.chmod(path, 0o700)


def read_file(path: str, most: int = LARGEST) -> bytes:
    """The first `most` bytes of a file that is ours and a file."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno == errno.ELOOP:
            _refuse(path, "it is a symbolic link, and links are not followed")
        raise
    try:
        found = os.fstat(descriptor)
        judge_file(path, found)
        if found.st_size > LARGEST:
            _refuse(path, f"{found.st_size} bytes are more than an entry can have")
        size = min(found.st_size, most)
        raw = os.read(descriptor, size)
        while len(raw) < size and (more := os.read(descriptor, size - len(raw))):
            raw += more
        return raw
    finally:
        os.close(descriptor)


def create_file(path: str) -> int:
    """A new file (0600), locked for as long as its writer lives: a lock that can be had means a dead writer."""
    descriptor = os.open(path, _CREATE, 0o600)
    if sys.platform != "win32":
        with suppress(OSError):  # a file system without locks has the writer's process id still
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def write_all(descriptor: int, raw: bytes, durable: bool) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]
    if durable:
        os.fsync(descriptor)


def sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_if_abandoned(path: str) -> bool:
    """Removes a temporary file unless its writer still holds it; True where it is gone."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return True
    except OSError:  # a link or worse: not ours
        return False
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _copy_then_delete(source: str, target: str) -> None:
    """Not atomic: a reader in between finds nothing, or a checksum that does not match. Both are a miss."""
    raw = read_file(source)
    with suppress(FileNotFoundError):
        os.unlink(target)
    descriptor = os.open(target, _CREATE, 0o600)
    try:
        write_all(descriptor, raw, durable=True)
    finally:
        os.close(descriptor)
    os.unlink(source)


def _refuse(path: str, error: str) -> NoReturn:
    raise SpanielError(Code.CACHE_READ_FAILED, path=path, error=error)
