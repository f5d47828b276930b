"""Properties of chunking, on generated Markdown and on real documents."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.chunking import Chunk, chunk
from spaniel.chunking.blocks import outline, trim_space, view_of
from spaniel.chunking.chunks import chunk_at
from spaniel.chunking.split import SplitJob, trimmed
from spaniel.chunking.tokens import cl100k
from spaniel.errors import SpanielError

COUNTER = cl100k()
SPACES = " \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u3000"
WORDS = ["a", "word", "antidisestablishmentarianism", "e.g.", "end.", "1.", "x" * 300, "#" * 40, "```", "~~~", "I'LL",
         "漢字かな交じり文。", "été", "👩‍👩‍👧", "🇫🇷", "<|endoftext|>", "<|im_start|>", "مرحبا", "12345678",
         "foo_bar()", "|", "- ",
         "\0", "\ufeff", "e\u0301", "?!", "…", ");", "*/", "\x1c"]  # fmt: skip

words = st.sampled_from(WORDS) | st.text(min_size=1, max_size=5)
lines = st.lists(words, min_size=1, max_size=12).map(" ".join)
paragraphs = st.lists(lines, min_size=1, max_size=3).map("\n".join)
headings = st.builds(lambda level, title: "#" * level + " " + title, st.integers(1, 8), lines)
fences = st.builds(
    lambda margin, mark, info, body, close: "".join(f"{margin}{line}\n" for line in [mark + info, *body, *close]),
    st.sampled_from(["", "  ", "    ", "- ", "\t"]),
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python", " js title=x", "`", "x" * 200]),
    st.lists(lines | st.just(""), max_size=8),
    st.sampled_from([["```"], ["````"], ["~~~"], []]),
)
items = st.builds(
    lambda margin, marker, text: f"{margin}{marker} {text}",
    st.sampled_from(["", "  ", "    ", "\t"]),
    st.sampled_from(["-", "*", "+", "1.", "2)"]),
    lines,
)
lists = st.builds(lambda gap, found: gap.join(found), st.sampled_from(["\n", "\n\n"]), st.lists(items, max_size=6))
rows = st.lists(words, min_size=2, max_size=4).map(lambda row: f"| {' | '.join(row)} |")
tables = st.lists(rows, max_size=8).map("\n".join)
gaps = st.sampled_from(["\n\n", "\n", "\n\n\n\n", " \n\t\n", "\r\n\r\n", "\n\u3000\n", "\x1c\n", "\n\r", " ", "\r"])
odd = st.text(SPACES + "a.#", max_size=8)
blocks = headings | paragraphs | fences | lists | tables | odd
documents = st.lists(st.tuples(gaps, blocks).map("".join), max_size=8).map("".join)
limits = st.sampled_from([6, 9, 17, 40, 128])


@cache
def real_documents() -> list[str]:
    """The descriptions of installed packages that are Markdown."""
    found = set()
    for distribution in metadata.distributions():
        head, _, body = (distribution.read_text("METADATA") or "").partition("\n\n")
        if "Description-Content-Type: text/markdown" in head and len(body) > 1000:
            found.add(body)
    return sorted(found)


def check(markdown: str, chunks: list[Chunk], limit: int) -> None:
    place = 0
    for piece in chunks:
        assert piece.token_count == COUNTER.count(piece.text) <= limit
        assert piece.text == piece.opened + markdown[piece.start : piece.end] + piece.closed
        assert place <= piece.start < piece.end
        assert not markdown[place : piece.start].strip()
        place = piece.end
    assert not markdown[place:].strip()


@pytest.mark.req("FR-WF-15", "FR-WF-15a", "FR-WF-15b", "FR-WF-15d", "FR-WF-15f", "T-WF-CHK-01", "T-WF-CHK-04")
@given(documents, limits)
def test_chunks_fit_and_nothing_is_lost(markdown: str, limit: int) -> None:
    check(markdown, chunk_at(markdown, limit, COUNTER), limit)


@given(st.text(SPACES + "ab.!?-#`~|1é漢", max_size=80), limits)
def test_chunks_of_random_characters(markdown: str, limit: int) -> None:
    check(markdown, chunk_at(markdown, limit, COUNTER), limit)


SIGNS = st.text("".join(sign for sign in map(chr, range(128)) if not sign.isalnum()) + "é²\u0301\u3000", max_size=9)


@pytest.mark.req("FR-WF-15d", "T-WF-CHK-04")
@settings(max_examples=150)
@given(lines, st.sampled_from(["word", "x1", "I'll", "漢", "n²", "é", ""]), SIGNS, st.sampled_from(["\n", "\n\n", " "]))
def test_trimmed_piece_is_counted_exactly(line: str, word: str, signs: str, space: str) -> None:
    text = f"{line} {word}{signs}{space}"
    job = SplitJob(text, view_of(text), COUNTER.count, True, 1 << 20)
    start, end, tokens = trimmed(job, 0, len(text), COUNTER.count(text))
    assert text[start:end] == text.rstrip()
    assert tokens == COUNTER.count(text[start:end])


@pytest.mark.req("T-WF-DET-03")
@settings(max_examples=50)
@given(documents)
def test_chunks_are_deterministic(markdown: str) -> None:
    assert chunk(markdown, 128) == chunk(markdown, 128)


@pytest.mark.req("FR-WF-15a")
@settings(max_examples=100)
@given(documents, limits)
def test_chunks_are_filled_before_the_next_begins(markdown: str, limit: int) -> None:
    starts = outline(markdown, view_of(markdown)).starts
    chunks = chunk_at(markdown, limit, COUNTER)
    for before, after in pairwise(chunks):
        if before.start in starts and after.start in starts and not goes_with_a_split_block(markdown, starts, after):
            block = markdown[before.start : starts[starts.index(after.start) + 1]]
            assert COUNTER.count(block.rstrip()) > limit


def goes_with_a_split_block(markdown: str, starts: list[int], piece: Chunk) -> bool:
    """Whether a chunk begins with headings of a block that ends in a later chunk (D2-30)."""
    block = starts.index(piece.start)
    while starts[block + 1] < piece.end:
        if not re.fullmatch(r"#{1,6}\s.*\s*", markdown[starts[block] : starts[block + 1]]):
            return False
        block += 1
    return piece.start < starts[block] and piece.end < trim_space(markdown, 0, starts[block + 1])


class Letters:
    """A counter whose counts are never additive: each text costs two more tokens, like start and end markers."""

    def count(self, text: str) -> int:
        return 2 + len(re.findall(r"\w\w?|\S", text))


@pytest.mark.req("FR-WF-14")
@settings(max_examples=100)
@given(documents, limits)
def test_other_token_counter(markdown: str, limit: int) -> None:
    for piece in chunk_at(markdown, limit, Letters()):
        assert piece.token_count == Letters().count(piece.text) <= limit


@pytest.mark.req("FR-WF-15a", "FR-WF-15f", "T-WF-CHK-01", "T-WF-CHK-04")
@pytest.mark.parametrize("limit", [128, 600, 2048])
def test_documents_of_installed_packages(limit: int) -> None:
    assert len(real_documents()) > 5
    for markdown in real_documents():
        check(markdown, chunk(markdown, limit), limit)


@pytest.mark.req("FR-WF-15")
def test_code_blocks_that_fit_are_never_cut() -> None:
    simple = re.compile(r"^```\w*\n(?:[^`\n][^\n]*\n|\n)+```$", re.MULTILINE)
    seen = 0
    for markdown in real_documents():
        chunks = chunk(markdown, 600)
        for block in simple.finditer(markdown):
            if COUNTER.count(block[0]) <= 600:
                seen += 1
                assert any(c.start <= block.start() and block.end() <= c.end for c in chunks)
    assert seen > 20


@pytest.mark.req("FR-WF-02a")
@pytest.mark.parametrize("limit", [127, 2049, 600.5, float("nan"), "600", None, True])
def test_invalid_limit_is_refused(limit: int) -> None:
    with pytest.raises(SpanielError, match="is not between 128 and 2048"):
        chunk("text", limit)


def test_limit_may_be_an_integral_float() -> None:
    assert chunk("ab" * 5000, 600.0) == chunk("ab" * 5000, 600)  # type: ignore[arg-type]
