"""The tools by name under one `tools.mode`, as the settings describe, and their definitions for the model APIs.

A new tool is a module with a `ToolExecutor` class whose constructor takes a client, the tool's settings and a
`ToolSession`, and one more entry in `TOOLS`: the command line, the MCP server and Python hosts serve what is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spaniel.errors import Code, SpanielError
from spaniel.tool.framework import ToolError, ToolSession, not_in_mode, record_refusal, switched_off
from spaniel.tool.web_fetch import WebFetchTool
from spaniel.tool.web_fetch_more import WebFetchMoreTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.app.settings import Mode, Settings, ToolSettings
    from spaniel.browser.rendering import RenderOptions
    from spaniel.pipeline.profile import Profile
    from spaniel.tool.framework import Client, ToolCtx, ToolExecutor, ToolResult

TOOLS = (WebFetchTool, WebFetchMoreTool)


class ToolRegistry:
    """Tools by their exact names (FR-WF-01)."""

    def __init__(self, mode: Mode = "enabled", absent: Mapping[str, SpanielError] | None = None) -> None:
        self.mode = mode
        self._tools: dict[str, ToolExecutor] = {}
        self._absent = absent or {}  # tools that are switched off, and the error of a call

    def register(self, tool: ToolExecutor) -> None:
        if tool.name in self._tools:
            raise ValueError(f"a tool named {tool.name!r} is already registered")
        self._tools[tool.name] = tool

    def get(self, name: str) -> ToolExecutor | None:
        return self._tools.get(name)

    def advertised(self) -> list[ToolExecutor]:
        """The tools to offer to a model: all of them unless tools are disabled."""
        return [] if self.mode == "disabled" else list(self._tools.values())

    def has(self, name: str) -> bool:
        """Whether a call of this name is answered, if only by a refusal because the tool is switched off."""
        return name in self._tools or name in self._absent

    async def execute(self, name: str, args: Mapping[str, object], ctx: ToolCtx) -> str:
        """Run a tool and return its result as JSON; raises only `ToolError`."""
        return await self._runnable(name, args).execute(args, ctx)

    async def call(self, name: str, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult:
        """Run a tool and return its result; raises only `ToolError`."""
        return await self._runnable(name, args).call(args, ctx)

    @property
    def names(self) -> list[str]:
        return [*self._tools, *self._absent]

    def _runnable(self, name: str, args: Mapping[str, object]) -> ToolExecutor:
        tool = self.get(name)
        if self.mode != "enabled" or tool is None:
            error = not_in_mode(self.mode) if self.mode != "enabled" else self._missing(name)
            record_refusal(args, error)
            raise ToolError(name, error)
        return tool

    def _missing(self, name: str) -> SpanielError:
        there = ", ".join(self._tools) or "none"
        unknown = SpanielError(Code.BAD_ARGS, field="name", reason=f"unknown tool; available: {there}")
        return self._absent.get(name, unknown)


def registry_for(client: Client, settings: Settings) -> ToolRegistry:
    """The registry that the settings describe (FR-WF-CFG-PREC-01 to 03): tools that are off are not in it."""
    return build_registry(client, settings.tool, ToolSession(display=_display(client, settings)))


def build_registry(client: Client, settings: ToolSettings, session: ToolSession) -> ToolRegistry:
    """Every tool of `TOOLS`, unless they are switched off."""
    if settings.mode == "disabled" or not settings.enabled:
        return ToolRegistry(settings.mode, {tool.name: switched_off() for tool in TOOLS})
    registry = ToolRegistry(settings.mode)
    for tool in TOOLS:
        registry.register(tool(client, settings, session))
    return registry


def _display(client: Client, settings: Settings) -> RenderOptions | None:
    """The default rendering options, which a call may change unless the profile is the SRD's (D2-38)."""
    try:
        profile: Profile | None = getattr(client, "profile", None)
    except RuntimeError:  # not open yet: the profile is unknown
        return None
    return None if profile is None or profile.is_srd else settings.browser.display


# The JSON Schema keywords that every API accepts: Gemini rejects `additionalProperties`, strict OpenAI `default`.
PLAIN = ("type", "description", "enum", "format", "items", "properties", "required", "minimum", "maximum")


def for_openai(tool: ToolExecutor, *, strict: bool = False) -> dict[str, object]:
    """An entry of `tools` in an OpenAI-style chat request; `strict` makes the model follow the schema."""
    function: dict[str, object] = {"name": tool.name, "description": tool.description}
    if strict:
        function |= {"strict": True, "parameters": all_required(tool.schema)}
    else:
        function["parameters"] = dict(tool.schema)
    return {"type": "function", "function": function}


def for_anthropic(tool: ToolExecutor) -> dict[str, object]:
    """An entry of `tools` in an Anthropic-style messages request."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def for_gemini(tool: ToolExecutor) -> dict[str, object]:
    """An entry of `function_declarations` in a Gemini-style request."""
    return {"name": tool.name, "description": tool.description, "parameters": plain(tool.schema)}


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with only the keywords of `PLAIN`; the tool itself checks what is left out."""
    kept = {word: schema[word] for word in PLAIN if word in schema}
    if "properties" in kept:
        kept["properties"] = {name: plain(part) for name, part in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = plain(kept["items"])
    return kept


def all_required(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema for strict mode: every property is required, and an optional one may be null."""
    needed = schema["required"]
    properties = {
        name: plain(part) if name in needed else {**plain(part), "type": [part["type"], "null"]}
        for name, part in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
