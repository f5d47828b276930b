"""Real pages with elements deleted, moved, renamed and classes swapped: the long form of tests/reading/test_steps.py.

The golden pages of the project, and the development corpora where they are here. VARIANTS and SEED in the environment
choose how many and which.
"""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest

import spaniel
from tests.reading.mutants_of_pages import mutants

pytestmark = [pytest.mark.torture, pytest.mark.timeout(6 * 3600)]
VARIANTS, SEED = int(os.environ.get("VARIANTS", "20000")), int(os.environ.get("SEED", "26"))
GOLDEN = Path(__file__).parents[1] / "reading/golden"
CORPORA = Path(__file__).resolve().parents[3] / "shared/corpora"
LARGEST = 120_000  # compressed bytes


@pytest.mark.req("D2-41")
def test_no_variant_of_a_real_page_raises() -> None:
    """An exception inside an optional step counts, too, though the page was read without it."""
    pages = [page.read_bytes() for page in sorted((*GOLDEN.glob("*.html"), *CORPORA.glob("cases/*.html")))]
    pages += [
        gzip.decompress(page.read_bytes())
        for page in sorted(CORPORA.glob("pages/*/*.html.gz"))
        if page.stat().st_size <= LARGEST
    ]
    raised: Counter[str] = Counter()
    for page in mutants(pages, VARIANTS, SEED):
        try:
            raised.update(spaniel.extract(page, url="https://example.org/forum/a-thread-about-goats").failures)
        except Exception as error:  # noqa: BLE001 - they are counted
            raised[f"{type(error).__name__}: {error} ({error.__cause__!r})"] += 1
    print(f"\n{VARIANTS:,} variants of {len(pages):,} pages, {sum(raised.values())} exceptions")
    assert not raised
