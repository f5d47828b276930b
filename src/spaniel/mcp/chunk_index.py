"""The chunks of what was fetched here, by their ids. They are in the cache: an id lives as long as its page there."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request

SCHEME = "spaniel://chunk/"
MOST = 1_000  # pages, each in one size of chunks

Cut = tuple[str, int]  # a document, and how many chunks: one page cut to two sizes is two of these


class Stored(Protocol):
    """The page cache, as far as it is needed here."""

    async def stored(self, request: Request) -> Answer | None: ...


def uri_of(chunk: Chunk) -> str:
    return SCHEME + chunk.id


class IndexedChunk(NamedTuple):
    """One chunk, and the page that it came from."""

    chunk: Chunk
    number: int
    of: int
    url: str
    title: str | None

    @property
    def name(self) -> str:
        heading = f": {self.chunk.heading}" if self.chunk.heading else ""
        return f"{self.title or self.url} ({self.number}/{self.of}){heading}"


class ChunkIndex:
    """Knows by which request each page is found again; the oldest are forgotten."""

    def __init__(self, cache: Stored) -> None:
        self._cache = cache
        self._requests: OrderedDict[Cut, Request] = OrderedDict()

    def add(self, request: Request, answer: Answer) -> None:
        if not answer.chunks:
            return
        cut = answer.chunks[0].document, len(answer.chunks)
        self._requests[cut] = request._replace(no_cache=False)
        self._requests.move_to_end(cut)
        if len(self._requests) > MOST:
            self._requests.popitem(last=False)

    async def get(self, uri: str) -> IndexedChunk | None:
        document = uri.removeprefix(SCHEME).partition(":")[0]
        for cut in [cut for cut in self._requests if cut[0] == document]:
            for found in await self._chunks(cut):
                if uri_of(found.chunk) == uri:
                    return found
        return None

    async def page(self, first: int, count: int) -> list[IndexedChunk]:
        """So many of all chunks, pages in the order in which they came; only those whose page is still there."""
        found: list[IndexedChunk] = []
        for cut in self._listed():
            if first < cut[1] and count > 0:
                found += (await self._chunks(cut))[first : first + count]
                count -= min(count, cut[1] - first)
            first = max(0, first - cut[1])
        return found

    def __len__(self) -> int:
        return sum(length for _, length in self._listed())

    def _listed(self) -> Iterator[Cut]:
        """Of a page in two sizes the last: their ids may be the same."""
        last = dict(tuple(self._requests))
        return (cut for cut in tuple(self._requests) if last[cut[0]] == cut[1])

    async def _chunks(self, cut: Cut) -> list[IndexedChunk]:
        """The chunks of a page; none if it is gone from the cache, or has changed there."""
        request = self._requests.get(cut)
        answer = await self._cache.stored(request) if request else None
        if answer is None or not answer.chunks or (answer.chunks[0].document, len(answer.chunks)) != cut:
            return []
        return [
            IndexedChunk(chunk, number, cut[1], answer.final_url, answer.title)
            for number, chunk in enumerate(answer.chunks, 1)
        ]
