"""The authority that the sites' certificates come from, and the public sites themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaniel.app.engine import Engine
from spaniel.testing import settings_for
from tests.net.servers import authority
from tests.online.sites import public_web
from tests.online.world import World, open_world


@pytest.fixture(scope="session")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority().cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture
async def world(ca_file: str) -> AsyncIterator[World]:
    async with open_world(public_web(), ca_file, {"nadie.es": ""}) as world:
        yield world


@pytest.fixture
async def engine(world: World, tmp_path: Path) -> AsyncIterator[Engine]:
    engine = world.put_into(Engine(settings_for(cache=tmp_path / "cache", timeout_seconds=60), world.resolver))
    async with engine:
        yield engine
