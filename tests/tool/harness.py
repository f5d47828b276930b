"""The tool over a real client and a real site on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

from spaniel.app.client import Spaniel
from spaniel.app.settings import Settings, from_data
from spaniel.net.addresses import Address
from spaniel.tool.web_fetch import WebFetchTool
from tests.loopback import Page, Site

LONG = "".join(f"## Part {n}\n\n" + "The otter swims in the river. " * 60 + "\n\n" for n in range(12))


class Names:
    """A resolver for which every name is loopback, but for those that are not there or break it."""

    async def resolve(self, host: str) -> list[Address]:
        if host == "broken.example":
            raise ZeroDivisionError("a bug")
        return [] if host == "nowhere.example" else [ip_address("127.0.0.1")]


def settings_for(port: int, cache: Path, mode: str = "enabled", **webfetch: object) -> Settings:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [port]}
    table = {"enabled": True, "cache_dir": str(cache), "security": security, **webfetch}
    return from_data({"tools": {"mode": mode, "webfetch": table}}, "test")


@asynccontextmanager
async def tool_at(
    pages: dict[str, Page], cache: Path, mode: str = "enabled", **webfetch: object
) -> AsyncIterator[tuple[WebFetchTool, Site]]:
    async with Site(pages) as site:
        settings = settings_for(site.port, cache, mode, **webfetch)
        async with Spaniel(settings, Names()) as client:
            yield WebFetchTool(client, settings.tool), site
