"""Tables: which columns hold URLs and what the others are called; CSV and TSV read row by row.

Python's reader collects a row for as long as a quote stays open, which may be for ever. So it only gets groups of
lines that are bounded: a line, and as many more as it takes to close every quote.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError, shown
from spaniel.sources.kinds import URL
from spaniel.sources.rows import LONGEST_LINE, URL_NAMES, SourceRow
from spaniel.sources.streams import decoded, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ListOptions, Report

LONGEST_ROW = 1 << 20  # bytes; Python's own limit of a field is 128 KB
SEPARATORS = ",;\t|"


class TableFormat(NamedTuple):
    """Which columns hold URLs, and what the columns are called."""

    names: list[str]
    urls: list[int]
    has_header: bool


def lay_out(first: list[str], options: ListOptions) -> TableFormat:
    """What the first row says of a table: it is a header if it names the column, or has no URL where one should be."""
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
    """The place of the column that holds the URLs, where names are all that is known."""
    found = named_columns(names, options)
    place = found[0] if found else _numbered(names, (*wanted_columns(options), "")[0])
    if place is None:
        raise no_column(names, options)
    return place


def wanted_columns(options: ListOptions) -> tuple[str, ...]:
    """The names that the user gave: `--column`, else `--field`."""
    return (options.column,) if options.column is not None else options.fields


def named_columns(names: list[str], options: ListOptions) -> list[int]:
    """The places of the columns with these names; by default, of one whose name says that it holds URLs."""
    lower = [name.lower() for name in names]
    if wanted := wanted_columns(options):
        exact = [names.index(name) for name in wanted if name in names]
        return exact or [lower.index(name.lower()) for name in wanted if name.lower() in lower]
    known = next((lower.index(name) for name in URL_NAMES if name in lower), None)
    alone = len(names) == 1 and not URL.match(names[0])
    return [0] if known is None and alone else [] if known is None else [known]


def _numbered(names: list[str], column: str) -> int | None:
    number = int(column) if column.isdecimal() and len(column) < 7 else 0
    return number - 1 if 0 < number <= len(names) else None


def no_column(names: list[str], options: ListOptions) -> SpanielError:
    wanted = " or ".join(f"'{shown(name, 60)}'" for name in wanted_columns(options))
    reason = f"there is no column {wanted}" if wanted else "it is not clear which column holds the URLs"
    return SpanielError(Code.BAD_ARGS, field="--column", reason=f"{reason}; there are: {', '.join(names[:20])}")


def unique_names(names: list[str]) -> list[str]:
    """Names to carry columns over by: one without a name gets its number, one that comes again too."""
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
    yield from _read(stream, None, options, report)


def read_tsv(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
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
    """Lines in groups within which every quote is closed, or which hold a single line."""

    def __init__(self, stream: BinaryIO, report: Report) -> None:
        self._lines = numbered_lines(stream, LONGEST_LINE, report)
        self._again: list[tuple[int, str]] = []  # read ahead, newest first
        self._report = report

    def groups(self) -> Iterator[tuple[int, list[str]]]:
        while (found := self._next()) is not None:
            number, line = found
            if '"' in line and line.count('"') % 2:
                yield number, self._to_the_partner(number, line)
            else:
                yield number, [line]

    def _next(self) -> tuple[int, str] | None:
        if self._again:
            return self._again.pop()
        number, line = next(self._lines, (0, b""))
        return (number, decoded(line)) if number else None

    def _to_the_partner(self, number: int, line: str) -> list[str]:
        """No line in between has an odd number of quotes: so each is read ahead once at most."""
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
    """The sign that is most frequent outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=bare.count)
