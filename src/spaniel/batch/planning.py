"""The plan: every URL of the input in its canonical spelling, equal ones together, sorted by host, on disk.

Sorted runs are spilled and merged, so that memory depends neither on how long the input is nor on how it is
distributed: a million URLs of one host take as much as one URL of a million hosts.
"""

from __future__ import annotations

import heapq
import logging
import os
from array import array
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.frames import add_frame, read_frames
from spaniel.batch.ownership import WHOLE, domain_number
from spaniel.batch.ports import HAD_CREDENTIALS
from spaniel.errors import Code, SpanielError
from spaniel.url.parsing import has_credentials, requested
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from spaniel.batch.ownership import Shard
    from spaniel.batch.ports import Item

    # Host and URL as one text to sort by, the ordinal, the URL as it was written (None: just so), columns, refusal
    Row = tuple[str, int, str | None, dict[str, object] | None, dict[str, object] | None]
    Told = Callable[[int], None]  # how many URLs were read so far

log = logging.getLogger("spaniel.batch")

TASKS, HOSTS = "tasks", "hosts"  # the two files of a plan
RUN = 50_000  # URLs that are sorted in memory
ITEMS_IN_A_FRAME = 500  # spellings of one page; those behind them follow in frames of their own
BUFFER = 1 << 18
REFUSED = 0  # the number, in place of a domain's, under which they stand
NO_HOST = ""  # of what is no URL: it stands first in the order
_BREAK = "\0"  # sorts before everything that a host may have


class Counts(NamedTuple):
    """What a plan holds."""

    items: int = 0  # URLs of the input
    planned: int = 0  # of them in this shard
    tasks: int = 0  # pages to fetch
    refused: int = 0  # of the planned: no URLs to the policy
    hosts: int = 0
    longest: int = 0  # pages of the host that has the most

    @property
    def duplicates(self) -> int:
        return self.planned - self.refused - self.tasks


def make_plan(
    items: Iterable[Item], canonical: Callable[[str], str], folder: str, shard: Shard = WHOLE, told: Told | None = None
) -> Counts:
    """Write the plan of these URLs into a folder that is there."""
    spill = _Spill(folder)
    seen = planned = refused = 0
    try:
        for item in items:
            seen += 1
            row = _row(item, canonical, shard)
            if row is not None:
                planned += 1
                refused += row[4] is not None
                spill.add(row)
            if told is not None and not seen % 10_000:
                told(seen)
        with _PlanWriter(folder) as writer:
            for row in spill.merged():
                writer.add(row)
        return Counts(seen, planned, writer.tasks, refused, writer.hosts, writer.longest)
    finally:
        spill.remove()


def _row(item: Item, canonical: Callable[[str], str], shard: Shard) -> Row | None:
    """None for a URL of another shard. What is no URL is spread over the shards by its own text."""
    columns = dict(item.columns) or None
    if "@" in item.raw and has_credentials(item.raw):
        columns = {**item.columns, HAD_CREDENTIALS: True}
    try:
        url = canonical(item.raw)
    except SpanielError as error:
        return _refused(item, error, shard)
    except Exception as error:
        log.exception("unexpected_error ordinal=%d", item.ordinal)  # a bug costs its URL, not the run
        return _refused(item, SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}"), shard)
    host = split(url).host
    if not shard.has(domain_number(host)):
        return None
    return f"{host}{_BREAK}{url}", item.ordinal, None if item.raw == url else requested(item.raw), columns, None


def _refused(item: Item, error: SpanielError, shard: Shard) -> Row | None:
    raw = requested(item.raw)
    if not shard.has(domain_number(raw[:200])):
        return None
    key = f"{NO_HOST}{_BREAK}{item.ordinal:020}"
    return key, item.ordinal, raw, dict(item.columns) or None, error.as_dict()


class _Spill:
    """Rows in sorted runs: files, and the last one in memory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._rows: list[Row] = []
        self._files: list[str] = []

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= RUN:
            self._write()

    def _write(self) -> None:
        self._rows.sort(key=_ORDER)
        path = os.path.join(self._folder, f"run-{len(self._files)}")
        self._files.append(path)
        buffer = bytearray()
        with open(path, "wb") as file:
            for row in self._rows:
                add_frame(buffer, row)
                if len(buffer) > BUFFER:
                    file.write(buffer)
                    buffer.clear()
            file.write(buffer)
        self._rows = []

    def merged(self) -> Iterator[Row]:
        """All rows in their order."""
        self._rows.sort(key=_ORDER)
        runs: list[Iterable[Row]] = [_read(path) for path in self._files]
        return heapq.merge(*runs, self._rows, key=_ORDER) if runs else iter(self._rows)

    def remove(self) -> None:
        for path in self._files:
            os.unlink(path)


_ORDER = itemgetter(0, 1)


def _read(path: str) -> Iterator[Row]:
    with open(path, "rb", buffering=BUFFER) as file:
        yield from map(tuple, read_frames(file))


class _PlanWriter:
    """Writes tasks host by host, then the list of hosts, those with the most to do first: they take the longest."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._buffer = bytearray()
        self._flushed = 0  # bytes
        self._tasks: BinaryIO = open(os.path.join(folder, TASKS), "wb")  # noqa: SIM115  closed by __exit__
        self._starts, self._counts, self._numbers = array("Q"), array("Q"), array("Q")
        self._row: list[Row] = []
        self._host: str | None = None
        self.tasks = self.hosts = self.longest = 0

    def __enter__(self) -> _PlanWriter:
        return self

    def add(self, row: Row) -> None:
        """A row that is not before the last one."""
        if self._row and (row[0] != self._row[0][0] or len(self._row) == ITEMS_IN_A_FRAME):
            self._write_task(continues=row[0] == self._row[0][0])
        self._row.append(row)

    def _write_task(self, *, continues: bool) -> None:
        first = self._row[0]
        host, _, url = first[0].partition(_BREAK)
        if host != self._host:
            self._begin(host)
        items = [(ordinal, raw, columns) for _, ordinal, raw, columns, _ in self._row]
        add_frame(self._buffer, (url if first[4] is None else "", items, first[4], continues))
        if len(self._buffer) > BUFFER:
            self._flush()
        if not continues:
            self._counts[-1] += 1
        self._row = []

    def _begin(self, host: str) -> None:
        self._host = host
        self._starts.append(self._flushed + len(self._buffer))
        self._counts.append(0)
        self._numbers.append(domain_number(host) if host else REFUSED)

    def _flush(self) -> None:
        self._flushed += self._tasks.write(self._buffer)
        self._buffer.clear()

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._tasks.close()

    def _finish(self) -> None:
        if self._row:
            self._write_task(continues=False)
        self._flush()
        self._tasks.flush()
        os.fsync(self._tasks.fileno())
        counts = self._counts
        order = sorted(range(len(counts)), key=counts.__getitem__, reverse=True)
        with open(os.path.join(self._folder, HOSTS), "wb") as file:
            for column in (self._starts, counts, self._numbers):
                array("Q", [column[number] for number in order]).tofile(file)
            file.flush()
            os.fsync(file.fileno())
        real = [count for count, number in zip(counts, self._numbers, strict=True) if number]
        self.tasks, self.hosts, self.longest = sum(real), len(real), max(real, default=0)
