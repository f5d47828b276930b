"""google-genai's conversion of MCP tools: the plain schemas pass it, the full ones do not."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING

from google.genai import types
from google.genai._mcp_utils import mcp_to_gemini_tools
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from scene import scene, told

if TYPE_CHECKING:
    from mcp.types import Tool


async def listed(*options: str) -> list[Tool]:
    with scene(*options) as at:
        server = StdioServerParameters(command=at.command, args=at.args)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return (await session.list_tools()).tools


async def session() -> None:
    tools = mcp_to_gemini_tools(await listed("--schema", "plain"))
    found = [each for tool in tools for each in tool.function_declarations or []]
    assert [each.name for each in found] == ["web_fetch", "web_fetch_more"]
    for each in found:
        parameters = each.parameters
        assert parameters is not None
        assert parameters.properties is not None
        assert parameters.required == ["url"]
        assert parameters.properties["max_chunk_tokens"].type == types.Type.INTEGER
        assert parameters.properties["max_chunk_tokens"].maximum == 2048
        assert "additional" not in str(parameters.model_dump(exclude_none=True))
    told(f"google-genai {version('google-genai')}: both tools are converted with --schema plain")
    try:
        mcp_to_gemini_tools(await listed())
    except (AttributeError, TypeError, ValueError) as error:
        told(f"without it, as expected, they are not: {type(error).__name__}: {error}")
    else:
        told("without it they are converted too: --schema plain is not needed for this version")


asyncio.run(session())
