"""The registry's writers, killed two hundred times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.registry.test_writers import kill_writers


@pytest.mark.torture
@pytest.mark.req("DB-04")
def test_two_hundred_killed_writers_leave_whole_files(tmp_path: Path) -> None:
    kill_writers(tmp_path, 200)
