"""The long forms of tests/batch/test_kills.py and tests/batch/test_ray.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.test_kills import torture
from tests.batch.test_ray import compared, require_the_same


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_five_hundred_kills_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    print(torture(tmp_path, kills=500), "of them in the midst of writing")


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_a_thousand_kills_of_workers_and_supervisors(tmp_path: Path) -> None:
    print(torture(tmp_path, kills=1000, workers=2), "of them in the midst of writing")


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_five_thousand_urls_have_the_same_records_in_every_mode() -> None:
    ways = ["local-1", "local-2", "local-4", "shards-3", "ray-2", "rayparts-2"]
    require_the_same(compared(5000, ways, 3500))
