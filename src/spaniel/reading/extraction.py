"""Reads a page that is already in memory."""

from __future__ import annotations

from spaniel.errors import Code, SpanielError
from spaniel.reading import read, read_as
from spaniel.reading.kinds import DetectedKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.reading.document import Document


def extract(html: bytes | str, url: str | None = None, content_type: str | None = None) -> Document:
    """Read a page that you have, as bytes or text.

    `url` is where it came from: its links become absolute. Without a `content_type` it is taken for HTML, whatever it
    is. With one, it is read as what it is (JSON, Markdown, CSV …), and what cannot be read, a picture for example, is
    refused with `unsupported_content_type`.
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
