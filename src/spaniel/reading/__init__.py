"""Converts bytes, content type and URL to a `Document`. Nothing is fetched or executed."""

from __future__ import annotations

from importlib import import_module

from spaniel.errors import Code, SpanielError
from spaniel.reading.document import CHARSET_GUESSED, READING_CUT, Document, Hygiene, Metadata
from spaniel.reading.kinds import BY_NAME, DetectedKind, kind_of, within_cap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.reading.extraction import extract
    from spaniel.reading.parts import PageParts

__all__ = ["Document", "Hygiene", "Metadata", "extract", "read"]

NOTED_BY_READER = ("html", "pdf")  # readers that set the note themselves, or have no charset


def read(
    body: bytes,
    content_type: str | None,
    url: str | None,
    kinds: Iterable[str] | None = None,
    *,
    walls: bool = False,
    parts: PageParts | None = None,
) -> Document:
    """Read a body: choose a reader among `kinds` by content type and bytes, or refuse it (FR-WF-10f to 10h).

    `parts`: which parts of an HTML page are read.
    With `walls`, `Document.wall_words` says whether an HTML page has the words of a paywall.
    """
    return read_as(kind_of(content_type, body, kinds), body, url, walls=walls, parts=parts)


def read_as(
    kind: DetectedKind, body: bytes | str, url: str | None, *, walls: bool = False, parts: PageParts | None = None
) -> Document:
    """Load a reader on first use and run it."""
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


def __getattr__(name: str) -> object:
    """Import `extract` on first use: it loads the HTML reader."""
    if name != "extract":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spaniel.reading.extraction import extract

    return extract
