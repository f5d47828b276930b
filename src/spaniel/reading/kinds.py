"""Content types: which reader reads what, and what bytes without a type are (FR-WF-10f to 10h, D2-18)."""

from __future__ import annotations

from typing import NamedTuple

from spaniel.errors import Code, SpanielError

READERS = {"text/html": "html", "application/xhtml+xml": "html", "text/plain": "text"}
SNIFFED = 512
MAGIC = (
    b"%PDF-", b"\x7fELF", b"MZ", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!",
    b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"OggS", b"ID3", b"fLaC", b"\x00\x00\x01\x00", b"wOFF", b"wOF2",
    b"\xca\xfe\xba\xbe", b"\xd0\xcf\x11\xe0", b"{\\rtf", b"SQLite format 3", b"\x28\xb5\x2f\xfd", b"%!PS",
)  # fmt: skip


class Kind(NamedTuple):
    reader: str
    charset: str | None


def kind_of(content_type: str | None, body: bytes) -> Kind:
    """The reader for these bytes, or `unsupported_content_type`. What the header calls text must look like text."""
    essence, charset = parse_type(content_type)
    if not essence:
        return Kind(_sniff(body), charset)
    reader = READERS.get(essence)
    if reader is None or is_binary(body):
        raise SpanielError(
            Code.UNSUPPORTED_CONTENT_TYPE, content_type=essence if reader is None else f"{essence} (binary data)"
        )
    return Kind(reader, charset)


def parse_type(content_type: str | None) -> tuple[str, str | None]:
    """`Text/HTML; charset="utf-8"` -> text/html, utf-8."""
    essence, *parameters = (content_type or "").split(";")
    charset = None
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if charset is None and name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").strip() or None
    return essence.strip().lower(), charset


def _sniff(body: bytes) -> str:
    if is_binary(body):
        raise SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type="none (binary data)")
    start = _text_start(body)
    if start.startswith((b"<?xml", b"<svg")) and b"<html" not in start:
        raise SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type="none (XML)")
    return "html" if start.startswith((b"<!doctype html", b"<html", b"<?xml")) or _looks_like_html(start) else "text"


def _looks_like_html(start: bytes) -> bool:
    """FR-WF-10h names `<!DOCTYPE` and `<html`; comments and white space may stand before them."""
    while start.startswith(b"<!--"):
        start = start.partition(b"-->")[2].lstrip()
    return start.startswith((b"<!doctype", b"<html"))


def _text_start(body: bytes) -> bytes:
    head = body[:SNIFFED]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.replace(b"\0", b"")[2:].lstrip().lower()
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()


def is_binary(body: bytes) -> bool:
    """Magic numbers at the beginning, or a NUL where no UTF-16 mark explains it."""
    head = body[:SNIFFED]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return head.lstrip().startswith(MAGIC) or b"\0" in head
