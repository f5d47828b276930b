"""URLs that come back in an answer: as they were asked for, and nothing in them steers or hides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spaniel.testing import Page, Site, redirect, spaniel_for, text

HIDDEN = "\u202e\u2066\u200f\u2028\u200b\ufeff\ufffe\U0001bca0\U000e0041"


@pytest.mark.req("FR-WF-03", "D2-15")
async def test_an_answer_echoes_its_urls_without_what_steers_or_hides(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": redirect(f"/b?{HIDDEN}"), "/b": text("words\n")}
    async with Site(pages) as site, spaniel_for(site, cache=tmp_path) as spaniel:
        asked = f" {site.url('/a', 'user:secret@site.example')}?q={HIDDEN}ü#{HIDDEN}\n"
        for _ in range(2):  # afresh, and from the cache
            answer = await spaniel.fetch(asked)
            fields = json.dumps(answer.as_dict(), ensure_ascii=False)
            assert not set(fields) & set(HIDDEN)
            assert answer.requested_url.startswith(site.url("/a?q=%E2%80%AE"))
            assert "ü#%E2%80%AE" in answer.requested_url
            assert answer.final_url.isascii()
            assert "%E2%80%AE" in answer.final_url
