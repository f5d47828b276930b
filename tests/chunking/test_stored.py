"""Chunk boundaries in the cache."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.chunking import Boundaries, boundaries, chunk, rebuild
from spaniel.chunking.chunks import RULES, chunk_at
from spaniel.chunking.tokens import cl100k
from spaniel.pipeline.outcome import StoredPage, from_cache

CODE = "# Long\n\n```python\n" + "".join(f"print({n})\n" for n in range(100)) + "```\n\n## End\n\ntext"
pieces = st.sampled_from(["# A\n\n", "## B\n\n", "word ", "漢字", "👩‍👧", CODE, "\n\n", "- item\n", "\r\n", "```\n"])


@pytest.mark.req("D2-24")
@settings(max_examples=100)
@given(st.lists(pieces).map("".join), st.sampled_from([20, 128]))
def test_boundaries_survive_json(markdown: str, limit: int) -> None:
    chunks = chunk_at(markdown, limit, cl100k())
    stored: Boundaries = json.loads(json.dumps(boundaries(chunks)))
    assert rebuild(markdown, stored) == chunks


@pytest.mark.req("D2-24")
def test_heading_is_stored_once() -> None:
    title = "t" * 1000
    chunks = chunk_at(f"# {title}\n\n" + "word. " * 5000, 128, cl100k())
    assert len(json.dumps(boundaries(chunks))) < 1000 + 40 * len(chunks)


@pytest.mark.req("D2-24")
def test_rebuild_needs_no_tokenizer() -> None:
    chunks = chunk_at(CODE, 40, cl100k())
    program = (
        "import json, sys\nfrom spaniel.chunking import fit, rebuild\n"
        "markdown, stored = json.load(sys.stdin)\nchunks = rebuild(markdown, stored)\n"
        "fit({}, chunks, 100_000)\nprint(len(chunks))\nsys.exit('splintr' in sys.modules)"
    )
    sent = json.dumps([CODE, boundaries(chunks)])
    done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(chunks)


OLD = "# [Title](https://e.x)\n\n" + "This is a sentence. " * 300


@pytest.mark.req("D2-02", "D2-24")
@pytest.mark.parametrize("rules", [None, RULES - 1, RULES + 1])
def test_boundaries_of_another_version_are_ignored(rules: int | None) -> None:
    """Boundaries of the oldest version: the heading in its own chunk, its title as Markdown."""
    stored: dict[str, object] = {"document": "0" * 16, "headings": [["[Title](https://e.x)"]], "rows": [[0, 24, 9, 0]]}
    if rules is not None:
        stored["rules"] = rules
    content = {"final_url": "https://e.x/", "markdown": OLD, "chunk_tokens": 600, "chunks": stored}
    page = from_cache(msgspec.Raw(json.dumps(content).encode()))
    assert page is not None
    assert page.cut(600) == chunk(OLD, 600)


@pytest.mark.req("D2-24")
def test_boundaries_of_this_version_are_used() -> None:
    chunks = chunk_at(OLD, 200, cl100k())  # other chunks than with 600, so that they can be recognized
    page = StoredPage("https://e.x/", OLD, 600, boundaries(chunks))
    assert page.cut(600) == chunks != chunk(OLD, 600)


SHAPES = f"""intro **bold**

# [Guide](https://e.x/a_b) to `code`

{CODE}

## List

{"".join(f"- item {n} of many, is it not? Yes, it is.{chr(10)}" for n in range(60))}
## 漢字

{"今日は良い天気ですね。" * 40}

| a | b |
|---|---|
{"".join(f"| {n} | {n * n} |{chr(10)}" for n in range(60))}
### {"long " * 40}

{"word " * 400}
"""
KNOWN = {3: "3b245c4ec26596b1"}  # version of the rules -> hash of the chunks of the text above


@pytest.mark.req("D2-02", "T-WF-DET-03")
def test_changed_rules_need_a_new_number() -> None:
    """If this fails, chunks have changed: raise RULES, and put the new number and hash here."""
    cuts = [boundaries(chunk_at(SHAPES, limit, cl100k())) for limit in (128, 600)]
    found = hashlib.sha256(json.dumps(cuts, ensure_ascii=False).encode()).hexdigest()[:16]
    assert {RULES: found} == KNOWN
