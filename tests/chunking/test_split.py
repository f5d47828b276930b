"""Splitting large blocks: at sentences, then white space, then characters; code stays code."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import spaniel
from spaniel.chunking import chunk
from spaniel.chunking.chunks import chunk_at
from spaniel.chunking.tokens import cl100k
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = cl100k().count


@pytest.mark.req("FR-WF-15a", "T-WF-CHK-01")
@pytest.mark.parametrize("limit", [128, 129, 600])
def test_chunk_is_filled_to_the_last_token(limit: int) -> None:
    first = " ".join(["word"] * 50)
    second = next(text for n in range(limit) if COUNT(f"{first}\n\n{(text := ' '.join(['word'] * (n + 1)))}") == limit)
    for after in ("", "\n\nmore of it"):
        chunks = chunk(f"{first}\n\n{second}{after}", limit)
        assert (chunks[0].text, chunks[0].token_count) == (f"{first}\n\n{second}", limit)
    assert chunk(f"{first}\n\n{second} word", limit)[0].text == first


@pytest.mark.req("FR-WF-15b", "T-WF-CHK-02")
@pytest.mark.parametrize("stop", ".!?")
@pytest.mark.parametrize("space", [" ", "\n"])
def test_cuts_after_sentence_marks(stop: str, space: str) -> None:
    sentence = f"There are twelve words in this sentence and it ends with a mark{stop}"
    chunks = chunk(space.join([sentence] * 40), 128)
    assert len(chunks) > 3
    assert all(piece.text == space.join([sentence] * (len(piece.text) // len(sentence))) for piece in chunks)
    unbroken = chunk(" ".join([f"a{stop}b"] * 400), 128)  # a mark inside of a word ends nothing
    assert all(piece.text.startswith("a") and piece.text.endswith("b") for piece in unbroken)


@pytest.mark.req("FR-WF-15b", "T-WF-CHK-02", "D2-19")
def test_long_paragraph_is_cut_after_sentences() -> None:
    sentences = [f"This is sentence number {n}, is it not{'.!?'[n % 3]}" for n in range(60)]
    chunks = chunk(" ".join(sentences), 128)
    assert len(chunks) > 3
    assert " ".join(piece.text for piece in chunks) == " ".join(sentences)
    for piece, following in pairwise(chunks):
        assert piece.text[-1] in ".!?"
        first = re.match(r".*?[.!?](?= |$)", following.text)
        assert first
        assert COUNT(f"{piece.text} {first[0]}") > 128


@pytest.mark.req("FR-WF-15b", "D2-19")
def test_long_sentence_is_cut_at_white_space() -> None:
    words = [f"word{n}" for n in range(500)]
    chunks = chunk(" ".join(words), 128)
    assert [word for piece in chunks for word in piece.text.split()] == words
    for piece, following in pairwise(chunks):
        assert COUNT(f"{piece.text} {following.text.split()[0]}") > 128


@pytest.mark.req("FR-WF-15b")
@pytest.mark.parametrize("letter", ["a", "é", "漢", "👩", "\u0301"])
def test_long_word_is_cut_between_characters(letter: str) -> None:
    chunks = chunk(letter * 5000, 128)
    assert "".join(piece.text for piece in chunks) == letter * 5000
    assert all(piece.token_count > 100 for piece in chunks[:-1])


@pytest.mark.req("FR-WF-15b")
def test_text_without_spaces_is_cut_after_full_stops() -> None:
    chunks = chunk("今日は良い天気ですね。" * 100, 128)
    assert all(piece.text.endswith("。") for piece in chunks)


@pytest.mark.req("FR-WF-15b")
def test_lists_are_cut_at_items_and_tables_at_rows() -> None:
    items = [f"{n}. item. It has two sentences" for n in range(100)]
    assert all(re.match(r"\d+\. item", piece.text) for piece in chunk("\n".join(items), 128))
    rows = [f"| row {n}. It | has | cells |" for n in range(100)]
    assert all(piece.text[0] == piece.text[-1] == "|" for piece in chunk("\n".join(rows), 128))


def is_code_block(text: str, mark: str) -> bool:
    opening, *body, closing = text.splitlines()
    return opening.strip().startswith(mark) and closing.strip() == mark and not any(mark in line for line in body)


@pytest.mark.req("FR-WF-15b")
@pytest.mark.parametrize(("margin", "mark"), [("", "```"), ("", "~~~~"), ("   ", "```"), ("\t", "```")])
def test_split_code_stays_fenced(margin: str, mark: str) -> None:
    lines = [mark + "python", *(f"print({n})" if n % 9 != 5 else "" for n in range(200)), mark]
    markdown = "".join(f"{margin}{line}\n" for line in lines)
    chunks = chunk(markdown, 128)
    assert len(chunks) > 5
    assert all(is_code_block(piece.text, mark) for piece in chunks)
    assert all(piece.text.startswith(f"{margin}{mark}python\n{margin}print") for piece in chunks)


@pytest.mark.req("FR-WF-15b")
def test_code_in_a_list_is_reopened_with_its_margin() -> None:
    code = "".join(f"  line {n}\n" for n in range(200))
    chunks = chunk(f"- item\n- ```text\n{code}  ```\n- last", 128)
    assert [piece.opened for piece in chunks[2:-2]] == ["  ```text\n"] * (len(chunks) - 4)
    assert chunks[-1].text == "- last"


@pytest.mark.req("FR-WF-15b")
def test_code_with_a_huge_fence_is_split_bare() -> None:
    markdown = "```" + "info " * 80 + "\n" + "code\n" * 200 + "```"
    chunks = chunk(markdown, 128)
    assert not any(piece.opened or piece.closed for piece in chunks)


@pytest.mark.req("FR-WF-15b")
def test_closing_fence_is_never_alone() -> None:
    for lines in range(20, 80):
        chunks = chunk_at("```\n" + "x = 1\n" * lines + "```", 40, cl100k())
        assert all("x = 1" in piece.text for piece in chunks)


@pytest.mark.req("D2-01")
@pytest.mark.parametrize("limit", [-1, 0, 127, 2049])
def test_limit_out_of_bounds_is_refused(limit: int) -> None:
    with pytest.raises(SpanielError) as caught:
        spaniel.chunk("text", max_tokens=limit)
    assert caught.value.code is Code.BAD_ARGS
    assert caught.value.details["field"] == "max_chunk_tokens"


@pytest.mark.req("D2-01")
@pytest.mark.parametrize("limit", [128, 2048])
def test_limit_within_bounds_is_accepted(limit: int) -> None:
    assert [piece.text for piece in spaniel.chunk("text", max_tokens=limit)] == ["text"]


def test_lone_surrogate_is_refused() -> None:
    with pytest.raises(SpanielError, match="markdown: character 1 is half of a surrogate pair"):
        chunk("a\ud800b")


HOSTILE: dict[str, Callable[[int], str]] = {
    "one word": lambda n: "a" * n,
    "spaces": lambda n: " " * n + "x",
    "spaces between": lambda n: "x" + " " * n + "x",
    "newlines": lambda n: "x" + "\n" * n + "x",
    "blank lines": lambda n: "x" + "\n " * (n // 2) + "x",
    "hashes": lambda n: "#" * n,
    "headings": lambda n: "# \n" * (n // 3),
    "backticks": lambda n: "`" * n,
    "fences": lambda n: "```\n" * (n // 4),
    "longer and longer fences": lambda n: "\n".join("`" * length for length in range(3, int((2 * n) ** 0.5))),
    "two kinds of fences": lambda n: "~~~ ```\n" * (n // 8),
    "full stops": lambda n: ". " * (n // 2),
    "list markers": lambda n: "- " * (n // 2),
    "loose list": lambda n: "- a\n\n" * (n // 5),
    "deeper and deeper": lambda n: "".join(" " * depth + "- x\n" for depth in range(int((2 * n) ** 0.5))),
    "pipes": lambda n: "| " * (n // 2),
    "marks": lambda n: "e" + "\u0301" * n,
    "special tokens": lambda n: "<|endoftext|>" * (n // 13),
    "headings over long blocks": lambda n: ("# T\n\n## T\n\n" + "word. " * 200 + "\n\n") * (n // 1200),
    "many headings over one block": lambda n: "# T\n" * (n // 8) + "\n" + "word. " * (n // 12),
    "headings of Markdown": lambda n: "# *a [b](c) `d` _e\n\nword\n\n" * (n // 26),
    "one heading": lambda n: "# " + "*a [b](c) `d` _e" * (n // 16),
}


@pytest.mark.req("FR-WF-15a", "FR-WF-15d")
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_complete_and_counted(kind: str) -> None:
    markdown = HOSTILE[kind](80_000)
    chunks = chunk(markdown, 128)
    assert all(piece.token_count == COUNT(piece.text) <= 128 for piece in chunks)
    assert "".join("".join(markdown[c.start : c.end] for c in chunks).split()) == "".join(markdown.split())


@pytest.mark.req("NFR-WF-PERF-02")
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_costs_linear_work(kind: str) -> None:
    """Counted in characters given to the tokenizer, not in seconds."""

    class Meter:
        def __init__(self) -> None:
            self.read = 0

        def count(self, text: str) -> int:
            self.read += len(text)
            return COUNT(text)

    work = []
    for size in (20_000, 80_000):
        meter = Meter()
        chunks = chunk_at(HOSTILE[kind](size), 128, meter)
        assert all(piece.token_count <= 128 for piece in chunks)
        work.append(meter.read)
    assert work[1] < 6 * work[0] + 1000
    assert work[1] < 12 * 80_000
