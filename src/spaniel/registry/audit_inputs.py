"""Data files as links to audit: JSON, JSON lines, CSV and YAML, and in them the fields that hold links."""

from __future__ import annotations

import csv
import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.audit import Cited
from spaniel.registry.complaints import Place
from spaniel.registry.foreign_text import csv_rows, decoded
from spaniel.tables import Table, complaint, read_toml
from spaniel.url.links import unaccented

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

_NAMES = os.path.join(os.path.dirname(__file__), "field_names.toml")
LONGEST_TITLE = 500  # characters; longer ones are texts, and their words would be on any page
ENDINGS = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".yaml": "yaml",
    ".yml": "yaml",
}


def kind_of(name: str, text: str) -> str:
    """By the file's name; standard input by how it begins."""
    known = name.lower().removesuffix(".gz")
    for ending, kind in ENDINGS.items():
        if known.endswith(ending):
            return kind
    if text.lstrip()[:1] in ("{", "["):
        return "jsonl" if "}\n{" in text else "json"
    raise complaint(name, f"its name does not say how to read it; add --input with one of {', '.join(READERS)}")


class About(NamedTuple):
    """What the data say of a link: whose page it is, and what the record is about."""

    entity: str = ""
    title: str = ""


NOTHING = About()


class FieldNames(NamedTuple):
    """The fields that say so; the first that is there counts."""

    entities: tuple[str, ...]
    titles: tuple[str, ...]
    languages: tuple[str, ...]

    def about(self, keys: Mapping[str, object], above: About) -> About:
        """From the fields beside a link, or from those above them."""
        by_name = {unaccented(str(key)): value for key, value in keys.items()}
        entity = self._first(by_name, self.entities)
        return About(entity or above.entity, self._first(by_name, self.titles) or above.title)

    def _first(self, by_name: Mapping[str, object], names: Sequence[str]) -> str:
        found = (self._text(by_name[name]) for name in names if name in by_name)
        return next((text for text in found if text), "")

    def _text(self, value: object) -> str:
        """A text, or the one of several languages that is wanted most."""
        if isinstance(value, dict):
            texts = {unaccented(str(key)): text for key, text in value.items() if isinstance(text, str)}
            value = next((texts[lang] for lang in self.languages if lang in texts), next(iter(texts.values()), ""))
        return " ".join(value[:LONGEST_TITLE].split()) if isinstance(value, str) else ""


@lru_cache(maxsize=8)
def field_names(titles: tuple[str, ...] = ()) -> FieldNames:
    """The names as shipped; `titles` rule over those of titles."""
    table = Table(read_toml(_NAMES, "field names"), "field_names.toml")
    entities, shipped = table.texts("entities"), table.texts("titles")
    found = FieldNames(entities, tuple(map(unaccented, titles)) or shipped, table.texts("languages"))
    table.close()
    return found


def read_cited(
    name: str, raw: bytes, fields: Container[str], kind: str | None = None, names: FieldNames | None = None
) -> Iterator[Cited]:
    """Every text that stands under one of the fields, however deep, with what is said of it beside it."""
    text = decoded(name, raw)
    names = names or field_names()
    for where, value in READERS[kind or kind_of(name, text)](name, text):
        for path, url, about in _links(value, where, fields, names):
            yield Cited(name, path, url, *about)


def _links(top: object, start: str, fields: Container[str], names: FieldNames) -> Iterator[tuple[str, str, About]]:
    """Where, the link, and what is said of it. No recursion: the data are somebody else's, and may be deep."""
    left: list[tuple[str, object, bool, About]] = [(start, top, False, NOTHING)]
    while left:
        where, value, wanted, about = left.pop()
        if isinstance(value, str) and wanted and value.strip():
            yield where, value.strip(), about
        elif isinstance(value, dict):
            own = names.about(value, about)
            paths = ((key, f"{where}.{key}" if where else str(key)) for key in reversed(value))
            left += [(path, value[key], key in fields, own) for key, path in paths]
        elif isinstance(value, list):
            left += [(f"{where}[{i}]", value[i], wanted, about) for i in reversed(range(len(value)))]


def _from_json(name: str, text: str) -> Iterator[tuple[str, object]]:
    try:
        yield "", json.loads(text)
    except json.JSONDecodeError as error:
        raise complaint(f"{name}:{error.lineno}:{error.colno}", f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise complaint(name, f"not JSON that can be read: {error}") from None


def _from_json_lines(name: str, text: str) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except json.JSONDecodeError as error:
                raise complaint(f"{name}:{number}:{error.colno}", f"not JSON: {error.msg}") from None
            except (ValueError, RecursionError) as error:
                raise complaint(f"{name}:{number}", f"not JSON that can be read: {error}") from None


def _from_csv(name: str, text: str) -> Iterator[tuple[str, object]]:
    rows = csv_rows(text)
    try:
        header = next(rows, [])
        for row in rows:
            yield f"line {rows.line_num}", dict(zip(header, row, strict=False))
    except csv.Error as error:
        raise complaint(f"{name}:{rows.line_num}", f"not CSV: {error}") from None


def _from_yaml(name: str, text: str) -> Iterator[tuple[str, object]]:
    from spaniel.registry.outline import values

    for number, value in enumerate(values(text, Place(name))):
        yield f"document {number + 1}" if number else "", value


READERS: dict[str, Callable[[str, str], Iterator[tuple[str, object]]]] = {
    "json": _from_json,
    "jsonl": _from_json_lines,
    "csv": _from_csv,
    "yaml": _from_yaml,
}
