"""Links of data files: CSV, JSON, YAML."""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.health.documents import mentions
from spaniel.health.documents.mentions import Found, Stitched
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


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


def csv_links(text: str, fields: Collection[str] = ()) -> Iterator[Found]:
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
    for found in mentions.links(whole.text):
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


TOKEN = re.compile(r"\"(?P<string>(?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)|[\[\]{}]", re.DOTALL)
COLON = re.compile(r"[ \t\r\n]*+:")
ESCAPE = re.compile(r"(?:\\u[0-9A-Fa-f]{4}){1,2}|\\.")
STRING = r"(\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))"
COMMENT = re.compile(rf"{STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
TRAILING_COMMA = re.compile(rf"{STRING}|,(?=\s*+[\]}}])", re.DOTALL)
SIGNS = re.compile(r":|www\.", re.IGNORECASE)  # without any of these there is no address in a string
_JSON_WEB = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)


class Text(NamedTuple):
    """A string of a JSON text that is a value."""

    key: str  # that it belongs to: its own, or that of the list around it
    start: int
    end: int


def json_links(text: str, fields: Collection[str] = ()) -> Iterator[Found]:
    for value in strings(text):
        if fields and value.key not in fields:
            continue
        written = text[value.start : value.end]
        if SIGNS.search(written) is None:
            continue
        url = decode(written, "json")
        if _JSON_WEB.fullmatch(url):
            yield Found(url, value.start, value.end, "json")
        else:
            yield from inside(unescaped([(value.start, written)]), mentions.links)


def is_commented_json(text: str) -> bool:
    """Whether it is JSON but for comments and commas before a closing bracket, as settings of editors are."""
    bare_text = COMMENT.sub(lambda found: found[1] or " ", text)
    try:
        json.loads(TRAILING_COMMA.sub(lambda found: found[1] or "", bare_text))
    except (ValueError, RecursionError):
        return False
    return True


def inside(whole: Stitched, reader: object) -> Iterator[Found]:
    """The json_links that a reader finds in unescaped text, with their places in the source."""
    for found in reader(whole.text):  # type: ignore[operator]
        yield found._replace(
            start=whole.source(found.start), end=whole.source_end(found.end), syntax=f"json>{found.syntax}"
        )


def strings(text: str) -> Iterator[Text]:
    keys = [""]
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign == "{":
            keys.append(keys[-1])
        elif sign == "}":
            if len(keys) > 1:
                keys.pop()
        elif token["string"] is None:
            pass  # a list has the key that it stands under
        elif COLON.match(text, token.end()):
            keys[-1] = decode(token["string"], "json")
        else:
            yield Text(keys[-1], *token.span("string"))


def unescaped(parts: list[tuple[int, str]]) -> Stitched:
    """What JSON strings stand for, put together; each part with where it begins in the source."""
    return Stitched(_pieces(parts))


def _pieces(parts: list[tuple[int, str]]) -> Iterator[tuple[str, int, int]]:
    for begin, written in parts:
        at = 0
        for escape in ESCAPE.finditer(written):
            if escape.start() > at:
                yield written[at : escape.start()], begin + at, begin + escape.start()
            yield decode(escape[0], "json"), begin + escape.start(), begin + escape.end()
            at = escape.end()
        if at < len(written):
            yield written[at:], begin + at, begin + len(written)


_YAML_WEB = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
SYNTAXES = {"": "yaml", "'": "yaml-single", '"': "json"}
DEEP_BLOCK = re.compile(r"(?:[-?:][ \t]+){200}")  # lists in lists in one line, each of which is an object
DEEPEST_FLOW = 64  # libyaml takes the square of the depth of `[[[[`


def yaml_links(text: str, fields: Collection[str] = ()) -> Iterator[Found]:
    return scan(text, 0, len(text), fields)


def scan(text: str, start: int, end: int, fields: Collection[str] = ()) -> Iterator[Found]:
    """Of a part of a text. What is no YAML is read as text, unless single fields are asked for."""
    part = text[start:end]
    found: Iterable[Found] | None = None if _is_deep(part) else _found(part, frozenset(fields))
    if found is None:
        found = () if fields else mentions.links(part)
    for one in found:
        yield one._replace(start=one.start + start, end=one.end + start)


def _is_deep(text: str) -> bool:
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest > DEEPEST_FLOW or DEEP_BLOCK.search(text) is not None


class _Spans:
    """Links by their places alone: what they say is read again from the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts, self._ends, self._syntaxes = array("I"), array("I"), array("B")
        self._names: list[str] = []

    def add(self, found: Found) -> None:
        if found.syntax not in self._names:
            self._names.append(found.syntax)
        self._starts.append(found.start)
        self._ends.append(found.end)
        self._syntaxes.append(self._names.index(found.syntax))

    def __iter__(self) -> Iterator[Found]:
        for start, end, number in zip(self._starts, self._ends, self._syntaxes, strict=True):
            syntax = self._names[number]
            yield Found(decode(self._text[start:end], syntax), start, end, syntax)


def _found(text: str, fields: frozenset[str]) -> _Spans | None:
    import yaml

    found = _Spans(text)
    keys = _Keys()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.ScalarEvent):
                key = keys.scalar(event.value)
                if key is not None and (not fields or key in fields):
                    for one in _of_scalar(text, event):
                        found.add(one)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                keys.opened(is_mapping=isinstance(event, yaml.MappingStartEvent))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                keys.closed()
            elif isinstance(event, yaml.AliasEvent):
                keys.scalar()
    except (yaml.YAMLError, ValueError):
        return None
    return found


@dataclass(slots=True)
class _Level:
    """A mapping or a list that is open."""

    key: str  # that its next value belongs to
    is_mapping: bool
    is_value_next: bool = False  # in a mapping: behind a key


class _Keys:
    """Which key a value belongs to: its own, or that of the list it stands in."""

    def __init__(self) -> None:
        self._around: list[_Level] = []

    def scalar(self, value: str = "") -> str | None:
        """The key of a value; None where it is itself a key."""
        if not self._around:
            return ""
        level = self._around[-1]
        if level.is_mapping:
            level.is_value_next = not level.is_value_next
            if level.is_value_next:
                level.key = value
                return None
        return level.key

    def opened(self, *, is_mapping: bool) -> None:
        self._around.append(_Level(self.scalar() or "", is_mapping))

    def closed(self) -> None:
        self._around.pop()


def _of_scalar(text: str, event: Any) -> Iterator[Found]:
    quotes = 1 if event.style in ("'", '"') else 0
    start, end = event.start_mark.index + quotes, event.end_mark.index - quotes
    syntax = SYNTAXES.get(event.style or "")
    if syntax and _YAML_WEB.fullmatch(event.value) and decode(text[start:end], syntax) == event.value:
        yield Found(event.value, start, end, syntax)
    else:
        yield from mentions.scan(text, start, end)
