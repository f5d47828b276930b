"""Data files as links to audit: JSON, JSON lines, CSV and YAML, and in them the fields that hold links."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

from spaniel.registry.audit import Cited
from spaniel.registry.complaints import Place
from spaniel.registry.foreign_text import csv_rows, decoded
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

ENTITIES = ("entidad", "organismo", "entity")  # fields that say whose page it is
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


def read_cited(name: str, raw: bytes, fields: Container[str], kind: str | None = None) -> Iterator[Cited]:
    """Every text that stands under one of the fields, however deep."""
    text = decoded(name, raw)
    for where, value in READERS[kind or kind_of(name, text)](name, text):
        for path, url, entity in _links(value, where, fields):
            yield Cited(name, path, url, entity)


def _links(top: object, start: str, fields: Container[str]) -> Iterator[tuple[str, str, str]]:
    """Where, the link, and whose it is. No recursion: the data are somebody else's, and may be deep."""
    left: list[tuple[str, object, bool, str]] = [(start, top, False, "")]
    while left:
        where, value, wanted, entity = left.pop()
        if isinstance(value, str) and wanted and value.strip():
            yield where, value.strip(), entity
        elif isinstance(value, dict):
            own = next((str(value[name]) for name in ENTITIES if isinstance(value.get(name), str)), entity)
            names = ((key, f"{where}.{key}" if where else str(key)) for key in reversed(value))
            left += [(path, value[key], key in fields, own) for key, path in names]
        elif isinstance(value, list):
            left += [(f"{where}[{i}]", value[i], wanted, entity) for i in reversed(range(len(value)))]


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
