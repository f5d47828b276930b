"""A model that reads a document of 300 pages to its end, and one that finds a sentence in it, over the real server."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spaniel.testing import Page, Reply
from tests.mcp.harness import at, served
from tests.mcp.test_client import words

if TYPE_CHECKING:
    from mcp import Client

PAGES = 300
WORDS = (
    "river water stone bridge harbour engine letter garden winter signal market copper ladder window thunder paper "
    "measure council village season machine account island current valley meadow traffic census record pattern"
).split()
NEEDLE = "The lighthouse keeper at Skerryvore kept a tame otter named Bosun."


def document() -> Reply:
    """Some 600 words a page, as a book has them."""
    rng = random.Random(300)
    pages = []
    for number in range(1, PAGES + 1):
        sentences = [" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(50)]
        if number == 217:
            sentences.insert(20, NEEDLE)
        paragraphs = "".join(f"<p>{' '.join(sentences[at : at + 10])}</p>" for at in range(0, len(sentences), 10))
        pages.append(f"<h2>Page {number}</h2>{paragraphs}")
    html = f"<!doctype html><title>The long book</title><main><h1>The long book</h1>{''.join(pages)}</main>"
    return 200, {"Content-Type": "text/html; charset=utf-8"}, html.encode()


class Model:
    """Does what an answer's text tells it, and nothing that only a program could know."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls = 0

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        self.calls += 1
        result = await self._client.call_tool(name, arguments)
        assert not result.is_error, result.content
        text = words(result)
        assert max(len(text.encode()), len(json.dumps(result.structured_content).encode())) <= 65_536
        return text

    async def read_to_the_end(self, url: str) -> str:
        text = await self.call("web_fetch", {"url": url})
        body = [text.partition("\n---\n")[2]]
        while told := re.search(r"^Part: .*call (web_fetch_more) with (\{.*?\});", text, re.MULTILINE):
            text = await self.call(told[1], json.loads(told[2]))
            body.append(text.partition("\n---\n")[2])
        return "\n\n".join(body)


@pytest.mark.req("D2-29", "D2-32")
async def test_a_model_reads_300_pages_to_the_end(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/book": document()}
    async with served(pages, tmp_path) as (client, site):
        model = Model(client)
        read = await model.read_to_the_end(at(site, "/book"))
        assert site.requests["/book"] == 1
    assert [int(number) for number in re.findall(r"^## Page (\d+)$", read, re.MULTILINE)] == list(range(1, PAGES + 1))
    source = re.sub(r"<[^>]+>", " ", document()[2].decode().partition("<main>")[2])
    assert [word for word in read.split() if word.strip("#")] == source.split()  # every word of it, once and in order
    assert 10 < model.calls < 40


@pytest.mark.req("D2-29")
@pytest.mark.parametrize("find", ["otter of the lighthouse keeper", "SKERRYVORE", '"tame otter"'])
async def test_model_finds_a_sentence_in_300_pages_in_three_calls(tmp_path: Path, find: str) -> None:
    pages: dict[str, Page] = {"/book": document()}
    async with served(pages, tmp_path) as (client, site):
        model = Model(client)
        url = at(site, "/book")
        first = await model.call("web_fetch", {"url": url})
        assert NEEDLE not in first
        found = await model.call("web_fetch_more", {"url": url, "find": find})
        mark = re.findall(r"starts with \[(\w+)\]", found)[0]
        best = found.split(f"[{mark}] chunk ")[1]
        around = await model.call("web_fetch_more", {"url": url, "from_chunk": int(best.split(",")[0])})
        assert (model.calls, site.requests["/book"]) == (3, 1)
    assert NEEDLE in best
    assert NEEDLE in around.partition("\n---\n")[2][:6_000]
