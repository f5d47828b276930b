"""What can be seen of the settings of a batch: scenarios for tests/pipeline/test_every_setting.py."""

from __future__ import annotations

from typing import Any

import spaniel
from spaniel.testing import FakeClock, text
from spaniel.testing.batching import open_fetcher
from tests.pipeline.settings_scenarios import Place


async def _ends(place: Place, clock: FakeClock | None, *paths: str) -> str:
    """How the last of these pages ended: `ok`, or what limit was met."""
    urls = [place.site.url(path) for path in paths]
    stream = spaniel.batch(urls, settings=place.settings, delay=0, jobs=1, fetcher=open_fetcher, clock=clock)
    found: dict[Any, Any] = {record["ordinal"]: record async for record in stream}
    error = found[len(urls) - 1]["error"]
    return str(error["details"].get("limit", error["code"])) if error else "ok"


async def long_retry_after(place: Place) -> str:
    place.site.pages |= {"/0": text("", 429, {"Retry-After": "20"}), "/1": text("here")}
    return await _ends(place, FakeClock(), "/0", "/1")


async def long_crawl_delay(place: Place) -> str:
    place.site.pages |= {"/robots.txt": text("User-agent: *\nCrawl-delay: 20\n"), "/0": text("here")}
    return await _ends(place, FakeClock(), "/0")


async def slow_host(place: Place) -> str:
    """Within its time on a fake clock, which a wait moves at once."""
    pages = {f"/{n}": text("here") for n in range(3)}
    place.site.pages |= {"/robots.txt": text("User-agent: *\nCrawl-delay: 20\n"), **pages}
    return await _ends(place, FakeClock(), *pages)
