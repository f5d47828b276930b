"""Laws of chunking, on Markdown that nobody would write and on documents that people wrote."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spaniel.chunking import Chunk, chunk
from spaniel.chunking.chunks import chunk_at
from spaniel.chunking.tokens import cl100k

COUNTER = cl100k()
SPACES = " \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u2003\u2028\u2029\u3000"
WORDS = ["a", "word", "antidisestablishmentarianism", "e.g.", "1.", "x" * 300, "#" * 40, "```", "~~~", "'s", "I'LL",
         "漢字かな交じり文。", "été", "👩‍👩‍👧", "🇫🇷", "<|endoftext|>", "<|im_start|>", "مرحبا", "12345678", "foo_bar()", "|", "- ", "**b**",
         "\0", "\ufeff", "e\u0301", "?!", "…", ");", "*/"]  # fmt: skip

words = st.sampled_from(WORDS) | st.text(min_size=1, max_size=12)
lines = st.lists(words, min_size=1, max_size=30).map(" ".join)
paragraphs = st.lists(lines, min_size=1, max_size=4).map("\n".join)
headings = st.builds(lambda level, title: "#" * level + " " + title, st.integers(1, 8), lines)
fences = st.builds(
    lambda margin, mark, info, body, close: "".join(f"{margin}{line}\n" for line in [mark + info, *body, *close]),
    st.sampled_from(["", "  ", "    ", "- ", "\t"]),
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python", " js title=x", "`", "x" * 200]),
    st.lists(lines | st.just(""), max_size=40),
    st.sampled_from([["```"], ["````"], ["~~~"], []]),
)
items = st.builds(
    lambda margin, marker, text: f"{margin}{marker} {text}",
    st.sampled_from(["", "  ", "    ", "\t"]), st.sampled_from(["-", "*", "+", "1.", "2)"]), paragraphs,
)  # fmt: skip
lists = st.builds(lambda gap, found: gap.join(found), st.sampled_from(["\n", "\n\n"]), st.lists(items, max_size=20))
tables = st.lists(st.lists(words, min_size=2, max_size=4).map(lambda row: f"| {' | '.join(row)} |"), max_size=30).map("\n".join)
gaps = st.sampled_from(["\n\n", "\n", "\n\n\n\n", " \n\t\n", "\r\n\r\n", "\n\u3000\n", "\x1c\n", "\n\r"]) | st.text(SPACES, max_size=4)
documents = st.lists(
    st.tuples(gaps, headings | paragraphs | fences | lists | tables | st.text(max_size=40)).map("".join), max_size=12
).map("".join)
limits = st.sampled_from([8, 17, 40, 128, 600])


def squeezed(text: str) -> str:
    return "".join(text.split())


def check(markdown: str, chunks: list[Chunk], limit: int) -> None:
    place = 0
    for piece in chunks:
        assert piece.token_count == COUNTER.count(piece.text) <= limit
        assert piece.text == piece.opened + markdown[piece.start : piece.end] + piece.closed
        assert not markdown[place : piece.start].strip()
        assert place <= piece.start < piece.end
        place = piece.end
    assert not markdown[place:].strip()


@pytest.mark.req("FR-WF-15", "FR-WF-15a", "FR-WF-15d", "FR-WF-15f", "T-WF-CHK-01", "T-WF-CHK-04")
@given(documents, limits)
def test_every_chunk_fits_and_is_counted_right_and_nothing_is_lost(markdown: str, limit: int) -> None:
    check(markdown, chunk_at(markdown, limit, COUNTER), limit)
