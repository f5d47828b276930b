"""Fixtures: a history and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.health.history import History

MONDAY = 1_800_000_000.0


class Wall:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def history(tmp_path: Path, wall: Wall) -> Iterator[History]:
    made = History(str(tmp_path / "state" / "health"), now=wall)
    yield made
    made.close()
