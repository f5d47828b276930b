"""Reads a document that is already available: in this process, or in its own if the parser may crash."""

from __future__ import annotations

from spaniel.pipeline.outcome import logged
from spaniel.reading import extract as extract_here
from spaniel.reading import read_as
from spaniel.reading.kinds import kind_of, needs_own_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.reading import Document


def extract(html: bytes | str, url: str | None = None, content_type: str | None = None) -> Document:
    """Read an HTML page that you have, as bytes or text; with a `content_type`, other formats too.

    `url` is where it came from: its links become absolute. Without a `content_type` it is read as HTML, whatever it
    is. With one, what cannot be read (an image) is refused with `unsupported_content_type`. A PDF is read in a process
    of its own, with limits, because a hostile one may crash the parser.
    """
    if isinstance(html, bytes) and isinstance(content_type, str) and (url is None or isinstance(url, str)):
        return read_here(html, content_type, url)
    return logged(extract_here(html, url, content_type), url)


def read_here(body: bytes, content_type: str | None, url: str | None) -> Document:
    """Like `reading.read`, without an event loop."""
    kind = kind_of(content_type, body)
    if not needs_own_process(kind):
        return logged(read_as(kind, body, url), url)
    from spaniel.pipeline.readers import blocking_readers

    return blocking_readers().read(body, kind, url)
