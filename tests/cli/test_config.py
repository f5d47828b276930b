"""`spaniel config`, and what a settings file in the working folder can do to the other commands."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from functools import partial
from pathlib import Path

import pytest

from spaniel.app.keys import KEYS
from tests.programs import spaniel


def test_init_writes_a_file_to_start_from_and_show_reads_it(tmp_path: Path) -> None:
    printed = spaniel("config", "init", "-", cwd=tmp_path)
    made = spaniel("config", "init", cwd=tmp_path)
    file = tmp_path / "spaniel.toml"
    assert printed.stdout == file.read_text(encoding="utf-8")
    assert (made.returncode, made.stdout) == (0, "wrote spaniel.toml\n")
    file.write_text(
        file.read_text(encoding="utf-8").replace("# timeout_seconds = 20", "timeout_seconds = 7"), encoding="utf-8"
    )
    shown = spaniel("config", "show", cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    assert "tools.webfetch.timeout_seconds = 7  # spaniel.toml" in shown.stdout
    assert "tools.webfetch.max_redirects = 5  # default" in shown.stdout
    wrong = spaniel("config", "show", "--config", "none.toml", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_init_overwrites_a_file_only_with_force(tmp_path: Path) -> None:
    file = tmp_path / "spaniel.toml"
    file.write_text("mine", encoding="utf-8")
    again = spaniel("config", "init", cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert file.read_text(encoding="utf-8") == "mine"
    assert spaniel("config", "init", "--force", cwd=tmp_path).returncode == 0
    assert file.read_text(encoding="utf-8").startswith("# Spaniel's settings.")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_init_does_not_follow_links(tmp_path: Path, force: tuple[str, ...]) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("mine", encoding="utf-8")
    (tmp_path / "spaniel.toml").symlink_to(treasure)
    spaniel("config", "init", *force, cwd=tmp_path)
    assert treasure.read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "spaniel.toml").is_symlink() is not bool(force)


def test_init_creates_the_folder_of_its_file(tmp_path: Path) -> None:
    assert spaniel("config", "init", "a/b/mine.toml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a" / "b" / "mine.toml").is_file()
    user = spaniel("config", "init", "--user", cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert user.stdout == f"wrote {tmp_path}/config/spaniel/spaniel.toml\n"
    assert (tmp_path / "config" / "spaniel" / "spaniel.toml").is_file()
    (tmp_path / "file").touch()
    blocked = spaniel("config", "init", "file/mine.toml", cwd=tmp_path)
    assert (blocked.returncode, blocked.stdout) == (2, "")
    assert "cannot be written" in blocked.stderr


@pytest.mark.req("D2-31")
def test_show_names_every_source_and_settings_file(tmp_path: Path) -> None:
    (tmp_path / "spaniel.toml").write_text("[tools.webfetch]\nmax_redirects = 1\n", encoding="utf-8")
    named = tmp_path / "named.toml"
    named.write_text("[tools.webfetch]\nenabled = true\n", encoding="utf-8")
    options = ("--config", str(named), "--user-agent", "me/1", "--timeout", "9")
    shown = spaniel("config", "show", *options, cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path), SPANIEL_CACHE_DIR="/c")
    for line in (
        "tools.webfetch.max_redirects = 1  # spaniel.toml",
        f"tools.webfetch.enabled = true  # {named}",
        'tools.webfetch.cache_dir = "/c"  # SPANIEL_CACHE_DIR',
        'tools.webfetch.user_agent = "me/1"  # --user-agent',
        "tools.webfetch.timeout_seconds = 9  # --timeout",
        "tools.webfetch.browser.enabled = true  # default",
    ):
        assert line in shown.stdout.splitlines()
    assert shown.stderr.splitlines()[1:] == [
        f"  user     {tmp_path}/spaniel/spaniel.toml (not found)",
        "  project  spaniel.toml (found)",
        f"  named    {named} (found)",
    ]
    (tmp_path / "spaniel.toml").unlink()
    bare = spaniel("config", "show", cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    assert "  project  spaniel.toml (not found)\n  named    none" in bare.stderr


def test_show_json_has_typed_values(tmp_path: Path) -> None:
    (tmp_path / "spaniel.toml").write_text(
        '[tools.webfetch]\nenabled = true\nuser_agent = "a \\"b\\""\n'
        '[tools.webfetch.rendering]\njs_heavy_domains = ["x.example"]\n',
        encoding="utf-8",
    )
    done = spaniel("config", "show", "--json", cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    rows = {row["key"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert list(rows) == [key.path for key in KEYS]
    assert rows["tools.webfetch.enabled"] == {
        "key": "tools.webfetch.enabled",
        "value": True,
        "source": "spaniel.toml",
    }
    assert rows["tools.webfetch.user_agent"]["value"] == 'a "b"'
    assert rows["tools.webfetch.timeout_seconds"]["value"] == 20
    assert rows["tools.webfetch.rendering.js_heavy_domains"]["value"] == ["x.example"]
    assert rows["tools.webfetch.security.allowed_ports"]["value"] == [80, 443]
    assert "project  spaniel.toml (found)" in done.stderr


HOLE = "[tools.webfetch.security]\nblock_loopback = false\nallow_insecure_overrides = true\n"


@pytest.mark.req("D2-31")
@pytest.mark.parametrize(
    "command", [("fetch", "-q", "http://127.0.0.1/"), ("may-i", "http://127.0.0.1/"), ("mcp",), ("cache", "stats")]
)
def test_file_in_the_working_folder_cannot_open_the_guard(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "spaniel.toml").write_text(HOLE, encoding="utf-8")
    done = spaniel(*command, cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "tools.webfetch.security.block_loopback: a project's file may not set this" in done.stderr
    assert f"{tmp_path}/spaniel/spaniel.toml" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.req("D2-31")
def test_file_in_the_working_folder_cannot_run_a_program() -> None:
    """The control: what the user's own file names is run."""
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to the user that runs Chromium for root
        check_that_only_the_users_own_program_is_run(Path(folder))


def check_that_only_the_users_own_program_is_run(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n", encoding="utf-8")
    program.chmod(stat.S_IRWXU | stat.S_IROTH | stat.S_IXOTH)
    os.chmod(tmp_path, 0o777)  # noqa: S103  for root, Chromium runs as the user 'nobody'
    text = f'[tools.webfetch.browser]\nchromium_path = "{program}"\n'
    project = tmp_path / "project"
    project.mkdir()
    (project / "spaniel.toml").write_text(text, encoding="utf-8")
    run = partial(spaniel, cwd=project, XDG_CONFIG_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "caches"))
    for command in (("doctor", "--host", "localhost"), ("fetch", "--browser", "https://example.com/")):
        done = run(*command)
        assert done.returncode in (2, 7)
        assert "chromium_path: a project's file may not set this" in done.stdout + done.stderr
        assert not (tmp_path / "ran").exists()
    (tmp_path / "spaniel").mkdir()
    (project / "spaniel.toml").rename(tmp_path / "spaniel" / "spaniel.toml")
    run("doctor", "--host", "localhost")
    assert (tmp_path / "ran").exists()


@pytest.mark.req("FR-WF-05b", "D2-31")
@pytest.mark.parametrize(("options", "level"), [(("-q",), "debug"), ((), "off"), (("-q",), "off")])
def test_disabled_protection_is_always_reported(tmp_path: Path, options: tuple[str, ...], level: str) -> None:
    named = tmp_path / "open.toml"
    named.write_text(HOLE, encoding="utf-8")
    for command in ("fetch", "may-i"):
        url = "http://127.0.0.1:1/"  # refused for its port, after the guard has spoken
        done = spaniel(command, *options, "--config", str(named), url, SPANIEL_LOG=level, XDG_CACHE_HOME=str(tmp_path))
        assert "SSRF protection disabled for: block_loopback" in done.stderr
        assert done.returncode == 3
    shut = spaniel("may-i", *options, "http://127.0.0.1:1/", cwd=tmp_path, SPANIEL_LOG=level)
    assert "protection" not in shut.stderr  # the control


def test_wrong_option_value_is_reported_with_its_name() -> None:
    done = spaniel("may-i", "--timeout", "0", "https://example.com/")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--timeout: must be 1 to 300" in done.stderr
    assert "invalid int value" in spaniel("fetch", "--timeout", "soon", "https://example.com/").stderr
