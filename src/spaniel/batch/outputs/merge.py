"""Outputs of several shards made into one: each URL there once, and what is missing reported."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.outputs.files import Form, finish, form_of, lines, write_lines
from spaniel.batch.outputs.warc import FILE, files_of
from spaniel.batch.planning import InputShard, read_shard
from spaniel.errors import Code, SpanielError
from spaniel.runs.run import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.batch.outputs.files import Line
    from spaniel.runs.run import About

GREATEST = 1 << 40  # ordinal
GAPS = 10  # that are reported
TOGETHER = 500  # lines that are stored at once
SHARD = "--shard"
TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -8192;
CREATE TABLE seen (ordinal INTEGER PRIMARY KEY, output INTEGER NOT NULL, line INTEGER);
CREATE TABLE lines (raw BLOB NOT NULL);
"""


class Merged(NamedTuple):
    """What was put together."""

    records: int
    missing: int  # ordinals between 0 and the greatest that no output has
    gaps: list[tuple[int, int]]  # the first of them, each with its first and last ordinal


def merge(outputs: Sequence[str], out: str, *, by_ordinal: bool = False) -> Merged:
    """Write the records of all outputs to `out`, in the order of their ordinals if asked, else as they come.

    An ordinal that is there twice is refused: these are not shards of one run. Memory stays flat.
    """
    if all(form_of(path) == Form.WARC for path in [*outputs, out]):
        finish(outputs, out)
        return Merged(0, 0, [])
    with _Seen(out, outputs) as seen:
        write_lines(seen.in_order() if by_ordinal else seen.as_they_come(), out)
        gaps = list(seen.gaps())
    missing = sum(last - first + 1 for first, last in gaps)
    return Merged(seen.count, missing, gaps[:GAPS])


def merge_captures(outputs: Sequence[str], out: str) -> None:
    """The WARC files beside outputs, one after another, beside the output that was made of them."""
    files = []
    for output in outputs:
        own = files_of(output)
        if not own:
            raise SpanielError(Code.BAD_ARGS, field="--warc", reason=f"{output} has no WARC file beside it")
        files += own
    finish(files, out.rstrip("/" + os.sep) + FILE)


class _Seen:
    """The ordinals that were met, in a file beside the output; to sort them, the lines too, as they come."""

    def __init__(self, out: str, outputs: Sequence[str]) -> None:
        self._out, self._outputs = out, outputs
        self.count = 0

    def __enter__(self) -> _Seen:
        self._folder = _folder_beside(self._out)
        self._db = sqlite3.connect(os.path.join(self._folder.__enter__(), "seen.sqlite3"), isolation_level=None)
        self._db.executescript(TABLES)
        self._db.execute("BEGIN")
        return self

    def __exit__(self, *raised: object) -> None:
        self._db.close()
        self._folder.__exit__(*raised)  # type: ignore[arg-type]

    def as_they_come(self) -> Iterator[bytes]:
        for number, path in enumerate(self._outputs):
            found = lines(path)
            while block := list(islice(found, TOGETHER)):
                self._add(block, number, path, [None] * len(block))
                yield from (line.raw for line in block)

    def in_order(self) -> Iterator[bytes]:
        for number, path in enumerate(self._outputs):
            found = lines(path)
            while block := list(islice(found, TOGETHER)):
                self._db.executemany("INSERT INTO lines VALUES (?)", [(line.raw,) for line in block])
                last = self._db.execute("SELECT MAX(rowid) FROM lines").fetchone()[0]
                self._add(block, number, path, range(last - len(block) + 1, last + 1))
        for (raw,) in self._db.execute("SELECT raw FROM seen JOIN lines ON lines.rowid = seen.line ORDER BY ordinal"):
            yield raw

    def _add(self, block: list[Line], number: int, path: str, places: Sequence[int | None]) -> None:
        for line in block:
            if not 0 <= line.ordinal < GREATEST:
                raise SpanielError(Code.BAD_ARGS, field=path, reason=f"{line.ordinal} is not an ordinal of a record")
        for line, place in zip(block, places, strict=True):
            try:
                self._db.execute("INSERT INTO seen VALUES (?, ?, ?)", (line.ordinal, number, place))
            except sqlite3.IntegrityError:
                raise self._twice(line.ordinal, number, path) from None
        self.count += len(block)

    def _twice(self, ordinal: int, number: int, path: str) -> SpanielError:
        (other,) = self._db.execute("SELECT output FROM seen WHERE ordinal = ?", (ordinal,)).fetchone()
        where = "twice" if other == number else f"in {self._outputs[other]} too"
        reason = f"the record with ordinal {ordinal} is there {where}; these are not shards of one run"
        return SpanielError(Code.BAD_ARGS, field=path, reason=reason)

    def gaps(self) -> Iterator[tuple[int, int]]:
        """First and last of each range that is missing, from 0 to the greatest that is there."""
        before = "SELECT ordinal, LAG(ordinal, 1, -1) OVER (ORDER BY ordinal) AS before FROM seen"
        yield from self._db.execute(f"SELECT before + 1, ordinal - 1 FROM ({before}) WHERE ordinal > before + 1")  # noqa: S608


@contextmanager
def _folder_beside(out: str) -> Iterator[str]:
    """On the file system of the output, which has space for it."""
    try:
        with TemporaryDirectory(prefix=".spaniel-merge-", dir=os.path.dirname(os.path.abspath(out))) as folder:
            yield folder
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=out, reason=f"cannot be written: {error.strerror}") from None


class Whole(NamedTuple):
    """What is known of the whole of which the outputs are shards."""

    urls: int | None = None  # of the input
    absent: tuple[str, ...] = ()  # shards that no output is of, where all outputs say which they are


def require_one_input(outputs: Sequence[str]) -> Whole:
    """`bad_args` where two outputs cannot be of one input. Of an output that came without the folder beside it, from
    another machine, say, nothing is known, and nothing is refused."""
    known = [(output, about) for output in outputs if (about := _about(output)) is not None]
    if not known:
        return Whole()
    first, whole = known[0]
    for output, about in known[1:]:
        unlike = _unlike(about, whole)
        if unlike:
            reason = f"{unlike} as {first} does; these are not shards of one run"
            raise SpanielError(Code.BAD_ARGS, field=output, reason=reason)
    shards = {read_shard(about.shape[SHARD]) for _, about in known}
    count = next(iter(shards)).shards
    here = {shard.place for shard in shards}
    absent = (str(InputShard(place, count)) for place in range(count) if place not in here)
    return Whole(whole.counts.items, tuple(absent) if len(known) == len(outputs) else ())


def _about(output: str) -> About | None:
    with suppress(SpanielError, KeyError):
        about = RunFolder(output).read()
        return about if about is not None and SHARD in about.shape else None
    return None


def _unlike(about: About, whole: About) -> str:
    if about.counts.items != whole.counts.items:
        return f"comes from {about.counts.items:,} URLs, not from {whole.counts.items:,}"
    for name, value in about.shape.items():
        other = whole.shape.get(name)
        if name == SHARD and read_shard(value).shards != read_shard(other or value).shards:
            return f"is shard {value}, which is of another number of shards, not"
        if name not in (SHARD, "--parts") and other != value:
            return f"was made with {name} {value}, not {other}"
    return ""
