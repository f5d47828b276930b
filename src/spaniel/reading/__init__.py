"""The reading room: bytes, content type and URL in, `Document` out. Pure: nothing is fetched, nothing is executed."""

from __future__ import annotations

from spaniel.errors import Code, SpanielError
from spaniel.reading.document import Document, Hygiene, Metadata
from spaniel.reading.kinds import Kind, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.reading.extraction import extract

__all__ = ["Document", "Hygiene", "Metadata", "extract", "read"]


def read(body: bytes, content_type: str | None, url: str | None) -> Document:
    """The pipeline's entry: choose a reader by content type, or refuse (FR-WF-10f to 10h)."""
    return read_as(kind_of(content_type, body), body, url)


def read_as(kind: Kind, body: bytes | str, url: str | None) -> Document:
    """Readers load when they are needed."""
    try:
        if kind.reader == "text" and isinstance(body, bytes):
            from spaniel.reading.plain import read_text

            return read_text(body, kind.charset)
        from spaniel.reading.html import read_html

        return read_html(body, url, kind.charset)
    except (RecursionError, MemoryError) as error:
        raise SpanielError(Code.EXTRACTION_FAILED, error=type(error).__name__) from error


def __getattr__(name: str) -> object:
    """`extract` comes with the HTML reader: whoever asks for it is going to read a page."""
    if name != "extract":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spaniel.reading.extraction import extract

    return extract
