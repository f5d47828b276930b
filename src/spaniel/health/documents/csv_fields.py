"""Links in tables of text (CSV, TSV): fields that are addresses, and addresses within longer fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents import bare
from spaniel.health.documents.mention import Found, Stitched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

WEB = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
SEPARATORS = ",;\t|"
SAMPLE = 1 << 16


class Field(NamedTuple):
    """One field, without its quotes."""

    column: int
    row: int
    start: int
    end: int
    is_quoted: bool


def links(text: str, fields: Collection[str] = ()) -> Iterator[Found]:
    """With `fields` only those of the columns that the first row names so."""
    separator = _separator(text)
    wanted: set[int] = set()
    for field in rows(text, separator):
        written = text[field.start : field.end]
        value = written.replace('""', '"') if field.is_quoted else written
        if fields and field.row == 0:
            if value.strip() in fields:
                wanted.add(field.column)
        elif not fields or field.column in wanted:
            yield from _of_field(field, written, value)


def _of_field(field: Field, written: str, value: str) -> Iterator[Found]:
    syntax = "csv-quoted" if field.is_quoted else "csv"
    bare_value = written.strip()
    if WEB.fullmatch(value.strip()):
        start = field.start + written.index(bare_value[0])
        yield Found(value.strip(), start, start + len(bare_value), syntax)
        return
    pieces: list[tuple[str, int, int]] = []
    at = 0
    for quotes in re.finditer('""', written) if field.is_quoted else ():
        pieces.append((written[at : quotes.start()], field.start + at, field.start + quotes.start()))
        pieces.append(('"', field.start + quotes.start(), field.start + quotes.end()))
        at = quotes.end()
    pieces.append((written[at:], field.start + at, field.end))
    whole = Stitched(pieces)
    for found in bare.links(whole.text):
        start, end = whole.source(found.start), whole.source_end(found.end)
        yield found._replace(start=start, end=end, syntax=f"{syntax}>{found.syntax}")


def _separator(text: str) -> str:
    """The sign that the first row has most of, outside quotes."""
    first = re.sub(r'"[^"]*+"?+', "", text[:SAMPLE]).lstrip("\r\n")
    line = re.split(r"[\r\n]", first, maxsplit=1)[0]
    return max(SEPARATORS, key=line.count)


def rows(text: str, separator: str) -> Iterator[Field]:
    """Every field (RFC 4180). A quote that is not closed is a sign like any other, and so are those behind it."""
    sign = re.escape(separator)
    ends = rf"(?P<end>{sign}|\r\n|\n|\r|\Z)"
    quoted = re.compile(rf'[ ]*+"(?P<field>(?:[^"]++|"")*+)"[^{sign}\r\n]*+{ends}')
    plain = re.compile(rf"(?P<field>[^{sign}\r\n]*+){ends}")
    at = column = row = 0
    may_quote = True
    while at < len(text):
        found = quoted.match(text, at) if may_quote and text.startswith(('"', " "), at) else None
        is_quoted = found is not None
        may_quote = may_quote and (is_quoted or not text.startswith('"', at))
        found = found or plain.match(text, at)
        if found is None:  # which matches every text
            return
        yield Field(column, row, *found.span("field"), is_quoted)
        column, row = (column + 1, row) if found["end"] == separator else (0, row + 1)
        at = found.end()
