"""A folder of its own for every test, a clock that can be set, and the log of the room."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from spaniel.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Not there yet: the cache makes it."""
    return tmp_path / "cache"


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """What the room has warned of."""
    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger, ear = logging.getLogger("spaniel.cache"), Ear()
    logger.addHandler(ear)
    logger.setLevel(logging.WARNING)  # whatever an earlier test has set for all of Spaniel
    yield said
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(ear)
