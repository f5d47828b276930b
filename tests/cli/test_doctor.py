"""`spaniel doctor`: every line can be green, and every line can be red."""

from __future__ import annotations

import json
import os
import pty
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from tests import programs
from tests.programs import SPANIEL, spaniel

UNBOXED = """#!/bin/sh
case "$*" in
    --version | *--no-sandbox*) echo Chromium 120.0.1 ;;
    *) echo No usable sandbox >&2; exit 1 ;;
esac
"""


class Machine(NamedTuple):
    """What the doctor is led to see."""

    folder: Path
    programs: Path  # open to everyone: for root, Chromium runs as the user 'nobody'

    def chromium(self, says: str, name: str = "chromium", code: int = 0) -> Path:
        script = self.programs / name
        script.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n", encoding="utf-8")
        script.chmod(0o755)
        return script

    def settings(self, toml: str) -> str:
        file = self.folder / "s.toml"
        file.write_text(toml, encoding="utf-8")
        return str(file)

    def findings(self, *args: str, host: str = "localhost") -> tuple[int, dict[str, dict[str, object]]]:
        path, caches = str(self.programs), str(self.folder / "caches")
        command = ("doctor", "--json", "--host", host, *args)
        done = spaniel(*command, cwd=self.folder, PATH=path, XDG_CACHE_HOME=caches)
        assert done.stderr == ""
        return done.returncode, {row["what"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="spaniel-doctor-") as programs:
        os.chmod(programs, 0o755)  # noqa: S103
        made = Machine(tmp_path, Path(programs))
        made.chromium("Chromium 120.0.6099.5 built on Debian")
        yield made


def test_no_problems_found(machine: Machine) -> None:
    code, found = machine.findings()
    assert list(found) == [
        "python", "reading", "pdf", "settings", "agent", "trust", "proxy", "cache", "chromium", "dns", "guard",
    ]  # fmt: skip
    assert all(row["well"] and not row["cure"] for row in found.values()), found
    assert code == 0
    assert str(machine.folder / "caches" / "spaniel") in str(found["cache"]["found"])
    assert str(found["chromium"]["found"]).startswith("Chromium 120.0.6099.5 built on Debian at ")
    assert str(found["chromium"]["found"]).endswith(", in its sandbox")
    assert found["dns"]["found"] == "localhost is at 127.0.0.1" or "::1" in str(found["dns"]["found"])
    assert str(found["guard"]["found"]).startswith("refused 10 of 10")


@pytest.mark.req("FR-WF-11", "FR-WF-11a")
def test_chromium_is_found_and_checked(machine: Machine) -> None:
    shell = machine.chromium("HeadlessShell 130.0.1.2", "chromium-headless-shell")
    assert machine.findings()[1]["chromium"]["found"] == f"HeadlessShell 130.0.1.2 at {shell}, in its sandbox"
    for script, message in (
        (machine.chromium("Chromium 99.0.1", "old"), "older than 100"),
        (machine.chromium("hello", "other"), "hello"),
        (machine.chromium("Chromium 120.0.1", "broken", 3), "without a word"),
        (machine.folder / "nowhere", "there is no such program"),
    ):
        named = machine.settings(f'[tools.webfetch.browser]\nchromium_path = "{script}"\n')
        code, found = machine.findings("--config", named)
        assert (code, found["chromium"]["well"]) == (7, False)
        assert message in str(found["chromium"]["found"])
        assert "chromium_path" in str(found["chromium"]["cure"])
    unboxed = machine.chromium("Chromium 120.0.1", "unboxed")
    unboxed.write_text(UNBOXED, encoding="utf-8")
    named = machine.settings(f'[tools.webfetch.browser]\nchromium_path = "{unboxed}"\n')
    code, found = machine.findings("--config", named)
    assert (code, found["chromium"]["well"]) == (7, False)
    assert "No usable sandbox" in str(found["chromium"]["found"])
    assert "user namespaces" in str(found["chromium"]["cure"])
    for script in machine.programs.iterdir():
        script.unlink()
    assert "is on the PATH" in str(machine.findings()[1]["chromium"]["found"])
    off = machine.settings("[tools.webfetch.browser]\nenabled = false\n")
    assert machine.findings("--config", off)[0] == 0


def test_problem_is_red_and_the_other_checks_still_run(machine: Machine) -> None:
    code, found = machine.findings("--config", machine.settings("[tools.webfetch]\ntimeout_second = 3\n"))
    assert (code, found["settings"]["well"], found["guard"]["well"]) == (7, False, True)
    assert "did you mean 'tools.webfetch.timeout_seconds'?" in str(found["settings"]["found"])
    (machine.folder / "file").write_bytes(b"")
    code, found = machine.findings("--config", machine.settings('[tools.webfetch]\ncache_dir = "file/x"\n'))
    assert (code, found["cache"]["well"]) == (7, False)
    code, found = machine.findings(host="a" * 64 + ".example")  # no name server need be asked
    assert (code, found["dns"]["well"]) == (7, False)
    assert "--host" in str(found["dns"]["cure"])


def test_user_agent_without_contact_has_a_hint(machine: Machine) -> None:
    code, found = machine.findings()
    assert str(found["agent"]["found"]).startswith("forge-webfetch/1.0; it has no contact address")
    assert "SPANIEL_USER_AGENT" in str(found["agent"]["found"])
    assert (code, found["agent"]["well"]) == (0, True)  # advice, no fault
    polite = machine.settings('[tools.webfetch]\nuser_agent = "otter/1 (+https://otter.example/)"\n')
    assert machine.findings("--config", polite)[1]["agent"]["found"] == "otter/1 (+https://otter.example/)"


def test_unknown_variable_is_reported(machine: Machine) -> None:
    command, caches = ("doctor", "--host", "localhost"), str(machine.folder / "caches")
    done = spaniel(*command, cwd=machine.folder, XDG_CACHE_HOME=caches, SPANIEL_TIMEOUT="3")
    assert "SPANIEL_TIMEOUT is ignored: unknown setting; did you mean 'SPANIEL_TIMEOUT_SECONDS'?" in done.stderr


def test_missing_certificates_are_red(machine: Machine) -> None:
    named = machine.settings('[spaniel.net]\nca_file = "ca.pem"\n')
    file = machine.folder / "ca.pem"
    code, found = machine.findings("--config", named)
    assert (code, found["trust"]["well"]) == (7, False)
    assert found["trust"]["found"] == f"ca_file: {file}: No such file or directory"
    assert "ca_file" in str(found["trust"]["cure"])
    file.write_text("no certificate", encoding="utf-8")
    assert machine.findings("--config", named)[0] == 7
    trustme.CA().cert_pem.write_to_path(str(file))
    code, found = machine.findings("--config", named)
    assert (code, found["trust"]["found"]) == (0, f"the system's certificates and those in {file}")


def test_proxy_is_reported_used_or_not(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    used = machine.settings("[tools.webfetch.http]\nuse_system_proxy = true\n")
    assert machine.findings()[1]["proxy"]["found"] == "none"
    assert machine.findings("--config", used)[1]["proxy"]["found"] == "none is set"
    monkeypatch.setenv("HTTPS_PROXY", "http://p.example:3128")
    code, found = machine.findings()
    assert (code, found["proxy"]["well"]) == (0, True)
    assert str(found["proxy"]["found"]).startswith("HTTPS_PROXY is set but not used; to use it, set use_system_proxy")
    assert machine.findings("--config", used)[1]["proxy"]["found"] == "for https"
    monkeypatch.setenv("HTTPS_PROXY", "socks5://p.example")
    assert machine.findings("--config", used)[1]["proxy"]["well"] is False


@pytest.mark.req("FR-WF-05b")
def test_disabled_protection_is_red(machine: Machine) -> None:
    hole = "[tools.webfetch.security]\nblock_loopback = false\nallow_insecure_overrides = true\n"
    code, found = machine.findings("--config", machine.settings(hole))
    assert (code, found["guard"]["found"]) == (7, "disabled: block_loopback")
    own_ports = machine.settings("[tools.webfetch.security]\nallowed_ports = [22, 8080]\n")
    assert machine.findings("--config", own_ports)[1]["guard"]["well"]  # a port list is no hole


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colors_are_for_terminals_without_no_color(machine: Machine, no_color: str, coloured: bool) -> None:
    ours, theirs = pty.openpty()
    env = {
        **os.environ,
        "PATH": str(machine.programs),
        "XDG_CACHE_HOME": str(machine.folder),
        "NO_COLOR": no_color,
    }
    done = programs.run([*SPANIEL, "doctor", "--host", "localhost"], stdout=theirs, env=env, check=False, timeout=60)
    os.close(theirs)
    output = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "guard" in output
    assert ("\x1b[32mok \x1b[0m" in output) is coloured
    assert ("\x1b" in output) is coloured
