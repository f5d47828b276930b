"""A folder of its own for every test, a clock that can be set, and the log of the room."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spaniel.testing import FakeClock
from tests.cache.harness import OTHER, numbered, quick


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Not there yet: the cache makes it."""
    return tmp_path / "cache"


@pytest.fixture
def kept(folder: Path) -> Path:
    """Five pages of one host, one of them old, and one page of another."""
    now = datetime.now(UTC)
    with quick(folder) as cache:
        for number in range(4):
            cache.put(numbered(number), number, now)
        cache.put(numbered(4), "old", now - timedelta(days=10))
        cache.put(OTHER, "other", now)
    return folder


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
