"""Which reader a document gets: by its name, or by how it begins."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.health.documents.mentions import Lines, Mention
from spaniel.sources.kinds import DOCUMENTS, KINDS, FileKind, kind_by_content, kind_by_name, text_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from spaniel.health.documents.mentions import Found

    Reader = Callable[[str], Iterator[Found]]

EXTENSIONS = {str(kind): row.extensions for kind, row in KINDS.items() if kind not in (FileKind.SITE, FileKind.PARQUET)}
EXTENSIONS["xml"] = f"{KINDS[FileKind.SITEMAP].extensions} {KINDS[FileKind.FEED].extensions}"  # with all their links
PROSE = frozenset({"markdown", "mdx", "html", "rst", "notebook", "text"})  # read in folders without being asked for
DATA = frozenset({"json", "jsonl", "yaml", "csv", "tsv"})  # have fields
MARKDOWN_SIGNS = re.compile(r"\]\(|\]\[|^#{1,6} |^(?:```|~~~)|^ {0,3}\[[^\]\n]{1,200}\]:", re.MULTILINE)
BEGINNING = 4096  # characters by which a document is recognized that has no known extension


def kind_of(name: str, text: str) -> str:
    """The kind of a document: by its name, by what its beginning proves, else by how that looks."""
    named = kind_by_name(name)
    beginning = text[:BEGINNING]
    recognized = kind_by_content(beginning.encode("utf-8", "replace"))
    if named in DOCUMENTS:
        return recognized if named is FileKind.HTML and recognized is FileKind.BOOKMARKS else named
    return recognized or named or _by_content(beginning)


def by_name(name: str) -> str:
    return kind_by_name(name) or ""


def _by_content(beginning: str) -> str:
    text = beginning.lstrip()
    if text.startswith("<?xml"):
        return "html" if re.search(r"<html[\s>]", text, re.IGNORECASE) else "sitemap"
    if text.startswith("{"):
        return "notebook" if re.search(r'"nbformat"|"cell_type"', text) else "json"
    if re.match(r"\[\s*[{\"\[]", text):
        return "json"
    return "markdown" if MARKDOWN_SIGNS.search(text) else text_kind(beginning.encode("utf-8", "replace"))


def mentions(text: str, file: str, kind: str = "", fields: Collection[str] = ()) -> Iterator[Mention]:
    """The links of a document, each with its place."""
    kind = kind or kind_of(file, text)
    if kind not in EXTENSIONS:
        known = ", ".join(EXTENSIONS)
        raise SpanielError(Code.BAD_ARGS, field="kind of document", reason=f"'{kind}' is none of {known}")
    if fields and kind not in DATA:
        return
    found = _reader(kind, fields)(text)
    lines = Lines(text)
    for one in found:
        yield Mention(one.url, lines.place(one.start, file), one.start, one.end, one.syntax, one.base)


def _reader(kind: str, fields: Collection[str]) -> Reader:
    """The function that finds the links of such a document. Only its module is imported."""
    if kind in DATA:
        from spaniel.health.documents import data

        by_kind = {"yaml": data.yaml_links, "json": data.json_links, "jsonl": data.json_links}
        return partial(by_kind.get(kind, data.csv_links), fields=fields)
    if kind in ("html", "bookmarks", "xml", "sitemap", "feed"):
        from spaniel.health.documents import html

        return html.links if kind in ("html", "bookmarks") else html.xml_links
    if kind in ("markdown", "mdx"):
        from spaniel.health.documents import markdown

        return markdown.links if kind == "markdown" else markdown.mdx_links
    module = import_module(f"spaniel.health.documents.{'mentions' if kind == 'text' else kind}")
    reader: Reader = module.links
    return reader
