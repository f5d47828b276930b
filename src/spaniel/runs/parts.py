"""Append-only part files: what was committed is known by its offset, and what stands behind that is cut off.

Parts one after another are a whole file in each of the forms: lines of JSON, Zstandard frames, gzip members. The order
of writing is always: append, `fdatasync`, commit the offset. So a record is there once or not at all, whenever the
process or the machine ended.
"""

from __future__ import annotations

import os
import queue
import re
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

    from spaniel.runs.store import Shard, Shards

PART_BYTES = 64 << 20  # of a part file, after which the next one begins: what is collected does not need space twice
BUFFER = 1 << 20  # bytes that wait in memory for one part file
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


class PartFiles:
    """The part files of one shard and one kind. Opened, they are as they were at the last commit."""

    def __init__(self, shard: Shard, kind: str, ending: str) -> None:
        self._shard, self._kind, self._ending = shard, kind, ending
        committed = {number: size for (own, number), size in shard.parts().items() if own == kind}
        self._number = max(committed, default=0)
        self._held: list[bytes] = []
        self._size = 0
        self._part: Part | None = None
        self._committed = committed.get(self._number, 0)
        name = re.compile(rf"{shard.name}-(\d+)\.{re.escape(ending)}")
        for found in filter(None, map(name.fullmatch, os.listdir(shard.folder))):
            if int(found[1]) > self._number:  # begun, and nothing of it was committed
                os.unlink(os.path.join(shard.folder, found[0]))

    def append(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self._held.append(piece)
            self._size += len(piece)
        if self._size > BUFFER:
            self._flush()

    def sync(self) -> tuple[tuple[str, int], int]:
        """Write what was appended, and wait until it is on the disk: the part and the offset to be committed."""
        self._flush()
        part = self._opened()
        part.sync()
        committed = (self._kind, self._number), part.offset
        if part.offset >= PART_BYTES:
            part.close()
            self._part, self._committed = None, 0
            self._number += 1
        return committed

    def close(self) -> None:
        """What was appended and not synced is dropped: it was not committed either."""
        if self._part is not None:
            self._part.close()

    def _flush(self) -> None:
        held, self._held, self._size = self._held, [], 0
        self._opened().append(held)

    def _opened(self) -> Part:
        if self._part is None:
            path = part_path(self._shard, self._number, self._ending)
            is_there = self._committed or os.path.lexists(path)
            self._part = Part.reopen(path, self._committed) if is_there else Part.create(path)
        return self._part


def part_path(shard: Shard, number: int, ending: str) -> str:
    return os.path.join(shard.folder, f"{shard.name}-{number:05}.{ending}")


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
        self._files: dict[tuple[int, str], PartFiles] = {}
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
            files.append(pieces)
            part, size = files.sync()
            parts[part] = size
        self._shards[number].commit(parts, done, closed)
        for (kind, part_number), size in parts.items():
            self.parts[number, kind, part_number] = size

    def written(self, _number: int, results: list[Result]) -> dict[str, list[bytes]]:
        """What is appended to part files, by their kinds."""
        found = {RECORDS: [line for result in results for line in result.lines]}
        captured = [result.captured for result in results if result.captured]
        if captured and CAPTURES in self._endings:
            found[CAPTURES] = captured
        return found

    def _opened(self, number: int, kind: str) -> PartFiles:
        if (number, kind) not in self._files:
            self._files[number, kind] = PartFiles(self._shards[number], kind, self._endings[kind])
        return self._files[number, kind]


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
    head: Callable[[str], bytes] = lambda _: b""  # what the file at this path begins with


class Collector:
    """Appends what is committed in part files to the output, in the same order of writing: append, sync, commit.

    A part file that is collected whole, and not the last of its shard, is removed.
    """

    def __init__(self, folder: str, outputs: Mapping[str, PartOutput]) -> None:
        self._folder, self._outputs = folder, outputs
        self._database = Database(folder, LAYOUT, folder_is_checked=True, on_open=_durable)
        self._files: dict[str, tuple[int, Part]] = {}
        self._collected: dict[tuple[int, str, int], int] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()  # a run that is stopped collects what is left while a thread may still be at it
        with self._database.transaction() as tx:
            for shard, kind, number, size in tx.execute("SELECT * FROM collected"):
                self._collected[shard, kind, number] = size
            for kind, number, size in tx.execute("SELECT * FROM outputs"):
                self._places[kind] = number, size

    def open(self) -> None:
        """Cut the output to what was committed."""
        for kind, output in self._outputs.items():
            number, size = self._places.get(kind, (0, 0))
            if size >= output.file_bytes:
                number, size = number + 1, 0
            behind = output.path(number + 1)
            if behind != output.path(number) and os.path.lexists(behind):
                os.unlink(behind)  # begun, and nothing of it was committed
            self._files[kind] = number, self._opened(kind, number, size)

    def length(self, kind: str) -> tuple[int, int]:
        """The file of the output that is written, and its committed length."""
        return self._places.get(kind, (0, 0))

    def collect(self, parts: Mapping[tuple[int, str, int], int]) -> None:
        """Take over what is new in these parts: committed lengths by shard, kind and number."""
        with self._lock:
            before = {kind: (part, part.offset) for kind, (_, part) in self._files.items()}
            try:
                self._collect(parts)
            except BaseException as error:
                for part, offset in before.values():
                    part.truncate_to(offset)  # nothing of it was committed
                if isinstance(error, sqlite3.Error):
                    reason = f"cannot be written: {error}"
                    raise SpanielError(Code.BAD_ARGS, field=self._folder, reason=reason) from None
                raise

    def _collect(self, parts: Mapping[tuple[int, str, int], int]) -> None:
        moved = {}
        for (shard, kind, number), size in sorted(parts.items()):
            if (taken := self._collected.get((shard, kind, number), 0)) < size:
                self._copy(shard, kind, number, taken, size)
                moved[shard, kind, number] = size
        if not moved:
            return
        for kind in {kind for _, kind, _ in moved}:
            number, part = self._files[kind]
            part.sync()
            self._places[kind] = number, part.offset
        with self._database.transaction() as tx:
            rows = [(*part, size) for part, size in moved.items()]
            tx.executemany("INSERT OR REPLACE INTO collected VALUES (?, ?, ?, ?)", rows)
            places = [(kind, *place) for kind, place in self._places.items()]
            tx.executemany("INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)", places)
        self._collected |= moved
        for kind, (number, part) in list(self._files.items()):
            if part.offset >= self._outputs[kind].file_bytes:
                part.close()
                self._files[kind] = number + 1, self._opened(kind, number + 1, 0)
        self._remove_old(parts)

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
            for _, part in self._files.values():
                part.close()
            self._database.close()

    def _copy(self, shard: int, kind: str, number: int, start: int, end: int) -> None:
        path = os.path.join(self._folder, f"shard-{shard:04}-{number:05}.{self._outputs[kind].ending}")
        try:
            with open(path, "rb") as file:
                file.seek(start)
                while start < end:
                    piece = file.read(min(PIECE, end - start))
                    if not piece:
                        reason = f"has {start} bytes where {end} were committed; begin again with --overwrite"
                        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
                    self._files[kind][1].append_raw(piece)
                    start += len(piece)
        except OSError as error:
            reason = f"cannot be read: {error.strerror}; begin again with --overwrite"
            raise SpanielError(Code.BAD_ARGS, field=path, reason=reason) from None

    def _opened(self, kind: str, number: int, size: int) -> Part:
        output = self._outputs[kind]
        path = output.path(number)
        part = Part.reopen(path, size) if os.path.lexists(path) else Part.create(path)
        if not size and (head := output.head(path)):
            part.append_raw(head)
        return part

    def _remove_old(self, parts: Mapping[tuple[int, str, int], int]) -> None:
        last: dict[tuple[int, str], int] = {}
        for shard, kind, number in parts:
            last[shard, kind] = max(number, last.get((shard, kind), 0))
        for shard, kind, number in list(parts):
            if number < last[shard, kind]:
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(self._folder, f"shard-{shard:04}-{number:05}.{self._outputs[kind].ending}"))


def _durable(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")


def _cannot(path: str, error: OSError) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}")
