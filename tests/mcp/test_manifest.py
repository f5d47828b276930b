"""What hosts and the registry read: README's snippets, server.json, the documented settings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import spaniel
from spaniel.app.keys import KEYS
from spaniel.cli.main import COMMANDS
from spaniel.pipeline.request import SCHEMA
from spaniel.tool.web_fetch import OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import OUTPUT_SCHEMA as MORE_OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import SCHEMA as MORE_SCHEMA
from tests.mcp.harness import raw

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8")
HOSTS = (ROOT / "docs" / "howto" / "agents.md").read_text(encoding="utf-8")


def test_the_hosts_snippets_start_the_server() -> None:
    first, second = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", HOSTS, re.DOTALL))
    entries = [first["mcpServers"]["spaniel"], second["servers"]["spaniel"]]
    lines = [[entry["command"], *entry["args"]] for entry in entries]
    typed = (re.findall(r"^claude mcp add spaniel -- (.*)$", page, re.MULTILINE)[0] for page in (HOSTS, README))
    lines += [line.split() for line in typed]
    assert lines == [["spaniel", "mcp"]] * 4
    assert "mcp" in COMMANDS
    with raw() as server:
        assert server.modern("tools/list")["result"]["tools"]


def test_the_registrys_manifest_is_that_of_this_package() -> None:
    manifest = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    [package] = manifest["packages"]
    assert manifest["$schema"].endswith("/server.schema.json")
    assert manifest["version"] == package["version"] == spaniel.__version__
    assert len(manifest["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", manifest["name"])
    assert f"<!-- mcp-name: {manifest['name']} -->" in README  # how the registry knows whose package it is
    assert (package["registryType"], package["identifier"], package["transport"]) == (
        "pypi",
        "spaniel",
        {"type": "stdio"},
    )
    assert [argument["value"] for argument in package["packageArguments"]] == ["mcp"]


def test_the_page_about_the_tool_names_what_there_is() -> None:
    for schema in (SCHEMA, OUTPUT_SCHEMA, MORE_SCHEMA, MORE_OUTPUT_SCHEMA):
        for name in schema["properties"]:  # type: ignore[attr-defined]
            assert f"`{name}`" in PAGE
    known = {key.path for key in KEYS}
    for named in re.findall(r"`((?:tools|spaniel)\.[a-z_.]+)`", PAGE):
        assert named in known
