"""FastMCP's client: structured answers, a cut page read on, words found, a refusal."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from scene import NEEDLE, Scene, scene, told


async def session(at: Scene) -> None:
    async with Client(StdioTransport(at.command, at.args)) as client:
        assert [tool.name for tool in await client.list_tools()] == ["web_fetch", "web_fetch_more"]
        first = await client.call_tool("web_fetch", {"url": at.url})
        assert first.structured_content
        more, calls = first.structured_content["more"], 1
        total, given = more["total_chunks"], len(first.structured_content["chunks"])
        while more:
            part = await client.call_tool("web_fetch_more", {"url": at.url, "from_chunk": more["next_chunk"]})
            assert part.structured_content
            given += len(part.structured_content["chunks"])
            more, calls = part.structured_content.get("more"), calls + 1
        assert given == total
        found = await client.call_tool("web_fetch_more", {"url": at.url, "find": "lighthouse keeper's otter"})
        assert NEEDLE in found.data.chunks[0].text  # FastMCP makes types out of the output schema
        assert found.content[0].text.startswith("Title: The long book\nURL: ")
        refused = await client.call_tool("web_fetch", {"url": "http://10.0.0.1/"}, raise_on_error=False)
        assert json.loads(refused.content[0].text)["code"] == "ssrf_blocked"
        assert refused.is_error
    assert at.requests.count("/book") == 1
    told(f"fastmcp {version('fastmcp')}: {total} chunks in {calls} calls with one fetch, a sentence found in one more")


with scene() as the_scene:
    asyncio.run(session(the_scene))
