"""The tool over a real client and a real site on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings
from spaniel.defaults import OUTPUT_BYTES
from spaniel.testing import FakeResolver, Page, Site, settings_for
from spaniel.tool import ToolCtx, WebFetchMoreTool, WebFetchTool
from spaniel.tool.framework import ToolSession

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


class Tools:
    """Both tools of one session, over one client and one site."""

    def __init__(self, client: Spaniel, settings: Settings, site: Site) -> None:
        session = ToolSession()
        self.client = client
        self.site = site
        self.fetches = WebFetchTool(client, settings.tool, session)
        self.reads_on = WebFetchMoreTool(client, settings.tool, session)

    async def fetch(self, path: str, budget: int = OUTPUT_BYTES.default, **args: object) -> dict[str, Any]:
        ctx = ToolCtx(budget, budget, approve=lambda _: True)
        out = await self.fetches.execute({"url": self.site.url(path), **args}, ctx)
        assert len(out.encode()) <= budget
        return dict(json.loads(out))

    async def more(self, path: str, budget: int = OUTPUT_BYTES.default, **args: object) -> dict[str, Any]:
        """No approval is possible: for pages that are cached."""

        def never(_: str) -> bool:
            raise AssertionError("asked")

        url = self.site.url(path) if path.startswith("/") else path
        out = await self.reads_on.execute({"url": url, **args}, ToolCtx(budget, budget, approve=never))
        assert len(out.encode()) <= budget
        return dict(json.loads(out))


@asynccontextmanager
async def tools_at(pages: dict[str, Page], cache: Path, **webfetch: Any) -> AsyncIterator[Tools]:
    async with Site(pages) as site:
        settings = settings_for(site, cache=cache, **webfetch)
        async with Spaniel(settings, names()) as client:
            yield Tools(client, settings, site)
