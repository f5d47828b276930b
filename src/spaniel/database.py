"""Small SQLite files of this user: created atomically, used by many processes at once, replaced when damaged.

The folder and the files are checked by `private_folder` before SQLite opens them by path. A new file is created under
another name and renamed into place. A damaged file, or one of another version, is set aside as `NAME.sqlite3.damaged`
and a new one is created; a file that can be rebuilt (the index of the page cache) is removed instead.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spaniel.files import locked
from spaniel.private_folder import open_folder, open_shared_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spaniel.private_folder import OpenFolder

    Identity = tuple[int, int] | None

T = TypeVar("T")

PATIENCE = 5.0  # seconds to wait for another writer
SIDE_FILES = ("-wal", "-shm")


class Layout(NamedTuple):
    """The schema of a file, and the table by which the file is recognized (the file's name if none is given)."""

    name: str
    version: int
    create: str  # the tables, in SQL
    table: str = ""
    can_be_rebuilt: bool = False  # from other data: a damaged file is removed, and any SQL error counts as damage


class Database:
    """A SQLite file whose connection opens on first use, and again after a fork or when the file was replaced.

    Failures are `OSError` (the folder may not be used) or `sqlite3.Error`. The folder belongs to this user;
    `in_shared_folder` says that it is inside one that several people use, such as a checkout. `folder_is_checked`:
    the caller has created and checked the folder, and it holds other files too.
    """

    def __init__(
        self,
        folder: str,
        layout: Layout,
        patience: float = PATIENCE,
        *,
        in_shared_folder: bool = False,
        folder_is_checked: bool = False,
        on_open: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self.folder = os.path.abspath(folder)
        self.path = f"{self.folder}/{layout.name}.sqlite3"
        self._layout, self._patience, self._on_open = layout, patience, on_open
        self._in_shared_folder, self._folder_is_checked = in_shared_folder, folder_is_checked
        self._file = f"{layout.name}.sqlite3"
        self._ours = re.compile(rf"{layout.name}\.(lock|sqlite3(\.new|\.damaged)?(-wal|-shm|-journal)?)")
        self._connection: sqlite3.Connection | None = None
        self._identity: Identity = None
        self._lock, self._pid = threading.RLock(), os.getpid()
        self._left_to_parent: list[object] = []
        self.damage = ""  # what happened to a damaged file, for reports

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction; the file is created if there is none."""
        try:
            with self.transaction() as connection:
                return work(connection)
        except sqlite3.DatabaseError as error:
            if not self.is_damage(error):
                raise
        self.replace()
        with self.transaction() as connection:
            return work(connection)

    def read(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run `work` without the write lock and return its result; `otherwise` if the file is missing or damaged."""
        self._leave_parent()
        with self._lock:
            if identity(self.path) is None:
                return otherwise
            try:
                with _readable_errors():
                    return work(self._connected(self._patience))
            except sqlite3.DatabaseError as error:
                if not self.is_damage(error):
                    raise
                self._disconnect()
                self.damage = self.damage or f"{self.path} is damaged and cannot be read"
                return otherwise

    @contextmanager
    def transaction(self, *, patient: bool = True) -> Iterator[sqlite3.Connection]:
        """Begin a transaction with the write lock. Without `patient`, fail immediately if another writer has it."""
        self._leave_parent()
        if not self._lock.acquire(blocking=patient):
            raise sqlite3.OperationalError("the database is in use")
        try:
            with _readable_errors():
                connection = self._begun(self._patience if patient else 0)
                with ended(connection):
                    yield connection
        finally:
            self._lock.release()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Open a separate connection, for long reads while others write."""
        self._leave_parent()
        with self._lock:
            self._usable(self._patience)
        connection = self._connect(self._patience)
        try:
            with _readable_errors():
                yield connection
        finally:
            connection.close()

    def replace(self) -> None:
        """Create a new file in place of the damaged one."""
        self._leave_parent()
        with self._lock:
            damaged = self._identity or identity(self.path)
            self._disconnect()
            self.create(damaged)

    def create(self, instead_of: Identity) -> None:
        """Create an empty file in place of the missing or damaged one.

        If several processes try, the first one does it; the others wait for the lock and find the new file.
        """
        with (
            self._opened(make=True) as folder,
            locked(folder.at(f"{self._layout.name}.lock"), dir_fd=folder.descriptor),
        ):
            if identity(self.path) != instead_of:
                return
            if not self._layout.can_be_rebuilt:
                with suppress(FileNotFoundError):
                    folder.rename(self._file, f"{self._file}.damaged")
                    self.damage = f"{self.path} was damaged: it was renamed to {self._file}.damaged and recreated"
            self._create(folder)

    def close(self) -> None:
        self._leave_parent()
        with self._lock:
            self._disconnect()

    def is_damage(self, error: sqlite3.Error) -> bool:
        """Whether a new file would help: not for a full disk or a lock that another process holds."""
        code = getattr(error, "sqlite_errorcode", None)
        damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return code is not None and (
            code & 0xFF in damage or (self._layout.can_be_rebuilt and code & 0xFF == sqlite3.SQLITE_ERROR)
        )

    def _leave_parent(self) -> None:
        """After a fork, drop the parent's connection without closing it (SQLite forbids that) and renew the lock."""
        if self._pid != os.getpid():
            self._left_to_parent.append(self._connection)
            self._connection = None
            self._lock, self._pid = threading.RLock(), os.getpid()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _begun(self, patience: float) -> sqlite3.Connection:
        connection = self._usable(patience)
        if patience == self._patience:
            connection.execute("BEGIN IMMEDIATE")
            return connection
        connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
        return connection

    def _usable(self, patience: float) -> sqlite3.Connection:
        """Connect; the file is created first if it is missing, or damaged and can be rebuilt."""
        found = identity(self.path)
        if found is None:
            self._disconnect()
            self.create(None)
        try:
            return self._connected(patience)
        except sqlite3.Error as error:
            if not (self._layout.can_be_rebuilt and self.is_damage(error)):
                raise
        self.create(found)
        try:
            return self._connected(patience)
        except sqlite3.Error as error:
            if not self.is_damage(error):
                raise
            raise damage("the index is damaged and cannot be replaced") from error

    def _connected(self, patience: float) -> sqlite3.Connection:
        found = identity(self.path)
        if self._connection is None or found != self._identity:
            self._disconnect()
            self._identity = found  # set before connecting, because the file may turn out to be damaged
            connection = self._connect(patience)
            try:
                if self._on_open is not None:
                    self._on_open(connection)
                connection.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _connect(self, patience: float) -> sqlite3.Connection:
        """Open a connection that any thread may use, one at a time; transactions begin and end explicitly."""
        with self._opened() as folder:
            folder.judge_file(self._file)
            for side in SIDE_FILES:
                with suppress(FileNotFoundError):
                    folder.judge_file(self._file + side)
        connection = sqlite3.connect(self.path, timeout=patience, isolation_level=None, check_same_thread=False)
        connection.text_factory = _lenient
        try:
            with _readable_errors():
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(f"PRAGMA journal_size_limit = {4 << 20}")
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                tables = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
                count = connection.execute(tables, (self._layout.table or self._layout.name,)).fetchone()[0]
            if (version, count) != (self._layout.version, 1):
                raise damage("the file has another version, or was written by another program")
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, folder: OpenFolder) -> None:
        fresh = f"{self._file}.new"
        for name in (fresh, *(f"{file}{side}" for file in (self._file, fresh) for side in SIDE_FILES)):
            with suppress(FileNotFoundError):  # the WAL of another file would be replayed into the new one
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

    def _opened(self, *, make: bool = False) -> OpenFolder:
        if self._folder_is_checked:
            return open_folder(self.folder)
        above, name = os.path.split(self.folder)
        shared = self._in_shared_folder
        with open_shared_folder(above, write=make) if shared else open_folder(above, make=make) as outer:
            return outer.folder(name, self._ours, make=make)


@contextmanager
def ended(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end of the block, or roll back if it raises."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def identity(path: str) -> Identity:
    """Device and inode of the file at this path; None if there is none."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def damage(message: str) -> sqlite3.DatabaseError:
    """Return the error for content that SQLite can read but that is wrong."""
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn a decoding error into a database error: SQLite's message quotes bytes that may not be UTF-8."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damage("the file is damaged") from error


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
