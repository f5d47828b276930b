"""The authority that the servers' certificates come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.net.servers import authority


@pytest.fixture(scope="session")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority().cert_pem.write_to_path(str(path))
    return str(path)
