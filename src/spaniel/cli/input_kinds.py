"""The content type of a file: by its ending, else by its first bytes."""

from __future__ import annotations

import os
import re

from spaniel.reading.kinds import BY_NAME, has_late_magic
from spaniel.sources.kinds import KINDS, FileKind

HTML, TEXT, MARKDOWN, JSON, XML = "text/html", "text/plain", "text/markdown", "application/json", "application/xml"
PDF = "application/pdf"
CONTENT_TYPES = {
    FileKind.HTML: HTML, FileKind.MARKDOWN: MARKDOWN, FileKind.TEXT: TEXT, FileKind.RST: TEXT, FileKind.JSON: JSON,
    FileKind.JSONL: JSON, FileKind.SITEMAP: XML, FileKind.CSV: "text/csv", FileKind.TSV: "text/tab-separated-values",
}  # fmt: skip
ENDINGS = {
    **{
        f".{one}": content_type
        for kind, content_type in CONTENT_TYPES.items()
        for one in KINDS[kind].extensions.split()
    },
    ".rss": "application/rss+xml",
    ".atom": "application/atom+xml",
    ".pdf": PDF,
}
MAGIC = (
    (b"%PDF-", PDF), (b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"\x1f\x8b", "application/gzip"), (b"PK\x03\x04", "application/zip"), (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ", "application/x-xz"), (b"\x28\xb5\x2f\xfd", "application/zstd"),
)  # fmt: skip
LOOKED_AT = 4096
TAGS = "html|head|body|title|meta|article|main|section|header|div|p|h[1-6]|ul|ol|li|table|tr|td|span|a|b|i|em|strong"
BEGINS = re.compile(
    rf"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|(?:{TAGS})\b)", re.IGNORECASE | re.DOTALL
)
ENDS = re.compile(rf"</(?:{TAGS})\s*>", re.IGNORECASE)


def content_type_of(name: str, body: bytes) -> str:
    """What it is by its magic number, its ending or its beginning: whoever cannot read that can say so by its name."""
    for magic, kind in MAGIC:
        if body.startswith(magic):
            return kind
    ending = os.path.splitext(name)[1].lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    if has_late_magic(BY_NAME["pdf"], body):
        return PDF
    return HTML if looks_like_html(body) else TEXT


def looks_like_html(body: bytes) -> bool:
    """Whether it begins with a tag or has ends of some; Markdown with a `<br>` in it is no page."""
    start = body[:LOOKED_AT]
    text = start.decode("utf-16", "replace") if start[:2] in (b"\xff\xfe", b"\xfe\xff") else start.decode("latin-1")
    text = text.removeprefix("\xef\xbb\xbf")
    return BEGINS.match(text) is not None or ENDS.search(text) is not None


def is_readable(name: str) -> bool:
    """Whether a file in a folder is one to read."""
    return os.path.splitext(name)[1].lower() in ENDINGS
