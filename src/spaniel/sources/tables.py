"""CSV, TSV and Parquet: finds the columns with URLs and reads row by row.

Python's CSV reader collects lines as long as a quote is open, which may be the rest of the file. So it only gets
bounded groups of lines: a line, and as many more as it takes to close every quote.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.errors import Code, SpanielError, install_command, shown
from spaniel.sources.kinds import URL
from spaniel.sources.rows import LONGEST_LINE, URL_NAMES, NoUrlError, SourceRow
from spaniel.sources.streams import decoded, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ListOptions, Report


LONGEST_ROW = 1 << 20  # bytes (chosen); Python's own limit for a field is 128 KB
SEPARATORS = ",;\t|"


class TableFormat(NamedTuple):
    """The names of the columns and the places of those with URLs."""

    names: list[str]
    urls: list[int]
    has_header: bool


def lay_out(first: list[str], options: ListOptions) -> TableFormat:
    """Derive the format from the first row: a header if it names the URL column, or has no URL in that column."""
    names = [cell.strip() for cell in first]
    if places := named_columns(names, options):
        return TableFormat(unique_names(names), places, True)
    wanted = wanted_columns(options)
    if wanted:
        place = _numbered(names, wanted[0])
    else:
        place = next((i for i, cell in enumerate(names) if URL.match(cell)), None)
    if place is None:
        if options.whole_records:
            return TableFormat(unique_names(names), [], True)
        raise no_column(names, options)
    is_header = not URL.match(names[place])
    return TableFormat(unique_names(names if is_header else [""] * len(names)), [place], is_header)


def find_column(names: list[str], options: ListOptions) -> int:
    """Return the place of the URL column by the names alone. Raises `bad_args` if there is none."""
    found = named_columns(names, options)
    place = found[0] if found else _numbered(names, (*wanted_columns(options), "")[0])
    if place is None:
        raise no_column(names, options)
    return place


def wanted_columns(options: ListOptions) -> tuple[str, ...]:
    """Return the names from `--column`, else from `--field`."""
    return (options.column,) if options.column is not None else options.fields


def named_columns(names: list[str], options: ListOptions) -> list[int]:
    """Return the places of the wanted columns; by default of the first with a usual name (`URL_NAMES`)."""
    lower = [name.lower() for name in names]
    if wanted := wanted_columns(options):
        exact = [names.index(name) for name in wanted if name in names]
        return exact or [lower.index(name.lower()) for name in wanted if name.lower() in lower]
    usual = next((lower.index(name) for name in URL_NAMES if name in lower), None)
    alone = len(names) == 1 and not URL.match(names[0])
    return [0] if usual is None and alone else [] if usual is None else [usual]


def _numbered(names: list[str], column: str) -> int | None:
    number = int(column) if column.isdecimal() and len(column) < 7 else 0
    return number - 1 if 0 < number <= len(names) else None


def no_column(names: list[str], options: ListOptions) -> SpanielError:
    wanted = " or ".join(f"'{shown(name, 60)}'" for name in wanted_columns(options))
    reason = f"there is no column {wanted}" if wanted else "it is not clear which column holds the URLs"
    return SpanielError(Code.BAD_ARGS, field="--column", reason=f"{reason}; there are: {', '.join(names[:20])}")


def unique_names(names: list[str]) -> list[str]:
    """Make column names unique: an empty or repeated name gets the number of its column.

    >>> unique_names(["url", "x", "x", ""])
    ['url', 'x', 'x_3', 'column_4']
    """
    unique: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names, 1):
        own = name if name and name not in taken else f"{name or 'column'}_{number}"
        while own in taken:
            own += "_"
        taken.add(own)
        unique.append(own)
    return unique


def read_csv(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the rows of a CSV file. The separator is the most frequent one of the first line."""
    yield from _read(stream, None, options, report)


def read_tsv(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the rows of a tab-separated file."""
    yield from _read(stream, "\t", options, report)


def _read(stream: BinaryIO, separator: str | None, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    lines = _Lines(stream, report)
    table = None
    for number, group in lines.groups():
        if separator is None:
            separator = _separator(group[0])
        for cells in _rows(number, group, separator, report):
            if not any(cells):
                continue
            if table is None:
                table = lay_out(cells, options)
                if table.has_header:
                    continue
            if options.whole_records and table.has_header:
                record = dict(zip(table.names, cells, strict=False))
                yield SourceRow("", {}, sum(map(len, cells)), number, record)
            else:
                yield from _row(cells, table, number, report)


def _row(cells: list[str], table: TableFormat, number: int, report: Report) -> Iterator[SourceRow]:
    found = [place for place in table.urls if place < len(cells) and cells[place].strip()]
    if not found:
        report(f"line {number}", f"has nothing in column {table.urls[0] + 1}", lost=False)
        return
    beyond = len(cells) - len(table.names)
    names = unique_names([*table.names, *[""] * beyond]) if beyond > 0 else table.names
    size = sum(map(len, cells))
    for url in found:
        columns: dict[str, object] = {
            name: cell for i, (name, cell) in enumerate(zip(names, cells, strict=False)) if i != url
        }
        yield SourceRow(cells[url].strip(), columns, size, number)


class _Lines:
    """Groups lines so that every quote is closed within its group; a group without that is a single line."""

    def __init__(self, stream: BinaryIO, report: Report) -> None:
        self._lines = numbered_lines(stream, LONGEST_LINE, report)
        self._again: list[tuple[int, str]] = []  # read ahead, newest first
        self._report = report

    def groups(self) -> Iterator[tuple[int, list[str]]]:
        while (found := self._next()) is not None:
            number, line = found
            if '"' in line and line.count('"') % 2:
                yield number, self._until_closed(number, line)
            else:
                yield number, [line]

    def _next(self) -> tuple[int, str] | None:
        if self._again:
            return self._again.pop()
        number, line = next(self._lines, (0, b""))
        return (number, decoded(line)) if number else None

    def _until_closed(self, number: int, line: str) -> list[str]:
        """Collect lines up to the next with an odd number of quotes. So each line is read ahead once at most."""
        group, size = [(number, line)], len(line)
        while size <= LONGEST_ROW and (found := self._next()) is not None:
            group.append(found)
            size += len(found[1])
            if found[1].count('"') % 2:
                return [text for _, text in group]
        self._report(f"line {number}", "has a quote that does not end; it was read as a row of its own", lost=False)
        self._again.extend(reversed(group[1:]))
        return [line]


def _rows(number: int, group: list[str], separator: str, report: Report) -> Iterator[list[str]]:
    if len(group) == 1 and '"' not in group[0]:
        yield group[0].rstrip("\r\n").split(separator)
        return
    try:
        yield from csv.reader(group, delimiter=separator)
    except csv.Error as error:
        report(f"line {number}", f"is not a row that can be read ({error})")


def _separator(line: str) -> str:
    """Return the separator that is most frequent outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=bare.count)


MAX_ROWS, MAX_BYTES = 1024, 4 << 20  # per batch of Parquet
DEEPEST = 64


def arrow() -> tuple[Any, Any]:
    """Import `pyarrow` and `pyarrow.parquet`. Raises `bad_args` if they are not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        reason = f"Parquet needs a library that is not installed; run: {install_command('parquet')}"
        raise SpanielError(Code.BAD_ARGS, field="parquet", reason=reason) from None
    return pa, parquet


def read_parquet(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the rows of a Parquet file. The stream must be seekable: the index is at the end of the file."""
    pa, parquet = arrow()
    try:
        with parquet.ParquetFile(stream, memory_map=False, pre_buffer=False, buffer_size=1 << 16) as file:
            names = list(file.schema_arrow.names)
            name = "" if options.whole_records else names[find_column(names, options)]
            size = _row_size(file.metadata)
            rows = max(1, min(MAX_ROWS, MAX_BYTES // size))
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
                        yield _parquet_row(values, name, size)._replace(place=f"row {number}")
                    except NoUrlError as error:
                        report(f"row {number}", str(error), lost=not blank)
    except (pa.ArrowException, OSError, ValueError) as error:
        report("", f"is not a Parquet file that can be read ({error})")


def _row_size(metadata: Any) -> int:
    """Return the bytes per row of the row group with the largest rows, from the metadata."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    sizes: list[int] = [group.total_byte_size // max(group.num_rows, 1) for group in groups]
    return max([1, *sizes])


def _parquet_row(values: dict[str, object], name: str, size: int) -> SourceRow:
    url = values.pop(name)
    if isinstance(url, bytes):
        url = url.decode("utf-8", "replace")
    if not isinstance(url, str) or not url.strip():
        raise NoUrlError(f"has no URL in column '{name}'")
    if len(url) > LONGEST_LINE:
        raise NoUrlError(f"has a URL of more than {LONGEST_LINE} characters; it was left out")
    return SourceRow(url, {key: as_json(value) for key, value in values.items()}, size)


def as_json(value: object, depth: int = 0) -> object:
    """Convert a value to JSON: times to ISO 8601, decimals and bytes to text, NaN and infinity to null.

    >>> as_json({"at": float("nan"), "raw": b"x"})
    {'at': None, 'raw': 'x'}
    """
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
