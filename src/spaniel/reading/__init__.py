"""Converts bytes, content type and URL to a `Document`. Nothing is fetched or executed."""

from __future__ import annotations

from importlib import import_module

from spaniel.errors import Code, SpanielError
from spaniel.reading.document import CHARSET_GUESSED, READING_CUT, Document, Hygiene, Metadata
from spaniel.reading.kinds import BY_NAME, DetectedKind, kind_of, within_cap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.reading.parts import PageParts

__all__ = ["Document", "Hygiene", "Metadata", "extract", "read"]

NOTED_BY_READER = ("html", "pdf")  # readers that set the note themselves, or have no charset


def read(
    body: bytes, content_type: str | None, url: str | None, kinds: Iterable[str] | None = None, *, walls: bool = False
) -> Document:
    """Read a body: choose a reader among `kinds` by content type and bytes, or refuse it (FR-WF-10f to 10h).

    With `walls`, `Document.wall_words` says whether an HTML page has the words of a paywall.
    """
    return read_as(kind_of(content_type, body, kinds), body, url, walls=walls)


def read_as(
    kind: DetectedKind, body: bytes | str, url: str | None, *, walls: bool = False, parts: PageParts | None = None
) -> Document:
    """Load a reader on first use and run it. `parts`: which parts of an HTML page are read."""
    row = BY_NAME[kind.reader]
    part, cut = within_cap(row, body)
    module, _, name = row.reader.partition(":")
    try:
        options: dict[str, object] = {"walls": walls, "parts": parts} if row.name == "html" else {}
        document: Document = getattr(import_module(module), name)(part, url, kind.charset, **options)
    except SpanielError:
        raise
    except Exception as error:  # a parser error must not reach the caller (D2-41)
        raise SpanielError(Code.EXTRACTION_FAILED, error=type(error).__name__) from error
    if row.name not in NOTED_BY_READER and isinstance(part, bytes) and not part.isascii():
        from spaniel.reading.text.charset import guess_charset

        document = document.noted(CHARSET_GUESSED) if guess_charset(part, kind.charset) else document
    return document.noted(READING_CUT) if cut else document


def extract(html: bytes | str, url: str | None = None, content_type: str | None = None) -> Document:
    """Read a page that you have, as bytes or text.

    `url` is where it came from: its links become absolute. Without a `content_type` it is read as HTML. With
    one, it is read as what it is (JSON, Markdown, CSV …), and what cannot be read, an image for example, is refused
    with `unsupported_content_type`.
    """
    if not isinstance(html, (bytes, str)):
        raise SpanielError(Code.BAD_ARGS, field="html", reason=f"must be bytes or text, not {type(html).__name__}")
    if url is not None and not isinstance(url, str):
        raise SpanielError(Code.BAD_ARGS, field="url", reason=f"must be text, not {type(url).__name__}")
    if content_type is not None and not isinstance(content_type, str):
        raise SpanielError(
            Code.BAD_ARGS, field="content_type", reason=f"must be text, not {type(content_type).__name__}"
        )
    if isinstance(html, bytes) and content_type is not None:
        return read(html, content_type, url)
    return read_as(DetectedKind("html", None), html, url)
