"""DNS rebinding and lying name servers, with real DNS, real sockets and the system's own resolver."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--mount"]


def possible() -> bool:
    return (
        bool(shutil.which("unshare"))
        and subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.fixture(scope="module")
def scenario() -> dict[str, object]:
    if not possible():
        pytest.skip("network namespaces are not to be had here")
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-W", "ignore", "-m", "tests.net.namespace_scenario"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.req("FR-WF-06a", "NFR-WF-SEC-05", "T-WF-SSRF-10")
def test_rebinding_name_is_resolved_once_and_its_vetted_address_dialled(scenario: dict[str, object]) -> None:
    assert scenario["first"] == "public page"
    assert scenario["lookups of the first"] == 1


@pytest.mark.req("FR-WF-06a", "NFR-WF-SEC-05", "T-WF-SSRF-10")
def test_when_the_name_has_rebound_it_is_refused(scenario: dict[str, object]) -> None:
    assert scenario["second"] == "ssrf_blocked"
    assert scenario["victim"] == 0


@pytest.mark.req("T-WF-SSRF-10")
def test_the_control_that_checks_and_then_connects_reaches_the_victim(scenario: dict[str, object]) -> None:
    assert scenario["control"] == "SECRET"
    assert scenario["victim after the control"] == 1


@pytest.mark.req("FR-WF-06", "FR-WF-06c", "FG-02")
@pytest.mark.parametrize(
    ("how", "right"),
    [
        ("good", "public page"),
        ("inner", "ssrf_blocked"),
        ("inner6", "ssrf_blocked"),
        ("mixed", "ssrf_blocked"),
        ("many", "dns_failed"),
        ("nothing", "dns_failed"),
        ("servfail", "dns_failed"),
        ("loop", "dns_failed"),
        ("silent", "dns_failed"),
    ],
)
def test_a_lying_name_server_is_met_closed(scenario: dict[str, object], how: str, right: str) -> None:
    assert scenario[how] == right
