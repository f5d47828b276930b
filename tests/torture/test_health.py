"""The long forms of tests/health/test_asking.py (gigabytes hashed in little memory) and test_kills.py."""

from __future__ import annotations

import hashlib
import resource
from pathlib import Path

import pytest

from spaniel.health.links import Link
from spaniel.verdicts import Expected
from tests.health.test_asking import PIECE, Pouring, observe
from tests.health.test_kills import kill_and_resume

GIGABYTES = 3
KILLS = 200


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


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_nothing_and_request_nothing_twice(tmp_path: Path) -> None:
    done, lost, twice = kill_and_resume(tmp_path, KILLS, seed=7)
    print(f"{KILLS} kills, {done} finished runs: {lost} lost, {twice} twice")
    assert (lost, twice) == (0, 0)
