"""The files of deploy/ parse, and name options, settings and endpoints that there are."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from spaniel.api.app import ENDPOINTS
from spaniel.app.keys import KEYS
from spaniel.app.serving import TOKEN
from spaniel.cli.serve import parser
from spaniel.tables import read_toml

DEPLOY = Path(__file__).parents[2] / "deploy"
if not DEPLOY.is_dir():
    pytest.skip("there is no deploy/ beside this package", allow_module_level=True)
VARIABLES = {key.variable for key in KEYS} | {TOKEN}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(DEPLOY / "spaniel.service")
    return found


def test_commands_are_options_that_there_are() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
    [command] = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert json.loads(entry) == ["spaniel"]
    words = json.loads(command)
    assert words[0] == "serve"
    assert parser().parse_args(words[1:]).host == "0.0.0.0"  # noqa: S104  in a container
    command = shlex.split(unit()["Service"]["ExecStart"])
    assert command[0].endswith("/spaniel")
    assert parser().parse_args(command[2:]).host == "127.0.0.1"


def test_container_runs_as_a_user_without_rights() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER [1-9]\d+$", text, re.MULTILINE)
    [health] = re.findall(r"http://127\.0\.0\.1:8766(/\w+)", text)
    assert health in {endpoint.path for endpoint in ENDPOINTS}
    service = compose()["services"]["spaniel"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["ports"] == ["127.0.0.1:8766:8766"]
    assert set(service["environment"]) <= VARIABLES
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_seccomp_profile_denies_and_allows_what_it_must() -> None:
    profile = json.loads((DEPLOY / "seccomp.json").read_text())
    [denied] = profile["syscalls"]
    assert {"mount", "ptrace", "bpf", "init_module", "pivot_root", "setns"} <= set(denied["names"])
    assert not {"clone", "clone3", "unshare", "chroot", "seccomp"} & set(denied["names"])  # Chromium's sandbox


def test_unit_lets_chromium_make_its_sandbox() -> None:
    service = unit()["Service"]
    assert "RestrictNamespaces" not in service
    assert "MemoryDenyWriteExecute" not in service
    assert service["NoNewPrivileges"] == service["DynamicUser"] == "yes"


def test_readme_names_settings_that_there_are(tmp_path: Path) -> None:
    text = (DEPLOY / "README.md").read_text()
    [example] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "spaniel.toml"
    path.write_text(example)
    tables: Any = read_toml(str(path), "settings")
    for name in tables["spaniel"]["serve"]:
        assert f"spaniel.serve.{name}" in {key.path for key in KEYS}
    for name in re.findall(r"SPANIEL_\w+", text + (DEPLOY / "spaniel.service").read_text()):
        assert name in VARIABLES
    for name in re.findall(r"^\| `(\S+)` \|", text, re.MULTILINE):
        assert (DEPLOY / name).is_file()
