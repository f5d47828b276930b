"""Links in Markdown: each where it stands, none in code."""

from __future__ import annotations

import pytest

from spaniel.health.documents.kinds import mentions
from spaniel.health.documents.quoting import decode
from tests.health.documents.cases_blocks import BLOCKS
from tests.health.documents.cases_inline import INLINE
from tests.health.documents.cases_markdown import CASES, FRONT
from tests.health.documents.marked import unmarked


def check(marked: str, kind: str) -> int:
    """All of the truth and nothing else, each with its place; the number of links."""
    text, truths = unmarked(marked)
    found = list(mentions(text, "file", kind))
    assert {one.place.file for one in found} <= {"file"}
    assert [(one.place.line, one.place.column, text[one.start : one.end]) for one in found] == [
        (truth.line, truth.column, truth.written) for truth in truths
    ]
    assert [(one.start, one.end) for one in found] == [(truth.start, truth.end) for truth in truths]
    for one in found:
        assert decode(text[one.start : one.end], one.syntax) == one.url
    return len(found)


@pytest.mark.parametrize("name", CASES)
def test_every_link_is_found_where_it_stands(name: str) -> None:
    check(CASES[name], "markdown")
    check(CASES[name].replace("\n", "\r\n"), "markdown")


@pytest.mark.parametrize("name", BLOCKS)
def test_a_link_ends_with_its_block_and_code_has_none(name: str) -> None:
    check(BLOCKS[name], "markdown")
    check(BLOCKS[name].replace("\n", "\r"), "markdown")


@pytest.mark.parametrize("name", INLINE)
def test_a_link_is_what_its_brackets_and_what_binds_tighter_leave(name: str) -> None:
    check(INLINE[name], "markdown")
    check(INLINE[name].replace("\n", "\r\n"), "markdown")


@pytest.mark.parametrize("name", FRONT)
def test_the_fields_above_a_text_are_read_too(name: str) -> None:
    check(FRONT[name], "markdown")
    for end in ("\r\n", "\r"):
        check(FRONT[name].replace("\r\n", "\n").replace("\n", end), "markdown")


@pytest.mark.parametrize(("more", "is_front"), [(0, True), (1, False)])
def test_the_fields_above_a_text_end_within_a_mebibyte(more: int, is_front: bool) -> None:
    above, below = "---\n# https://one.org/comment ", "\n---"
    text = above + "#" * ((1 << 20) - len(above) - len(below) + more) + below
    assert [one.url for one in mentions(text, "a.md")] == ([] if is_front else ["https://one.org/comment"])
