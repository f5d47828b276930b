"""Finds links in data files: CSV, JSON, YAML."""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.health.documents import mentions
from spaniel.health.documents.mentions import LinkSpan, MappedText
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

WHOLE_URL = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)

# -- CSV

SAMPLE = 1 << 16  # characters in which the first row is looked for


class CsvField(NamedTuple):
    """The position of a field, without its quotes."""

    column: int
    row: int
    start: int
    end: int
    is_quoted: bool


def csv_links(text: str, fields: Collection[str] = ()) -> Iterator[LinkSpan]:
    """Yield the links of a CSV file; with `fields`, only of the columns with these names in the first row."""
    from spaniel.sources.tables import SEPARATORS

    first = re.sub(r'"[^"]*+"?+', "", text[:SAMPLE]).lstrip("\r\n")
    line = re.split(r"[\r\n]", first, maxsplit=1)[0]
    wanted: set[int] = set()
    for field in csv_fields(text, max(SEPARATORS, key=line.count)):
        written = text[field.start : field.end]
        value = written.replace('""', '"') if field.is_quoted else written
        if fields and field.row == 0:
            if value.strip() in fields:
                wanted.add(field.column)
        elif not fields or field.column in wanted:
            yield from _field_links(field, written, value)


def _field_links(field: CsvField, written: str, value: str) -> Iterator[LinkSpan]:
    syntax = "csv-quoted" if field.is_quoted else "csv"
    bare_value = written.strip()
    if WHOLE_URL.fullmatch(value.strip()):
        start = field.start + written.index(bare_value[0])
        yield LinkSpan(value.strip(), start, start + len(bare_value), syntax)
        return
    pieces: list[tuple[str, int, int]] = []
    at = 0
    for quotes in re.finditer('""', written) if field.is_quoted else ():
        pieces.append((written[at : quotes.start()], field.start + at, field.start + quotes.start()))
        pieces.append(('"', field.start + quotes.start(), field.start + quotes.end()))
        at = quotes.end()
    pieces.append((written[at:], field.start + at, field.end))
    unescaped = MappedText(pieces)
    for link in mentions.text_links(unescaped.text):
        yield unescaped.in_source(link)._replace(syntax=f"{syntax}>{link.syntax}")


def csv_fields(text: str, separator: str) -> Iterator[CsvField]:
    """Yield every field (RFC 4180). If a quote is not closed, it and all later quotes are ordinary characters."""
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
        if found is None:  # never: it matches every text
            return
        yield CsvField(column, row, *found.span("field"), is_quoted)
        column, row = (column + 1, row) if found["end"] == separator else (0, row + 1)
        at = found.end()


# -- JSON

TOKEN = re.compile(r"\"(?P<string>(?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)|[\[\]{}]", re.DOTALL)
COLON = re.compile(r"[ \t\r\n]*+:")
ESCAPE = re.compile(r"(?:\\u[0-9A-Fa-f]{4}){1,2}|\\.")
STRING = r"(\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))"
COMMENT = re.compile(rf"{STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
TRAILING_COMMA = re.compile(rf"{STRING}|,(?=\s*+[\]}}])", re.DOTALL)
URL_SIGN = re.compile(r":|www\.", re.IGNORECASE)  # a string without any of these has no URL


class JsonString(NamedTuple):
    """The position of a string value."""

    key: str  # its key; in a list, the key of the list
    start: int
    end: int


def json_links(text: str, fields: Collection[str] = ()) -> Iterator[LinkSpan]:
    """Yield the links in the string values of JSON or JSON lines; with `fields`, only of values with these keys."""
    for value in json_strings(text):
        if fields and value.key not in fields:
            continue
        written = text[value.start : value.end]
        if URL_SIGN.search(written) is None:
            continue
        url = decode(written, "json")
        if WHOLE_URL.fullmatch(url):
            yield LinkSpan(url, value.start, value.end, "json")
        else:
            unescaped = unescaped_json([(value.start, written)])
            yield from links_in_json(unescaped, mentions.text_links(unescaped.text))


def is_commented_json(text: str) -> bool:
    """Whether text is JSON with comments and trailing commas, as in the settings of editors."""
    bare_text = COMMENT.sub(lambda found: found[1] or " ", text)
    try:
        json.loads(TRAILING_COMMA.sub(lambda found: found[1] or "", bare_text))
    except (ValueError, RecursionError):
        return False
    return True


def links_in_json(unescaped: MappedText, links: Iterable[LinkSpan]) -> Iterator[LinkSpan]:
    """Map links in unescaped text to the JSON source."""
    for link in links:
        yield unescaped.in_source(link)._replace(syntax=f"json>{link.syntax}")


def json_strings(text: str) -> Iterator[JsonString]:
    """Yield the string values. Works on broken JSON, too."""
    keys = [""]
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign == "{":
            keys.append(keys[-1])
        elif sign == "}":
            if len(keys) > 1:
                keys.pop()
        elif token["string"] is None:
            pass  # the values of a list have the key of the list
        elif COLON.match(text, token.end()):
            keys[-1] = decode(token["string"], "json")
        else:
            yield JsonString(keys[-1], *token.span("string"))


def unescaped_json(parts: list[tuple[int, str]]) -> MappedText:
    """Join the values of JSON strings; each part is the start of a string in the source and its escaped text."""
    return MappedText(_unescaped_pieces(parts))


def _unescaped_pieces(parts: list[tuple[int, str]]) -> Iterator[tuple[str, int, int]]:
    for start, written in parts:
        at = 0
        for escape in ESCAPE.finditer(written):
            if escape.start() > at:
                yield written[at : escape.start()], start + at, start + escape.start()
            yield decode(escape[0], "json"), start + escape.start(), start + escape.end()
            at = escape.end()
        if at < len(written):
            yield written[at:], start + at, start + len(written)


# -- YAML

YAML_SYNTAXES = {"": "yaml", "'": "yaml-single", '"': "json"}  # by the style of a scalar
DEEP_BLOCK = re.compile(r"(?:[-?:][ \t]+){200}")  # nested lists in one line, each of which takes an object
DEEPEST_FLOW = 64  # brackets: libyaml's time grows with the square of the depth of `[[[[`


def yaml_links(text: str, fields: Collection[str] = ()) -> Iterator[LinkSpan]:
    """Yield the links of a YAML file. Invalid YAML is read as plain text, or with `fields` not at all."""
    found: Iterable[LinkSpan] | None = None if _is_deep(text) else _scalar_links(text, frozenset(fields))
    if found is None:
        found = () if fields else mentions.text_links(text)
    yield from found


def _is_deep(text: str) -> bool:
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest > DEEPEST_FLOW or DEEP_BLOCK.search(text) is not None


class _CompactLinks:
    """Stores only the positions of links; their URLs are decoded again from the text, to save memory."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts, self._ends, self._syntaxes = array("I"), array("I"), array("B")
        self._names: list[str] = []

    def add(self, link: LinkSpan) -> None:
        if link.syntax not in self._names:
            self._names.append(link.syntax)
        self._starts.append(link.start)
        self._ends.append(link.end)
        self._syntaxes.append(self._names.index(link.syntax))

    def __iter__(self) -> Iterator[LinkSpan]:
        for start, end, number in zip(self._starts, self._ends, self._syntaxes, strict=True):
            syntax = self._names[number]
            yield LinkSpan(decode(self._text[start:end], syntax), start, end, syntax)


def _scalar_links(text: str, fields: frozenset[str]) -> _CompactLinks | None:
    """Return the links of all values; None for invalid YAML."""
    import yaml

    found = _CompactLinks(text)
    keys = _YamlKeys()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.ScalarEvent):
                key = keys.scalar(event.value)
                if key is not None and (not fields or key in fields):
                    for link in _links_of_scalar(text, event):
                        found.add(link)
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
class _YamlLevel:
    """An open mapping or list."""

    key: str  # of its next value
    is_mapping: bool
    is_value_next: bool = False  # in a mapping, after a key


class _YamlKeys:
    """Tracks the key of each value; values in a list have the key of the list."""

    def __init__(self) -> None:
        self._levels: list[_YamlLevel] = []

    def scalar(self, value: str = "") -> str | None:
        """Return the key of a value; None if it is a key itself."""
        if not self._levels:
            return ""
        level = self._levels[-1]
        if level.is_mapping:
            level.is_value_next = not level.is_value_next
            if level.is_value_next:
                level.key = value
                return None
        return level.key

    def opened(self, *, is_mapping: bool) -> None:
        self._levels.append(_YamlLevel(self.scalar() or "", is_mapping))

    def closed(self) -> None:
        self._levels.pop()


def _links_of_scalar(text: str, event: Any) -> Iterator[LinkSpan]:
    quotes = 1 if event.style in ("'", '"') else 0
    start, end = event.start_mark.index + quotes, event.end_mark.index - quotes
    syntax = YAML_SYNTAXES.get(event.style or "")
    if syntax and WHOLE_URL.fullmatch(event.value) and decode(text[start:end], syntax) == event.value:
        yield LinkSpan(event.value, start, end, syntax)
    else:
        yield from mentions.scan(text, start, end)
