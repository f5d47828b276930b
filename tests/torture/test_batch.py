"""The long forms of tests/batch/test_kills.py and tests/batch/test_ray.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.test_kills import torture
from tests.batch.test_ray import compared


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_a_thousand_kills_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    print(torture(tmp_path, kills=1000), "of them in the midst of writing")


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_five_thousand_urls_have_the_same_records_whoever_fetches_them() -> None:
    ways = ["local-1", "local-2", "local-4", "shards-3", "ray-2"]
    found = compared(5000, ways, 3500)
    assert [found[way]["lost"] for way in ways] == [0, 0, 0, 0, 1]
    assert len({found[way]["records"] for way in ways}) == 1
    assert len({found[way]["captures"] for way in ways}) == 1
