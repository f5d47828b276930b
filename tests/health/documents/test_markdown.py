"""Links in Markdown are found at their places, and not in code."""

from __future__ import annotations

import pytest

from spaniel.health.documents.kinds import mentions
from spaniel.health.documents.quoting import decode
from tests.health.documents.cases_blocks import BLOCKS
from tests.health.documents.cases_inline import INLINE
from tests.health.documents.cases_markdown import CASES, FRONT
from tests.health.documents.marked import unmarked


def check(marked: str, kind: str) -> int:
    """Check that exactly the marked links are found at their places; return their number."""
    text, expected = unmarked(marked)
    found = list(mentions(text, "file", kind))
    assert {one.place.file for one in found} <= {"file"}
    assert [(one.place.line, one.place.column, text[one.start : one.end]) for one in found] == [
        (each.line, each.column, each.written) for each in expected
    ]
    assert [(one.start, one.end) for one in found] == [(each.start, each.end) for each in expected]
    for one in found:
        assert decode(text[one.start : one.end], one.syntax) == one.url
    return len(found)


@pytest.mark.parametrize("name", CASES)
def test_every_link_is_found_at_its_place(name: str) -> None:
    check(CASES[name], "markdown")
    check(CASES[name].replace("\n", "\r\n"), "markdown")


@pytest.mark.parametrize("name", BLOCKS)
def test_link_ends_with_its_block_and_code_has_none(name: str) -> None:
    check(BLOCKS[name], "markdown")
    check(BLOCKS[name].replace("\n", "\r"), "markdown")


@pytest.mark.parametrize("name", INLINE)
def test_brackets_and_inline_precedence(name: str) -> None:
    check(INLINE[name], "markdown")
    check(INLINE[name].replace("\n", "\r\n"), "markdown")


@pytest.mark.parametrize("name", FRONT)
def test_links_in_front_matter_are_found(name: str) -> None:
    check(FRONT[name], "markdown")
    for end in ("\r\n", "\r"):
        check(FRONT[name].replace("\r\n", "\n").replace("\n", end), "markdown")


@pytest.mark.parametrize(("more", "is_front"), [(0, True), (1, False)])
def test_front_matter_is_limited_to_one_mebibyte(more: int, is_front: bool) -> None:
    above, below = "---\n# https://one.org/comment ", "\n---"
    text = above + "#" * ((1 << 20) - len(above) - len(below) + more) + below
    assert [one.url for one in mentions(text, "a.md")] == ([] if is_front else ["https://one.org/comment"])
