"""What is known of a page, before it is cut to anybody's measure: also what the cache stores of it (D2-02, D2-24)."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import msgspec

from spaniel.chunking import Boundaries, Chunk, boundaries, chunk, rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger("spaniel.cache")


class StoredPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole document once, and its chunks at the default size as offsets, so that the usual hit counts nothing."""

    final_url: str
    markdown: str
    chunk_tokens: int
    chunks: Boundaries
    title: str | None = None
    language: str | None = None
    notes: list[str] = []
    metadata: dict[str, Any] = {}
    content_type: str = ""
    status: int = 200
    chain: list[str] = []  # the URLs before the final one
    content_hash: str = ""  # SHA-256 of the decoded body
    content_length: int = 0  # bytes of the decoded body
    markdown_hash: str = ""  # SHA-256 of the Markdown: a changed advert is no changed page
    reader: str = "html"  # the kind of content that it was read as
    served_by: str = "http"  # the rung that brought it
    page_type: str = ""  # what the page is instead of the one that was asked for: paywall, login, …
    region: str = ""  # of a page that is not given out here
    wall: dict[str, str] = {}  # the sign of a paywall or a login, and where it was found
    freshness: str = ""  # the class by which it is fresh
    signals: dict[str, Any] = {}  # what the site says about its use
    archive_url: str = ""  # the snapshot that it was taken from
    archive_date: str = ""
    data: str | None = None  # of structured content: the whole of it as JSON text
    pages: list[int] = []  # where in the Markdown each page begins, of a document that has pages (FG-24)

    @property
    def headline(self) -> str | None:
        """The title for readers: the page's own headline where it names one, else its `<title>`."""
        return self.metadata.get("title") or self.title

    def cut(self, max_tokens: int) -> list[Chunk]:
        """Chunks of a size: read off where it is the stored one, else counted anew, and equal either way."""
        if max_tokens == self.chunk_tokens:
            with suppress(LookupError, ValueError):  # offsets that lead nowhere are no offsets
                return rebuild(self.markdown, self.chunks)
        return chunk(self.markdown, max_tokens, pages=self.pages)

    def noted(self, *notes: str | None) -> StoredPage:
        more = [note for note in notes if note is not None]
        return msgspec.structs.replace(self, notes=[*self.notes, *more]) if more else self

    def __repr__(self) -> str:
        return f"StoredPage({self.final_url[:60]!r}, {len(self.markdown)} characters)"


_decoder = msgspec.json.Decoder(StoredPage)


def from_cache(content: msgspec.Raw) -> StoredPage | None:
    """What an entry holds; None where it is not ours to read (another version's, or damaged): a miss (D2-22)."""
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError as error:
        log.warning("cache_read_failed: %s", error)
        return None


def bounds(markdown: str, max_tokens: int, pages: Sequence[int] = ()) -> Boundaries:
    """Where chunks of a size begin and end. Nobody asks for those of 0 tokens, and it takes a tenth of a fetch."""
    return boundaries(chunk(markdown, max_tokens, pages=pages) if max_tokens else ())
