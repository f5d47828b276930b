"""An agent of LangChain with its MCP adapter: it reads a page that is cut to its end, and survives a refusal."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from scene import NEEDLE, PARTS, Scene, scene, told


class Scripted(BaseChatModel):
    """A model that does what an answer's text tells it: it goes on to the end, then asks for what is refused."""

    url: str
    seen: list[str] = []  # noqa: RUF012  pydantic gives each model its own

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        call: tuple[str, dict[str, Any]] | None = None
        if not isinstance(last, ToolMessage):
            call = "web_fetch", {"url": self.url}
        else:
            text = str(last.text)
            self.seen.append(text)
            more = re.search(r"^Part: .*call (web_fetch_more) with (\{.*?\});", text, re.MULTILINE)
            if more:
                call = more[1], json.loads(more[2])
            elif len(self.seen) > 1 and "ssrf_blocked" not in text:
                call = "web_fetch", {"url": "http://169.254.169.254/latest/meta-data/"}
        if call is None:
            message = AIMessage("done")
        else:
            message = AIMessage("", tool_calls=[{"name": call[0], "args": call[1], "id": str(len(messages))}])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def session(at: Scene) -> None:
    server = {"transport": "stdio", "command": at.command, "args": at.args}
    client = MultiServerMCPClient({"spaniel": server})  # it starts a server for every call
    tools = await client.get_tools()
    assert [tool.name for tool in tools] == ["web_fetch", "web_fetch_more"]
    model = Scripted(url=at.url)
    agent = create_agent(model, tools)
    done = await agent.ainvoke({"messages": [("user", "Read the book.")]}, {"recursion_limit": 200})
    *parts, refused = model.seen
    assert str(done["messages"][-1].text) == "done"
    read = "\n".join(part.partition("\n---\n")[2] for part in parts)
    assert [int(n) for n in re.findall(r"^## Part (\d+)$", read, re.MULTILINE)] == list(range(1, PARTS + 1))
    assert NEEDLE in read
    assert json.loads(refused.removeprefix("Error: ").strip())["code"] == "ssrf_blocked", refused
    assert at.requests.count("/book") == 1
    told(f"langchain {version('langchain')}, langchain-mcp-adapters {version('langchain-mcp-adapters')}: an agent read")
    told(f"{PARTS} parts in {len(parts)} calls, each to a server of its own, with one fetch; and was told of a refusal")


with scene() as the_scene:
    asyncio.run(session(the_scene))
