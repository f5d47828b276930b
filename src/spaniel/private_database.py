"""A small SQLite file of the user's own: in a folder for it alone, for many processes at once, for this user's eyes.

The folder and the files are judged by `private_folder` before SQLite opens them by their path. A new file appears
whole, by a rename. One that is damaged, or of another version, is set aside under another name, and an empty one
takes its place: what it held may be worth a look, and nobody is held up by it.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spaniel.private_folder import open_folder, open_shared_folder

try:
    import fcntl
except ImportError:  # Windows; two processes that meet a damaged file at one moment may both replace it
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spaniel.private_folder import OpenFolder

    Identity = tuple[int, int] | None

T = TypeVar("T")

PATIENCE = 5.0  # seconds to wait for another writer
SIDE_FILES = ("-wal", "-shm")
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Layout(NamedTuple):
    """What is in a file: one table, which has the name of the file."""

    name: str
    version: int
    create: str  # the table, and what belongs to it, in SQL


class Database:
    """A connection that is opened when first needed, and again when the file was lost, replaced or forked away from.

    Whatever fails is an `OSError` (the folder is not ours to use) or a `sqlite3.Error`. The folder itself is always
    this user's own; `in_shared_folder` says that it stands in one that people share, such as a checkout.
    """

    def __init__(
        self, folder: str, layout: Layout, patience: float = PATIENCE, *, in_shared_folder: bool = False
    ) -> None:
        self.folder = os.path.abspath(folder)
        self._in_shared_folder = in_shared_folder
        self.path = f"{self.folder}/{layout.name}.sqlite3"
        self._layout, self._patience = layout, patience
        self._file = f"{layout.name}.sqlite3"
        self._ours = re.compile(rf"{layout.name}\.(lock|sqlite3(\.new|\.damaged)?(-wal|-shm|-journal)?)")
        self._connection: sqlite3.Connection | None = None
        self._identity: Identity = None
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._left_to_parent: list[object] = []
        self.damage = ""  # what became of a damaged file, in words, for whoever tells it

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do this in one transaction, with the write lock; the file is made if there is none."""
        with self._alone():
            try:
                return self._transaction(work)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
            self._replace(self._identity)
            return self._transaction(work)

    def read(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What is there, while others write; `otherwise` where there is no file, or none that can be read."""
        with self._alone():
            if _identity(self.path) is None:
                return otherwise
            try:
                return work(self._connected())
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._disconnect()
                self.damage = self.damage or f"{self.path} is damaged and cannot be read"
                return otherwise

    def close(self) -> None:
        with self._alone():
            self._disconnect()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time. After a fork a child may not even close what its parent opened (SQLite)."""
        if self._pid != os.getpid():
            self._left_to_parent.append(self._connection)
            self._connection = None
            self._lock, self._pid = threading.RLock(), os.getpid()
        with self._lock:
            yield

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if _identity(self.path) is None:
            self._replace(None)
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        try:
            done = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return done

    def _connected(self) -> sqlite3.Connection:
        found = _identity(self.path)
        if self._connection is None or found != self._identity:
            self._disconnect()
            self._identity = found  # also of one that turns out to be damaged
            self._judge()
            self._connection = self._sound()
        return self._connection

    def _judge(self) -> None:
        """Nobody else may have put there what SQLite is about to open."""
        with self._opened() as folder:
            folder.judge_file(self._file)
            for side in SIDE_FILES:
                with suppress(FileNotFoundError):
                    folder.judge_file(self._file + side)

    def _sound(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )  # transactions are begun and ended by hand
        try:
            connection.text_factory = _lenient
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {4 << 20}")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            known = connection.execute(tables, (self._layout.name,)).fetchone()[0]
            if (version, known) != (self._layout.version, 1):
                raise _damage("it is of another version, or a stranger's")
        except BaseException:
            connection.close()
            raise
        return connection

    def _replace(self, damaged: Identity) -> None:
        """An empty file in place of the damaged one, or of none. One process does it; the others waited."""
        self._disconnect()
        with self._opened(make=True) as folder, self._locked(folder):
            if _identity(self.path) != damaged:
                return
            with suppress(FileNotFoundError):
                folder.rename(self._file, f"{self._file}.damaged")
                self.damage = f"{self.path} was damaged, and is now {self._file}.damaged; a new one was begun"
            self._create(folder)

    def _create(self, folder: OpenFolder) -> None:
        fresh = f"{self._file}.new"
        for name in (fresh, *(f"{file}{side}" for file in (self._file, fresh) for side in SIDE_FILES)):
            with suppress(FileNotFoundError):  # another file's WAL would be replayed into ours
                folder.remove(name)
        os.close(folder.create(fresh))
        connection = sqlite3.connect(f"{self.folder}/{fresh}", isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(self._layout.create)
            connection.execute(f"PRAGMA user_version = {self._layout.version}")
        finally:
            connection.close()
        folder.rename(fresh, self._file)

    def _opened(self, make: bool = False) -> OpenFolder:
        above, name = os.path.split(self.folder)
        shared = self._in_shared_folder
        with open_shared_folder(above, write=make) if shared else open_folder(above, make=make) as outer:
            return outer.folder(name, self._ours, make=make)

    @contextmanager
    def _locked(self, folder: OpenFolder) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT
        for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
            flags |= getattr(os, name, 0)
        descriptor = os.open(folder.at(f"{self._layout.name}.lock"), flags, 0o600, dir_fd=folder.descriptor)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _identity(path: str) -> Identity:
    """Which file is at this path now; None where there is none."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _damage(message: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _is_damage(error: sqlite3.Error) -> bool:
    """True where a new file would help: not for a full disk or a lock that another process holds."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in DAMAGE
