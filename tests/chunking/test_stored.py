"""What a cache keeps of chunks, and what comes back."""

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
def test_chunks_come_back_from_json_as_they_were(markdown: str, limit: int) -> None:
    chunks = chunk_at(markdown, limit, cl100k())
    stored: Boundaries = json.loads(json.dumps(boundaries(chunks)))
    assert rebuild(markdown, stored) == chunks


@pytest.mark.req("D2-24")
def test_a_heading_is_kept_once_however_many_chunks_stand_under_it() -> None:
    title = "t" * 1000
    chunks = chunk_at(f"# {title}\n\n" + "word. " * 5000, 128, cl100k())
    assert len(json.dumps(boundaries(chunks))) < 1000 + 40 * len(chunks)


@pytest.mark.req("D2-24")
def test_reading_back_needs_no_tokenizer() -> None:
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
def test_what_another_version_kept_is_cut_anew(rules: int | None) -> None:
    """As a version before the first number wrote it: the heading a chunk of its own, and its title Markdown."""
    stored: dict[str, object] = {"document": "0" * 16, "headings": [["[Title](https://e.x)"]], "rows": [[0, 24, 9, 0]]}
    if rules is not None:
        stored["rules"] = rules
    content = {"final_url": "https://e.x/", "markdown": OLD, "chunk_tokens": 600, "chunks": stored}
    kept = from_cache(msgspec.Raw(json.dumps(content).encode()))
    assert kept is not None
    assert kept.cut(600) == chunk(OLD, 600)


@pytest.mark.req("D2-24")
def test_what_this_version_kept_is_read_off() -> None:
    chunks = chunk_at(OLD, 200, cl100k())  # other chunks than 600 would give, so that they are known again
    kept = StoredPage("https://e.x/", OLD, 600, boundaries(chunks))
    assert kept.cut(600) == chunks != chunk(OLD, 600)


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
KNOWN = {3: "3b245c4ec26596b1"}  # rules, and a hash of what they make of the text above


@pytest.mark.req("D2-02", "T-WF-DET-03")
def test_rules_that_cut_otherwise_have_another_number() -> None:
    """If this fails, chunks have changed: raise RULES, and put the new number and hash here."""
    cuts = [boundaries(chunk_at(SHAPES, limit, cl100k())) for limit in (128, 600)]
    found = hashlib.sha256(json.dumps(cuts, ensure_ascii=False).encode()).hexdigest()[:16]
    assert {RULES: found} == KNOWN
