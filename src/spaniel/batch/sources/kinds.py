"""What a source is: by what somebody says, by its name, by its content type, by its first bytes."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from spaniel.batch.sources.csv_rows import read_csv, read_tsv
from spaniel.batch.sources.jsonl import read_jsonl
from spaniel.batch.sources.plain_text import read_text
from spaniel.batch.sources.xml_scan import read_xml
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from spaniel.batch.sources.rows import Reader


class Kind(StrEnum):
    """What `--from` takes."""

    TEXT = "text"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    SITEMAP = "sitemap"
    FEED = "feed"
    SITE = "site"


READERS: dict[Kind, Reader] = {  # Parquet is read from a file, a site by its sitemaps
    Kind.TEXT: read_text,
    Kind.CSV: read_csv,
    Kind.TSV: read_tsv,
    Kind.JSONL: read_jsonl,
    Kind.SITEMAP: read_xml,
    Kind.FEED: read_xml,
}
_ENDINGS = {
    ".txt": Kind.TEXT, ".text": Kind.TEXT, ".lst": Kind.TEXT, ".urls": Kind.TEXT, ".csv": Kind.CSV, ".tsv": Kind.TSV,
    ".tab": Kind.TSV, ".jsonl": Kind.JSONL, ".ndjson": Kind.JSONL, ".parquet": Kind.PARQUET, ".pq": Kind.PARQUET,
    ".json": Kind.JSONL, ".xml": Kind.SITEMAP, ".rss": Kind.FEED, ".atom": Kind.FEED, ".rdf": Kind.FEED,
}  # fmt: skip
_TYPES = {
    "text/csv": Kind.CSV, "application/csv": Kind.CSV, "text/tab-separated-values": Kind.TSV,
    "application/x-ndjson": Kind.JSONL, "application/jsonl": Kind.JSONL, "application/jsonlines": Kind.JSONL,
    "application/x-jsonlines": Kind.JSONL, "application/json": Kind.JSONL,
    "application/vnd.apache.parquet": Kind.PARQUET,
    "application/xml": Kind.SITEMAP, "text/xml": Kind.SITEMAP, "application/rss+xml": Kind.FEED,
    "application/atom+xml": Kind.FEED, "application/rdf+xml": Kind.FEED,
}  # fmt: skip
_PACKED = (".gz", ".gzip", ".zst", ".zstd")
_XML = re.compile(rb"\s*(?:<\?xml|<!--|<(?:\w+:)?(?:urlset|sitemapindex|rss|feed|RDF)\b)", re.IGNORECASE)
_NO_LISTS = (
    (re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE),
     "is a web page, not a list of URLs. To fetch the pages of a whole site, give its address: https://HOST/"),
    (re.compile(rb"PK\x03\x04"), "is a workbook or an archive, not a list of URLs. Save it as CSV"),
    (re.compile(rb"%PDF-"), "is a PDF, not a list of URLs"),
    (re.compile(rb"\s*\[\s*[\[{\"]"), "is one JSON list. Write its items one a line: jq -c '.[]' FILE"),
)  # fmt: skip


def kind_named(name: str | None) -> Kind | None:
    """The kind that somebody says, `bad_args` where there is none of that name."""
    if name is None:
        return None
    try:
        return Kind(name)
    except ValueError:
        reason = f"'{name}' is no kind of source; there are: {', '.join(Kind)}"
        raise SpanielError(Code.BAD_ARGS, field="--from", reason=reason) from None


def kind_by_name(name: str) -> Kind | None:
    """By the ending, that of compression aside."""
    stem, ending = os.path.splitext(name.lower())
    if ending in _PACKED:
        ending = os.path.splitext(stem)[1]
    return _ENDINGS.get(ending)


def kind_of(name: str, content_type: str, head: bytes, place: str = "") -> Kind:
    """`head` is text in UTF-8, or what Parquet begins with. What is no list is `bad_args`, at `place`."""
    if head.startswith(b"PAR1"):
        return Kind.PARQUET
    told = kind_by_name(name) or _TYPES.get(content_type.partition(";")[0].strip().lower())
    for other, reason in _NO_LISTS:
        if told in (None, Kind.JSONL) and other.match(head):
            raise SpanielError(Code.BAD_ARGS, field=place or name, reason=reason)
    if told:
        return told
    if _XML.match(head):
        return Kind.SITEMAP
    return Kind.JSONL if head.lstrip().startswith(b"{") else Kind.TEXT
