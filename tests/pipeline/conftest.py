"""What tests of the pipeline share."""

from __future__ import annotations

import pytest

from spaniel.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
