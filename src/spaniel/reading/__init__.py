"""The reading room: bytes, content type and URL in, `Document` out. Pure: nothing is fetched, nothing is executed."""

from __future__ import annotations

from spaniel.errors import Code, SpanielError
from spaniel.reading.document import Document, Hygiene, Metadata
from spaniel.reading.kinds import kind_of

__all__ = ["Document", "Hygiene", "Metadata", "extract", "read"]


def read(body: bytes, content_type: str | None, url: str | None) -> Document:
    """The pipeline's entry: choose a reader by content type, or refuse (FR-WF-10f to 10h)."""
    kind = kind_of(content_type, body)
    if kind.reader == "text":
        from spaniel.reading.plain import read_text

        return read_text(body, kind.charset)
    return _html(body, url, kind.charset)


def extract(html: bytes | str, url: str | None = None, content_type: str | None = None) -> Document:
    """Read a page that is at hand. Without a content type it is taken for HTML."""
    if not isinstance(html, (bytes, str)):
        raise SpanielError(Code.BAD_ARGS, field="html", reason=f"must be bytes or text, not {type(html).__name__}")
    if url is not None and not isinstance(url, str):
        raise SpanielError(Code.BAD_ARGS, field="url", reason=f"must be text, not {type(url).__name__}")
    if isinstance(html, bytes) and content_type is not None:
        return read(html, content_type, url)
    return _html(html, url, None)


def _html(body: bytes | str, url: str | None, charset: str | None) -> Document:
    from spaniel.reading.html import read_html

    try:
        return read_html(body, url, charset)
    except (RecursionError, MemoryError) as error:
        raise SpanielError(Code.EXTRACTION_FAILED, error=type(error).__name__) from error
