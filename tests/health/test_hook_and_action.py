"""The pre-commit hook and the GitHub Action: what is in them, and what their scripts do with what they are given."""

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
NOTES_ARGUMENTS = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["NOTES"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_has_what_pre_commit_wants(hook: dict[str, Any]) -> None:
    assert {"id", "name", "description", "entry", "language", "types_or"} <= hook.keys()
    assert shlex.split(hook["entry"])[:2] == ["spaniel", "check"]
    assert hook["language"] == "python"
    assert hook["require_serial"] is True


def test_nothing_of_an_input_is_text_of_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert all(re.fullmatch(r"\$\{\{ inputs\.[a-z-]+ \}\}", value) for value in step.get("env", {}).values())
    named = {
        name for step in ACTION["runs"]["steps"] for name in re.findall(r"inputs\.([a-z-]+)", str(step.get("env")))
    }
    assert named == set(ACTION["inputs"])
    assert not [step for step in ACTION["runs"]["steps"] if "uses" in step]  # nobody else's code, nothing uploaded


def run(step: dict[str, Any], folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step's script as the runner starts it, with a program in Spaniel's place that notes its arguments."""
    (folder / "spaniel/bin").mkdir(parents=True, exist_ok=True)
    for name in ("spaniel/bin/spaniel", "spaniel/bin/python", "python3"):
        (folder / name).write_text(
            NOTES_ARGUMENTS.replace("/usr/bin/env python3", os.path.realpath("/usr/bin/python3"))
        )
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


def noted(folder: Path) -> list[list[str]]:
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


def test_what_is_given_to_the_action_is_given_to_spaniel_and_to_nobody_else(tmp_path: Path) -> None:
    done = run(
        CHECK,
        tmp_path,
        SPANIEL_SOURCES="docs\n  a b.md \r\n\n" + "\n".join(HOSTILE),
        SPANIEL_OPTIONS="\n".join(HOSTILE),
        SPANIEL_FORMAT="github; touch pwned",
        SPANIEL_FAIL_ON_UNKNOWN="false",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert noted(tmp_path) == [
        ["check", "--format=github; touch pwned", *HOSTILE, "--", "docs", "a b.md", *HOSTILE],
    ]
    assert not (tmp_path / "pwned").exists()
    assert (tmp_path / "output").read_text() == "exit-code=0\n"


@pytest.mark.parametrize(
    ("code", "fails", "wanted"), [(0, "true", 0), (1, "false", 1), (2, "false", 2), (3, "true", 3), (3, "false", 0)]
)
def test_the_step_fails_as_the_exit_code_and_the_user_say(tmp_path: Path, code: int, fails: str, wanted: int) -> None:
    inputs = {"SPANIEL_SOURCES": ".", "SPANIEL_OPTIONS": "", "SPANIEL_FORMAT": "github"}
    done = run(CHECK, tmp_path, **inputs, SPANIEL_FAIL_ON_UNKNOWN=fails, CODE=str(code))
    assert done.returncode == wanted
    assert ("::warning::" in done.stdout) == (code == 3 and not wanted)  # it does not pass in silence
    assert noted(tmp_path) == [["check", "--format=github", "--", "."]]
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"


def test_what_is_not_told_fails_only_where_that_is_asked_for(tmp_path: Path) -> None:
    assert ACTION["inputs"]["fail-on-unknown"]["default"] == "false"
    inputs = {"SPANIEL_SOURCES": ".", "SPANIEL_OPTIONS": "", "SPANIEL_FORMAT": "github"}
    wrong = run(CHECK, tmp_path, **inputs, SPANIEL_FAIL_ON_UNKNOWN="perhaps")
    assert (wrong.returncode, "::error::" in wrong.stdout, noted(tmp_path)) == (2, True, [])


def test_the_action_installs_its_own_checkout_and_nothing_by_a_name(tmp_path: Path) -> None:
    assert run(INSTALL, tmp_path, GITHUB_ACTION_PATH="/actions/a b").returncode == 0
    made, installed = noted(tmp_path)
    assert made == ["-m", "venv", f"{tmp_path}/spaniel"]
    assert installed[:3] == ["-m", "pip", "install"]
    assert [word for word in installed[3:] if not word.startswith("-")] == ["/actions/a b"]


def test_no_hint_installs_a_package_by_the_name_of_spaniel() -> None:
    """Under that name an index may have somebody else's."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {extra: shlex.split(packages) for extra, packages in EXTRAS.items()} == {
        extra: pyproject[extra] for extra in EXTRAS
    }
    files = [ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    for file in [*files, *ROOT.glob("src/**/*.py")]:
        found = re.search(r"install\S* [^\n]*?['\" ]spaniel(?:[\['\"=]|$)|uvx spaniel", file.read_text())
        assert found is None, f"{file}: {found}"


def test_the_hooks_entry_stops_a_commit_with_a_dead_link_and_lets_another_pass(tmp_path: Path) -> None:
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


def test_a_link_of_which_nobody_can_say_anything_stops_no_commit(tmp_path: Path) -> None:
    """A port that the guard refuses: nobody is asked."""
    [hook] = [hook for hook in HOOKS if hook["id"] == "spaniel-check"]
    entry = [sys.executable, "-m", "spaniel", *shlex.split(hook["entry"])[1:]]
    (tmp_path / "README.md").write_text("[a](http://one.org:0/)\n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    command = [*entry, "README.md"]
    done = programs.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 blocked" in done.stdout) == (0, True), done.stdout
