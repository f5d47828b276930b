"""Parquet made of finished records (needs `spaniel[parquet]`), row group by row group.

`id`, `text` and `url` come first, under the names that readers of training data look for. Scalars are columns, what
is nested is JSON text, and what the table does not know is in `extra`: so files of different runs go together.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from spaniel.errors import Code, SpanielError
from spaniel.files import replacing
from spaniel.sources.tables import arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TEXTS = (
    "requested_url", "canonical_url", "final_url", "verdict", "extraction_method", "page_type", "region",
    "content_hash", "markdown_hash", "title", "language", "archive_url", "archive_date", "forced", "schema",
)  # fmt: skip
NUMBERS = ("ordinal",)
NESTED = (
    "error", "chain", "fallbacks", "checklist", "caveats", "warnings", "metadata", "extraction", "cache", "signals",
    "data", "chunks", "pages", "wall", "columns",
)  # fmt: skip
LIFTED_TEXTS = {  # from what is nested, where people look for them
    "content_type": ("extraction", "content_type"),
    "fetched_at": ("extraction", "fetched_at"),
    "served_by": ("extraction", "served_by"),
    "freshness": ("cache", "freshness"),
}
LIFTED_NUMBERS = {"status": ("extraction", "status"), "content_length": ("extraction", "content_length")}
LIFTED = LIFTED_TEXTS | LIFTED_NUMBERS
COLUMNS = ("id", "text", "url", *NUMBERS, *LIFTED_NUMBERS, *TEXTS, *LIFTED_TEXTS, *NESTED, "extra")

_line = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()


def row_of(line: bytes) -> dict[str, object]:
    """A record as a row. A value that does not fit its column is in `extra`, as it is."""
    record = _line.decode(line)
    row: dict[str, object] = {}
    for name in NUMBERS:
        _move(record, row, name, int)
    for name in TEXTS:
        _move(record, row, name, str)
    _lift(record, row)
    for name in NESTED:
        raw = record.pop(name, None)
        row[name] = _text(raw) if raw is not None and bytes(raw) != b"null" else None
    _move(record, row, "markdown", str)
    row["text"] = row.pop("markdown", None)
    row["id"] = str(row.get("ordinal"))
    row["url"] = row.get("final_url") or row.get("canonical_url") or row.get("requested_url")
    row["extra"] = msgspec.json.encode(record).decode() if record else None
    return row


def _move(record: dict[str, msgspec.Raw], row: dict[str, object], name: str, kind: type) -> None:
    if name not in record:
        return
    value: object = _any.decode(record[name])
    too_great = isinstance(value, int) and not -(1 << 63) <= value < 1 << 63
    if value is None or (type(value) is kind and not too_great):
        row[name] = value
        del record[name]


def _lift(record: dict[str, msgspec.Raw], row: dict[str, object]) -> None:
    """A few values from what is nested; they stay there, too."""
    opened = {name: _any.decode(record[name]) for name in {part for part, _ in LIFTED.values()} if name in record}
    for name, (part, key) in LIFTED.items():
        inside = opened.get(part)
        value = inside.get(key) if isinstance(inside, dict) else None
        fits = isinstance(value, int if name in LIFTED_NUMBERS else str) and not isinstance(value, bool)
        row[name] = value if fits and not (isinstance(value, int) and abs(value) >> 63) else None


def line_of(row: dict[str, Any]) -> bytes:
    """A row as a record again; keys whose value was null are left out."""
    record = {name: row[name] for name in (*NUMBERS, *TEXTS) if row[name] is not None}
    record |= {name: msgspec.Raw(row[name].encode()) for name in NESTED if row[name] is not None}
    if row["text"] is not None:
        record["markdown"] = row["text"]
    record |= _line.decode(row["extra"] or "{}")
    return msgspec.json.encode(record) + b"\n"


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


GROUP_BYTES = 16 << 20  # of lines in a row group
GROUP_ROWS = 10_000
FILE_BYTES = 1 << 30  # of lines in one file of a folder
_PART = re.compile(r"part-\d{5,}\.parquet")


def write_parquet(lines: Iterable[bytes], path: str) -> int:
    """One file with every record; the number of them."""
    try:
        with _writing(path) as writer:
            for line in lines:
                writer.add(line)
            return writer.count
    except OSError as error:
        raise _cannot(path, error) from None


def write_parquet_folder(
    lines: Iterable[bytes], folder: str, file_bytes: int = FILE_BYTES, *, again: bool = False
) -> int:
    """`part-00000.parquet` and so on. The folder appears whole; one that has anything in it is refused.

    `again`: what an earlier writing of the same output has left there is replaced.
    """
    folder = folder.rstrip("/" + os.sep)
    beside = os.path.join(os.path.dirname(folder), f".spaniel-{os.urandom(8).hex()}.tmp")
    try:
        os.mkdir(beside)
        count = _write_files(iter(lines), beside, file_bytes)
        if again:
            for name in parts_in(folder):
                os.unlink(os.path.join(folder, name))
        os.rename(beside, folder)  # over an empty folder too, but over no other
    except OSError as error:
        raise _cannot(folder, error) from None
    finally:
        _remove(beside)
    return count


def parts_in(folder: str) -> list[str]:
    """The files of an output that is there; a folder with anything else in it is refused."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    if foreign := next((name for name in names if not _PART.fullmatch(name)), None):
        reason = f"holds '{foreign}', which is not part of an output; choose another folder"
        raise SpanielError(Code.BAD_ARGS, field=folder, reason=reason)
    return names


def _write_files(lines: Iterator[bytes], folder: str, file_bytes: int) -> int:
    count, number, line = 0, 0, next(lines, None)
    while line is not None or number == 0:
        with _writing(os.path.join(folder, f"part-{number:05}.parquet")) as writer:
            size = 0
            while line is not None and size < file_bytes:
                writer.add(line)
                size += len(line)
                line = next(lines, None)
            count += writer.count
        number += 1
    return count


class _Groups:
    """Rows gathered into row groups."""

    def __init__(self, writer: Any) -> None:
        self._pa, _ = arrow()
        self._writer = writer
        self._rows: list[dict[str, object]] = []
        self._bytes = 0
        self.count = 0

    def add(self, line: bytes) -> None:
        self._rows.append(row_of(line))
        self._bytes += len(line)
        self.count += 1
        if self._bytes >= GROUP_BYTES or len(self._rows) >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._pa.Table.from_pylist(self._rows, schema=self._writer.schema))
        self._rows, self._bytes = [], 0


@contextmanager
def _writing(path: str) -> Iterator[_Groups]:
    """One file, which appears when it is whole."""
    pa, parquet = arrow()
    kinds = {True: pa.int64(), False: pa.string()}
    schema = pa.schema([(name, kinds[name in NUMBERS or name in LIFTED_NUMBERS]) for name in COLUMNS])
    with (
        replacing(path, None, durable=True) as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        groups = _Groups(writer)
        yield groups
        groups.flush()


def records_in(path: str) -> Iterator[bytes]:
    """The records of such a file as lines again; keys whose value was null are left out."""
    pa, parquet = arrow()
    try:
        with parquet.ParquetFile(path, memory_map=False, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=256, use_threads=False):
                yield from map(line_of, batch.to_pylist())
    except (pa.ArrowException, OSError, KeyError) as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"is not an output of a batch: {error}") from None


def _remove(folder: str) -> None:
    """What a failure has left."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def _cannot(path: str, error: OSError) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror or error}")
