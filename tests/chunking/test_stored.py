"""What a cache keeps of chunks, and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.chunking import Boundaries, boundaries, rebuild
from spaniel.chunking.chunks import chunk_at
from spaniel.chunking.tokens import cl100k

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
