"""The pre-commit hooks and the GitHub Action: their contents, and what their scripts do with the inputs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from spaniel.errors import EXTRAS
from tests import programs

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
INSTALL, CHECK = ACTION["runs"]["steps"]
LOGS_ARGUMENTS = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["NOTES"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hook_has_the_required_fields(hook: dict[str, Any]) -> None:
    assert {"id", "name", "description", "entry", "language", "types_or"} <= hook.keys()
    assert shlex.split(hook["entry"])[:2] == ["spaniel", "check"]
    assert hook["language"] == "python"
    assert hook["require_serial"] is True


def test_action_inputs_are_not_interpolated_into_scripts() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert all(re.fullmatch(r"\$\{\{ inputs\.[a-z-]+ \}\}", value) for value in step.get("env", {}).values())
    named = {
        name for step in ACTION["runs"]["steps"] for name in re.findall(r"inputs\.([a-z-]+)", str(step.get("env")))
    }
    assert named == set(ACTION["inputs"])
    assert not [step for step in ACTION["runs"]["steps"] if "uses" in step]  # no third-party actions, no uploads


def run(step: dict[str, Any], folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a step like the runner, with a program in place of Spaniel that logs its arguments."""
    (folder / "spaniel/bin").mkdir(parents=True, exist_ok=True)
    for name in ("spaniel/bin/spaniel", "spaniel/bin/python", "python3"):
        (folder / name).write_text(LOGS_ARGUMENTS.replace("/usr/bin/env python3", os.path.realpath("/usr/bin/python3")))
        (folder / name).chmod(0o755)
    environment = {
        **inputs,
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "NOTES": str(folder / "notes"),
        "PATH": f"{folder}:/usr/bin:/bin",
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def logged(folder: Path) -> list[list[str]]:
    path = folder / "notes"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "a' ; touch pwned '",
    '" ; touch pwned "',
    "* ? [a]",
    "$HOME",
]


def test_action_passes_its_inputs_to_spaniel_unchanged(tmp_path: Path) -> None:
    done = run(
        CHECK,
        tmp_path,
        SPANIEL_SOURCES="docs\n  a b.md \r\n\n" + "\n".join(HOSTILE),
        SPANIEL_OPTIONS="\n".join(HOSTILE),
        SPANIEL_FORMAT="github; touch pwned",
        SPANIEL_FAIL_ON_UNKNOWN="false",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert logged(tmp_path) == [
        ["check", "--format=github; touch pwned", *HOSTILE, "--", "docs", "a b.md", *HOSTILE],
    ]
    assert not (tmp_path / "pwned").exists()
    assert (tmp_path / "output").read_text() == "exit-code=0\n"


@pytest.mark.parametrize(
    ("code", "fails", "wanted"), [(0, "true", 0), (1, "false", 1), (2, "false", 2), (3, "true", 3), (3, "false", 0)]
)
def test_step_fails_by_exit_code_and_fail_on_unknown(tmp_path: Path, code: int, fails: str, wanted: int) -> None:
    inputs = {"SPANIEL_SOURCES": ".", "SPANIEL_OPTIONS": "", "SPANIEL_FORMAT": "github"}
    done = run(CHECK, tmp_path, **inputs, SPANIEL_FAIL_ON_UNKNOWN=fails, CODE=str(code))
    assert done.returncode == wanted
    assert ("::warning::" in done.stdout) == (code == 3 and not wanted)  # with a warning
    assert logged(tmp_path) == [["check", "--format=github", "--", "."]]
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"


def test_fail_on_unknown_defaults_to_false_and_is_validated(tmp_path: Path) -> None:
    assert ACTION["inputs"]["fail-on-unknown"]["default"] == "false"
    inputs = {"SPANIEL_SOURCES": ".", "SPANIEL_OPTIONS": "", "SPANIEL_FORMAT": "github"}
    wrong = run(CHECK, tmp_path, **inputs, SPANIEL_FAIL_ON_UNKNOWN="perhaps")
    assert (wrong.returncode, "::error::" in wrong.stdout, logged(tmp_path)) == (2, True, [])


def test_action_installs_its_own_checkout(tmp_path: Path) -> None:
    assert run(INSTALL, tmp_path, GITHUB_ACTION_PATH="/actions/a b").returncode == 0
    made, installed = logged(tmp_path)
    assert made == ["-m", "venv", f"{tmp_path}/spaniel"]
    assert installed[:3] == ["-m", "pip", "install"]
    assert [word for word in installed[3:] if not word.startswith("-")] == ["/actions/a b"]


def test_no_document_installs_spaniel_from_an_index() -> None:
    """Under that name, an index may have another package."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {extra: shlex.split(packages) for extra, packages in EXTRAS.items()} == {
        extra: pyproject[extra] for extra in EXTRAS
    }
    files = [ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    for file in [*files, *ROOT.glob("src/**/*.py")]:
        found = re.search(r"install\S* [^\n]*?['\" ]spaniel(?:[\['\"=]|$)|uvx spaniel", file.read_text())
        assert found is None, f"{file}: {found}"


def test_hook_fails_for_dead_local_link_only(tmp_path: Path) -> None:
    [hook] = [hook for hook in HOOKS if hook["id"] == "spaniel-check-offline"]
    entry = [sys.executable, "-m", "spaniel", *shlex.split(hook["entry"])[1:]]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.md").write_text("# B\n[up](../README.md#t) https://one.org/\n")
    outcomes = []
    for target in ("docs/b.md#b", "docs/missing.md", "docs/b.md#gone"):
        (tmp_path / "README.md").write_text(f"# T\n[a]({target})\n")
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}
        done = programs.run(
            [*entry, "README.md", "docs/b.md"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        outcomes.append((done.returncode, "README.md" in done.stdout and " 2:5 " in done.stdout))
    assert outcomes == [(0, False), (1, True), (1, True)]


def test_hook_passes_for_link_that_cannot_be_checked(tmp_path: Path) -> None:
    """The guard refuses the port, so no request is made."""
    [hook] = [hook for hook in HOOKS if hook["id"] == "spaniel-check"]
    entry = [sys.executable, "-m", "spaniel", *shlex.split(hook["entry"])[1:]]
    (tmp_path / "README.md").write_text("[a](http://one.org:0/)\n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    command = [*entry, "README.md"]
    done = programs.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 blocked" in done.stdout) == (0, True), done.stdout
