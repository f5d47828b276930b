"""Links from elsewhere: lists as text, CSV, JSON or JSON lines, sitemaps, bookmarks that a browser has exported."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.foreign_text import csv_rows, decoded
from spaniel.registry.record import CATEGORIES, LENGTH, SHA256, TYPE
from spaniel.tables import complaint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spaniel.registry.scalars import Written
    from spaniel.url.canonical import Canonical

URL_COLUMNS = ("url", "link", "href", "loc", "address", "uri")
_ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".xml": "sitemap", ".html": "bookmarks", ".htm": "bookmarks",
}  # fmt: skip


class Link(NamedTuple):
    """A URL that somebody kept, what was said of it, and where."""

    where: str
    url: str
    keys: Mapping[str, Written] = {}
    found: Canonical | None = None  # its canonical form, where that was found out before


def kind_of(name: str, text: str) -> str:
    """How a file is to be read: by how it begins, or by its name."""
    head = text[:512].lstrip().lower()
    if head.startswith("<!doctype netscape-bookmark"):
        return "bookmarks"
    if head.startswith(("<?xml", "<urlset", "<sitemapindex")):
        return "sitemap"
    if head.startswith("["):
        return "json"
    known = name.lower().removesuffix(".gz")
    by_name = next((kind for ending, kind in _ENDINGS.items() if known.endswith(ending)), None)
    return by_name or ("jsonl" if head.startswith(("{", '"')) else "text")


def read_links(name: str, raw: bytes, kind: str | None = None, field: str | None = None) -> Iterator[Link]:
    """The links of a file, in their order. `field` is the column or the key that has them."""
    text = decoded(name, raw)
    return READERS[kind or kind_of(name, text)](name, text, field)


def _from_text(_name: str, text: str, _field: str | None) -> Iterator[Link]:
    for number, line in enumerate(text.split("\n"), 1):
        url = line.strip()
        if url and not url.startswith("#"):
            yield Link(f"line {number}", url)


def _from_csv(name: str, text: str, field: str | None) -> Iterator[Link]:
    rows = csv_rows(text)
    try:
        header = next(rows, [])
        column = _column(name, header, field)
        names = [cell.strip().lower() for cell in header]
        if field is None and "://" in header[column]:  # there is no header
            yield Link("line 1", header[column].strip())
            names = []
        for row in rows:
            if len(row) > column and row[column].strip():
                keys = _known(dict(zip(names, row, strict=False)))
                yield Link(f"line {rows.line_num}", row[column].strip(), keys)
    except csv.Error as error:
        raise complaint(f"{name}:{rows.line_num}", f"not CSV: {error}") from None


def _column(name: str, header: list[str], field: str | None) -> int:
    cells = [cell.strip().lower() for cell in header]
    for wanted in URL_COLUMNS if field is None else (field.lower(),):
        if wanted in cells:
            return cells.index(wanted)
    found = next((i for i, cell in enumerate(cells) if "://" in cell), None)
    if found is None or field is not None:
        asked = f"'{field}'" if field else "that has URLs"
        raise complaint(f"{name}:1", f"there is no column {asked}; --field names one of: {', '.join(header) or 'none'}")
    return found


def _from_json_lines(name: str, text: str, field: str | None) -> Iterator[Link]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise complaint(f"{name}:{number}", f"not a JSON value: {error}") from None
        yield _from_value(f"{name}:{number}", f"line {number}", data, field)


def _from_json(name: str, text: str, field: str | None) -> Iterator[Link]:
    """A list of URLs, or of objects that have one; or one such object."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise complaint(f"{name}:{error.lineno}:{error.colno}", f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise complaint(name, f"not JSON that can be read: {error}") from None
    for number, value in enumerate(data if isinstance(data, list) else [data], 1):
        yield _from_value(f"{name}: entry {number}", f"entry {number}", value, field)


def _from_value(place: str, where: str, value: object, field: str | None) -> Link:
    """A URL as JSON has it: as it is, or in an object with what else is said of it."""
    facts = value if isinstance(value, dict) else {}
    url = facts.get(field or "url") if facts else value
    if not isinstance(url, str):
        raise complaint(place, f"there is no text under '{field or 'url'}'; --field names another key")
    return Link(where, url, _known(facts))


def _known(facts: Mapping[str, object]) -> dict[str, Written]:
    """What a database of ours has said in a dump, and says again."""
    known: dict[str, Written] = {key: str(facts[key]) for key in (SHA256, TYPE) if facts.get(key)}
    if str(facts.get(LENGTH, "")).isdecimal():
        known[LENGTH] = int(str(facts[LENGTH]))
    categories = facts.get(CATEGORIES)
    if isinstance(categories, str):
        categories = _from_a_cell(categories)
    if isinstance(categories, list) and categories:
        known[CATEGORIES] = sorted({str(each) for each in categories})
    return known


def in_a_cell(categories: Sequence[str]) -> str:
    """Categories in one cell of a table: words with spaces between them, or JSON where one has a space itself."""
    is_plain = all(each.split() == [each] and not each.startswith("[") for each in categories)
    return " ".join(categories) if is_plain else json.dumps(list(categories), ensure_ascii=False)


def _from_a_cell(cell: str) -> list[object]:
    try:
        listed = json.loads(cell) if cell.startswith("[") else None
    except (ValueError, RecursionError):
        listed = None
    return listed if isinstance(listed, list) else [*cell.split()]


def _from_sitemap(name: str, text: str, _field: str | None) -> Iterator[Link]:
    from turbohtml import HTMLParseError, parse_xml

    try:
        document = parse_xml(text)
    except HTMLParseError as error:
        raise complaint(name, f"not XML: {error}") from None
    if document.select_one("sitemapindex") is not None:
        raise complaint(name, "is an index of sitemaps; import the sitemaps that it names")
    for number, loc in enumerate(document.select("url > loc"), 1):
        found = "".join(str(getattr(node, "data", "")) for node in loc.children)  # CDATA too
        yield Link(f"entry {number}", found.strip())


def _from_bookmarks(_name: str, text: str, _field: str | None) -> Iterator[Link]:
    """Bookmarks lead to more than pages (javascript:, place:, about:); those are passed over."""
    from turbohtml import parse

    for number, anchor in enumerate(parse(text).select("a[href]"), 1):
        url = str(anchor.attrs["href"]).strip()
        if url.lower().startswith(("http://", "https://")):
            yield Link(f"bookmark {number}", url)


READERS: dict[str, Callable[[str, str, str | None], Iterator[Link]]] = {
    "text": _from_text,
    "csv": _from_csv,
    "json": _from_json,
    "jsonl": _from_json_lines,
    "sitemap": _from_sitemap,
    "bookmarks": _from_bookmarks,
}
