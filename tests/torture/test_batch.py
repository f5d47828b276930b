"""The long form of tests/batch/test_kills.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.test_kills import torture


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_a_thousand_kills_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    print(torture(tmp_path, kills=1000), "of them in the midst of writing")
