"""Which reader a document gets: by its name, or by how it begins."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.health.documents.mention import Lines, Mention

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from spaniel.health.documents.mention import Found

    Reader = Callable[[str], Iterator[Found]]

EXTENSIONS = {
    "markdown": "md markdown mdown mdwn mkd mkdn mkdown qmd rmd",
    "mdx": "mdx",
    "html": "html htm xhtml shtml",
    "rst": "rst rest",
    "notebook": "ipynb",
    "text": "txt text",
    "json": "json jsonl ndjson geojson webmanifest",
    "yaml": "yaml yml",
    "csv": "csv tsv",
    "xml": "xml rss atom",
}
BY_EXTENSION = {extension: kind for kind, names in EXTENSIONS.items() for extension in names.split()}
PROSE = frozenset({"markdown", "mdx", "html", "rst", "notebook", "text"})  # read in folders without being asked for
DATA = frozenset({"json", "yaml", "csv"})  # have fields
MODULES = {"text": "bare", "yaml": "yaml_fields", "json": "json_fields", "csv": "csv_fields"}
MARKDOWN_SIGNS = re.compile(r"\]\(|\]\[|^#{1,6} |^(?:```|~~~)|^ {0,3}\[[^\]\n]{1,200}\]:", re.MULTILINE)
PACKED = (".gz", ".gzip", ".zst", ".zstd")  # of a compressed document, behind its own extension
BEGINNING = 4096  # characters by which a document is known that has no telling name


def kind_of(name: str, text: str) -> str:
    """The kind of a document."""
    return by_name(name) or _by_content(text[:BEGINNING])


def by_name(name: str) -> str:
    bare = name.lower()
    for packed in PACKED:
        bare = bare.removesuffix(packed)
    _, dot, extension = bare.rpartition(".")
    return BY_EXTENSION.get(extension, "") if dot else ""


def _by_content(beginning: str) -> str:
    text = beginning.lstrip()
    if re.match(r"<!doctype\s+html|<html[\s>]", text, re.IGNORECASE):
        return "html"
    if text.startswith("<?xml") or re.match(r"<(?:urlset|sitemapindex|rss|feed)[\s>]", text):
        return "html" if re.search(r"<html[\s>]", text, re.IGNORECASE) else "xml"
    if text.startswith("{"):
        return "notebook" if re.search(r'"nbformat"|"cell_type"', text) else "json"
    if re.match(r"\[\s*[{\"\[]", text):
        return "json"
    return "markdown" if MARKDOWN_SIGNS.search(text) else "text"


def mentions(text: str, file: str, kind: str = "", fields: Collection[str] = ()) -> Iterator[Mention]:
    """The links of a document, each with its place."""
    kind = kind or kind_of(file, text)
    if kind not in EXTENSIONS:
        known = ", ".join(EXTENSIONS)
        raise SpanielError(Code.BAD_ARGS, field="kind of document", reason=f"'{kind}' is none of {known}")
    if fields and kind not in DATA:
        return
    module = import_module(f"spaniel.health.documents.{MODULES.get(kind, kind)}")
    found = module.links(text, fields) if kind in DATA else module.links(text)
    lines = Lines(text)
    for one in found:
        yield Mention(one.url, lines.place(one.start, file), one.start, one.end, one.syntax, one.base)
