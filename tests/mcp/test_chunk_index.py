"""The index of chunks: each is found by its id, as long as its page is in the cache and has not changed there."""

from __future__ import annotations

from datetime import UTC, datetime

from spaniel.chunking import chunk
from spaniel.mcp.server import MAX_PAGES, ChunkIndex, uri_of
from spaniel.pipeline.answer import Answer
from spaniel.pipeline.request import Request
from tests.tool.harness import LONG


class Cache:
    """Pages by their URLs, cut as a request wants them."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}

    async def stored(self, request: Request) -> Answer | None:
        text = self.pages.get(request.url)
        return None if text is None else answer(text, request.url, request.max_chunk_tokens or 600)


def answer(text: str, url: str, max_tokens: int = 600) -> Answer:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Answer(url, url, moment, "A page", None, text, chunk(text, max_tokens), "http", (), {})


async def add(index: ChunkIndex, cache: Cache, text: str, url: str, tokens: int | None = None) -> Answer:
    cache.pages[url] = text
    request = Request(url, tokens, no_cache=True)
    found = await cache.stored(request)
    assert found
    index.add(request, found)
    return found


async def test_a_chunk_is_found_by_its_id_and_says_where_it_comes_from() -> None:
    index = ChunkIndex((cache := Cache()).stored)
    page = await add(index, cache, LONG, "https://a.example/")
    for number, one in enumerate(page.chunks, 1):
        found = await index.get(uri_of(one))
        assert found
        assert (found.chunk, found.number, found.of, found.url) == (one, number, 12, "https://a.example/")
    for unknown in ("spaniel://chunk/none", "spaniel://chunk/", "", f"{uri_of(page.chunks[0])}0"):
        assert await index.get(unknown) is None


async def test_an_id_lives_as_long_as_the_page_in_the_cache() -> None:
    index = ChunkIndex((cache := Cache()).stored)
    page = await add(index, cache, LONG, "https://a.example/")
    for _ in range(100):  # what else is fetched does not drive it out
        await add(index, cache, LONG.replace("Part", f"Page {_}"), f"https://a.example/{_}")
    uri = uri_of(page.chunks[3])
    assert await index.get(uri)
    cache.pages["https://a.example/"] = LONG.replace("otter", "badger")
    assert await index.get(uri) is None
    del cache.pages["https://a.example/"]
    assert await index.get(uri) is None
    assert len(await index.page(0, 10_000)) == 100 * 12


async def test_page_in_two_sizes_is_listed_once() -> None:
    index = ChunkIndex((cache := Cache()).stored)
    for _ in range(3):
        large = await add(index, cache, LONG, "https://a.example/")
    assert len(index) == 12
    small = await add(index, cache, LONG, "https://a.example/", 200)
    assert len(index) == len(small.chunks)
    assert [found.chunk for found in await index.page(0, 1000)] == small.chunks
    for one in [*large.chunks, *small.chunks]:
        assert await index.get(uri_of(one))


async def test_the_list_can_be_taken_piece_by_piece() -> None:
    index = ChunkIndex((cache := Cache()).stored)
    texts = [LONG.replace("Part", f"Page {n}, part") for n in range(5)]
    pages = [await add(index, cache, text, f"https://a.example/{n}") for n, text in enumerate(texts)]
    every = [one for page in pages for one in page.chunks]
    for size in (1, 7, 12, 13, 100):
        pieces = [await index.page(first, size) for first in range(0, len(index), size)]
        assert [found.chunk for piece in pieces for found in piece] == every
        assert max(map(len, pieces)) <= size
    assert await index.page(len(every), 10) == []


async def test_it_does_not_grow_without_end() -> None:
    index = ChunkIndex((cache := Cache()).stored)
    pages = [await add(index, cache, f"page {n}", f"https://a.example/{n}") for n in range(MAX_PAGES + 10)]
    await add(index, cache, "", "https://a.example/empty")
    assert len(index) == MAX_PAGES
    assert await index.get(uri_of(pages[0].chunks[0])) is None
    assert await index.get(uri_of(pages[-1].chunks[0]))
