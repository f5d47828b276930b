"""The tool over a real client and a real site on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from spaniel.app.client import Spaniel
from spaniel.testing import FakeResolver, Page, Site, settings_for
from spaniel.tool.web_fetch import WebFetchTool

LONG = "".join(f"## Part {n}\n\n" + "The otter swims in the river. " * 60 + "\n\n" for n in range(12))


def names() -> FakeResolver:
    """Every name is loopback, but for those that are not there or break it."""
    return FakeResolver({"broken.example": ZeroDivisionError("a bug"), "nowhere.example": []})


@asynccontextmanager
async def tool_at(
    pages: dict[str, Page], cache: Path, mode: str = "enabled", **webfetch: Any
) -> AsyncIterator[tuple[WebFetchTool, Site]]:
    async with Site(pages) as site:
        settings = settings_for(site, cache=cache, mode=mode, **webfetch)
        async with Spaniel(settings, names()) as client:
            yield WebFetchTool(client, settings.tool), site
