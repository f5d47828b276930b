"""Recognizes the kind of a document by its name or content, and finds its links."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.documents.mentions import LineIndex, Mention
from spaniel.sources.kinds import DOCUMENTS, KINDS, FileKind, kind_by_content, kind_by_name, text_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator


class DocumentReader(NamedTuple):
    """The module of this package, and its functions, for a kind of documents. Only the module in use is imported."""

    module: str
    links: str
    anchors: str = ""  # "": such documents have none


READERS = {
    "markdown": DocumentReader("markdown", "markdown_links", "markdown_anchors"),
    "mdx": DocumentReader("markdown", "mdx_links", "mdx_anchors"),
    "notebook": DocumentReader("markdown", "notebook_links"),
    "html": DocumentReader("html", "html_links", "html_anchors"),
    "bookmarks": DocumentReader("html", "html_links"),
    "xml": DocumentReader("html", "xml_links"),
    "sitemap": DocumentReader("html", "xml_links"),
    "feed": DocumentReader("html", "xml_links"),
    "rst": DocumentReader("rst", "rst_links", "rst_anchors"),
    "text": DocumentReader("mentions", "text_links"),
    "json": DocumentReader("data", "json_links"),
    "jsonl": DocumentReader("data", "json_links"),
    "yaml": DocumentReader("data", "yaml_links"),
    "csv": DocumentReader("data", "csv_links"),
    "tsv": DocumentReader("data", "csv_links"),
}
EXTENSIONS = {str(kind): row.extensions for kind, row in KINDS.items() if kind in READERS}
EXTENSIONS["xml"] = f"{KINDS[FileKind.SITEMAP].extensions} {KINDS[FileKind.FEED].extensions}"  # with all their links
PROSE = frozenset({"markdown", "mdx", "html", "rst", "notebook", "text"})  # read in folders by default
DATA = frozenset({"json", "jsonl", "yaml", "csv", "tsv"})  # have fields
MARKDOWN_SIGNS = re.compile(r"\]\(|\]\[|^#{1,6} |^(?:```|~~~)|^ {0,3}\[[^\]\n]{1,200}\]:", re.MULTILINE)
HEAD = 4096  # characters that are used to recognize a kind


def kind_of(name: str, text: str) -> str:
    """Return the kind of a document: by its name, else by its first characters.

    >>> kind_of("README.md", "https://a.example/"), kind_of("-", '{"cells": [{"cell_type": "markdown"')
    (<FileKind.MARKDOWN: 'markdown'>, 'notebook')
    """
    named = kind_by_name(name)
    head = text[:HEAD]
    recognized = kind_by_content(head.encode("utf-8", "replace"))
    if named in DOCUMENTS:
        return recognized if named is FileKind.HTML and recognized is FileKind.BOOKMARKS else named
    return recognized or named or _kind_by_look(head)


def _kind_by_look(head: str) -> str:
    text = head.lstrip()
    if text.startswith("<?xml"):
        return "html" if re.search(r"<html[\s>]", text, re.IGNORECASE) else "sitemap"
    if text.startswith("{"):
        return "notebook" if re.search(r'"nbformat"|"cell_type"', text) else "json"
    if re.match(r"\[\s*[{\"\[]", text):
        return "json"
    return "markdown" if MARKDOWN_SIGNS.search(text) else text_kind(head.encode("utf-8", "replace"))


def mentions(text: str, file: str, kind: str = "", fields: Collection[str] = ()) -> Iterator[Mention]:
    """Yield the links of a document with their places; with `fields`, only those of these fields of data."""
    kind = kind or kind_of(file, text)
    if kind not in READERS:
        known = ", ".join(EXTENSIONS)
        raise SpanielError(Code.BAD_ARGS, field="kind of document", reason=f"'{kind}' is not one of {known}")
    if fields and kind not in DATA:
        return
    read_links = _function(kind, READERS[kind].links)
    links = read_links(text, fields) if kind in DATA else read_links(text)
    lines = LineIndex(text)
    for link in links:
        yield Mention(link.url, lines.place(link.start, file), link.start, link.end, link.syntax, link.base)


def anchors(text: str, kind: str) -> frozenset[str] | None:
    """Return the fragments that a document has; None for a kind without anchors."""
    name = READERS[kind].anchors if kind in READERS else ""
    return frozenset(_function(kind, name)(text)) if name else None


def _function(kind: str, name: str) -> Callable[..., Iterator[Any]]:
    function: Callable[..., Iterator[Any]] = getattr(
        import_module(f"spaniel.health.documents.{READERS[kind].module}"), name
    )
    return function
