"""CSV and TSV: a column of URLs, the others carried over, a header if there is one.

Python's reader gathers a row for as long as a quote stays open, which may be for ever. So it is only given groups of
lines that are bounded: a line, and as many more as it takes for every quote to have its partner.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from spaniel.batch.sources.columns import lay_out, unique_names
from spaniel.batch.sources.lines import decoded, numbered_lines
from spaniel.batch.sources.rows import LONGEST_LINE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.batch.sources.columns import Table
    from spaniel.batch.sources.rows import Options, Report

LONGEST_ROW = 1 << 20  # bytes; Python's own limit of a field is 128 KB
SEPARATORS = ",;\t|"


def read_csv(stream: BinaryIO, options: Options, report: Report) -> Iterator[Row]:
    yield from _read(stream, None, options, report)


def read_tsv(stream: BinaryIO, options: Options, report: Report) -> Iterator[Row]:
    yield from _read(stream, "\t", options, report)


def _read(stream: BinaryIO, separator: str | None, options: Options, report: Report) -> Iterator[Row]:
    lines = _Lines(stream, report)
    table = None
    for number, group in lines.groups():
        if separator is None:
            separator = _separator(group[0])
        for cells in _rows(number, group, separator, report):
            if not any(cells):
                continue
            if table is None:
                table = lay_out(cells, options.column)
                if table.has_header:
                    continue
            yield from _row(cells, table, number, report)


def _row(cells: list[str], table: Table, number: int, report: Report) -> Iterator[Row]:
    url = cells[table.url].strip() if table.url < len(cells) else ""
    if not url:
        report(f"line {number}", f"has nothing in column {table.url + 1}", lost=False)
        return
    beyond = len(cells) - len(table.names)
    names = unique_names([*table.names, *[""] * beyond]) if beyond > 0 else table.names
    columns: dict[str, object] = {
        name: cell for i, (name, cell) in enumerate(zip(names, cells, strict=False)) if i != table.url
    }
    yield Row(url, columns, sum(map(len, cells)))


class _Lines:
    """Lines in groups within which every quote has its partner, or which hold a single line."""

    def __init__(self, stream: BinaryIO, report: Report) -> None:
        self._lines = numbered_lines(stream, LONGEST_LINE, report)
        self._again: list[tuple[int, str]] = []  # read in vain, newest first
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
        """No line in between has an odd quote: so each is read in vain once at most."""
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
        report(f"line {number}", f"is no row that can be read ({error})")


def _separator(line: str) -> str:
    """What stands most often between cells; what is in quotes is in a cell."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=bare.count)
