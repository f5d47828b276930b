"""Links in documents, the long form: thirty thousand texts beside another reader, and long hostile ones."""

from __future__ import annotations

import random
import re
from urllib.parse import unquote

import pytest

from spaniel.health.documents import markdown
from tests.health.documents.test_laws import HOSTILE, PIECES, SPACES, grown, links_of_markdown_it

pytestmark = pytest.mark.torture


@pytest.mark.parametrize("seed", range(10))
def test_links_match_markdown_it(seed: int) -> None:
    chosen = random.Random(1_000 + seed)
    pieces = [piece for piece in PIECES if "one.org" not in piece and piece not in ("[r]", "\0", "{{", "}}")]
    for _ in range(3_000):
        text = "".join(chosen.choice(pieces + SPACES[:5]).replace("_h", " h") for _ in range(chosen.randint(1, 40)))
        if markdown.front_matter(text)[1] or re.search(r"\]:|--->", text):
            continue
        found = sorted(unquote(one.url) for one in markdown.markdown_links(text) if one.syntax.startswith("markdown"))
        assert found == links_of_markdown_it(text), repr(text)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_long_hostile_text_costs_twenty_times_what_a_twentieth_costs(kind: str) -> None:
    """A square would be four hundred times."""
    for piece in HOSTILE[kind]:
        assert grown(piece, kind, (16_000, 320_000), floor=0.002, below=100) < 100, piece
