"""Append-only part files: what was committed is known by its offset, and what stands behind that is cut off.

Parts one after another are a whole file in each of the forms: lines of JSON, Zstandard frames, gzip members. The order
of writing is always: append, `fdatasync`, commit the offset. So a record is there once or not at all, whenever the
process or the machine ended.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.database import Database, Layout
from spaniel.errors import Code, SpanielError
from spaniel.files import CREATE, sync_data, sync_folder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from spaniel.runs.store import Shards

PART_BYTES = 64 << 20  # of a part file, after which the next one begins: what is collected does not need space twice
BATCH = 64  # records that are committed together, or
SECONDS = 1.0  # whichever comes first: what a kill may cost
MOST_BYTES = 32 << 20  # that wait to be written, before nothing more is begun
PIECE = 8 << 20  # bytes that are copied at once
NO_LIMIT = 1 << 62  # bytes
RECORDS, CAPTURES = "records", "captures"  # kinds of part files
_REOPEN = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Part:
    """One file, one writer. `.zst` in its name: what is appended together becomes a Zstandard frame."""

    def __init__(self, path: str, descriptor: int, offset: int) -> None:
        self.path = path
        self.offset = offset  # bytes that were appended whole
        self._descriptor = descriptor
        self._pack = packed if path.endswith(".zst") else bytes

    @classmethod
    def create(cls, path: str) -> Part:
        """A new file, of which the name is on the disk too; `bad_args` where something is there already."""
        try:
            descriptor = os.open(path, CREATE, 0o666)
            sync_folder(os.path.dirname(path) or ".")
        except OSError as error:
            raise _cannot(path, error) from None
        return cls(path, descriptor, 0)

    @classmethod
    def reopen(cls, path: str, offset: int) -> Part:
        """A file of an earlier run, cut to what was committed of it."""
        try:
            descriptor = os.open(path, _REOPEN)
        except OSError as error:
            raise _cannot(path, error) from None
        part = cls(path, descriptor, 0)
        try:
            part.truncate_to(offset)
        except BaseException:
            part.close()
            raise
        return part

    def append(self, pieces: Iterable[bytes]) -> int:
        """Write them; the offset behind them, to be committed after `sync`. On failure the file is as before."""
        joined = b"".join(pieces)
        if joined:
            self._write(self._pack(joined))
        return self.offset

    def append_raw(self, data: bytes) -> None:
        """Write what is packed already."""
        self._write(data)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self.truncate_to(self.offset)
            raise _cannot(self.path, error) from None
        self.offset += len(data)

    def sync(self) -> None:
        """Wait until what was appended is on the disk."""
        try:
            sync_data(self._descriptor)
        except OSError as error:
            raise _cannot(self.path, error) from None

    def truncate_to(self, offset: int) -> None:
        """Cut off what stands behind `offset`: torn, or never committed."""
        try:
            size = os.fstat(self._descriptor).st_size
            if size < offset:
                reason = f"has {size} bytes where {offset} were committed; this run cannot be resumed"
                raise SpanielError(Code.BAD_ARGS, field=self.path, reason=reason)
            os.ftruncate(self._descriptor, offset)
            os.lseek(self._descriptor, offset, os.SEEK_SET)
        except OSError as error:
            raise _cannot(self.path, error) from None
        self.offset = offset

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def packed(data: bytes) -> bytes:
    """With its own checksum, so that damage is detected."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


class PartSeries:
    """Files of one kind that one writer appends to, one after another, as they were at the last commit."""

    def __init__(
        self,
        path: Callable[[int], str],
        number: int = 0,
        offset: int = 0,
        *,
        file_bytes: int = NO_LIMIT,
        head: Callable[[str], bytes] | None = None,
    ) -> None:
        """`number`, `offset`: the last file and its committed length. `file_bytes`: how long a file may become."""
        if offset >= file_bytes:
            number, offset = number + 1, 0
        self._path, self._file_bytes, self._head, self._number = path, file_bytes, head, number
        self._part: Part | None = None
        self._committed = offset
        behind = path(number + 1)
        if behind != path(number) and os.path.lexists(behind):
            os.unlink(behind)  # begun, and nothing of it was committed

    def part(self) -> Part:
        """The file that is appended to."""
        if self._part is None:
            path = self._path(self._number)
            is_there = self._committed or os.path.lexists(path)
            self._part = Part.reopen(path, self._committed) if is_there else Part.create(path)
            if not self._committed and self._head is not None:
                self._part.append_raw(self._head(path))
        return self._part

    def sync(self) -> tuple[int, int]:
        """Wait until what was appended is on the disk: the file's number, and the offset to be committed."""
        part = self.part()
        part.sync()
        return self._number, part.offset

    def next_file(self) -> None:
        """Begin the next file if this one, which is committed, is long enough."""
        if self._part is not None and self._part.offset >= self._file_bytes:
            self._part.close()
            self._part, self._committed, self._number = None, 0, self._number + 1

    def close(self) -> None:
        if self._part is not None:
            self._part.close()


def part_path(folder: str, shard: int, number: int, ending: str) -> str:
    return os.path.join(folder, f"shard-{shard:04}-{number:05}.{ending}")


class Result(NamedTuple):
    """Records that are committed together."""

    shard: int
    lines: Sequence[bytes]
    done: Sequence[tuple[int, str]]  # the ordinal of each line, and why it has no page
    closed: Sequence[int]  # the tasks of which these are the last records
    captured: bytes = b""  # what came over the wire


class PartWriter:
    """Commits results, in a thread: appends, syncs, then commits to each shard. `failed` is called from the thread.

    `endings`: the kinds of part files that are written, and how their names end. `relay`: what takes a batch instead
    (shard, what is appended by kind, done, closed), where another process writes.
    """

    batch, batch_bytes, seconds = BATCH, NO_LIMIT, SECONDS

    def __init__(
        self,
        shards: Shards,
        endings: Mapping[str, str],
        failed: Callable[[Exception], object],
        relay: Callable[..., object] | None = None,
    ) -> None:
        self._shards, self._endings, self._failed, self._relay = shards, endings, failed, relay
        self._files: dict[tuple[int, str], PartSeries] = {}
        self._queue: queue.SimpleQueue[Result | threading.Event | None] = queue.SimpleQueue()
        self._taken = self._given = 0  # bytes; each is changed by one thread alone
        self.committed: Counter[str] = Counter()  # records by their code
        self.parts: dict[tuple[int, str, int], int] = {}  # committed lengths, by shard, kind and number
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="spaniel writer", daemon=True)
        self._thread.start()

    def put(self, result: Result) -> None:
        self._given += sum(map(len, result.lines)) + len(result.captured)
        self._queue.put(result)

    @property
    def is_behind(self) -> bool:
        return self._given - self._taken > MOST_BYTES and self.error is None

    def flush(self) -> None:
        """Wait until what was put is committed."""
        done = threading.Event()
        self._queue.put(done)
        while not done.wait(0.05) and self._thread.is_alive():
            pass

    def close(self) -> None:
        """Commit what was put, and end."""
        self._queue.put(None)
        self._thread.join()
        for files in self._files.values():
            files.close()

    def _run(self) -> None:
        try:
            while self._write_batch():
                pass
        except Exception as error:  # noqa: BLE001  a full disk, above all; whatever it is, the run must know
            self.error = error
            self._failed(error)

    def _write_batch(self) -> bool:
        """Whether more may come."""
        batch: dict[int, list[Result]] = {}
        count, size, until, is_last = 0, 0, None, False
        flushed: threading.Event | None = None
        while count < self.batch and size < self.batch_bytes:
            try:
                result = self._queue.get(timeout=until and max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if result is None:
                is_last = True
                break
            if isinstance(result, threading.Event):
                flushed = result
                break
            batch.setdefault(result.shard, []).append(result)
            count += len(result.done)
            size += sum(map(len, result.lines))
            until = until or time.monotonic() + self.seconds
        for number, results in batch.items():
            self._commit(number, results)
        if flushed is not None:
            flushed.set()
        return not is_last

    def _commit(self, number: int, results: list[Result]) -> None:
        written = self.written(number, results)
        done = [each for result in results for each in result.done]
        closed = [ordinal for result in results for ordinal in result.closed]
        (self._relay or self._store)(number, written, done, closed)
        self.committed.update(code for _, code in done)
        self._taken += sum(sum(map(len, result.lines)) + len(result.captured) for result in results)

    def _store(
        self, number: int, written: Mapping[str, list[bytes]], done: Sequence[tuple[int, str]], closed: list[int]
    ) -> None:
        parts = {}
        for kind, pieces in written.items():
            files = self._opened(number, kind)
            files.part().append(pieces)
            part, size = files.sync()
            parts[kind, part] = size
        self._shards[number].commit(parts, done, closed)
        for (kind, part), size in parts.items():
            self.parts[number, kind, part] = size
            self._opened(number, kind).next_file()

    def written(self, _number: int, results: list[Result]) -> dict[str, list[bytes]]:
        """What is appended to part files, by their kinds."""
        found = {RECORDS: [line for result in results for line in result.lines]}
        captured = [result.captured for result in results if result.captured]
        if captured and CAPTURES in self._endings:
            found[CAPTURES] = captured
        return found

    def _opened(self, number: int, kind: str) -> PartSeries:
        if (files := self._files.get((number, kind))) is None:
            shard, ending = self._shards[number], self._endings[kind]
            committed = {part: size for (own, part), size in shard.parts().items() if own == kind}
            last = max(committed, default=0)

            def path(part: int) -> str:
                return part_path(shard.folder, number, part, ending)

            files = PartSeries(path, last, committed.get(last, 0), file_bytes=PART_BYTES)
            self._files[number, kind] = files
        return files


LAYOUT = Layout(
    "run",
    1,
    """
CREATE TABLE collected (shard INTEGER, kind TEXT, number INTEGER, bytes INTEGER NOT NULL,
    PRIMARY KEY (shard, kind, number)) WITHOUT ROWID;
CREATE TABLE outputs (kind TEXT PRIMARY KEY, number INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE records (code TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
""",
    "collected",
)


class PartOutput(NamedTuple):
    """Where the parts of a kind are collected: one file, or several in a folder."""

    ending: str  # of the part files
    path: Callable[[int], str]  # by the number of the file
    file_bytes: int = NO_LIMIT  # after which the next file begins
    head: Callable[[str], bytes] | None = None  # what the file at this path begins with


class Collector:
    """Appends what is committed in part files to the output, in the same order of writing: append, sync, commit.

    A part file that is collected whole, and not the last of its shard, is removed.
    """

    def __init__(self, folder: str, outputs: Mapping[str, PartOutput]) -> None:
        self._folder, self._outputs = folder, outputs
        self._database = Database(folder, LAYOUT, folder_is_checked=True, on_open=_durable)
        self._files: dict[str, PartSeries] = {}
        self._removed: set[tuple[int, str, int]] = set()  # parts
        self._lock = threading.Lock()  # a run that is stopped collects what is left while a thread may still be at it
        with self._database.transaction() as tx:
            self._collected = {(row[0], row[1], row[2]): row[3] for row in tx.execute("SELECT * FROM collected")}
            self._places = {row[0]: (row[1], row[2]) for row in tx.execute("SELECT * FROM outputs")}

    def open(self) -> None:
        """Cut the output to what was committed."""
        for kind, (_, path, file_bytes, head) in self._outputs.items():
            self._files[kind] = PartSeries(path, *self.length(kind), file_bytes=file_bytes, head=head)
            self._files[kind].part()

    def length(self, kind: str) -> tuple[int, int]:
        """The file of the output that is written, and its committed length."""
        return self._places.get(kind, (0, 0))

    def collect(self, parts: Mapping[tuple[int, str, int], int]) -> None:
        """Take over what is new in these parts: committed lengths by shard, kind and number."""
        with self._lock:
            before = [(part := files.part(), part.offset) for files in self._files.values()]
            try:
                self._collect({part: size for part, size in parts.items() if self._collected.get(part, 0) < size})
            except BaseException as error:
                for part, offset in before:
                    part.truncate_to(offset)  # nothing of it was committed
                if isinstance(error, sqlite3.Error):
                    reason = f"cannot be written: {error}"
                    raise SpanielError(Code.BAD_ARGS, field=self._folder, reason=reason) from None
                raise
            self._remove_old(parts)

    def _collect(self, moved: Mapping[tuple[int, str, int], int]) -> None:
        for part, size in sorted(moved.items()):
            self._copy(part, self._collected.get(part, 0), size)
        places = {kind: self._files[kind].sync() for kind in {kind for _, kind, _ in moved}}
        if not moved:
            return
        with self._database.transaction() as tx:
            rows = [(*part, size) for part, size in moved.items()]
            tx.executemany("INSERT OR REPLACE INTO collected VALUES (?, ?, ?, ?)", rows)
            files = [(kind, *place) for kind, place in places.items()]
            tx.executemany("INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)", files)
        self._places |= places
        self._collected |= moved
        for kind in places:
            self._files[kind].next_file()
            self._files[kind].part()

    def finish(self, records: Mapping[str, int]) -> None:
        """Everything is collected: these are the counts of all records, which outlive the shards."""
        with self._database.transaction() as tx:
            tx.execute("DELETE FROM records")
            tx.executemany("INSERT INTO records VALUES (?, ?)", records.items())

    def finished(self) -> Counter[str] | None:
        """The counts of records of a run that is done; None of one that is not."""
        with self._database.transaction() as tx:
            return Counter(dict(tx.execute("SELECT code, count FROM records").fetchall())) or None

    def close(self) -> None:
        with self._lock:
            for files in self._files.values():
                files.close()
            self._database.close()

    def _part_path(self, part: tuple[int, str, int]) -> str:
        shard, kind, number = part
        return part_path(self._folder, shard, number, self._outputs[kind].ending)

    def _copy(self, part: tuple[int, str, int], start: int, end: int) -> None:
        path, output = self._part_path(part), self._files[part[1]].part()
        try:
            with open(path, "rb") as file:
                file.seek(start)
                while start < end:
                    piece = file.read(min(PIECE, end - start))
                    if not piece:
                        reason = f"has {start} bytes where {end} were committed; begin again with --overwrite"
                        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
                    output.append_raw(piece)
                    start += len(piece)
        except OSError as error:
            reason = f"cannot be read: {error.strerror}; begin again with --overwrite"
            raise SpanielError(Code.BAD_ARGS, field=path, reason=reason) from None

    def _remove_old(self, parts: Mapping[tuple[int, str, int], int]) -> None:
        last = {(shard, kind): number for shard, kind, number in sorted(parts)}
        for part in parts.keys() - self._removed:
            shard, kind, number = part
            if number < last[shard, kind]:
                with suppress(FileNotFoundError):
                    os.unlink(self._part_path(part))
                self._removed.add(part)


def _durable(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")


def _cannot(path: str, error: OSError) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}")
