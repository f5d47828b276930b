"""Tests here need a real Chromium, and say which (T-WF-BR-ENV-01)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = f"{Path(__file__).parent}{os.sep}"
VARIABLE = "FORGE_TEST_CHROMIUM_PATH"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get(VARIABLE):
        return
    for item in items:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.skip(reason=f"{VARIABLE} is not set"))
