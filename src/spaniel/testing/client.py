"""A Spaniel that may look at sites on loopback, and at nothing else."""

from __future__ import annotations

import os
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from spaniel.app.client import Spaniel
from spaniel.app.settings import from_data
from spaniel.pipeline.profile import DEFAULT
from spaniel.testing.fakes import FakeResolver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spaniel.app.settings import Settings
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.profile import Profile
    from spaniel.testing.site import Site


def settings_for(*sites: Site, cache: str | os.PathLike[str], mode: str = "enabled", **webfetch: Any) -> Settings:
    """Settings that open loopback for these sites' ports, with the page cache in a folder of the test's.

    Further settings of `[tools.webfetch]` are given by name, its tables as dictionaries: `browser={"enabled": False}`.
    """
    security = {
        "block_loopback": False,
        "allow_insecure_overrides": True,
        "allowed_ports": [site.port for site in sites],
    }
    table = {"enabled": True, "cache_dir": os.fspath(cache), "security": security, **webfetch}
    return from_data({"tools": {"mode": mode, "webfetch": table}}, "test")


@asynccontextmanager
async def spaniel_for(
    *sites: Site,
    cache: str | os.PathLike[str] | None = None,
    resolver: Resolver | None = None,
    profile: str | os.PathLike[str] | Profile = DEFAULT,
    **webfetch: Any,
) -> AsyncIterator[Spaniel]:
    """An open Spaniel for which every name is at 127.0.0.1, where these sites are.

    Without `cache` it has one of its own, which is gone afterwards. Settings are given as to `settings_for`.
    """
    async with AsyncExitStack() as stack:
        folder = cache or stack.enter_context(tempfile.TemporaryDirectory(prefix="spaniel-test-"))
        settings = settings_for(*sites, cache=folder, **webfetch)
        yield await stack.enter_async_context(Spaniel(settings, resolver=resolver or FakeResolver(), profile=profile))
