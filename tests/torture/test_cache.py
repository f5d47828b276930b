"""The long forms of tests/cache/test_processes.py: `make torture`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cache.harness import problems, temporaries
from tests.cache.test_processes import mixed, run

pytestmark = [pytest.mark.torture, pytest.mark.timeout(3_600)]


@pytest.mark.req("NFR-WF-REL-01", "FR-WF-16g")
def test_32_processes_and_10000_operations_each_on_50_keys(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    result = mixed(folder, processes=32, operations=10_000)
    print(result)
    assert sum(result.values()) == 320_000
    assert result["torn"] == 0
    assert result["failed"] == 0
    assert not temporaries(folder)
    assert not problems(folder)


@pytest.mark.req("NFR-WF-REL-01", "FR-WF-16g")
def test_a_thousand_kills_in_the_middle_of_writes(tmp_path: Path) -> None:
    result = run("kill", tmp_path / "cache", 1_000, 2)
    print(result)
    assert result.pop("puts") > 0
    assert result.pop("in flight") > 100
    assert result == {"kills": 1_000, "lost": 0, "torn": 0, "left": 0, "problems": 0}
