"""The MCP Inspector's command line, another client than the SDK's, against the server and a site on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from spaniel.testing import Site, text
from tests.mcp.harness import SPANIEL, at, configured

INSPECTOR = Path(sys.prefix, "inspector", "node_modules", ".bin", "mcp-inspector")

pytestmark = pytest.mark.skipif(
    not INSPECTOR.exists(), reason="the MCP Inspector is not set up: `make test` does, with npm"
)


async def inspect(config: str, folder: Path, *question: str) -> tuple[int | None, Any]:
    """The exit code, and what came on standard output."""
    command = [str(INSPECTOR), "--cli", "--cwd", str(Path.cwd()), *question, "--", *SPANIEL, "--config", config]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(folder), "MCP_CATALOG_PATH": str(folder / "catalog.json")},
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, json.loads(out)


@pytest.mark.req("D2-10", "FR-WF-01", "FR-WF-02")
async def test_it_lists_the_tool_and_finds_its_schemas_sound(tmp_path: Path) -> None:
    code, answer = await inspect(configured(tmp_path), tmp_path, "--method", "tools/list", "--strict")
    assert (code, [tool["name"] for tool in answer["tools"]]) == (0, ["web_fetch", "web_fetch_more"])
    for tool in answer["tools"]:
        assert tool["annotations"]["openWorldHint"] is True
        assert tool["inputSchema"]["additionalProperties"] is False


@pytest.mark.req("D2-10", "FR-WF-03", "FR-WF-18")
async def test_it_calls_the_tool_and_is_answered_or_refused(tmp_path: Path) -> None:
    async with Site({"/a": text("hello")}) as site:
        config = configured(tmp_path, site.port)
        call = ("--method", "tools/call", "--tool-name", "web_fetch", "--tool-arg")
        code, answer = await inspect(config, tmp_path, *call, f"url={at(site, '/a')}")
        assert (code, answer["content"][0]["text"]) == (0, f"URL: {at(site, '/a')}\n---\nhello")
        assert answer["structuredContent"]["chunks"] == [{"heading": "", "text": "hello", "token_count": 1}]
        code, answer = await inspect(config, tmp_path, *call, "url=http://169.254.169.254/latest/meta-data/")
        assert (code != 0, answer["isError"]) == (True, True)
        assert json.loads(answer["content"][0]["text"])["code"] == "ssrf_blocked"
