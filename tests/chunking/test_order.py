"""Chunks of an answer are in document order in every interface."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from spaniel.chunking import chunk, fit
from spaniel.testing import Page, html, text
from spaniel.tool.framework import ToolCtx
from tests.pipeline.test_fetch import spaniel_at
from tests.tool.harness import tool_at

SECTIONS = range(100, 160)
PAGES: dict[str, Page] = {
    "/html": html(
        "<main>" + "".join(f"<h2>Part {n}</h2><p>{f'Sentence of {n}. ' * 40}</p>" for n in SECTIONS) + "</main>"
    ),
    "/text": text("".join(f"## Part {n}\n\n" + f"Sentence of {n}. " * 40 + "\n\n" for n in SECTIONS)),
}


def parts_in(fields: dict[str, Any]) -> list[int]:
    """Return the numbers of the parts in the order of the answer's chunks."""
    shown = "\n".join(piece["text"] for piece in fields["chunks"])
    return [int(number) for number in re.findall(r"(?:Part|Sentence of) (\d+)", shown)]


def check(fields: dict[str, Any]) -> None:
    parts = parts_in(fields)
    assert len(fields["chunks"]) >= 3
    assert parts[0] == SECTIONS[0], "the first chunk is the beginning of the content"
    assert parts == sorted(parts)
    if not fields["truncated"]:
        assert set(parts) == set(SECTIONS)


@pytest.mark.req("FR-WF-15f")
@pytest.mark.parametrize("size", [None, 128, 600])
@pytest.mark.parametrize("path", PAGES)
async def test_answer_is_in_document_order(tmp_path: Path, path: str, size: int | None) -> None:
    async with spaniel_at(PAGES, tmp_path) as (spaniel, site):
        fresh = await spaniel.fetch(site.url(path), size)
        hit = await spaniel.fetch(site.url(path), size)
    assert "cache_hit" in hit.notes
    for answer in (fresh, hit):
        assert all(before.end <= after.start for before, after in pairwise(answer.chunks))
        for budget in (None, 20_000, 9_000):
            check(answer.as_dict(budget))


@pytest.mark.req("FR-WF-15f", "FR-WF-03a")
@pytest.mark.parametrize("budget", [9_000, 1 << 20])
async def test_tool_answer_is_in_document_order(tmp_path: Path, budget: int) -> None:
    async with tool_at(PAGES, tmp_path, allow_auto_execution=True) as (tool, site):
        for path in PAGES:
            fields = json.loads(await tool.execute({"url": site.url(path)}, ToolCtx(max_output_bytes=budget)))
            check(fields)
            assert fields["truncated"] is (budget == 9_000)


@pytest.mark.req("FR-WF-15f")
def test_wrong_order_is_detected() -> None:
    """Tests the check: a reversed answer fails it."""
    chunks = chunk("".join(f"## Part {n}\n\n" + f"Sentence of {n}. " * 40 + "\n\n" for n in SECTIONS))
    check(fit({}, chunks, 1 << 20))
    with pytest.raises(AssertionError):
        check(fit({}, chunks[::-1], 1 << 20))
