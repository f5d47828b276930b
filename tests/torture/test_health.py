"""The long form of tests/health/test_asking.py: gigabytes, hashed in the memory of their beginning."""

from __future__ import annotations

import hashlib
import resource

import pytest

from spaniel.health.links import Link
from spaniel.verdicts import Expected
from tests.health.test_asking import PIECE, Pouring, observe

GIGABYTES = 3


@pytest.mark.torture
@pytest.mark.timeout(3600)
async def test_gigabytes_are_hashed_in_the_memory_of_a_few_megabytes() -> None:
    pieces = GIGABYTES * (1 << 30) // len(PIECE)
    wanted = hashlib.sha256()
    for _ in range(pieces):
        wanted.update(PIECE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seen, _ = await observe(Pouring(pieces), Link("", expected=Expected(sha256=wanted.hexdigest())))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert seen.content is not None
    assert (seen.content.length, seen.content.sha256) == (pieces * len(PIECE), wanted.hexdigest())
    print(f"{GIGABYTES} GiB took {grown:.0f} MiB more at the most")
    assert grown < 64
