"""Links in Markdown: each where it stands, none in code."""

from __future__ import annotations

import pytest

from spaniel.health.documents.kinds import mentions
from spaniel.health.documents.quoting import decode
from tests.health.documents.cases_blocks import BLOCKS
from tests.health.documents.cases_markdown import CASES, FRONT
from tests.health.documents.marked import unmarked


def check(marked: str, kind: str) -> int:
    """All of the truth and nothing else, each with its place; the number of links."""
    text, truths = unmarked(marked)
    found = list(mentions(text, "file", kind))
    assert [(one.place.line, one.place.column, text[one.start : one.end]) for one in found] == [
        (truth.line, truth.column, truth.written) for truth in truths
    ]
    assert [(one.start, one.end) for one in found] == [(truth.start, truth.end) for truth in truths]
    for one in found:
        assert decode(text[one.start : one.end], one.syntax) == one.url
    return len(found)


@pytest.mark.req("DB-09")
@pytest.mark.parametrize("name", CASES)
def test_every_link_is_found_where_it_stands(name: str) -> None:
    check(CASES[name], "markdown")
    check(CASES[name].replace("\n", "\r\n"), "markdown")


@pytest.mark.req("DB-09")
@pytest.mark.parametrize("name", BLOCKS)
def test_a_link_ends_with_its_block_and_code_has_none(name: str) -> None:
    check(BLOCKS[name], "markdown")
    check(BLOCKS[name].replace("\n", "\r"), "markdown")


@pytest.mark.parametrize("name", FRONT)
def test_the_fields_above_a_text_are_read_too(name: str) -> None:
    check(FRONT[name], "markdown")
