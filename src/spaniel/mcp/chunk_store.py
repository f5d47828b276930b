"""The chunks of what was fetched, to be read again by their ids: whole pages, the oldest given up for room."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer

OVERHEAD = 1_000  # bytes that a chunk costs besides its text
SCHEME = "spaniel://chunk/"

Cut = tuple[str, int]  # a document, and how many chunks: one page cut to two sizes is two of these


def uri_of(chunk: Chunk) -> str:
    return SCHEME + chunk.id


def size_of(answer: Answer) -> int:
    """The bytes that a page takes in the store."""
    told = 4 * len(answer.title or "")  # bytes that a character may take
    return told + sum(OVERHEAD + len(chunk.text.encode()) + 4 * len(chunk.heading) for chunk in answer.chunks)


class StoredChunk(NamedTuple):
    """One chunk in the store, and the page that it came from."""

    chunk: Chunk
    number: int
    of: int
    url: str
    title: str | None

    @property
    def name(self) -> str:
        heading = f": {self.chunk.heading}" if self.chunk.heading else ""
        return f"{self.title or self.url} ({self.number}/{self.of}){heading}"


class _Page(NamedTuple):
    url: str
    title: str | None
    chunks: Sequence[Chunk]
    size: int


class ChunkStore:
    """Holds pages up to a number of bytes; one that is larger by itself is not held."""

    def __init__(self, max_bytes: int) -> None:
        self._room = max_bytes
        self._held = 0
        self._pages: OrderedDict[Cut, _Page] = OrderedDict()
        self._places: dict[str, list[tuple[Cut, int]]] = {}

    def put(self, answer: Answer) -> None:
        """Keep an answer's chunks; what was kept longest without being fetched again makes room."""
        if not answer.chunks:
            return
        cut = answer.chunks[0].document, len(answer.chunks)
        if cut in self._pages:
            self._pages.move_to_end(cut)
            return
        size = size_of(answer)
        if size > self._room:
            return
        while self._held + size > self._room:
            self._drop_oldest()
        self._pages[cut] = _Page(answer.final_url, answer.title, answer.chunks, size)
        self._held += size
        for index, chunk in enumerate(answer.chunks):
            self._places.setdefault(uri_of(chunk), []).append((cut, index))

    def get(self, uri: str) -> StoredChunk | None:
        places = self._places.get(uri)
        return self._stored(*places[-1]) if places else None

    def page(self, first: int, count: int) -> list[StoredChunk]:
        """So many of all chunks, pages in the order in which they came."""
        return list(islice(self._all(), first, first + count))

    def __len__(self) -> int:
        return len(self._places)

    def _all(self) -> Iterator[StoredChunk]:
        for places in self._places.values():
            yield self._stored(*places[-1])

    def _stored(self, cut: Cut, index: int) -> StoredChunk:
        page = self._pages[cut]
        return StoredChunk(page.chunks[index], index + 1, len(page.chunks), page.url, page.title)

    def _drop_oldest(self) -> None:
        cut, page = self._pages.popitem(last=False)
        self._held -= page.size
        for index, chunk in enumerate(page.chunks):
            uri = uri_of(chunk)
            self._places[uri].remove((cut, index))
            if not self._places[uri]:
                del self._places[uri]
