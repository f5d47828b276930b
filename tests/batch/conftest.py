"""Workers of a batch are forked, as programs are."""

from __future__ import annotations

import pytest

from spaniel.batch import launching
from tests import programs


@pytest.fixture(autouse=True)
def _workers_are_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """But where their start itself is tested."""
    if request.module.__name__ != "tests.batch.test_launching":
        monkeypatch.setattr(launching, "subprocess", programs)
