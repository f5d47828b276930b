"""JSON, JSON lines and YAML: records with a URL at a field or a path of fields, and their other fields.

JSON lines are read line by line; a bad line does not affect the others. A JSON file may be one record, a list of
records or concatenated records; only one record at a time is in memory.
"""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING

import msgspec

from spaniel.errors import SpanielError
from spaniel.sources.rows import LARGEST_VALUE, URL_NAMES, NoUrlError, SourceRow
from spaniel.sources.streams import PIECE, decoded, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ListOptions, Report

LONGEST = 4 << 20  # bytes of a line (chosen: records may contain whole texts)
DEEPEST = 64  # levels of nesting (chosen): writers of records are recursive


def read_jsonl(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the URLs of JSON lines."""
    for number, line in numbered_lines(stream, LONGEST, report):
        if line.isspace():
            continue
        try:
            value = _value(line)
        except ValueError as error:
            report(f"line {number}", str(error))
            continue
        yield from _rows(value, options, number, report, len(line))


def read_json(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the URLs of a JSON file: one record, a list of records, or concatenated records."""
    values = _Values(stream)
    try:
        for place, value, size in values:
            yield from _rows(value, options, place, report, size)
    except (ValueError, RecursionError) as error:
        report(f"line {values.line_of(error)}", f"is not JSON that can be read ({getattr(error, 'msg', error)})")


def read_yaml(stream: BinaryIO, options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the URLs of the documents of a YAML file."""
    from spaniel.registry.outline import values
    from spaniel.registry.yaml_text import Position

    raw = stream.read(LARGEST_VALUE + 1)
    if len(raw) > LARGEST_VALUE:
        report("", f"has more than {LARGEST_VALUE >> 20} MB; split it")
        return
    try:
        for number, document in enumerate(values(decoded(raw), Position("line")), 1):
            where = "" if number == 1 else f"document {number}"
            for i, value in enumerate(document) if isinstance(document, list) else [(-1, document)]:
                yield from _rows(value, options, where if i < 0 else f"{where}[{i}]", report, 0)
    except SpanielError as error:
        place, _, reason = error.message.partition(": ")
        where = str(error.details.get("field", place))
        report(f"line {where.split(':')[1]}", f"is not YAML that can be read ({error.details.get('reason', reason)})")


def _value(line: bytes) -> object:
    try:
        value: object = msgspec.json.decode(line)
    except UnicodeDecodeError:
        return _value(decoded(line).encode())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"is not JSON that can be read ({error})") from None
    if line.count(b"[") + line.count(b"{") > DEEPEST and _is_deep(value):
        raise ValueError(f"has more than {DEEPEST} levels")
    return value


def _is_deep(value: object) -> bool:
    """Whether a value has more than `DEEPEST` levels. Iterative: recursion would fail on exactly those values."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [part for whole in level for part in _parts(whole)]
        if not level:
            return False
    return True


def _parts(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _rows(value: object, options: ListOptions, place: int | str, report: Report, size: int) -> Iterator[SourceRow]:
    """Yield the URLs of a record: one, or one for each field in the options."""
    if isinstance(value, str) and (options.whole_records or not options.fields):
        yield SourceRow(value, {}, size, place)
        return
    if options.whole_records:
        yield SourceRow("", {}, size, place, value)
        return
    try:
        for url, columns in urls_of(value, options.fields):
            yield SourceRow(url, columns, size, place)
    except ValueError as error:
        where = f"line {place}" if isinstance(place, int) else _entry(place)
        report(where, str(error), lost=not isinstance(error, NoUrlError))


def _entry(place: str) -> str:
    """Return `[0]` as `entry 1`."""
    return f"entry {int(place[1:-1]) + 1}" if place.startswith("[") else place


def urls_of(value: object, fields: tuple[str, ...] = ()) -> list[tuple[str, dict[str, object]]]:
    """Return the URLs of a record, each with the other fields. Raises `ValueError` with the reason if it has none.

    >>> urls_of({"page": {"url": "https://a.example/"}, "n": 1}, ("page.url",))
    [('https://a.example/', {'page': {}, 'n': 1})]
    """
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004  bad input, not a bad call
    names = fields or tuple([name for name in URL_NAMES if name in value][:1])
    if not names:
        raise ValueError(f"has no field '{URL_NAMES[0]}'; say which one holds the URL: --field NAME")
    found = [(name, url) for name in names for url in _taken(value, name) if url is not None]
    if not found:
        raise NoUrlError(f"has no URL at '{names[0]}'")
    wrong = next((name for name, url in found if not isinstance(url, str)), None)
    if wrong is not None:
        raise ValueError(f"has no URL at '{wrong}'")
    return [(str(url), value if len(found) == 1 else {**value}) for _, url in found]


def _taken(value: dict[str, object], field: str) -> list[object]:
    """Remove the values of a field from the record: by its name, by a path like `page.url`, else at any depth."""
    if field in value:
        return _flat(value.pop(field))
    *inner, last = field.split(".")
    places: list[object] = [value]
    for name in inner:
        places = [part[name] for each in places for part in _flat(each) if isinstance(part, dict) and name in part]
    holders = [part for each in places for part in _flat(each) if isinstance(part, dict) and last in part]
    if not holders and not inner:
        holders = _holders(value, field)
    return [url for holder in holders for url in _flat(holder.pop(last))]


def _flat(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _holders(value: object, field: str) -> list[dict[str, object]]:
    """Return the objects at any depth that have this field, in order."""
    found: list[dict[str, object]] = []
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and field in part:
            found.append(part)
        waiting += reversed(_parts(part))
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_BLANKS = " \t\r\n"


class _Values:
    """Iterates over the values of a JSON file with their places and sizes: a list's elements or concatenated values."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._at = 0
        self._line = 1  # of the first character of the text
        self._ended = False

    def __iter__(self) -> Iterator[tuple[str, object, int]]:
        if self._next() != "[":
            number = 0
            while self._next():
                value, size = self._value()
                number += 1
                yield ("" if number == 1 and not self._next() else f"entry {number}"), value, size
            return
        self._at += 1
        number = 0
        while (char := self._next()) != "]":
            if number and char == ",":
                self._at += 1
                self._next()
            elif number or not char:
                raise json.JSONDecodeError("Expecting ',' or ']'", self._text, self._at)
            value, size = self._value()
            yield f"[{number}]", value, size
            number += 1
        self._at += 1
        if self._next():
            raise json.JSONDecodeError("Extra data", self._text, self._at)

    def line_of(self, error: Exception) -> int:
        at = error.pos if isinstance(error, json.JSONDecodeError) else self._at
        return self._line + self._text.count("\n", 0, at)

    def _next(self) -> str:
        """Return the next character that is not blank; "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANKS:
                    return self._text[self._at]
                self._at += 1
            if not self._fill(PIECE):
                return ""

    def _value(self) -> tuple[object, int]:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > LARGEST_VALUE or not self._fill(max(PIECE, len(self._text))):
                    raise
            else:
                if end < len(self._text) or not self._fill(PIECE):  # a number may continue
                    size, self._at = end - self._at, end
                    if size > DEEPEST and _is_deep(value):
                        raise ValueError(f"has more than {DEEPEST} levels")
                    return value, size

    def _fill(self, size: int) -> bool:
        """Read more. `size` grows with the text, so that decoding the start again stays linear overall."""
        if self._ended:
            return False
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :], 0
        piece = self._stream.read(size)
        self._ended = not piece
        self._text += self._decoder.decode(piece, final=self._ended)
        return not self._ended
