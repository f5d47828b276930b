"""`spaniel mcp` as a person meets it, at a terminal; and the options that a host gives it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.mcp.harness import raw
from tests.programs import SPANIEL, spaniel


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_at_a_terminal_it_explains_itself_and_ctrl_c_stops_it(options: list[str], tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = programs.Popen(
        [*SPANIEL, "mcp", *options],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        terminal=0,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    try:
        assert process.stderr
        output = b"".join(process.stderr.readline() for _ in range(3)).decode()
        os.write(ours, b"\x03")
        out, rest = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert "server for AI assistants" in output
    assert "Ctrl-C to stop" in output
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in rest


def test_explanation_is_not_printed_for_a_host(tmp_path: Path) -> None:
    done = programs.run([*SPANIEL, "mcp"], input=b"", capture_output=True, check=False, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_plain_schemas_are_for_hosts_that_reject_parts_of_json_schema() -> None:
    listed: dict[str, Any] = {}
    for kind in ("full", "plain"):
        with raw("--schema", kind) as server:
            listed[kind] = {tool["name"]: tool for tool in server.modern("tools/list")["result"]["tools"]}
    for name, tool in listed["plain"].items():
        full = listed["full"][name]
        assert "additionalProperties" not in str(tool)
        assert "additionalProperties" in str(full)
        assert set(tool["inputSchema"]["properties"]) == set(full["inputSchema"]["properties"])
        assert {key: tool[key] for key in ("name", "description", "annotations")} == {
            key: full[key] for key in ("name", "description", "annotations")
        }
    assert spaniel("mcp", "--schema", "fancy").returncode == 2


@pytest.mark.req("NFR-WF-REL-02")
def test_signal_during_the_start_ends_it_silently() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.mcp.interrupted", "6"], capture_output=True, check=True, timeout=300
    )
    found = json.loads(done.stdout)
    assert found["tried"] > 30
    assert found["wrong"] == []


@pytest.mark.req("D2-38", "FR-WF-02")
def test_rendering_arguments_need_a_profile_beyond_the_srds() -> None:
    taken: dict[str, dict[str, Any]] = {}
    for profile in ("web_fetch", "reader"):
        with raw("--profile", profile) as server:
            listed = {tool["name"]: tool for tool in server.modern("tools/list")["result"]["tools"]}
            taken[profile] = listed["web_fetch"]["inputSchema"]
            arguments = {"url": "http://10.0.0.1/", "wait_for": "#x", "scroll": 2}
            answer = server.modern("tools/call", name="web_fetch", arguments=arguments)
        refused = json.loads(answer["result"]["content"][0]["text"])
        assert refused["code"] == ("bad_args" if profile == "web_fetch" else "ssrf_blocked")
    assert set(taken["reader"]["properties"]) - set(taken["web_fetch"]["properties"]) == {"wait_for", "scroll"}
    assert taken["reader"]["additionalProperties"] is taken["web_fetch"]["additionalProperties"] is False
