"""A real Ray cluster, in a network and with processes of its own, writes the records that local workers write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import pytest

from tests.batch.harness import ROOT

UNSHARE = ["unshare", "--kill-child", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc"]
PATIENT = {  # on a busy machine Ray's own patience is too short
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_worker_register_timeout_seconds": "120",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "120",
}


def possible() -> bool:
    return (
        bool(shutil.which("unshare"))
        and subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    )


def compared(count: int, ways: list[str], seconds: float) -> dict[str, Any]:
    """What came of the same URLs in each of these ways."""
    if not possible():
        pytest.skip("network namespaces are not to be had here")
    line = [sys.executable, "-W", "ignore", "-m", "tests.batch.digest_scenario", str(count), *ways]
    with tempfile.TemporaryDirectory() as short:  # the names of Ray's sockets are long enough as they are
        environment = os.environ | PATIENT | {"HOME": short, "RAY_TMPDIR": short}
        done = subprocess.run(
            [*UNSHARE, *line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(found, indent=1))
    assert set(found) == set(ways)
    return found


def require_the_same(found: dict[str, Any]) -> None:
    """Records, and captures where they were asked for; and an actor or the driver was really killed in each cluster."""
    assert {way: each["lost"] for way, each in found.items()} == {way: int(way.startswith("ray")) for way in found}
    assert len({each["records"] for each in found.values()}) == 1
    assert len({each["captures"] for way, each in found.items() if each["captures"]}) == 1


@pytest.mark.timeout(900)
def test_actors_bring_what_processes_bring_though_one_of_them_is_killed() -> None:
    require_the_same(compared(240, ["local-1", "ray-2", "rayparts-2"], 880))


@pytest.mark.timeout(900)
def test_run_whose_driver_was_killed_is_resumed() -> None:
    require_the_same(compared(240, ["local-1", "raydriver-2"], 880))
