"""The store of chunks: bounded, whole pages, each chunk found by its id."""

from __future__ import annotations

from datetime import UTC, datetime

from spaniel.chunking import chunk
from spaniel.mcp.chunk_store import OVERHEAD, ChunkStore, size_of, uri_of
from spaniel.pipeline.answer import Answer
from tests.tool.harness import LONG


def answer(text: str, url: str = "https://a.example/", max_tokens: int = 600) -> Answer:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Answer(url, url, moment, "A page", None, text, chunk(text, max_tokens), "http", (), {})


def test_a_chunk_is_found_by_its_id_and_says_where_it_comes_from() -> None:
    store, page = ChunkStore(1 << 20), answer(LONG)
    store.put(page)
    for number, one in enumerate(page.chunks, 1):
        stored = store.get(uri_of(one))
        assert stored
        assert (stored.chunk, stored.number, stored.of, stored.url) == (one, number, 12, "https://a.example/")
    assert store.get("spaniel://chunk/none") is None
    assert [stored.chunk for stored in store.page(0, 100)] == page.chunks
    assert [stored.chunk for stored in store.page(10, 100)] == page.chunks[10:]


def test_the_same_page_twice_takes_its_room_once_and_two_sizes_stand_beside_each_other() -> None:
    store = ChunkStore(1 << 20)
    for _ in range(3):
        store.put(answer(LONG))
    assert len(store) == 12
    small = answer(LONG, max_tokens=200)
    store.put(small)
    assert all(store.get(uri_of(one)) for one in [*answer(LONG).chunks, *small.chunks])


def test_the_oldest_page_makes_room_and_what_was_fetched_again_stays() -> None:
    pages = [answer(LONG.replace("Part", f"Page {n}, part"), f"https://a.example/{n}") for n in range(4)]
    size = size_of(pages[0])
    store = ChunkStore(3 * size + 100)
    for page in pages[:3]:
        store.put(page)
    store.put(pages[0])
    store.put(pages[3])
    held = [bool(store.get(uri_of(page.chunks[0]))) for page in pages]
    assert held == [True, False, True, True]
    assert len(store) == 36


def test_a_title_takes_room_too() -> None:
    store = ChunkStore(100_000)
    store.put(answer("text")._replace(title="x" * 50_000))
    assert len(store) == 0


def test_a_shelf_is_never_over_its_bytes_whatever_comes() -> None:
    store = ChunkStore(100_000)
    for n in range(200):
        store.put(answer(f"{n} " + "word " * (n * 37 % 9000), f"https://a.example/{n}", 128))
        held = sum(OVERHEAD + len(stored.chunk.text.encode()) for stored in store.page(0, 10_000))
        assert held <= 100_000
    huge = answer("word " * 100_000)
    before = len(store)
    store.put(huge)
    store.put(answer(""))
    assert (len(store), store.get(uri_of(huge.chunks[0]))) == (before, None)
    assert ChunkStore(0).page(0, 10) == []
