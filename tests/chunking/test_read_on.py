"""Continuing a truncated answer: repeated calls return the whole document once, in order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.chunking import Chunk, chunk, fit, serialize
from spaniel.chunking.fit import fit_found, read_on
from spaniel.chunking.tokens import cl100k
from spaniel.errors import Code, SpanielError

ANSWER: dict[str, object] = {"final_url": "https://e.x/", "chunks": [], "truncated": False, "title": "Straße"}
ROOM = 260  # bytes: for the answer without content, a short heading, and some text

texts = st.lists(st.sampled_from(["word ", '"quoted"\n', "\\", "é漢👩‍👧", "\x1f", "\u2028"]), min_size=1).map("".join)


def size(value: object) -> int:
    return len(serialize(value).encode())


def chunk_with(text: str, heading: str = "H") -> Chunk:
    return Chunk(heading, text, cl100k().count(text), (heading,), 0, len(text), "")


def read_to_the_end(chunks: list[Chunk], budget: int, *, fetched: bool = True) -> list[list[tuple[int, str]]]:
    """Return the numbers and texts of each answer, for a caller that follows `more`."""
    fitted: dict[str, Any] = fit(ANSWER, chunks, budget) if fetched else read_on(ANSWER, chunks, budget)
    number, answers = 1, []
    for _ in range(10_000):
        assert size(fitted) <= budget
        assert json.loads(serialize(fitted)) == fitted
        assert all(shown["token_count"] == cl100k().count(shown["text"]) for shown in fitted["chunks"])
        answers.append([(number + i, shown["text"]) for i, shown in enumerate(fitted["chunks"])])
        assert fitted["truncated"] is ("more" in fitted)
        if not fitted["truncated"]:
            return answers
        more = fitted["more"]
        assert more["total_chunks"] == len(chunks)
        number = more["next_chunk"]
        fitted = read_on(ANSWER, chunks, budget, number, more.get("next_offset", 0))
    raise AssertionError("it never ends")


@pytest.mark.req("D2-29", "FR-WF-15f", "FR-WF-03a")
@given(st.lists(st.builds(chunk_with, texts), min_size=1, max_size=12), st.integers(ROOM, 4000), st.booleans())
def test_following_more_reads_everything_once(chunks: list[Chunk], budget: int, fetched: bool) -> None:
    answers = read_to_the_end(chunks, budget, fetched=fetched)
    assert all(answers), "every answer brings something"
    read: dict[int, str] = {}
    order = [number for answer in answers for number, _ in answer]
    for number, text in (shown for answer in answers for shown in answer):
        read[number] = read.get(number, "") + text
    assert order == sorted(order)
    assert [read[number] for number in sorted(read)] == [piece.text for piece in chunks]


@pytest.mark.req("D2-29")
@given(st.lists(st.builds(chunk_with, texts), min_size=2, max_size=8), st.integers(ROOM, 4000))
def test_continuing_without_offset_repeats_the_chunk(chunks: list[Chunk], budget: int) -> None:
    more: Any = fit(ANSWER, chunks, budget).get("more")
    if more:
        rest: Any = read_on(ANSWER, chunks, 1 << 20, more["next_chunk"])
        given_before: Any = fit(ANSWER, chunks, budget)["chunks"]
        whole = given_before[: more["next_chunk"] - 1]
        assert [*whole, *rest["chunks"]] == [piece.answer() for piece in chunks]


@pytest.mark.req("D2-29", "FR-WF-15f")
def test_long_page_is_read_to_its_end() -> None:
    words = [f"word{n}" for n in range(20_000)]
    chunks = chunk(" ".join(words), 600)
    answers = read_to_the_end(chunks, 1 << 16)
    assert 2 <= len(answers) < len(chunks)
    assert " ".join(text for answer in answers for _, text in answer).split() == words


@pytest.mark.req("D2-29")
@pytest.mark.parametrize("digits", [1, 2])
def test_numbers_may_grow_by_a_digit(digits: int) -> None:
    chunks = [chunk_with(f"text {n}") for n in range(120)]
    whole = size(fit(ANSWER, chunks[: 10**digits - 1], 1 << 20))
    for budget in range(whole, whole + 250):
        fitted: Any = fit(ANSWER, chunks, budget)
        assert size(fitted) <= budget
        if fitted["truncated"]:
            given = len(fitted["chunks"])
            assert fitted["more"] == {"next_chunk": given + 1, "total_chunks": 120}
            one_more = {**fitted, "chunks": [piece.answer() for piece in chunks[: given + 1]],
                        "more": {"next_chunk": given + 2, "total_chunks": 120}}  # fmt: skip
            assert size(one_more) > budget


@pytest.mark.req("D2-29", "FR-WF-18")
@pytest.mark.parametrize(
    ("place", "budget", "field"),
    [((0, 0), 9999, "from_chunk"), ((3, 0), 9999, "from_chunk"), ((-1, 0), 9999, "from_chunk"),
     ((1, 4), 9999, "from_offset"), ((1, -1), 9999, "from_offset"), ((2, 0), ROOM, "max_output_bytes"),
     ((2, 0), 20, "max_output_bytes")],
)  # fmt: skip
def test_invalid_place_or_budget_is_refused(place: tuple[int, int], budget: int, field: str) -> None:
    chunks = [chunk_with("text"), chunk_with("more text", heading="h" * 500)]
    with pytest.raises(SpanielError) as caught:
        read_on(ANSWER, chunks, budget, *place)
    assert caught.value.code is Code.BAD_ARGS
    assert caught.value.details["field"] == field


def test_empty_page_cannot_be_continued() -> None:
    with pytest.raises(SpanielError, match="1 is not between 1 and 0"):
        read_on(ANSWER, [], 9999)


@pytest.mark.req("D2-29", "FR-WF-03a")
def test_found_chunks_have_numbers() -> None:
    chunks = [chunk_with(f"text {n} " + "word " * 20) for n in range(9)]
    everything: Any = fit_found(ANSWER, chunks, [7, 2, 9], 9999)
    assert [(each["number"], each["text"]) for each in everything["chunks"]] == [
        (number, chunks[number - 1].text) for number in (7, 2, 9)
    ]
    assert everything["truncated"] is False
    some: Any = fit_found(ANSWER, chunks, [7, 2, 9], size(everything) - 1)
    assert [each["number"] for each in some["chunks"]] == [7, 2]
    assert some["truncated"] is True
    assert "more" not in some
    assert fit_found(ANSWER, chunks, [], 9999)["chunks"] == []
