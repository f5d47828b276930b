"""The server lists and calls whatever tools the registry holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from spaniel.app.settings import Settings
from spaniel.mcp.server import Handlers
from spaniel.tool import ToolCtx, ToolRegistry
from spaniel.tool.framework import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping


class EchoTool:
    """A tool that fetches nothing."""

    name = "echo"
    title = "Echo"
    description = "Returns its arguments"
    schema: Mapping[str, object] = {"type": "object", "properties": {"word": {"type": "string"}}}
    output_schema: Mapping[str, object] = {"type": "object", "properties": {"word": {"type": "string"}}}

    def is_side_effecting(self) -> bool:
        return False

    def requires_approval(self) -> bool:
        return False

    def approval_summary(self, args: Mapping[str, object]) -> str:
        return f"echo {args}"

    async def call(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult:
        return ToolResult(dict(args))

    async def execute(self, args: Mapping[str, object], ctx: ToolCtx) -> str:
        return json.dumps((await self.call(args, ctx)).fields)


class NoClient:
    async def stored(self, _request: object) -> None:
        raise AssertionError("the cache is not read")


def handlers() -> Handlers:
    registry = ToolRegistry()
    registry.register(EchoTool())
    return Handlers(cast("Any", NoClient()), registry, Settings().mcp)


@pytest.mark.req("D2-10")
async def test_registered_tool_is_listed() -> None:
    [tool] = (await handlers().list_tools(cast("Any", None), None)).tools
    assert (tool.name, tool.title, tool.input_schema, tool.output_schema) == (
        EchoTool.name,
        EchoTool.title,
        EchoTool.schema,
        EchoTool.output_schema,
    )
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint


@pytest.mark.req("D2-10")
async def test_registered_tool_is_called() -> None:
    params = types.CallToolRequestParams(name="echo", arguments={"word": "otter"})
    result = await handlers().call_tool(cast("Any", None), params)
    assert result.structured_content == {"word": "otter"}
    [text] = result.content
    assert json.loads(cast("Any", text).text) == {"word": "otter"}


async def test_unknown_tool_is_refused_with_the_available_names() -> None:
    with pytest.raises(MCPError, match=r"Unknown tool: 'web_fetch'; available: 'echo'"):
        await handlers().call_tool(cast("Any", None), types.CallToolRequestParams(name="web_fetch", arguments={}))
