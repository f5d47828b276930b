"""Completion scripts, asked by the shells they are for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from spaniel.cli.main import COMMANDS
from tests.programs import spaniel


def completed(tmp_path: Path, *words: str) -> set[str]:
    """What bash offers for the last of these words."""
    (tmp_path / "spaniel.bash").write_text(spaniel("completion", "bash").stdout, encoding="utf-8")
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source spaniel.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '_shtab_spaniel spaniel "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=100
    )
    return set(done.stdout.split())


def test_bash_completes_commands_options_choices_and_files(tmp_path: Path) -> None:
    assert set(COMMANDS) <= completed(tmp_path, "spaniel", "")
    assert completed(tmp_path, "spaniel", "fe") == {"fetch"}
    assert {"--profile", "--no-cache", "--explain"} <= completed(tmp_path, "spaniel", "fetch", "--")
    assert completed(tmp_path, "spaniel", "fetch", "--format", "") >= {"markdown", "json", "chunks"}
    assert {"show", "init"} <= completed(tmp_path, "spaniel", "config", "")
    (tmp_path / "mine.toml").touch()
    assert "mine.toml" in completed(tmp_path, "spaniel", "fetch", "--profile", "mi")


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_a_script_that_names_every_command(shell: str, tmp_path: Path) -> None:
    script = spaniel("completion", shell).stdout
    assert all(command in script for command in COMMANDS)
    if shutil.which(shell):
        (tmp_path / "script").write_text(script, encoding="utf-8")
        assert subprocess.run([shell, "-n", str(tmp_path / "script")], check=False, timeout=100).returncode == 0


def test_another_shell_is_refused() -> None:
    done = spaniel("completion", "cmd.exe")
    assert done.returncode == 2
    assert "invalid choice" in done.stderr
    assert "Traceback" not in done.stderr


def test_fish_gets_a_line_for_every_command_and_option() -> None:
    script = spaniel("completion", "fish").stdout
    for command in COMMANDS:
        assert f" -a {command} -d '" in script
    assert "SUPPRESS" not in script
    assert "-n '__fish_seen_subcommand_from check' -l fallback-extensions -r -d '" in script
    assert "__fish_seen_subcommand_from db && __fish_seen_subcommand_from ls' -l json -d '" in script
    assert "-l format -s f" in script or "-s f -l format -r -a 'table json" in script
    for line in script.splitlines():
        assert line.startswith("complete -c spaniel")
        assert len(line.replace("\\\\", "").replace("\\'", "").split("'")) % 2 == 1, line  # every quote is closed
