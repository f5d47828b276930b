"""Recognizes the kind of a file, URL list or document, by option, content, name and content type."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.sources.rows import URL_NAMES


class FileKind(StrEnum):
    """The values of `--kind`."""

    TEXT = "text"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    PARQUET = "parquet"
    SITEMAP = "sitemap"
    FEED = "feed"
    BOOKMARKS = "bookmarks"
    SITE = "site"
    # Documents: `spaniel check` extracts their links
    MARKDOWN = "markdown"
    MDX = "mdx"
    HTML = "html"
    RST = "rst"
    NOTEBOOK = "notebook"


class _Format(NamedTuple):
    """File name extensions and content types of a kind."""

    extensions: str = ""
    content_types: str = ""


KINDS = {
    FileKind.TEXT: _Format("txt text lst urls list"),
    FileKind.CSV: _Format("csv", "text/csv application/csv"),
    FileKind.TSV: _Format("tsv tab", "text/tab-separated-values"),
    FileKind.JSON: _Format("json geojson jsonld webmanifest", "application/json"),
    FileKind.JSONL: _Format(
        "jsonl ndjson", "application/x-ndjson application/jsonl application/jsonlines application/x-jsonlines"
    ),
    FileKind.YAML: _Format("yaml yml", "application/yaml application/x-yaml text/yaml"),
    FileKind.PARQUET: _Format("parquet pq", "application/vnd.apache.parquet"),
    FileKind.SITEMAP: _Format("xml", "application/xml text/xml"),
    FileKind.FEED: _Format("rss atom rdf", "application/rss+xml application/atom+xml application/rdf+xml"),
    FileKind.BOOKMARKS: _Format(),
    FileKind.SITE: _Format(),
    FileKind.MARKDOWN: _Format("md markdown mdown mdwn mkd mkdn mkdown qmd rmd", "text/markdown"),
    FileKind.MDX: _Format("mdx"),
    FileKind.HTML: _Format("html htm xhtml xht shtml", "text/html application/xhtml+xml"),
    FileKind.RST: _Format("rst rest"),
    FileKind.NOTEBOOK: _Format("ipynb"),
}
DOCUMENTS = frozenset({FileKind.MARKDOWN, FileKind.MDX, FileKind.HTML, FileKind.RST, FileKind.NOTEBOOK})
LISTS = tuple(kind for kind in FileKind if kind not in DOCUMENTS)
ALIASES = {"xml": FileKind.SITEMAP}
PACKED = (".gz", ".gzip", ".zst", ".zstd")
GZIP, ZSTANDARD = COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # the first bytes
HEAD = 4096  # bytes that are used to recognize a kind
# Binary formats by their first bytes. Other data with many control characters is binary, too.
BINARY = (
    (b"%PDF-", "a PDF"), (b"PK\x03\x04", "a ZIP archive or an office document"), (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "an image"), (b"\xff\xd8\xff", "an image"), (b"GIF8", "an image"),
    (b"SQLite format 3\0", "a database"),
    (b"\xfd7zXZ\0", "compressed by xz"), (b"7z\xbc\xaf\x27\x1c", "a 7z archive"), (b"\x7fELF", "a program"),
    (b"BZh91AY&SY", "compressed by bzip2"), (b"Rar!\x1a", "a RAR archive"), (b"\xd0\xcf\x11\xe0", "an office document"),
)  # fmt: skip
URL = re.compile(r"(?:https?://\S|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/:?#]|$))", re.IGNORECASE)

_BY_EXTENSION = {extension: kind for kind, row in KINDS.items() for extension in row.extensions.split()}
_BY_CONTENT_TYPE = {name: kind for kind, row in KINDS.items() for name in row.content_types.split()}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MAX_CONTROL = 0.05  # of the bytes (chosen): a few control characters are mistakes in a text
_ROOT = re.compile(
    rb"\s*(?:<\?[^>]*>\s*|<!--.*?-->\s*|<![^>]*>\s*)*<(?:\w+:)?(urlset|sitemapindex|rss|feed|RDF)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_BOOKMARKS = re.compile(rb"\s*<!doctype\s+netscape-bookmark", re.IGNORECASE)
_HINTS = {
    FileKind.HTML: "is a web page, not a list of URLs. To fetch the pages of a whole site, give its address: "
    "https://HOST/. To take the links of a page, add --kind bookmarks",
}


def kind_named(name: str | None, field: str = "--kind") -> FileKind | None:
    """Return the kind with this name; None for no name. Raises `bad_args` for an unknown one."""
    if not name:
        return None
    try:
        return ALIASES.get(name) or FileKind(name)
    except ValueError:
        reason = f"'{name}' is not a kind of source; the kinds are: {', '.join(LISTS)}"
        raise SpanielError(Code.BAD_ARGS, field=field, reason=reason) from None


def kind_by_name(name: str) -> FileKind | None:
    """Return the kind by the extension, after that of a compression.

    >>> kind_by_name("links.csv.gz")
    <FileKind.CSV: 'csv'>
    """
    stem, extension = os.path.splitext(name.lower())
    if extension in PACKED:
        extension = os.path.splitext(stem)[1]
    return _BY_EXTENSION.get(extension[1:])


def kind_by_content(head: bytes) -> FileKind | None:
    """Return the kind that the first bytes prove, regardless of the name. `head` is UTF-8."""
    if head.startswith(b"PAR1"):
        return FileKind.PARQUET
    if _BOOKMARKS.match(head):
        return FileKind.BOOKMARKS
    if _HTML.match(head):
        return FileKind.HTML
    if root := _ROOT.match(head):
        return FileKind.FEED if root[1].lower() in (b"rss", b"feed", b"rdf") else FileKind.SITEMAP
    return None


def binary_kind(head: bytes, *, by_name_only: bool = False) -> str:
    """Describe a file that is not text; "" for text. `head` is not decoded yet.

    >>> binary_kind(b"%PDF-1.7")
    'a PDF'
    """
    for magic, kind in BINARY:
        if head.startswith(magic):
            return kind
    if by_name_only or head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\0\0\xfe\xff")) or wide(head):
        return ""
    head = head[:HEAD]
    return "binary data" if len(_CONTROL.findall(head)) > max(3, _MAX_CONTROL * len(head)) else ""


def wide(head: bytes) -> str:
    """Return the encoding of UTF-16 without a byte order mark: every other byte of mostly ASCII text is 0."""
    even, odd = head[:64:2], head[1:64:2]
    if len(odd) > 3 and not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if len(odd) > 3 and not any(even) and all(odd) else ""


def list_kind(name: str, content_type: str, head: bytes, place: str = "") -> FileKind:
    """Return the kind of a URL list. `head` is UTF-8. Raises `bad_args` at `place` for documents and binary data."""
    recognized = kind_by_content(head)
    if recognized is FileKind.HTML:
        raise SpanielError(Code.BAD_ARGS, field=place or name, reason=_HINTS[FileKind.HTML])
    if recognized is not None:
        return recognized
    named = kind_by_name(name) or _BY_CONTENT_TYPE.get(content_type.partition(";")[0].strip().lower())
    if binary := binary_kind(head, by_name_only=named is not None):
        more = ". Save it as CSV" if head.startswith(b"PK") else ""
        raise SpanielError(Code.BAD_ARGS, field=place or name, reason=f"is {binary}, not a list of URLs{more}")
    if named in DOCUMENTS and named is not FileKind.HTML:
        reason = f"is a document ({named}), not a list of URLs; --kind text reads one URL per line"
        raise SpanielError(Code.BAD_ARGS, field=place or name, reason=reason)
    if named in (FileKind.JSON, FileKind.JSONL):
        return _json_kind(head, named)
    if named is FileKind.HTML:  # without HTML structure: a list of links, or text sent with a wrong type
        return FileKind.BOOKMARKS if b"<" in head else text_kind(head)
    return named or text_kind(head)


def _json_kind(head: bytes, named: FileKind | None) -> FileKind:
    """Distinguish JSON (one value or a list) from JSON lines (one value per line)."""
    text = head.lstrip()
    if text.startswith(b"["):
        return FileKind.JSON
    line, newline, rest = text.partition(b"\n")
    if named is FileKind.JSONL or not text.startswith(b"{"):
        return named or FileKind.JSONL
    if not line.rstrip().endswith(b"}") or (named and not rest.strip()):
        return FileKind.JSON if newline or named else FileKind.JSONL
    return FileKind.JSONL


def text_kind(head: bytes) -> FileKind:
    """Return the kind of text without a known name: a table if its first line is a header or has a URL after a cell."""
    text = head.lstrip()
    if text.startswith((b"<?xml", b"<!--")):
        return FileKind.SITEMAP
    if text.startswith(b"{") or re.match(rb"\[\s*[\[{\"\]]", text):
        return _json_kind(head, None)
    if re.match(rb'"https?://[^"\n]*"\s*(?:\n|$)', text):
        return FileKind.JSONL
    line = next((each for each in text.decode("utf-8", "replace").splitlines() if each.strip()), "")
    if line.lstrip().startswith("#"):
        return FileKind.TEXT
    for separator, kind in (("\t", FileKind.TSV), (",", FileKind.CSV), (";", FileKind.CSV)):
        cells = [cell.strip().strip('"') for cell in line.split(separator)]
        is_header = any(cell.lower() in URL_NAMES for cell in cells) and not any(map(URL.match, cells))
        is_row = len(cells) > 1 and any(map(URL.match, cells)) and (separator == "\t" or not URL.match(cells[0]))
        if is_header or is_row:
            return kind
    return FileKind.TEXT


def is_url_list(text: str) -> bool:
    """Whether text is a list with one URL per line rather than prose: the first line and most others are URLs.

    >>> is_url_list("https://a.example/\\nexample.com/x"), is_url_list("See https://a.example/ for more.")
    (True, False)
    """
    lines = [line.strip() for line in text[:HEAD].splitlines()[: None if len(text) <= HEAD else -1]]
    lines = [line for line in lines if line and not line.startswith("#")]
    urls = sum(1 for line in lines if URL.match(line) and not re.search(r"\s", line))
    return bool(lines) and URL.match(lines[0]) is not None and not re.search(r"\s", lines[0]) and 2 * urls > len(lines)
