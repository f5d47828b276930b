"""The files of the cache: their layout, and how they are read and replaced.

`private_folder` decides which folders and files are trusted: nothing here follows a link, waits on a FIFO, or trusts
what another user owns or can write. SQLite opens the index by its path, which is checked first.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from spaniel.cache.entry import HEAD, LARGEST, CacheEntry, decode, decode_head, head_length
from spaniel.errors import Code, SpanielError
from spaniel.files import OPEN_FILES_STAY, sync_folder, try_lock
from spaniel.private_folder import OpenFolder, open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.cache.keys import CacheKey

SHARDS = tuple(f"{number:02x}" for number in range(256))
ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.json")
TEMPORARY_NAME = re.compile(r"[0-9a-f]{64}\.tmp\.[0-9a-f]{16}")
PAGE = 4096  # bytes; the smallest that a system writes at once
_IN_ROOT = re.compile(r"[0-9a-f]{2}|index\.lock|index\.sqlite3(\.new)?(-wal|-shm|-journal)?|robots|hosts|queue")
_IN_SHARD = re.compile(rf"{ENTRY_NAME.pattern}|{TEMPORARY_NAME.pattern}")


class ShardFile(NamedTuple):
    """Anything found in a shard."""

    name: str
    status: os.stat_result


class CacheFolder:
    """The cache folder. Paths are made of the hash alone (FR-WF-16b)."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def path(self, hex_key: str) -> str:
        """For messages; files are not opened by it."""
        return f"{self.root}/{_place(hex_key)}"

    def temporary_path(self, name: str) -> str:
        return f"{self.root}/{_beside(name)}"

    def new_temporary(self, hex_key: str) -> str:
        return f"{hex_key}.tmp.{os.urandom(8).hex()}"

    def opened(self, make: bool = False) -> OpenFolder:
        """The folder itself, checked; FileNotFoundError if there is none."""
        return open_folder(self.root, _IN_ROOT, make=make)

    def _judged(self, name: str) -> OpenFolder:
        """The folder, after checking the shard of an entry or temporary file in it too."""
        root = self.opened()
        try:
            root.judge_folder(name[:2], _IN_SHARD)
        except BaseException:
            root.close()
            raise
        return root

    def prepare(self, hex_key: str) -> None:
        """The folders for a new file: created if missing, checked, private (0700)."""
        with self.opened(make=True) as root, root.folder(hex_key[:2], _IN_SHARD, make=True):
            pass

    def read(self, key: CacheKey) -> CacheEntry:
        """The verified entry; FileNotFoundError if there is none, otherwise `cache_read_failed`."""
        entry = self.read_named(key.hex)
        if not entry.is_for(key):
            _refuse(self.path(key.hex), "it holds another page than its name says")
        return entry

    def read_named(self, hex_key: str) -> CacheEntry:
        """The entry of this name. It is read again if its head was just being overwritten."""
        with suppress(ValueError):
            return decode(self._bytes(hex_key))
        try:
            return decode(self._bytes(hex_key))
        except ValueError as error:
            _refuse(self.path(hex_key), str(error))

    def overwrite_head(self, hex_key: str, new: bytes) -> bool:
        """Replace the head of an entry in place; False if that cannot be done in one step.

        It can if nothing but the head differs, the two heads are equally long, and they lie in one page: the kernel
        copies a page without interruption, so a killed writer leaves the old head or the new one. The rest was read
        from the same open file, so an entry that is replaced meanwhile is another file, and stays. After a power
        failure the two may be mixed, which the checksum detects.
        """
        with self._judged(hex_key) as root:
            descriptor = root.open_file(_place(hex_key), to_write=True)
            try:
                old = root.read_opened(descriptor, _place(hex_key), LARGEST)
                end = head_length(new)
                if end > PAGE or len(old) != len(new) or old[end:] != new[end:]:
                    return False
                os.lseek(descriptor, 0, os.SEEK_SET)
                return os.write(descriptor, new[:end]) == end
            finally:
                os.close(descriptor)

    def head(self, hex_key: str) -> CacheEntry:
        try:
            return decode_head(self._bytes(hex_key, HEAD))
        except ValueError as error:
            _refuse(self.path(hex_key), str(error))

    def _bytes(self, hex_key: str, first: int | None = None) -> bytes:
        with self._judged(hex_key) as root:
            return root.read(_place(hex_key), LARGEST, first)

    def status(self, hex_key: str) -> os.stat_result:
        with self._judged(hex_key) as root:
            return root.status(_place(hex_key))

    def create(self, temporary: str) -> int:
        """A new file (0600), locked while its writer lives: a lock that can be acquired means a dead writer."""
        with self.opened() as root:
            descriptor = root.create(_beside(temporary))
        _lock(descriptor)
        return descriptor

    def replace(self, temporary: str, hex_key: str) -> None:
        """Rename the temporary file to the entry (FR-WF-16g)."""
        with self.opened() as root:
            try:
                root.rename(_beside(temporary), _place(hex_key))
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy_then_delete(root, _beside(temporary), _place(hex_key))

    def discard(self, temporary: str) -> None:
        with self.opened() as root:
            root.remove(_beside(temporary))

    def sync(self, hex_key: str) -> None:
        """fsync the directory of an entry's shard."""
        with self.opened() as root:
            sync_folder(root.at(hex_key[:2]), root.descriptor)

    def remove(self, hex_key: str) -> bool:
        """False if something is still there. A link itself is removed, never its target."""
        try:
            with self._judged(hex_key) as root:
                root.remove(_place(hex_key))
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def remove_if_abandoned(self, temporary: str) -> bool:
        """Remove a temporary file unless its writer still holds it; True if it is gone."""
        with self._judged(temporary) as root:
            try:
                return _remove_if_abandoned(root, _beside(temporary))
            except FileNotFoundError:
                return True
            except OSError:  # a link or worse: not ours
                return False

    def shards(self) -> frozenset[str]:
        """The names of the shards that exist."""
        try:
            with self.opened() as root:
                return frozenset(entry.name for entry in root.entries())
        except FileNotFoundError:
            return frozenset()

    def listing(self, shard: str) -> Iterator[ShardFile]:
        """Everything in one of the 256 shards; nothing if the shard does not exist."""
        try:
            with self.opened() as root, root.folder(shard, _IN_SHARD) as folder:
                for entry in folder.entries():
                    with suppress(FileNotFoundError):  # gone since it was listed
                        yield ShardFile(entry.name, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return


def _place(hex_key: str) -> str:
    return f"{hex_key[:2]}/{hex_key}.json"


def _beside(temporary: str) -> str:
    return f"{temporary[:2]}/{temporary}"


def _lock(descriptor: int) -> bool:
    """False if another process has locked the file, or the file system has no locks; then only its age counts."""
    if OPEN_FILES_STAY:
        return True
    try:
        return try_lock(descriptor)
    except OSError:
        return False


def _remove_if_abandoned(root: OpenFolder, temporary: str) -> bool:
    descriptor = root.open_file(temporary)
    try:
        free = _lock(descriptor)
        if free and not OPEN_FILES_STAY:
            root.remove(temporary)
    finally:
        os.close(descriptor)
    if free and OPEN_FILES_STAY:
        root.remove(temporary)
    return free


def write_all(descriptor: int, raw: bytes, durable: bool) -> None:
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]
    if durable:
        os.fsync(descriptor)


def _copy_then_delete(root: OpenFolder, source: str, target: str) -> None:
    """Not atomic: a concurrent reader finds nothing, or a checksum mismatch. Both are a miss."""
    raw = root.read(source, LARGEST)
    with suppress(FileNotFoundError):
        root.remove(target)
    descriptor = root.create(target)
    try:
        write_all(descriptor, raw, durable=True)
    finally:
        os.close(descriptor)
    root.remove(source)


def _refuse(path: str, error: str) -> NoReturn:
    raise SpanielError(Code.CACHE_READ_FAILED, path=path, error=error)
