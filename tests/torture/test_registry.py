"""The registry's writers, killed two hundred times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.registry.test_writers import kill_commands, kill_writers


@pytest.mark.torture
@pytest.mark.req("DB-04")
def test_two_hundred_killed_writers_leave_whole_files(tmp_path: Path) -> None:
    kill_writers(tmp_path, 200)


@pytest.mark.torture
@pytest.mark.req("DB-04", "DB-08")
def test_two_hundred_killed_commands_leave_whole_files(tmp_path: Path) -> None:
    came_to = kill_commands(tmp_path / "urls", 200)
    print(f"killed commands had written: {dict(came_to)}")
    assert came_to["some files"] > 10, "too few were killed while they wrote to say anything"
