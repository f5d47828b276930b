"""Chunks of fetched pages by id. They are read from the cache: an id is valid as long as its page is cached."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request

SCHEME = "spaniel://chunk/"
MAX_PAGES = 1_000  # each in one chunk size; far more than a session lists

Cut = tuple[str, int]  # a document's id and its number of chunks: a page cut to two sizes has two


def uri_of(chunk: Chunk) -> str:
    return SCHEME + chunk.id


class IndexedChunk(NamedTuple):
    """A chunk and its page."""

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
    """Maps each page to the request that finds it in the cache; the oldest are dropped."""

    def __init__(self, stored: Callable[[Request], Awaitable[Answer | None]]) -> None:
        """`stored` returns what the cache has for a request."""
        self._stored = stored
        self._requests: OrderedDict[Cut, Request] = OrderedDict()

    def add(self, request: Request, answer: Answer) -> None:
        if not answer.chunks:
            return
        cut = answer.chunks[0].document, len(answer.chunks)
        self._requests[cut] = request._replace(no_cache=False)
        self._requests.move_to_end(cut)
        if len(self._requests) > MAX_PAGES:
            self._requests.popitem(last=False)

    async def get(self, uri: str) -> IndexedChunk | None:
        document = uri.removeprefix(SCHEME).partition(":")[0]
        for cut in [cut for cut in self._requests if cut[0] == document]:
            for found in await self._chunks(cut):
                if uri_of(found.chunk) == uri:
                    return found
        return None

    async def page(self, first: int, count: int) -> list[IndexedChunk]:
        """`count` chunks from number `first` on, in order of fetching; pages that left the cache are skipped."""
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
        """Only the last size of each page: two sizes may share chunk ids."""
        last = dict(tuple(self._requests))
        return (cut for cut in tuple(self._requests) if last[cut[0]] == cut[1])

    async def _chunks(self, cut: Cut) -> list[IndexedChunk]:
        """The chunks of a page; none if it is no longer cached, or has changed."""
        request = self._requests.get(cut)
        answer = await self._stored(request) if request else None
        if answer is None or not answer.chunks or (answer.chunks[0].document, len(answer.chunks)) != cut:
            return []
        return [
            IndexedChunk(chunk, number, cut[1], answer.final_url, answer.title)
            for number, chunk in enumerate(answer.chunks, 1)
        ]
