"""The long form of tests/pipeline/test_load.py: `make torture`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.load_scenario import CAP
from tests.pipeline.test_load import needs_proc, storm

pytestmark = [pytest.mark.torture, pytest.mark.timeout(3_600)]


@needs_proc
async def test_ten_thousand_fetches_at_once(tmp_path: Path) -> None:
    """Places are for 512: who waits for one is on the clock, so the deadline is long enough for all."""
    result = await storm(tmp_path, each=50, seconds=60)
    print({name: result[name] for name in ("seconds", "grew", "open")})
    assert result["grew"] < 500 * 40 * CAP / 5
