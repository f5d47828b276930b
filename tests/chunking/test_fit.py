"""Fitting: the JSON is never over its budget and reports what was truncated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import overload

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.chunking import Chunk, chunk, fit, serialize
from spaniel.chunking.tokens import cl100k
from spaniel.errors import Code, SpanielError

ANSWER: dict[str, object] = {
    "requested_url": "https://example.com/ä", "final_url": "https://example.com/", "fetched_at": "2026-11-15T00:00:00Z",
    "title": '"A" title', "chunks": [], "rendering_method": "http", "truncated": False, "note": "cache_hit",
}  # fmt: skip
CUT: dict[str, object] = {**ANSWER, "truncated": True, "truncation_reason": "tool_output_limit"}
LEAST = len(serialize({**CUT, "more": {"next_chunk": 1, "total_chunks": 1}}).encode())

signs = st.sampled_from(["word ", '"quoted"\n', "\\", "é漢👩‍👧", "\0\x1f\x7f", "\u2028", "\t", "antidisestablish"])
texts = st.lists(signs).map("".join)


def size(value: object) -> int:
    return len(serialize(value).encode())


def chunk_with(text: str, heading: str = "") -> Chunk:
    return Chunk(heading, text, cl100k().count(text), (heading,), 0, len(text), "")


@pytest.mark.req("FR-WF-03a", "FR-WF-15e", "T-WF-CHK-05", "D2-23")
@given(st.lists(st.builds(chunk_with, texts, texts), max_size=6), st.integers(0, 900))
def test_answer_fills_its_budget_exactly(chunks: list[Chunk], spare: int) -> None:
    budget = LEAST + spare
    fitted = fit(ANSWER, chunks, budget)
    whole = {**ANSWER, "chunks": [piece.answer() for piece in chunks]}
    shown = fitted["chunks"]
    assert isinstance(shown, list)
    assert size(fitted) <= budget
    assert json.loads(serialize(fitted)) == fitted
    if size(whole) <= budget:
        assert fitted == whole
        return
    assert fitted["truncated"] is True
    assert fitted["truncation_reason"] == "tool_output_limit"
    assert all(piece["token_count"] == cl100k().count(piece["text"]) for piece in shown)
    more: dict[str, int] = {"next_chunk": len(shown) + 1, "total_chunks": len(chunks)}
    if shown == [piece.answer() for piece in chunks[: len(shown)]]:
        following = [*shown, chunks[len(shown)].answer()] if shown else None
        assert following is None or size({**fitted, "chunks": following}) > budget
    else:
        (only,) = shown
        assert chunks[0].text.startswith(only["text"])
        assert 0 < only["token_count"] <= chunks[0].token_count
        more = {"next_chunk": 1, "total_chunks": len(chunks), "next_offset": len(only["text"])}
    assert fitted["more"] == more


@pytest.mark.req("FR-WF-03a", "FR-WF-15e")
def test_trailing_chunks_are_dropped_first() -> None:
    chunks = chunk("\n\n".join(f"{'word ' * 120}{n}" for n in range(6)), 128)
    three = [piece.answer() for piece in chunks[:3]]
    room = size({**CUT, "chunks": three, "more": {"next_chunk": 4, "total_chunks": len(chunks)}})
    assert fit(ANSWER, chunks, room)["chunks"] == three
    assert fit(ANSWER, chunks, room)["more"] == {"next_chunk": 4, "total_chunks": len(chunks)}
    assert fit(ANSWER, chunks, room - 1)["chunks"] == three[:2]
    assert fit(ANSWER, chunks, room - 1)["more"] == {"next_chunk": 3, "total_chunks": len(chunks)}


@pytest.mark.req("FR-WF-03a", "D2-23")
@pytest.mark.parametrize("letter", ["a", "é", "漢", "👩", '"', "\\", "\n", "\0"])
def test_last_chunk_is_cut_to_the_byte(letter: str) -> None:
    width = len(serialize(letter).encode()) - 2
    piece = chunk_with("x" + letter * 400)
    for budget in range(LEAST + 120, LEAST + 120 + 2 * width):
        fitted = fit(ANSWER, [piece], budget)
        only = fitted["chunks"][0]  # type: ignore[index]
        assert only["text"] == piece.text[: len(only["text"])]
        assert budget - width - 5 <= size(fitted) <= budget  # the count and the offset may have lost digits
        assert only["token_count"] == cl100k().count(only["text"])


@pytest.mark.req("D2-23", "FR-WF-15d")
def test_cut_chunk_has_no_more_tokens() -> None:
    piece = chunk_with("=" * 256)
    assert piece.token_count < cl100k().count("=" * 230)
    for budget in range(LEAST + 230, LEAST + 330):
        only = fit(ANSWER, [piece, piece], budget)["chunks"][0]  # type: ignore[index]
        assert only["token_count"] == cl100k().count(only["text"]) <= piece.token_count


@pytest.mark.req("FR-WF-03a")
def test_chunk_without_room_is_omitted() -> None:
    fitted = fit(ANSWER, [chunk_with("text", heading="h" * 1000)], LEAST + 100)
    assert fitted["chunks"] == []
    assert fitted["truncated"] is True


@pytest.mark.req("D2-23")
@pytest.mark.parametrize("chunks", [[], [chunk_with("text " * 100)]])
def test_budget_below_the_empty_answer_is_refused(chunks: list[Chunk]) -> None:
    least = LEAST if chunks else size(ANSWER)
    assert fit(ANSWER, chunks, least)["chunks"] == []
    with pytest.raises(SpanielError) as caught:
        fit(ANSWER, chunks, least - 1)
    assert caught.value.code is Code.BAD_ARGS
    assert caught.value.details["field"] == "max_output_bytes"
    assert str(least) in caught.value.message


@pytest.mark.req("D2-28", "FR-WF-03b")
def test_field_order_and_truncation_reason() -> None:
    fitted = fit({**ANSWER, "truncation_reason": "stale", "more": "stale"}, [chunk_with("text")], 10_000)
    assert list(fitted) == list(ANSWER)
    assert fitted["chunks"] == [{"heading": "", "text": "text", "token_count": 1}]
    assert fitted["truncated"] is False
    assert ANSWER["chunks"] == []


class Watched(Sequence[Chunk]):
    """Many chunks; records how many were accessed."""

    def __init__(self, count: int) -> None:
        self.looked_at: set[int] = set()
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Chunk: ...
    @overload
    def __getitem__(self, at: slice) -> list[Chunk]: ...
    def __getitem__(self, at: int | slice) -> Chunk | list[Chunk]:
        if isinstance(at, slice):
            return [self[each] for each in range(self._count)[at]]
        if at >= self._count:
            raise IndexError(at)
        self.looked_at.add(at)
        return chunk_with(f"text {at}")


@pytest.mark.req("NFR-WF-PERF-02")
def test_only_fitting_chunks_are_accessed() -> None:
    chunks = Watched(1000)
    fitted = fit(ANSWER, chunks, LEAST + 500)
    assert len(chunks.looked_at) < 15
    assert fitted["more"] == {"next_chunk": len(fitted["chunks"]) + 1, "total_chunks": 1000}  # type: ignore[arg-type]
