"""Parquet files, row group by row group; the library is an extra (`spaniel[parquet]`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from spaniel.errors import Code, SpanielError, install_command
from spaniel.sources.rows import LONGEST_LINE, NoUrlError, SourceRow
from spaniel.sources.tables import find_column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ListOptions, Report

MOST_ROWS, MOST_BYTES = 1024, 4 << 20  # at a time
DEEPEST = 64


def arrow() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`; `bad_args` where they are not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        reason = f"Parquet needs a library that is not installed; run: {install_command('parquet')}"
        raise SpanielError(Code.BAD_ARGS, field="parquet", reason=reason) from None
    return pa, parquet


def read_parquet(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """The stream must be able to go back: a Parquet file is read from its end."""
    pa, parquet = arrow()
    try:
        with parquet.ParquetFile(stream, memory_map=False, pre_buffer=False, buffer_size=1 << 16) as file:
            names = list(file.schema_arrow.names)
            name = "" if options.whole_records else names[find_column(names, options)]
            size = _row_size(file.metadata)
            rows = max(1, min(MOST_ROWS, MOST_BYTES // size))
            number = 0
            for batch in file.iter_batches(batch_size=rows, use_threads=False):
                for values in batch.to_pylist():
                    number += 1
                    if options.whole_records:
                        record = {key: as_json(value) for key, value in values.items()}
                        yield SourceRow("", {}, size, f"row {number}", record)
                        continue
                    blank = values.get(name) in (None, "")
                    try:
                        yield _row(values, name, size)._replace(place=f"row {number}")
                    except NoUrlError as error:
                        report(f"row {number}", str(error), lost=not blank)
    except (pa.ArrowException, OSError, ValueError) as error:
        report("", f"is not a Parquet file that can be read ({error})")


def _row_size(metadata: Any) -> int:
    """Bytes of a row, by the largest row group's own account."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    sizes: list[int] = [group.total_byte_size // max(group.num_rows, 1) for group in groups]
    return max([1, *sizes])


def _row(values: dict[str, object], name: str, size: int) -> SourceRow:
    url = values.pop(name)
    if isinstance(url, bytes):
        url = url.decode("utf-8", "replace")
    if not isinstance(url, str) or not url.strip():
        raise NoUrlError(f"has no URL in column '{name}'")
    if len(url) > LONGEST_LINE:
        raise NoUrlError(f"has a URL of more than {LONGEST_LINE} characters; it was left out")
    return SourceRow(url, {key: as_json(value) for key, value in values.items()}, size)


def as_json(value: object, depth: int = 0) -> object:
    """What JSON can have of it: times in ISO 8601, exact numbers as text, bytes as text, no number that is none."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if depth < DEEPEST and isinstance(value, dict):
        return {str(key): as_json(part, depth + 1) for key, part in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [as_json(part, depth + 1) for part in value]
    iso = getattr(value, "isoformat", None)
    return iso() if callable(iso) else str(value)
